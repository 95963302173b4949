"""The text of a file as its user sees it: the editor's if it has the file open, else the disk's."""

import hashlib
from pathlib import Path
from typing import Literal

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace
from north_lsp.workspace.paths import Resolved
from north_lsp.workspace.proposal import TextForm
from north_lsp.workspace.text import Text, encode, read_text, to_newlines

Source = Literal["editor", "disk"]


async def resolve_open(spelled: str, workspace: Workspace) -> Resolved:
    """A path that tools may look at. Raises ToolError for one outside the roots or on the user's ignore list."""
    resolved = await anyio.to_thread.run_sync(workspace.roots.resolve, spelled)
    if workspace.ignore[resolved.root].closed(resolved.path.relative_to(resolved.root).as_posix()):
        raise ToolError("IGNORED", f"{resolved.relative} is named by .northignore", "the user keeps it closed to tools")
    if any(resolved.path.is_relative_to(private) for private in workspace.private):
        raise ToolError("OUTSIDE_WORKSPACE", f"{resolved.relative} belongs to North itself")
    return resolved


async def current_text(spelled: str, workspace: Workspace) -> tuple[Resolved, Text, Source]:
    """Resolve and read. Raises ToolError."""
    resolved = await resolve_open(spelled, workspace)
    text, source = await text_of(resolved.path, workspace)
    return resolved, text, source


async def text_of(path: Path, workspace: Workspace) -> tuple[Text, Source]:
    """The text of a resolved path. Raises ToolError."""
    unsaved = await workspace.read_unsaved(path)
    if unsaved is None:
        return await anyio.to_thread.run_sync(read_text, path), "disk"
    return await anyio.to_thread.run_sync(_merge, path, unsaved)


def _merge(path: Path, unsaved: str) -> tuple[Text, Source]:
    """An editor may not know the real line ends: a text that equals the disk's but for those is the disk's."""
    try:
        disk = read_text(path)
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        return _as_text(unsaved, None), "editor"
    unsaved = unsaved.removeprefix("\ufeff")
    as_client = to_newlines(_as_utf8(disk), "\n")
    if to_newlines(unsaved, "\n") in (to_newlines(disk.text, "\n"), as_client):
        return disk, "disk"
    if disk.newline == "crlf" and "\r\n" not in unsaved:
        unsaved = to_newlines(unsaved, "\r\n")
    return _as_text(unsaved, disk), "editor"


def _as_utf8(disk: Text) -> str:
    """What a client that takes every file for UTF-8 makes of one."""
    if disk.form == TextForm():
        return disk.text
    return encode(disk.text, disk.form).decode("utf-8", "replace").removeprefix("\ufeff")


def _as_text(text: str, disk: Text | None) -> Text:
    data = text.encode("utf-8", "replace")
    crlf, lf = text.count("\r\n"), text.count("\n")
    newline: Literal["lf", "crlf", "mixed", "none"] = (
        "none" if not lf else "lf" if not crlf else "crlf" if crlf == lf else "mixed"
    )
    form = disk.form if disk is not None else TextForm()
    return Text(text, form, newline, len(data), hashlib.sha256(data).hexdigest()[:8])
