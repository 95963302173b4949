"""Drafts: the texts that edit tools read and change before anything is proposed, and the guards that they pass.

Several edits can be made on one draft: later ones see what earlier ones did, and the changes are the net effect.
"""

import os
import stat
from abc import abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.base import WriteTool
from north_lsp.tools.edit.draft_folders import DraftFolder, ensure_empty, existing_folder, folder_changes
from north_lsp.tools.edit.draft_guards import ensure_no_link, ensure_outside_files, ensure_writable, guard_named
from north_lsp.tools.edit.pasted_line_numbers import Place, without_pasted
from north_lsp.tools.support.texts import missing_file, resolve_open, text_of
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_rename
from north_lsp.workspace.edit.new_file_style import new_file_text
from north_lsp.workspace.files.wildmatch import any_matches
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.paths import Resolved, ensure_regular
from north_lsp.workspace.proposal import FileChange, TextEncoding
from north_lsp.workspace.text import (
    MAX_WHOLE_FILE,
    decode,
    is_binary,
    is_generated,
    read_text,
    to_newlines,
)
from north_lsp.workspace.workspace import Workspace

Placing = Literal["content", "lines", "whole"]
"""How an edit finds its place: by the content there, by line numbers (which are wrong once the text has changed), or it
is about the whole file."""

_AMONG_OTHERS = "use edit_replace_exact with a neighboring line that has no such number, and begin `new` with that line"
_FIRST_LINE = "write the file with a different first line, then remove that line in a second edit"


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
    moved_from: "DraftFile | None" = None
    notices: list[str] = field(default_factory=list)
    read: Collection[str] = ()

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


class Draft:
    """The files and folders that one tool call edits, before anything is proposed."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._files: dict[Path, DraftFile] = {}
        self._folders: dict[Path, DraftFolder] = {}

    async def open(self, raw_path: str, snapshot: str | None, placing: Placing = "content") -> tuple[DraftFile, str]:
        """Open a file to change it; return it with its current text.

        Raises ToolError: NOT_FOUND, BINARY_FILE, GENERATED_FILE, DENIED, STALE by the user's policy.
        """
        file = await self._file(raw_path)
        if file.text is None:
            raise self._gone(file) or await missing_file(
                file.resolved, self.workspace, "create it with edit_create_file"
            )
        if file.binary:
            raise ToolError("BINARY_FILE", f"{file.relative} is not text")
        self._guard_generated(file)
        if file.original is not None and file.moved_from is None:
            stale = self._guard_stale(file, snapshot, placing)
            if stale is not None:
                raise await anyio.to_thread.run_sync(_stale, file, stale, self.workspace)
        return file, file.text

    async def create(self, raw_path: str, content: str, *, overwrite: bool, guards: bool = True) -> None:
        """Create a file, or replace the whole text of one. Raises ToolError: CONFLICT if there is a file and it is not
        to `overwrite` it, and GENERATED_FILE if it `guards` those."""
        file = await self._file(raw_path)
        if content.rstrip("\n").count("\n") or overwrite:
            content = file.without_pasted(content, _FIRST_LINE)
        if file.text is None:
            await self._guard_whole(file, is_lost=True)  # it was deleted earlier in the same call
            made = partial(new_file_text, file.resolved.path, file.resolved.root, content)
            file.text = await anyio.to_thread.run_sync(made)
            file.make_executable = content.startswith("#!")
            file.text_encoding = TextEncoding() if file.first_binary else file.first_form
            file.binary, file.mode, file.moved_from = False, file.first_mode, None
            return
        if not overwrite:
            raise ToolError(
                "CONFLICT",
                f"{file.relative} exists ({len(file.text.encode('utf-8', 'replace'))} bytes)",
                "edit it, or set overwrite to replace its whole text",
                {"firstLines": [] if file.binary else file.text.split("\n")[:5]},
            )
        if file.binary:
            raise ToolError("BINARY_FILE", f"{file.relative} is not text", "delete it first to replace it")
        if guards:
            self._guard_generated(file)
        await self._guard_whole(file, is_lost=not content.startswith(file.text))
        if content and file.text.endswith("\n") and not content.endswith("\n"):
            content += "\n"
        crlf = file.text.count("\r\n")
        if crlf and crlf == file.text.count("\n") and "\r\n" not in content:
            content = to_newlines(content, "\r\n")
        file.text = content

    async def check(self, raw_path: str) -> None:
        """Check that a file may be written, or created, at a path. Raises ToolError."""
        await self._file(raw_path)

    async def note(self, raw_path: str, text: str) -> None:
        """Tell the user and the model of something that was done to a file of the draft."""
        (await self._file(raw_path)).note(text)

    async def put(self, raw_path: str, content: str, *, is_whole: bool) -> Sequence[str]:
        """Put a file as a whole, new or in place of one that exists; the user has it in view. Returns the reasons to
        ask in any case: a generated file may be written if the user says so. Raises ToolError."""
        file = await self._file(raw_path)
        marker = self._generated(file)
        await self.create(raw_path, content, overwrite=file.text is not None, guards=marker is None)
        if not is_whole and file.original is None:
            file.text = content  # the missing rest may continue in the middle of the last line
        if marker is None:
            return ()
        return (f"{file.relative} is generated ({marker}): a change there may be lost when it is generated again",)

    async def delete(self, raw_path: str) -> None:
        """Delete a file or an empty folder.
        Raises ToolError NOT_FOUND, GENERATED_FILE, CONFLICT for unsaved changes and for a folder that is not empty.
        """
        folder = await self._folder(raw_path, "deleted")
        if folder is not None:
            folder.stands = False
            return
        file = await self._whole(raw_path, "deleted")
        file.text = None

    async def move(self, raw_path: str, to: str, *, overwrite: bool) -> None:
        """Move a file or an empty folder. Raises ToolError as `delete` does, and CONFLICT if the new path is taken."""
        folder = await self._folder(raw_path, "moved")
        if folder is not None:
            await self._move_folder(folder, to)
            return
        file = await self._whole(raw_path, "moved")
        target = await self._file(to, binary=True)
        if target is file or await anyio.to_thread.run_sync(_same_file, file, target):
            raise ToolError(
                "CONFLICT",
                f"{raw_path} and {to} are the same file ({file.relative})",
                "to change only upper and lower case, move it to another name first, then to this one in a second edit",
            )
        if target.text is not None:
            if not overwrite:
                raise ToolError("CONFLICT", f"{target.relative} exists", "set overwrite to replace it")
            self._guard_generated(target)
            await self._guard_whole(target, is_lost=True)
            target.note(f"{target.relative} is replaced by {file.relative}")
        target.text, target.text_encoding, target.binary = file.text, file.text_encoding, file.binary
        target.mode, target.moved_from = file.mode, file.moved_from or file
        target.notices += file.notices
        file.text, file.moved_from = None, None

    async def changes(self) -> Sequence[FileChange]:
        """Return the net effect, in the order in which the files were first named."""
        return await anyio.to_thread.run_sync(self._changes)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _changes(self) -> list[FileChange]:
        found: list[FileChange] = []
        renamed: set[Path] = set()
        for file in self._files.values():
            source = file.moved_from
            if source is not None and file.text is not None and file.original is None and _is_gone(source, renamed):
                renamed.add(source.resolved.path)
        taken: set[Path] = set()
        for file in self._files.values():
            path, source = file.resolved.path, file.moved_from
            change: FileChange | None = None
            if file.text is None:
                if file.original is not None and path not in renamed:
                    form = file.first_form
                    change = make_deletion(path, file.relative, file.original, form, binary=file.first_binary)
            elif file.original is not None:
                change = _update(file, file.original, file.text)
            elif source is not None and source.resolved.path in renamed - taken:
                taken.add(source.resolved.path)
                old = source.original or ""
                places = (source.resolved.path, source.relative, path, file.relative)
                change = make_rename(*places, old, file.text, file.text_encoding, binary=file.binary)
            else:
                change = replace(_create(file, file.text), mode=file.mode)
            if change is not None:
                ensure_writable(change)
                executable = file.make_executable and change.action == "create"
                said = tuple(_notices(file, change))
                found.append(replace(change, make_executable=executable, notices=said, disk_tag=file.disk_tag))
        remaining = [path for path, file in self._files.items() if file.text is not None]
        return [*found, *folder_changes(self._folders, remaining)]

    async def _folder(self, raw_path: str, what: str) -> DraftFolder | None:
        """Return the empty folder that a path names; None if it names no folder. Raises ToolError."""
        resolved = await resolve_open(raw_path, self.workspace)
        if resolved.path in self._files:
            return None
        folder = self._folders.get(resolved.path)
        if folder is None:
            folder = await anyio.to_thread.run_sync(existing_folder, resolved)
        if folder is None:
            return None
        if not folder.stands:
            raise ToolError("NOT_FOUND", f"{resolved.relative} was already deleted or moved by this batch")
        await anyio.to_thread.run_sync(guard_named, resolved, self.workspace)
        meant = f"the folder {resolved.relative}"
        await anyio.to_thread.run_sync(ensure_no_link, raw_path, meant, what, self.workspace)
        gone = {path for path, file in self._files.items() if file.text is None}
        gone |= {path for path, one in self._folders.items() if not one.stands}
        there = {path for path, file in self._files.items() if file.text is not None}
        there |= {path for path, one in self._folders.items() if one.stands}
        there |= {path for path in await self.workspace.unsaved_texts() if path not in gone}
        await anyio.to_thread.run_sync(ensure_empty, folder, what, gone, there, self.workspace)
        return self._folders.setdefault(resolved.path, folder)

    async def _move_folder(self, folder: DraftFolder, to: str) -> None:
        target = await resolve_open(to, self.workspace)
        await anyio.to_thread.run_sync(guard_named, target, self.workspace)
        await anyio.to_thread.run_sync(ensure_outside_files, target, self.workspace)
        if target.path.is_relative_to(folder.path):
            shown = folder.resolved.relative
            raise ToolError("INVALID_INPUT", f"{shown} cannot be moved to {target.relative}, which is itself or in it")
        known = self._folders.get(target.path)
        stands = target.exists if known is None else known.stands or known.stood
        if stands or target.path in self._files:
            hint = "name a path that is free; overwrite replaces only files"
            raise ToolError("CONFLICT", f"{target.relative} exists", hint)
        source = folder.moved_from if not folder.stood and folder.moved_from is not None else folder
        self._folders[target.path] = DraftFolder(target, False, True, folder.mode, source)
        folder.stands = False

    async def _file(self, raw_path: str, *, binary: bool = False) -> DraftFile:
        resolved = await resolve_open(raw_path, self.workspace)
        if raw_path.endswith("/"):
            raise ToolError("INVALID_INPUT", f"{raw_path!r} names a folder", "name a file")
        known = self._files.get(resolved.path)
        if known is not None:
            return known
        await anyio.to_thread.run_sync(guard_named, resolved, self.workspace)
        if not resolved.exists:
            await anyio.to_thread.run_sync(ensure_outside_files, resolved, self.workspace)
        status = await anyio.to_thread.run_sync(_status, resolved.path)
        folder = self._folders.get(resolved.path)
        if (status is not None and stat.S_ISDIR(status.st_mode)) or (folder is not None and folder.stands):
            hint = "name a file in it"
            raise ToolError("CONFLICT", f"{resolved.relative} is a folder", hint)
        file = DraftFile(resolved, None, None, TextEncoding())
        try:
            text, _ = await text_of(resolved.path, self.workspace)
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
        seen, roots = self.workspace.seen, self.workspace.roots
        names = (path.relative_to(root).as_posix() for path in seen.paths() if (root := roots.root_of(path)))
        file.read = frozenset((*names, *seen.tags.values()))
        self._files[resolved.path] = file
        return file

    async def _whole(self, raw_path: str, what: str) -> DraftFile:
        file = await self._file(raw_path, binary=True)
        if file.text is None:
            raise self._gone(file) or await missing_file(
                file.resolved, self.workspace, "find_files shows what there is"
            )
        await anyio.to_thread.run_sync(ensure_no_link, raw_path, file.relative, what, self.workspace)
        self._guard_generated(file)
        unsaved = await self.workspace.read_unsaved(file.resolved.path)
        if unsaved is not None and file.original is not None and not file.binary:
            on_disk = await anyio.to_thread.run_sync(_disk_text, file.resolved.path)
            if on_disk is None or on_disk != file.original:
                raise ToolError(
                    "CONFLICT",
                    f"{file.relative} has unsaved changes in the editor, so it is not {what}",
                    "ask the user",
                )
        await self._guard_whole(file, is_lost=False)
        return file

    def _gone(self, file: DraftFile) -> ToolError | None:
        """Return the error for a file that an earlier edit of this call deleted or moved; None if there was no file."""
        if file.original is None:
            return None
        to = next((one for one in self._files.values() if one.moved_from is file and one.text is not None), None)
        if to is None:
            return ToolError("NOT_FOUND", f"{file.relative} was deleted by an earlier edit of this call")
        message = f"{file.relative} was moved to {to.relative} by an earlier edit of this call"
        return ToolError("NOT_FOUND", message, f"name {to.relative}")

    def _generated(self, file: DraftFile) -> str | None:
        """Return the marker of a generated file; None if it is not generated or the settings allow editing it."""
        if file.original is None or file.binary:
            return None
        marker = is_generated(file.original[:1024], file.resolved.path.name)
        relative = file.resolved.path.relative_to(file.resolved.root).as_posix()
        is_allowed = any_matches(self.workspace.edits.allow_generated, relative) is not None
        return None if is_allowed else marker

    def _guard_generated(self, file: DraftFile) -> None:
        marker = self._generated(file)
        if marker is not None:
            raise ToolError(
                "GENERATED_FILE", f"{file.relative} is generated ({marker})", "change its source and generate it again"
            )

    async def _guard_whole(self, file: DraftFile, *, is_lost: bool) -> None:
        """Check that a file to be removed or replaced is as the model has seen it. One that it has not seen may be
        moved or deleted, but its text must not be replaced. Raises ToolError STALE."""
        if file.moved_from is not None:
            await self._guard_whole(file.moved_from, is_lost=is_lost)
        if file.original is None or file.moved_from is not None:
            return  # it was created by the same call
        if self.workspace.edits.stale_check == "off" or file.first_binary:
            return
        if self.workspace.seen.recall(file.resolved.path, file.tag) is None and not (is_lost and file.original):
            return
        stale = self._guard_stale(file, None, "whole")
        if stale is not None:
            raise await anyio.to_thread.run_sync(_stale, file, stale, self.workspace)

    def _guard_stale(self, file: DraftFile, snapshot: str | None, placing: Placing) -> str | None:
        """Return the tag of the text that was meant, if the file has another one and that matters. Raises ToolError."""
        tag = file.tag
        shown = self.workspace.seen.recall(file.resolved.path, tag)
        policy = self.workspace.edits.stale_check
        if snapshot:  # some models fill arguments they do not need with an empty string
            given = snapshot.rpartition("#")[2].strip("[] ")
            return given if given != tag else None
        if shown is None:
            problem = "was not read in this conversation"
            if file.resolved.path in self.workspace.seen.earlier:
                problem = "has changed since it was read, before the conversation was reopened"
            raise ToolError("STALE", f"{file.relative} {problem}", "read the file first")
        if shown == tag or policy == "off":
            return None
        if policy == "strict" or placing != "content":
            return shown
        file.note(f"{file.relative} has changed since it was read; the edit was applied to its current text")
        return None


class EditTool(WriteTool):
    """A write tool that works on a draft, so that a batch can include it."""

    async def prepare(self, args: Any, workspace: Workspace) -> Sequence[FileChange]:
        draft = Draft(workspace)
        await self.edit(args, draft)
        return await draft.changes()

    @abstractmethod
    async def edit(self, args: Any, draft: Draft) -> None:
        """Change the draft. Raises ToolError; the draft is then discarded."""


def _update(file: DraftFile, old: str, new: str) -> FileChange | None:
    """Return a file's change, None if nothing changed. A file that was moved here brings its encoding and mode."""
    path, before = file.resolved.path, file.first_form
    mode = file.mode if file.mode != file.first_mode else None
    if old == new and file.text_encoding == before and mode is None:
        return None
    if file.binary or file.first_binary:
        change = FileChange(path, file.relative, "update", old, new, file.text_encoding, (), 0, 0, binary=True)
    else:
        change = make_change(path, file.relative, old, new, file.text_encoding)
    return replace(change, old_encoding=before if before != file.text_encoding else None, mode=mode)


def _create(file: DraftFile, new: str) -> FileChange:
    if file.binary:
        return FileChange(
            file.resolved.path, file.relative, "create", None, new, file.text_encoding, (), 0, 0, binary=True
        )
    return make_change(file.resolved.path, file.relative, None, new, file.text_encoding)


def _is_gone(source: DraftFile, renamed: set[Path]) -> bool:
    return source.text is None and source.original is not None and source.resolved.path not in renamed


def _notices(file: DraftFile, change: FileChange) -> list[str]:
    notices = list(file.notices)
    if file.links > 1 and change.action in ("update", "delete", "rename"):
        notices.append(
            f"{file.relative} has {file.links} hard links: the other names keep the old contents, the link is broken"
        )
    return notices


def _stale(file: DraftFile, given: str, workspace: Workspace) -> ToolError:
    details: dict[str, object] = {"snapshot": f"{file.relative}#{file.tag}"}
    ranges = workspace.seen.texts.changed_lines(given, file.original or "")
    where = ""
    if ranges is not None:
        details["changedLines"] = ranges
        where = "; changed: " + ", ".join(f"{start}-{end}" if end >= start else f"{start}" for start, end in ranges)
    return ToolError(
        "STALE",
        f"{file.relative} has changed: it is {file.tag} now, not {given}{where}",
        "re-read the file and use its line numbers and snapshot",
        details,
    )


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _same_file(one: DraftFile, other: DraftFile) -> bool:
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


def _disk_text(path: Path) -> str | None:
    try:
        return read_text(path).text
    except ToolError:
        return None
