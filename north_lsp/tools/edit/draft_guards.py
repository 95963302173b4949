"""What keeps an edit from being prepared at all: names that are closed or protected, and what cannot be written."""

import os
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.files.wildmatch import any_matches
from north_lsp.workspace.guards.aliases import Links, path_aliases
from north_lsp.workspace.guards.protected import folded
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import encode, is_mixed
from north_lsp.workspace.workspace import Workspace


def guard_named(resolved: Resolved, workspace: Workspace) -> None:
    """Pass a file that the user's settings do not protect: by where the path leads, by how it was spelled, and by the
    links that lead there, however the names are written. Raises ToolError DENIED."""
    patterns = {folded(pattern): pattern for pattern in workspace.edits.protected}
    if not patterns:
        return
    names = path_aliases(resolved, workspace.roots) | Links(workspace.trees, [resolved.path]).names(resolved.path)
    found = next(filter(None, (any_matches(patterns, folded(name)) for name in sorted(names))), None)
    if found is not None:
        told = f"{resolved.relative} is protected by the user's settings ({patterns[found]})"
        raise ToolError("DENIED", told, "leave it as it is")


def ensure_outside_files(resolved: Resolved, workspace: Workspace) -> None:
    """Pass a new path that is no place in a file, as reading spells one (`archive.zip:inner`). Raises ToolError."""
    names = resolved.path.relative_to(resolved.root).parts
    places = [resolved.root.joinpath(*names[: depth + 1]) for depth in range(len(names))]
    for place in places:
        outers = (place.with_name(place.name[:at]) for at, one in enumerate(place.name) if one == ":" and at)
        outer = next((outer for outer in outers if os.path.isfile(outer)), None)
        if outer is not None and not os.path.lexists(place):
            raise ToolError(
                "INVALID_INPUT",
                f"{resolved.relative} would be a place in the file {outer.name}; what is in a file is not written",
                "name another path, without the colon",
            )


def ensure_writable(change: FileChange) -> None:
    """Raises ToolError INVALID_INPUT for a text that its encoding cannot hold: before anybody has to decide on it."""
    if change.binary or change.new_text.isascii():
        return
    encode(change.new_text, change.text_encoding)
    old = change.old_text
    if old is not None and change.old_encoding is None and is_mixed(old, change.text_encoding):
        fresh = next((one for one in change.new_text if one > "\x7f" and one not in old), None)
        if fresh is not None:
            raise ToolError(
                "INVALID_INPUT",
                f"it is not known in which encoding {change.relative} is, so {fresh!r} cannot be written there",
                "write it without that character, or have the file's encoding changed first",
            )


def ensure_no_link(raw_path: str, meant: str, what: str, workspace: Workspace) -> None:
    """Pass a path whose last name is no link. Raises ToolError CONFLICT."""
    path = Path(raw_path)
    folder = workspace.roots.resolve(str(path.parent)).path
    if os.path.islink(folder / path.name):
        raise ToolError(
            "CONFLICT",
            f"{raw_path} is a link to {meant}, so it is not {what}",
            f"name {meant} itself if that is meant; links themselves are left to the user",
        )
