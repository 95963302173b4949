"""Reads the text of a file as the user sees it: the editor's if it has the file open, else the disk's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from north_lsp.errors import ToolError, UnsavedUnknown
from north_lsp.tools.support.threads import on_thread
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.files.suggest import Suggestions, suggest
from north_lsp.workspace.paths import Resolved, belongs_to_north, lies_in
from north_lsp.workspace.proposal import TextEncoding
from north_lsp.workspace.text import NEARLY_UTF8, Text, as_text, encode, read_text, to_newlines
from north_lsp.workspace.workspace import Workspace

_LISTED = 100
_MOST_AHEAD = 32 * 1024 * 1024

Source = Literal["editor", "disk", "disk (the editor did not tell whether it has unsaved changes)"]


async def resolve_open(raw_path: str, workspace: Workspace) -> Resolved:
    """Resolve a path that tools may read and change. Raises ToolError for one outside the roots or on the user's ignore
    list."""
    return await on_thread(workspace.trees.resolve, raw_path)


async def resolve_readable(raw_path: str, workspace: Workspace) -> Resolved:
    """Resolve as `resolve_open` does, but also in the folders that the user's settings open for reading."""
    return await on_thread(workspace.trees.resolve_readable, raw_path)


async def resolve_existing(raw_path: str, workspace: Workspace, *, inner: bool = False) -> tuple[Resolved, str | None]:
    """Resolve the path of a file that exists; return it with a notice if another path than the given one must have been
    meant. With `inner`, a path that continues after a file's name (`archive.zip:inner/path`) is that file's.

    Raises ToolError: NOT_FOUND with similar paths that exist, and what `resolve_open` raises.
    """
    resolved = await resolve_readable(raw_path, workspace)
    if resolved.exists or await _is_open(resolved.path, workspace):
        return resolved, None
    if inner and ":" in raw_path:
        for at in [at for at, character in enumerate(raw_path) if character == ":"]:
            outer = await resolve_readable(raw_path[:at], workspace) if at else resolved
            if outer.exists:
                return outer, None
    found = await _suggested(resolved, workspace)
    if found.certain is not None:
        meant = await resolve_readable(workspace.roots.display_path(resolved.root, found.certain), workspace)
        return meant, f"{resolved.relative} does not exist; this is {meant.relative} ({found.why})"
    raise await _missing(resolved, workspace, "find_files shows what there is", found)


async def _is_open(path: Path, workspace: Workspace) -> bool:
    try:
        return await workspace.editor.read_unsaved(path) is not None
    except UnsavedUnknown:
        return False


async def missing_file(resolved: Resolved, workspace: Workspace, otherwise: str) -> ToolError:
    """Build the error for a file that does not exist, with similar paths that do; without any, the hint is
    `otherwise`."""
    return await _missing(resolved, workspace, otherwise, await _suggested(resolved, workspace))


async def _missing(resolved: Resolved, workspace: Workspace, otherwise: str, found: Suggestions) -> ToolError:
    missing = resolved.path.relative_to(resolved.root).as_posix()
    tree = workspace.trees.tree(resolved.root)
    paths, limited = found.paths, ""
    if not paths:
        unsaved = await workspace.editor.unsaved_texts()
        index = await on_thread(lambda: tree.fuzzy(tuple(unsaved)))
        paths = tuple(await on_thread(index.find, missing, 5))
        limited = " (index limited)" if index.limited else ""
    similar = [workspace.roots.display_path(resolved.root, path) for path in paths]
    hint = f"similar{limited}: {', '.join(similar)}" if similar else f"{otherwise}{limited}"
    return ToolError("NOT_FOUND", f"{resolved.relative} does not exist", hint, {"similar": similar})


async def _suggested(resolved: Resolved, workspace: Workspace) -> Suggestions:
    missing = resolved.path.relative_to(resolved.root).as_posix()
    listing = await on_thread(workspace.trees.tree(resolved.root).listing)
    return await on_thread(suggest, missing, listing.files)


async def current_text(raw_path: str, workspace: Workspace) -> tuple[Resolved, Text, Source]:
    """Resolve a path and read its text, to look at it. Raises ToolError."""
    resolved = await resolve_readable(raw_path, workspace)
    text, source = await shown_text(resolved.path, workspace)
    return resolved, text, source


async def attached_text(raw_path: str, workspace: Workspace) -> tuple[Resolved, Text, Source]:
    """Read as `current_text` does, for a file that the user attached by hand: closed files can be attached."""
    resolved = await attached_path(raw_path, workspace)
    text, source = await shown_text(resolved.path, workspace)
    return resolved, text, source


async def attached_path(raw_path: str, workspace: Workspace) -> Resolved:
    """Resolve the path of a file that the user attached by hand. Raises ToolError."""
    resolved = await on_thread(workspace.roots.resolve_readable, raw_path)
    if await on_thread(lies_in, resolved.path, workspace.private):
        raise belongs_to_north(resolved)
    return resolved


async def attached_folder(raw_path: str, workspace: Workspace) -> tuple[str, str] | None:
    """Return the path of a folder that the user has attached, and what is in it as far as tools may see it, one path a
    line; None for anything else. Raises ToolError."""
    return await on_thread(_folder, raw_path, workspace)


def _folder(raw_path: str, workspace: Workspace) -> tuple[str, str] | None:
    resolved = workspace.roots.resolve(raw_path)
    if not resolved.path.is_dir():
        return None
    workspace.trees.refuse(resolved)
    below = resolved.path.relative_to(resolved.root).as_posix()
    listing = workspace.trees.below(resolved.root, below)
    paths = sorted([*listing.files, *(f"{folder}/" for folder in listing.folders)])
    shown = [readable(workspace.roots.display_path(resolved.root, path)) for path in paths[:_LISTED]]
    more = [f"… and {len(paths) - _LISTED} more"] if len(paths) > _LISTED else []
    return resolved.relative.rstrip("/"), "\n".join([*shown, *more]) or "(empty)"


async def existing_text(raw_path: str, workspace: Workspace) -> tuple[Resolved, Text, Source, str | None]:
    """Resolve a path and read its text, to look at it, with a notice if another path than the given one must have been
    meant. Raises ToolError."""
    resolved, notice = await resolve_existing(raw_path, workspace)
    text, source = await shown_text(resolved.path, workspace)
    return resolved, text, source, notice


async def text_of(path: Path, workspace: Workspace) -> tuple[Text, Source]:
    """Read the text of a resolved path, to change it. Raises ToolError, and UnsavedUnknown: unsaved changes that North
    cannot see must not be overwritten."""
    return await _text_of(path, await workspace.editor.read_unsaved(path), workspace)


class TextsAhead:
    """The texts of many files, to change them: read together on one thread, instead of one change of threads each."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._found: dict[Path, tuple[Text, Source] | ToolError] = {}

    async def read(self, paths: Iterable[Path]) -> None:
        """Read the texts of resolved paths. Once the editor does not tell of one, those after it are left until they
        are wanted: each may take as long."""
        unsaved: dict[Path, str | None] = {}
        for path in paths:
            try:
                unsaved[path] = await self._workspace.editor.read_unsaved(path)
            except ToolError as error:
                self._found[path] = error
                break
        if unsaved:
            self._found |= await on_thread(_texts, unsaved)

    async def take(self, path: Path) -> tuple[Text, Source]:
        """Return what `text_of` does; what was read of the file is forgotten. Raises ToolError, and UnsavedUnknown."""
        found = self._found.pop(path, None)
        if found is None:
            return await text_of(path, self._workspace)
        if isinstance(found, ToolError):
            raise found
        self._workspace.seen.texts.keep(found[0].tag, found[0].text)
        return found


async def shown_text(path: Path, workspace: Workspace) -> tuple[Text, Source]:
    """Read as `text_of` does, to look at it: the disk's text where the editor does not tell, and the source says so."""
    try:
        return await text_of(path, workspace)
    except UnsavedUnknown:
        text, _ = await _text_of(path, None, workspace)
        return text, "disk (the editor did not tell whether it has unsaved changes)"


async def _text_of(path: Path, unsaved: str | None, workspace: Workspace) -> tuple[Text, Source]:
    found: tuple[Text, Source]
    if unsaved is None:
        found = await on_thread(read_text, path), "disk"
    else:
        found = await on_thread(_merge, path, unsaved)
    workspace.seen.texts.keep(found[0].tag, found[0].text)
    return found


def _texts(unsaved: Mapping[Path, str | None]) -> dict[Path, tuple[Text, Source] | ToolError]:
    """Read texts, as many as may be held at once; those that are missing are read when they are wanted."""
    found: dict[Path, tuple[Text, Source] | ToolError] = {}
    left = _MOST_AHEAD
    for path, text in unsaved.items():
        if left <= 0:
            break
        read: tuple[Text, Source]
        try:
            read = (read_text(path), "disk") if text is None else _merge(path, text)
        except ToolError as error:
            found[path] = error
        else:
            found[path] = read
            left -= len(read[0].text)
    return found


def text_now(path: Path, texts: Mapping[Path, str]) -> Text:
    """Read as `text_of` does, with the editor's texts at hand; call it on a thread. Raises ToolError."""
    return _merge(path, texts[path])[0] if path in texts else read_text(path)


def is_saved(path: Path, shown: str) -> bool:
    """Tell whether the disk has what the editor shows of a file; call it on a thread. Raises ToolError if the file on
    the disk is not text."""
    found, source = _merge(path, shown)
    return source == "disk" or (not shown and found.disk_tag is None)


def _merge(path: Path, unsaved: str) -> tuple[Text, Source]:
    """Choose between the editor's text and the disk's. An editor may not know the real line ends: a text that differs
    from the disk's only in those is the disk's."""
    try:
        disk = read_text(path)
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        return as_text(unsaved), "editor"
    unsaved = unsaved.removeprefix("\ufeff")
    as_client = to_newlines(_as_utf8(disk), "\n")
    if to_newlines(unsaved, "\n") in (to_newlines(disk.text, "\n"), as_client):
        return disk, "disk"
    if disk.form.encoding == NEARLY_UTF8 and "\ufffd" in unsaved:
        raise ToolError(
            "CONFLICT",
            f"{path.name} has bytes that are not UTF-8, which the editor shows as \ufffd, and unsaved changes",
            "ask the user to save it, or to close it without saving",
        )
    if disk.newline == "crlf" and "\r\n" not in unsaved:
        unsaved = to_newlines(unsaved, "\r\n")
    return replace(as_text(unsaved, disk.form), disk_tag=disk.tag), "editor"


def _as_utf8(disk: Text) -> str:
    """Return the text that a client gets if it reads every file as UTF-8."""
    if disk.form == TextEncoding():
        return disk.text
    return encode(disk.text, disk.form).decode("utf-8", "replace").removeprefix("\ufeff")
