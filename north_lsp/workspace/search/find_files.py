"""Finds files by a glob."""

from __future__ import annotations

import os
from pathlib import Path

from north_lsp.workspace.files.file_list import Listing
from north_lsp.workspace.files.ignore import ALWAYS_SKIPPED
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Resolved, Roots, lies_in
from north_lsp.workspace.search.query import compile_glob

_SPECIAL = frozenset("*?[{")


def find_files(
    trees: Trees, pattern: str, *, place: Resolved | None, folders: bool, hidden: bool, newest_first: bool
) -> list[str]:
    """Return the matching files (or folders) of all roots or below `place`, in path order or newest first.

    Ignored files are found only if `place` or the beginning of the pattern names them. Raises ToolError INVALID_INPUT
    for a broken glob.
    """
    pattern = below_a_root(trees.roots, pattern)
    matches = compile_glob(pattern)
    named = _literal_beginning(pattern)
    places: list[tuple[Path, str, Listing]] = []
    if place is not None:
        below = place.path.relative_to(place.root).as_posix()
        listing = trees.below(place.root, below) if os.path.isdir(place.path) else Listing((below,), (), ())
        places.append((place.root, "" if below == "." else f"{below}/", listing))
    else:
        places = [(root, "", listing) for root, listing in trees.outermost()]
    found: list[tuple[Path, str]] = []
    for root, below, listing in places:
        paths = listing.folders if folders else listing.files
        extra: tuple[str, ...] = ()
        if named and place is None and trees.rules[root].ignored(named, True) and os.path.isdir(root / named):
            inside = trees.below(root, named)
            extra = inside.folders if folders else inside.files
        elif place is None and not folders and _is_ignored_file(trees, root, pattern):
            extra = (pattern.removeprefix("/"),)
        for path in (*paths, *extra):
            relative = path.removeprefix(below)
            if not hidden and _is_hidden(relative) and not _names_hidden(pattern):
                continue
            if matches(path) or (below and matches(relative)):
                found.append((root, path))
    if newest_first:
        found.sort(key=lambda item: (-_modified(item[0] / item[1]), item[1]))
    return [readable(trees.roots.display_path(root, path)) for root, path in found]


def below_a_root(roots: Roots, pattern: str) -> str:
    """Return a pattern that begins with the absolute path of a root, without that path; any other pattern as it is."""
    for root in roots.roots:
        if pattern.startswith(f"{root}/"):
            return pattern.removeprefix(str(root))
    return pattern


def _is_ignored_file(trees: Trees, root: Path, pattern: str) -> bool:
    """Return whether a pattern has no wildcards but is the name of a file that git ignores."""
    pattern = pattern.removeprefix("/")
    path = Path(os.path.normpath(root / pattern))
    if _SPECIAL & set(pattern) or path != root / pattern or not path.is_relative_to(root) or ".git" in path.parts:
        return False
    if lies_in(path, trees.private) or os.path.realpath(path) != str(path):
        return False
    return os.path.isfile(path) and trees.rules[root].ignored(pattern, False) and trees.closed(path) is None


def _literal_beginning(pattern: str) -> str:
    """Return the folders that a pattern names before its first wildcard."""
    plain = pattern.replace("\\", "/").removeprefix("./").removeprefix("/")
    parts: list[str] = []
    for part in plain.split("/")[:-1]:
        if _SPECIAL & set(part) or part in ("", "..", "."):
            break
        parts.append(part)
    if not parts and plain.rstrip("/") in ALWAYS_SKIPPED:
        return plain.rstrip("/")
    return "/".join(parts)


def _is_hidden(relative: str) -> bool:
    return relative.startswith(".") or "/." in relative


def _names_hidden(pattern: str) -> bool:
    plain = pattern.replace("\\", "/").removeprefix("./")
    return plain.startswith(".") or "/." in plain


def _modified(path: Path) -> int:
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
