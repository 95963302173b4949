"""The client's texts through ACP's `fs/*`. Clients differ in how they answer for missing files and in how they write
texts, so nothing is taken for granted: the result of every write is read back. Nothing that a client does loses a text:
what is not known is not written over, and a write that fails is undone."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.acp.initialize import Client
from north_lsp.agent.edits.disk_check import (
    disk_size,
    disk_text,
    ensure_on_disk,
    ensure_own_file,
    ensure_unchanged,
    remove_created,
    restore,
)
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import altered_by_editor
from north_lsp.errors import ToolError, UnsavedUnknown
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.edit.diff import with_texts
from north_lsp.workspace.edit.editor_result import in_ends_of, is_same, why_altered
from north_lsp.workspace.proposal import FileChange, TextEncoding

FILE_SECONDS = 10.0
_SILENT_SECONDS = 2.0
_AGAIN_SECONDS = 60.0


class ClientFiles:
    """One session's texts, as far as the client announced `fs/*`. A read or a write waits up to `seconds` for the
    client; after a read without an answer those of the next minute wait less, unless the client answers again."""

    def __init__(
        self, peer: Peer, session_id: str, client: Client, diagnostics: Diagnostics, seconds: float = FILE_SECONDS
    ) -> None:
        self._peer = peer
        self._session_id = session_id
        self._reads = client.reads_files
        self._writes = client.writes_files
        self._diagnostics = diagnostics
        self._known: set[Path] = set()
        self._seconds = seconds
        self._silent_until = 0.0
        self._drops_last_newline = False

    async def unsaved_texts(self) -> Mapping[Path, str]:
        """Return the client's texts of the files that this session has touched, since ACP does not tell which files are
        open. Files whose text the client does not tell are left out."""
        found: dict[Path, str] = {}

        async def read(path: Path) -> None:
            try:
                text = await self.read_unsaved(path)
            except UnsavedUnknown:
                return
            if text is not None:
                found[path] = text

        async with anyio.create_task_group() as tasks:
            for path in list(self._known):
                tasks.start_soon(read, path)
        return found

    async def read_unsaved(self, path: Path) -> str | None:
        """Return the client's text; None if it has no such file or does not offer its texts. Raises UnsavedUnknown."""
        content = await self._asked(path)
        if content is None:
            return None
        if not content and (size := await anyio.to_thread.run_sync(disk_size, path)) != 0:
            if size is None:  # for some clients, a file that does not exist is empty
                return None
            raise self._unknown(path, f"it answered with an empty text, but the file on disk has {size} bytes")
        self._known.add(path)
        return content

    async def _asked(self, path: Path, *, as_said: bool = False) -> str | None:
        """Ask the client for a file's text, to which `_whole` adds what some clients leave out unless it is wanted
        `as_said`; None for a file that it does not have. Raises UnsavedUnknown."""
        if not self._reads:
            return None
        answer: object = None
        why = "its answer has no text"
        is_silent = anyio.current_time() < self._silent_until
        seconds = min(_SILENT_SECONDS, self._seconds) if is_silent else self._seconds
        with anyio.move_on_after(seconds) as waiting:
            try:
                params = {"sessionId": self._session_id, "path": str(path)}
                answer = await self._peer.request("fs/read_text_file", params, cancellable=True)
            except RpcError as error:
                if error.code == METHOD_NOT_FOUND:
                    self._reads = False
                    self._diagnostics.warning("client_reads_nothing", message=str(error))
                    return None
                if error.code == RESOURCE_NOT_FOUND:
                    return None
                why = f"it answered: {error}"
        if waiting.cancelled_caught:
            self._silent_until = anyio.current_time() + _AGAIN_SECONDS
            raise self._unknown(path, f"it did not answer within {seconds:g} s")
        self._silent_until = 0.0
        content = answer.get("content") if isinstance(answer, dict) else None
        if isinstance(content, str):
            return content if as_said else await self._whole(path, content)
        if await anyio.to_thread.run_sync(disk_size, path) is None:  # many clients answer a missing file with an error
            return None
        raise self._unknown(path, why)

    async def _whole(self, path: Path, content: str) -> str:
        """Return a text with the newline at its end that some clients leave out: they do so if that is all in which it
        differs from the disk's."""
        if not content or content.endswith(("\n", "\r")):
            return content
        disk = await anyio.to_thread.run_sync(disk_text, path)
        if disk is None or not disk.text.endswith("\n"):
            return content
        self._drops_last_newline = self._drops_last_newline or is_same(f"{content}\n", disk.text)
        return f"{content}\n" if self._drops_last_newline else content

    def _unknown(self, path: Path, why: str) -> UnsavedUnknown:
        self._diagnostics.warning("client_file_unknown", path=str(path), message=why)
        return UnsavedUnknown(path, why)

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Return the changes that update or create plain texts: `fs/write_text_file` knows no other encodings or modes,
        and the disk keeps both."""
        if not self._writes:
            return ()
        return [change for change in changes if _is_plain(change)]

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        """Do nothing: the client is asked for its text each time."""

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Write one file after the other; if one fails, those before it get their old texts back. A deletion takes a
        file away that the client has created just before."""
        made: list[FileChange] = []
        tried: dict[Path, tuple[FileChange, str | None]] = {}  # with what was read back afterwards
        try:
            for change in changes:
                if change.action == "delete":
                    await anyio.to_thread.run_sync(remove_created, change.path, change.relative, change.old_text)
                    made.append(change)
                    continue
                await self._ensure_unchanged(change)
                tried[change.path] = (change, None)
                await self._write(change, change.new_text)
                now = await self._current(change)
                tried[change.path] = (change, now)
                judged = self._judged(change, now)
                if change.action == "create":
                    await anyio.to_thread.run_sync(ensure_on_disk, judged)
                made.append(judged)
        except ToolError as error:
            with anyio.CancelScope(shield=True):
                left = [name for one in reversed(tried.values()) if (name := await self._put_back(*one)) is not None]
            if left:
                self._diagnostics.warning("client_write_left", files=left)
                told = f"{error.message}; {' and '.join(left)} could not be put back and is as the editor left it"
                raise ToolError("IO_ERROR", told, "read it again, and tell the user", error.details) from error
            raise
        return made

    async def _ensure_unchanged(self, change: FileChange) -> None:
        """Check before each single write that the file is what the edit was made for, on disk and in the client: the
        user types while the files before it are written. Raises ToolError STALE, and UnsavedUnknown."""
        await anyio.to_thread.run_sync(ensure_unchanged, change)
        # Some clients tell the user of each file that they are asked for and do not have.
        shown = None if change.action == "create" else await self._asked(change.path)
        if shown is None or is_same(shown.removeprefix("\ufeff"), (change.old_text or "").removeprefix("\ufeff")):
            return
        raise ToolError(
            "STALE", f"{change.relative} was changed in the editor meanwhile; nothing was written", "read it again"
        )

    async def _write(self, change: FileChange, text: str) -> None:
        params = {"sessionId": self._session_id, "path": str(change.path), "content": text}
        try:
            with anyio.fail_after(self._seconds):
                await self._peer.request("fs/write_text_file", params, cancellable=True)
        except RpcError as error:
            raise ToolError(
                "UNAVAILABLE", f"the editor did not write {change.relative}: {error}", "read it again"
            ) from None
        except TimeoutError:
            raise ToolError(
                "IO_ERROR",
                f"the editor did not confirm {change.relative} within {self._seconds:g} s, and may still write it",
                "read it before you continue, and tell the user",
            ) from None

    def _judged(self, change: FileChange, now: str | None) -> FileChange:
        """Return the change as the client made it. Raises ToolError if that is no longer what was accepted."""
        if now is None:
            raise ToolError(
                "IO_ERROR", f"it is unknown what the editor wrote to {change.relative}", "read it before you continue"
            )
        if now == change.new_text:
            return change
        why = why_altered(change.old_text or "", change.new_text, now)
        if why is not None:
            self._diagnostics.warning("client_write_spoilt", path=str(change.path), message=why)
            raise altered_by_editor(change, why)
        return with_texts(change, change.old_text, now)

    async def _put_back(self, change: FileChange, seen: str | None) -> str | None:
        """Give a file its old text again, unless it has changed since it was `seen`; a new one is removed. Returns the
        file's name if that fails."""
        if change.action == "create":
            try:
                await anyio.to_thread.run_sync(
                    remove_created, change.path, change.relative, change.new_text if seen is None else seen
                )
            except ToolError:
                return change.relative
            return None
        old, now = change.old_text or "", await self._current(change)
        if now is not None and is_same(now, old):
            return None
        if now is None or (now != seen and not is_same(now, change.new_text)):
            return change.relative
        with contextlib.suppress(ToolError):
            await anyio.to_thread.run_sync(ensure_own_file, change.path)
            await self._write(change, old)
            now = await self._current(change)
        if now is None or not is_same(now, old):
            with contextlib.suppress(ToolError):
                await anyio.to_thread.run_sync(restore, change)
            now = await self._current(change)
        return None if now is not None and is_same(now, old) else change.relative

    async def _current(self, change: FileChange) -> str | None:
        """Return the file's current text: the client's, with the line ends of the disk or the change, since line ends
        are the client's own business. None if the text is unknown."""
        disk = await anyio.to_thread.run_sync(disk_text, change.path)
        try:
            shown = await self._asked(change.path, as_said=not change.new_text.endswith("\n"))
        except UnsavedUnknown:
            is_old = disk is None or (change.old_text is not None and is_same(disk.text, change.old_text))
            return None if disk is None or is_old else disk.text
        if shown is None:
            return disk.text if disk is not None else None
        if disk is not None and is_same(disk.text, shown.removeprefix("\ufeff")):
            return disk.text
        return in_ends_of(change.new_text, shown)


def _is_plain(change: FileChange) -> bool:
    """Return whether a change is all in its text."""
    if change.binary or change.text_encoding != TextEncoding() or change.make_executable:
        return False
    return (change.action == "update" and not change.encoding_changed) or (
        change.action == "create" and change.mode is None
    )
