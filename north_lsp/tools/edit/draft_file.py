"""One file of a draft: what it was on the disk or in the editor, and what it is by now."""

from __future__ import annotations

import os
import stat
from collections.abc import Container
from dataclasses import field
from pathlib import Path

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.edit.pasted_line_numbers import Place, without_pasted
from north_lsp.tools.support.texts import TextsAhead
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.paths import Resolved, ensure_regular
from north_lsp.workspace.proposal import TextEncoding
from north_lsp.workspace.text import MAX_WHOLE_FILE, decode, is_binary, read_text
from north_lsp.workspace.workspace import Workspace

_AMONG_OTHERS = "use edit_replace_exact with a neighboring line that has no such number, and begin `new` with that line"


@dataclass
class DraftFile:
    """One file: its original and its current text (None: there is no file), and what else changes when another one is
    moved here. `read` has the names and tags of what the model has read."""

    resolved: Resolved
    original: str | None
    text: str | None
    text_encoding: TextEncoding
    first_form: TextEncoding = field(default_factory=TextEncoding)
    first_binary: bool = False
    first_mode: int | None = None
    tag: str = ""
    disk_tag: str | None = None
    binary: bool = False
    links: int = 1
    mode: int | None = None
    make_executable: bool = False
    moved_from: DraftFile | None = None
    notices: list[str] = field(default_factory=list)
    read: Container[str] = ()

    @property
    def relative(self) -> str:
        return self.resolved.relative

    def note(self, text: str) -> None:
        if text not in self.notices:
            self.notices.append(text)

    def without_pasted(self, content: str, otherwise: str = _AMONG_OTHERS) -> str:
        """Strip what was copied from a read result off lines for this file. Raises ToolError INVALID_INPUT where it is
        not certain what belongs to the lines."""
        content, was_pasted = without_pasted(content, Place(self.text or "", self.read), otherwise)
        if was_pasted:
            self.note("line numbers or header lines that were copied from a read result were left out")
        return content


async def read_file(
    resolved: Resolved, status: os.stat_result | None, workspace: Workspace, texts: TextsAhead, *, binary: bool
) -> DraftFile:
    """Read a file as the editor or the disk has it; one that is not there has no text. `binary`: it need not be text.
    Raises ToolError."""
    file = DraftFile(resolved, None, None, TextEncoding())
    try:
        text, _ = await texts.take(resolved.path)
        file = DraftFile(resolved, text.text, text.text, text.form, text.form)
        file.tag, file.disk_tag = text.tag, text.on_disk
    except ToolError as error:
        if error.code == "TOO_LARGE":
            raise _too_large(resolved) from error
        if error.code == "BINARY_FILE" and binary:
            file = await anyio.to_thread.run_sync(_read_binary, resolved)
        elif error.code != "NOT_FOUND" or resolved.exists:
            raise
    if status is not None:
        file.links = status.st_nlink
        file.mode = file.first_mode = stat.S_IMODE(status.st_mode)
    file.read = _Read(workspace)
    return file


class _Read:
    """The names and tags of what the model has read. They are looked through only for a header that was copied: an
    edit of many files would otherwise spell all their names for each of them."""

    def __init__(self, workspace: Workspace) -> None:
        self._seen = workspace.seen
        self._roots = workspace.roots

    def __contains__(self, wanted: object) -> bool:
        seen, roots = self._seen, self._roots
        names = (path.relative_to(root).as_posix() for path in seen.paths() if (root := roots.root_of(path)))
        return wanted in seen.tags.values() or any(name == wanted for name in names)


def disk_text(path: Path) -> str | None:
    try:
        return read_text(path).text
    except ToolError:
        return None


def is_same_file(one: DraftFile, other: DraftFile) -> bool:
    """Tell whether two names are one file, as they can be on case-insensitive file systems."""
    if one.resolved.path.name.casefold() != other.resolved.path.name.casefold():
        return False
    try:
        return os.path.samefile(one.resolved.path, other.resolved.path)
    except OSError:
        return False


def _read_binary(resolved: Resolved) -> DraftFile:
    ensure_regular(resolved.path)
    try:
        with open(open_real(resolved.path), "rb") as file:
            data = file.read(MAX_WHOLE_FILE + 1)
    except OSError as error:
        raise ToolError("IO_ERROR", f"{resolved.relative} cannot be read: {error.strerror}") from error
    if len(data) > MAX_WHOLE_FILE:
        raise _too_large(resolved)
    text, form = decode(data)
    binary = is_binary(data)
    return DraftFile(resolved, text, text, form, form, binary, binary=binary)


def _too_large(resolved: Resolved) -> ToolError:
    return ToolError(
        "TOO_LARGE",
        f"{resolved.relative} has more than {MAX_WHOLE_FILE >> 20} MB, too much for an edit that can be undone",
        "change, move or delete it with a command, or ask the user",
    )
