"""Drafts: the texts that edit tools read and change before anything is proposed, and the guards that they pass.

Several edits can be made on one draft: later ones see what earlier ones did, and the changes are the net effect.
"""

from __future__ import annotations

import stat
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.tools.base import WriteTool
from north_lsp.tools.edit.draft_ahead import Ahead
from north_lsp.tools.edit.draft_changes import net_changes
from north_lsp.tools.edit.draft_file import DraftFile, disk_text, is_same_file, read_file
from north_lsp.tools.edit.draft_folders import DraftFolder, ensure_empty, existing_folder
from north_lsp.tools.edit.draft_guards import (
    ensure_no_link,
    ensure_outside_files,
    generated_marker,
    guard_generated,
    guard_named,
)
from north_lsp.tools.edit.draft_staleness import Placing, guard_stale, guard_whole
from north_lsp.tools.support.texts import missing_file, resolve_open
from north_lsp.workspace.edit.new_file_style import new_file_text
from north_lsp.workspace.proposal import FileChange, TextEncoding
from north_lsp.workspace.text import (
    to_newlines,
)
from north_lsp.workspace.workspace import Workspace

_FIRST_LINE = "write the file with a different first line, then remove that line in a second edit"


class Draft:
    """The files and folders that one tool call edits, before anything is proposed."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._ahead = Ahead(workspace)
        self._files: dict[Path, DraftFile] = {}
        self._folders: dict[Path, DraftFolder] = {}

    async def read_ahead(self, raw_paths: Iterable[str]) -> None:
        """Read the files that are going to be edited together, which is far faster than one by one. What is wrong with
        one of them is raised when it is opened."""
        await self._ahead.read(raw_paths)

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
        guard_generated(file, self.workspace)
        if file.original is not None and file.moved_from is None:
            await guard_stale(file, snapshot, placing, self.workspace)
        return file, file.text

    async def create(self, raw_path: str, content: str, *, overwrite: bool, guards: bool = True) -> None:
        """Create a file, or replace the whole text of one. Raises ToolError: CONFLICT if there is a file and it is not
        to `overwrite` it, and GENERATED_FILE if it `guards` those."""
        file = await self._file(raw_path)
        if content.rstrip("\n").count("\n") or overwrite:
            content = file.without_pasted(content, _FIRST_LINE)
        if file.text is None:
            await guard_whole(file, self.workspace, is_lost=True)  # it was deleted earlier in the same call
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
            guard_generated(file, self.workspace)
        await guard_whole(file, self.workspace, is_lost=not content.startswith(file.text))
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
        marker = generated_marker(file, self.workspace)
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
        if target is file or await anyio.to_thread.run_sync(is_same_file, file, target):
            raise ToolError(
                "CONFLICT",
                f"{raw_path} and {to} are the same file ({file.relative})",
                "to change only upper and lower case, move it to another name first, then to this one in a second edit",
            )
        if target.text is not None:
            if not overwrite:
                raise ToolError("CONFLICT", f"{target.relative} exists", "set overwrite to replace it")
            guard_generated(target, self.workspace)
            await guard_whole(target, self.workspace, is_lost=True)
            target.note(f"{target.relative} is replaced by {file.relative}")
        target.text, target.text_encoding, target.binary = file.text, file.text_encoding, file.binary
        target.mode, target.moved_from = file.mode, file.moved_from or file
        target.notices += file.notices
        file.text, file.moved_from = None, None

    async def changes(self) -> Sequence[FileChange]:
        """Return the net effect, in the order in which the files were first named."""
        return await anyio.to_thread.run_sync(net_changes, self._files, self._folders)

    # -- inside --------------------------------------------------------------------------------------------------------

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
        there |= {path for path in await self.workspace.editor.unsaved_texts() if path not in gone}
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
        look = await self._ahead.look(raw_path, self._files)
        resolved, status = look.resolved, look.status
        known = self._files.get(resolved.path)
        if known is not None:
            return known
        folder = self._folders.get(resolved.path)
        if (status is not None and stat.S_ISDIR(status.st_mode)) or (folder is not None and folder.stands):
            hint = "name a file in it"
            raise ToolError("CONFLICT", f"{resolved.relative} is a folder", hint)
        file = await read_file(resolved, status, self.workspace, self._ahead.texts, binary=binary)
        self._files[resolved.path] = file
        return file

    async def _whole(self, raw_path: str, what: str) -> DraftFile:
        file = await self._file(raw_path, binary=True)
        if file.text is None:
            raise self._gone(file) or await missing_file(
                file.resolved, self.workspace, "find_files shows what there is"
            )
        await anyio.to_thread.run_sync(ensure_no_link, raw_path, file.relative, what, self.workspace)
        guard_generated(file, self.workspace)
        unsaved = await self.workspace.editor.read_unsaved(file.resolved.path)
        if unsaved is not None and file.original is not None and not file.binary:
            on_disk = await anyio.to_thread.run_sync(disk_text, file.resolved.path)
            if on_disk is None or on_disk != file.original:
                raise ToolError(
                    "CONFLICT",
                    f"{file.relative} has unsaved changes in the editor, so it is not {what}",
                    "ask the user",
                )
        await guard_whole(file, self.workspace, is_lost=False)
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


class EditTool(WriteTool):
    """A write tool that works on a draft, so that a batch can include it."""

    async def prepare(self, args: Any, workspace: Workspace) -> Sequence[FileChange]:
        draft = Draft(workspace)
        await self.edit(args, draft)
        return await draft.changes()

    @abstractmethod
    async def edit(self, args: Any, draft: Draft) -> None:
        """Change the draft. Raises ToolError; the draft is then discarded."""
