"""Puts text into a document of North's: into the editor's text where it is open there, else into the file.

Nothing of what is there is ever replaced, so that whatever the user types meanwhile stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.lsp.bridge import PyglsBridge
from north_lsp.lsp.chat_text import Insertion
from north_lsp.lsp.documents import text_edits
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.texts import OpenText
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.uris import local_path
from north_lsp.workspace.edit.positions import position_of
from north_lsp.workspace.text import to_newlines

_APPLY_SECONDS = 10.0
_LOST_SECONDS = 2.0  # after which an edit is sent again to an editor that loses messages; versions keep it from two
_SYNC_SECONDS = 2.0
_TOLD_SECONDS = 60.0  # some editors tell what has changed in a pause of the user's typing
_OPEN_SECONDS = 3.0
_TRIES = 5
_CONFIRM_SECONDS = 600.0
_RENEWING = {
    "label": "North: write the conversation again",
    "needsConfirmation": True,
    "description": "replaces what you have changed in it, but not what is unsent",
}
_MAX_BYTES = 50_000_000

Place = Callable[[str], Insertion | None]
"""Says what to insert into a text; None if there is no place for it."""


class Refused(Exception):
    """The editor did not take the text; what it has is as it was."""


class ChatEdits:
    """Reads and extends the documents of one connection."""

    def __init__(self, peer: Peer, bridge: PyglsBridge, client: LspClient) -> None:
        self._peer = peer
        self._bridge = bridge
        self._client = client
        self._edits = client.applies_edits

    @property
    def edits(self) -> bool:
        """Whether the editor takes edits. Otherwise the file is written, and the user reloads it."""
        return self._edits

    def opened(self, path: Path) -> OpenText | None:
        """Return the editor's text of a document."""
        for text in self._bridge.texts.all():
            named = local_path(text.uri)
            if named is not None and (named == path or os.path.realpath(named) == str(path)):
                return text
        return None

    async def wait_until_open(self, path: Path) -> bool:
        """Wait, for a limited time, until the editor has said that it opened a document that it was asked to show. What
        is written before might be missing in its text. Returns whether it has."""
        with anyio.move_on_after(_OPEN_SECONDS):
            while True:
                changed = self._bridge.changed()
                if self.opened(path) is not None:
                    return True
                await changed.wait()
        return False

    async def text(self, path: Path) -> str | None:
        """Return the present text: the editor's, else the file's; None if there is no file."""
        opened = self.opened(path)
        if opened is not None:
            return opened.text
        return await anyio.to_thread.run_sync(read_document, path)

    async def insert(self, path: Path, place: Place, *, typed: bool = False) -> bool:
        """Insert what `place` says of the present text; False if it finds none. `typed`: it is about what the user has
        just written in the editor. Raises Refused, OSError."""
        for _ in range(_TRIES):
            opened = self.opened(path)
            if opened is None or not self._edits:
                return await self._insert_into_file(path, opened if typed else None, place)
            insertion = place(opened.text)
            if insertion is None:
                return False
            if await self._insert_into_editor(opened, insertion):
                return True
            if self._edits and self._is_final(path, opened):
                break
        raise Refused

    async def replace(self, path: Path, former: str, text: str) -> bool:
        """Give a document another text, unless it is not the `former` one any more; tells whether it did. Raises
        Refused, OSError."""
        opened = self.opened(path)
        if opened is not None and opened.text != former:
            return False
        if opened is None or not self._edits:
            await anyio.to_thread.run_sync(write_document, path, text)
            return True
        edits = text_edits(opened.text, text, self._client.encoding)
        if await self._apply(opened, edits, confirms=self._client.annotates):
            return True
        if self._client.annotates or self._is_final(path, opened):
            raise Refused
        return False

    def _is_final(self, path: Path, opened: OpenText) -> bool:
        """Tell whether an edit that was not made would fail again: nothing was typed in between, and the editor loses
        no messages."""
        return self.opened(path) == opened and not self._client.loses_messages

    async def _insert_into_editor(self, opened: OpenText, insertion: Insertion) -> bool:
        """Have the editor insert a text. Returns whether it did; it may have refused since the user was typing."""
        at = position_of(opened.text, insertion.offset, self._client.encoding)
        where = {"line": at.line, "character": at.character}
        changed = self._bridge.changed()
        applied = await self._apply(opened, [{"range": {"start": where, "end": where}, "newText": insertion.text}])
        async with anyio.create_task_group() as tasks:
            if applied and self._client.tells_late:
                tasks.start_soon(self._ask_for_a_key)
            is_inserted = await self._is_told(opened, insertion, changed, applied=applied)
            tasks.cancel_scope.cancel()
        return is_inserted

    async def _ask_for_a_key(self) -> None:
        await anyio.sleep(_SYNC_SECONDS)
        told = "Press a key, so that the editor tells North of what has come into the chat."
        await self._peer.notify("window/showMessage", {"type": 3, "message": told})

    async def _is_told(self, opened: OpenText, insertion: Insertion, changed: anyio.Event, *, applied: bool) -> bool:
        """Wait until the editor has told of an insertion, for a limited time. Returns whether it was made; `applied` is
        what the editor has said of it, and `changed` comes from before."""
        before = _count(insertion.text, opened.text)
        with anyio.move_on_after(_TOLD_SECONDS if applied else _SYNC_SECONDS) as limit:
            while True:
                now = next((one for one in self._bridge.texts.all() if one.uri == opened.uri), None)
                if now is None:  # it was closed
                    return applied
                if _count(insertion.text, now.text) > before:
                    return True
                if now != opened:
                    if not applied:
                        return False
                    limit.deadline = min(limit.deadline, anyio.current_time() + _SYNC_SECONDS)
                elif not applied and not self._edits:
                    return False
                await changed.wait()
                changed = self._bridge.changed()
        # Some editors confirm what they left out; one that has told of no change at all has not.
        return applied and opened in self._bridge.texts.all()

    async def _apply(self, opened: OpenText, edits: list[dict[str, Any]], *, confirms: bool = False) -> bool:
        """Have the editor make edits of a text, after a preview if it `confirms`. Returns whether it says that it did.
        Raises Refused."""
        edit: dict[str, Any] = {"changes": {opened.uri: edits}}
        if self._client.versioned_edits and opened.version is not None:
            # Neovim does not compare versions below 1.
            version = max(opened.version, 1) if self._client.one_text_an_edit else opened.version
            if confirms:
                edits = [one | {"annotationId": "renew"} for one in edits]
            edit = {"documentChanges": [{"textDocument": {"uri": opened.uri, "version": version}, "edits": edits}]}
            if confirms:
                edit["changeAnnotations"] = {"renew": _RENEWING}
        is_lost = self._client.loses_messages and "documentChanges" in edit and not confirms
        try:
            with anyio.fail_after(_LOST_SECONDS if is_lost else _CONFIRM_SECONDS if confirms else _APPLY_SECONDS):
                answer = await self._peer.request("workspace/applyEdit", {"label": "North", "edit": edit})
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                self._edits = False
                return False
            raise Refused from None
        except TimeoutError:
            if is_lost:
                return False
            raise Refused from None
        return isinstance(answer, dict) and answer.get("applied") is True

    async def _insert_into_file(self, path: Path, opened: OpenText | None, place: Place) -> bool:
        """Insert a text into the file, with what the user has written in the editor (`opened`) and not saved."""
        text = opened.text if opened is not None else await anyio.to_thread.run_sync(read_document, path)
        insertion = place(text or "")
        if insertion is None:
            return False
        new = (text or "")[: insertion.offset] + insertion.text + (text or "")[insertion.offset :]
        await anyio.to_thread.run_sync(write_document, path, new)
        return True


def read_document(path: Path) -> str | None:
    """Read a document; None if there is none that can be read. For a thread."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return file.read(_MAX_BYTES)
    except OSError:
        return None


def write_document(path: Path, text: str) -> None:
    """Write a document at once, readable by this user only. For a thread. Raises OSError."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC
    try:
        with open(systems.open_file(temporary, flags, 0o600), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        systems.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _count(part: str, text: str) -> int:
    """Count a part in a text, whatever line ends the editor keeps."""
    return to_newlines(text, "\n").count(to_newlines(part, "\n"))
