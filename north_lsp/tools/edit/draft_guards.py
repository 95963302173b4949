"""Guards that refuse an edit before it is prepared: protected names, links, generated files, and text that
cannot be written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.errors import ToolError
from north_lsp.workspace.files.wildmatch import any_matches
from north_lsp.workspace.guards.aliases import Links, path_aliases
from north_lsp.workspace.guards.protected import folded
from north_lsp.workspace.text import encode, is_generated, is_mixed

if TYPE_CHECKING:
    from north_lsp.tools.edit.draft_file import DraftFile
    from north_lsp.workspace.paths import Resolved
    from north_lsp.workspace.proposal import FileChange
    from north_lsp.workspace.workspace import Workspace


def guard_named(resolved: Resolved, workspace: Workspace) -> None:
    """Check that the user's settings do not protect a file: neither where the path leads, nor the path as it was given,
    nor any link that leads there, however the names are written. Raises ToolError DENIED."""
    patterns = {folded(pattern): pattern for pattern in workspace.settings.edits.protected}
    if not patterns:
        return
    names = path_aliases(resolved, workspace.roots) | Links(workspace.trees, [resolved.path]).names(resolved.path)
    found = next(filter(None, (any_matches(patterns, folded(name)) for name in sorted(names))), None)
    if found is not None:
        told = f"{resolved.relative} is protected by the user's settings ({patterns[found]})"
        raise ToolError("DENIED", told, "leave it as it is")


def ensure_outside_files(resolved: Resolved, workspace: Workspace) -> None:
    """Check that a new path is not a place inside a file, as `read_file` takes one (`archive.zip:inner`). Raises
    ToolError."""
    names = resolved.path.relative_to(resolved.root).parts
    places = [resolved.root.joinpath(*names[: depth + 1]) for depth in range(len(names))]
    for place in places:
        outers = (place.with_name(place.name[:at]) for at, one in enumerate(place.name) if one == ":" and at)
        outer = next((outer for outer in outers if os.path.isfile(outer)), None)
        if outer is not None and not os.path.lexists(place):
            raise ToolError(
                "INVALID_INPUT",
                f"{resolved.relative} would be inside the file {outer.name}; tools do not write inside files",
                "use another path, without the colon",
            )


def ensure_writable(change: FileChange) -> None:
    """Check, before the review, that the file's encoding can hold the new text. Raises ToolError INVALID_INPUT."""
    if change.binary or change.new_text.isascii():
        return
    encode(change.new_text, change.text_encoding)
    old = change.old_text
    if old is not None and change.old_encoding is None and is_mixed(old, change.text_encoding):
        fresh = next((one for one in change.new_text if one > "\x7f" and one not in old), None)
        if fresh is not None:
            raise ToolError(
                "INVALID_INPUT",
                f"the encoding of {change.relative} is unknown, so {fresh!r} cannot be written to it",
                "write it without that character, or have the file's encoding changed first",
            )


def ensure_no_link(raw_path: str, meant: str, what: str, workspace: Workspace) -> None:
    """Check that the last name of a path is not a link. Raises ToolError CONFLICT."""
    path = Path(raw_path)
    folder = workspace.roots.resolve(str(path.parent)).path
    if os.path.islink(folder / path.name):
        raise ToolError(
            "CONFLICT",
            f"{raw_path} is a link to {meant}, so it is not {what}",
            f"name {meant} itself if you mean that; links are left to the user",
        )


def generated_marker(file: DraftFile, workspace: Workspace) -> str | None:
    """Return the marker of a generated file; None if it is not generated or the settings allow editing it."""
    if file.original is None or file.binary:
        return None
    marker = is_generated(file.original[:1024], file.resolved.path.name)
    relative = file.resolved.path.relative_to(file.resolved.root).as_posix()
    is_allowed = any_matches(workspace.settings.edits.allow_generated, relative) is not None
    return None if is_allowed else marker


def guard_generated(file: DraftFile, workspace: Workspace) -> None:
    """Check that a file may be edited: a change of a generated one would be lost. Raises ToolError GENERATED_FILE."""
    marker = generated_marker(file, workspace)
    if marker is not None:
        raise ToolError(
            "GENERATED_FILE", f"{file.relative} is generated ({marker})", "change its source and generate it again"
        )
