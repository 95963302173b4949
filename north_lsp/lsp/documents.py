"""Reads the texts that an LSP client has open, and changes them as one undoable step through `workspace/applyEdit`."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.edits.unsaved import saved_changes
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import altered_by_editor
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.lsp.bridge import PyglsBridge
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.texts import OpenText
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.uris import local_path
from north_lsp.workspace.edit.diff import with_texts
from north_lsp.workspace.edit.editor_result import has_nothing_of, in_ends_of, is_same, why_altered
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.edit.positions import units_of
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.text import split_lines, to_newlines

_APPLY_SECONDS = 10.0
_SYNC_SECONDS = 2.0
_LATE_SECONDS = 60.0
_SAVE_SECONDS = 10.0
_MAX_LOGGED = 500


class OpenDocuments:
    """The `OpenTexts` half of the Editor port, for any LSP client."""

    def __init__(
        self, peer: Peer, bridge: PyglsBridge, client: LspClient, diagnostics: Diagnostics, *, saves: Callable[[], bool]
    ) -> None:
        """Create the documents of one connection. `saves` tells whether files that were saved before an edit are to be
        saved after it."""
        self._peer = peer
        self._bridge = bridge
        self._client = client
        self._diagnostics = diagnostics
        self._saves = saves
        self._older: dict[str, OpenText] = {}
        """Texts that are older than the disk's: North has written there since, and the editor has told of nothing."""

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return {path: opened.text for path, opened in self._open().items()}

    def _open(self) -> dict[Path, OpenText]:
        """Return the open texts by real path, but those that are older than the disk's. Does not await, so that a text
        and its version belong together."""
        found = {}
        for text in self._bridge.texts.all():
            path = local_path(text.uri)
            if path is not None and self._older.get(text.uri) is not text:
                found[Path(os.path.realpath(path))] = text
        return found

    async def read_unsaved(self, path: Path) -> str | None:
        opened = self._open().get(path)
        return None if opened is None else opened.text

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        opened = self._open()
        return [
            change
            for change in changes
            if change.path in opened
            and change.action in ("create", "update")
            and not (change.binary or change.encoding_changed)  # an editor's edit changes neither encoding nor mode
        ]

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        opened = self._open()
        for change in changes:
            text = opened.get(change.path)
            if text is not None and change.action == "update" and is_same(text.text, change.old_text or ""):
                self._older[text.uri] = text

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        saves = self._client.saves_files and self._saves()
        texts = {path: one.text for path, one in self._open().items()} if saves else {}
        saved = await anyio.to_thread.run_sync(saved_changes, changes, texts) if saves else []
        seen: dict[Path, str] = {}
        try:
            made = await self._apply(changes, seen)
            if saved and await self._save(saved):
                made = [self._judged(change, seen) for change in changes]
        except ToolError:
            with anyio.CancelScope(shield=True), contextlib.suppress(ToolError):
                await self._put_back(changes, seen)
            raise
        return made

    async def _put_back(self, changes: Sequence[FileChange], seen: Mapping[Path, str]) -> None:
        """Undo what the client did of edits that failed: it may have done part of what it then refused, or something
        else. What was typed after the text was `seen` stays."""
        opened = self._open()
        back = []
        for change in changes:
            text = opened[change.path].text if change.path in opened else None
            if text is None or is_same(text, change.old_text or ""):
                continue
            old = _without(change, text, seen.get(change.path))
            if old is not None and old != text:
                back.append(replace(change, old_text=text, new_text=old))
        if back:
            await self._apply(back, {})

    def edits_of(self, changes: Sequence[FileChange]) -> list[dict[str, Any]]:
        """Return changes of open texts as LSP's edits, one of each. Raises ToolError for a text that has changed, or
        whose version the client does not compare."""
        opened = self._open()
        edits: list[dict[str, Any]] = []
        for change in changes:
            current = opened.get(change.path)
            if current is None or not is_same(current.text, change.old_text or ""):
                raise ToolError("STALE", f"{change.relative} has changed; nothing was written", "re-read the file")
            if current.version is None or not self._client.versioned_edits:
                raise _unguarded(change)
            new = _in_ends_of(current.text, change.new_text)
            # Neovim does not compare versions below 1; the version of a text that the user has typed in is higher.
            version = max(current.version, 1) if self._client.one_text_an_edit else current.version
            document = {"uri": current.uri, "version": version}
            edits.append({"textDocument": document, "edits": text_edits(current.text, new, self._client.encoding)})
        return edits

    async def _apply(self, changes: Sequence[FileChange], seen: dict[Path, str]) -> Sequence[FileChange]:
        edits = self.edits_of(changes)
        more = f" and {len(changes) - 1} more" if len(changes) > 1 else ""
        label = f"North: {visible(changes[0].path.name)}{more}"  # editors show it in one line
        for one in [[edit] for edit in edits] if self._client.one_text_an_edit else [edits]:
            await self._request({"label": label, "edit": {"documentChanges": one}})
        for change in changes:
            await self.wait_for(change)
        return [self._judged(change, seen) for change in changes]

    async def _request(self, params: dict[str, Any]) -> None:
        """Ask the client to apply an edit. Raises ToolError unless the client confirms it."""
        try:
            with anyio.fail_after(_APPLY_SECONDS):
                answer = await self._peer.request("workspace/applyEdit", params)
        except RpcError as error:
            raise ToolError(
                "IO_ERROR", f"the editor did not confirm the edit: {error}", "read the file again"
            ) from None
        except TimeoutError:
            raise ToolError(
                "IO_ERROR", f"the editor did not confirm the edit within {_APPLY_SECONDS:g} s", "read the file again"
            ) from None
        if not (isinstance(answer, dict) and answer.get("applied") is True):
            reason = answer.get("failureReason") if isinstance(answer, dict) else None
            raise ToolError("STALE", f"the editor refused the edit: {reason or 'no reason given'}", "re-read the file")

    async def wait_for(self, change: FileChange) -> None:
        """Wait until the editor has reported the edited text, for a limited time; whatever it reported last counts."""
        if not await self._reported(change, _SYNC_SECONDS) and self._client.tells_late:
            current = await self.read_unsaved(change.path)
            if current is not None and is_same(current, change.old_text or ""):
                told = f"Press a key, so that the editor tells North of its change of {change.relative}."
                await self._peer.notify("window/showMessage", {"type": 3, "message": visible(told)})
                await self._reported(change, _LATE_SECONDS)

    async def _reported(self, change: FileChange, seconds: float) -> bool:
        """Wait until the editor has reported the edited text. Returns whether it did so in time."""
        with anyio.move_on_after(seconds):
            while True:
                changed = self._bridge.changed()
                current = await self.read_unsaved(change.path)
                if current is not None and is_same(current, change.new_text):
                    return True
                await changed.wait()
        return False

    def _judged(self, change: FileChange, seen: dict[Path, str]) -> FileChange:
        """Return the change as the editor made it. Raises ToolError if that is no longer what was accepted."""
        opened = self._open().get(change.path)
        if opened is None:
            raise ToolError(
                "IO_ERROR", f"the editor closed {change.relative} during the edit", "read the file before you continue"
            )
        if is_same(opened.text, change.new_text):
            return change
        if has_nothing_of(change.old_text or "", change.new_text, opened.text):
            # Some clients confirm an edit that they skipped because the text was newer: that text is the user's.
            raise ToolError(
                "STALE",
                f"{change.relative} was changed in the editor while the edit was being applied; nothing was written",
                "re-read the file",
            )
        seen[change.path] = opened.text
        why = why_altered(change.old_text or "", change.new_text, opened.text)
        if why is not None:
            self._diagnostics.warning("editor_spoilt", path=str(change.path), message=why)
            raise altered_by_editor(change, why)
        return with_texts(change, change.old_text, in_ends_of(change.new_text, opened.text))

    async def _save(self, changes: Sequence[FileChange]) -> bool:
        """Have the editor save the files that were saved before the edit. Returns whether it answered; the user is told
        about files that it cannot save before a command runs."""
        opened = self._open()
        texts = [opened[change.path] for change in changes if change.path in opened]
        files = [{"uri": text.uri, "version": text.version} for text in texts]
        try:
            with anyio.fail_after(_SAVE_SECONDS):
                answer = await self._peer.request("_north/saveFiles", {"files": files}, cancellable=True)
        except RpcError as error:
            self._diagnostics.warning("not_saved", message=str(error))
            return False
        except TimeoutError:
            self._diagnostics.warning("not_saved", message=f"no answer within {_SAVE_SECONDS:g} s")
            return False
        failed = answer.get("failed") if isinstance(answer, dict) else None
        if failed:
            self._diagnostics.warning("not_saved", message=str(failed)[:_MAX_LOGGED])
        return True


def _unguarded(change: FileChange) -> ToolError:
    """Build the error for an edit of a text whose version the client does not compare. If the disk has the same text as
    the editor, the disk is written instead: then the editor tells the user about what they typed meanwhile, which this
    edit would overwrite."""
    return ToolError(
        "UNAVAILABLE",
        f"{change.relative} has unsaved changes, and this editor's language client does not compare versions "
        "(`workspace.workspaceEdit.documentChanges`), so what is typed at this moment could be lost; "
        "nothing was written",
        "ask the user to save the file, then make the edit again",
    )


def _without(change: FileChange, text: str, seen: str | None) -> str | None:
    """Return the editor's text without the change, but with what was typed since; None if the two cannot be told
    apart."""
    old = change.old_text or ""
    if is_same(text, change.new_text) or text == seen:
        return old
    if has_nothing_of(old, change.new_text, text):
        return None
    accepted, now, before = (to_newlines(one, "\n") for one in (change.new_text, text, old))
    merged = merge(accepted, now, before)
    if merged.conflicts:
        return None
    return to_newlines(merged.text, "\r\n") if "\r\n" in text else merged.text


def _in_ends_of(current: str, new: str) -> str:
    return new if "\r\n" in current or "\r\n" not in new else to_newlines(new, "\n")


def text_edits(old: str, new: str, encoding: str) -> list[dict[str, Any]]:
    """Return line-wise edits from `old` to `new` that do not overlap, as LSP text edits in a position encoding."""
    if "\r" in old.replace("\r\n", ""):  # a lone carriage return ends a line for LSP: replace everything instead
        lines = old.replace("\r\n", "\n").replace("\r", "\n").count("\n")
        return [{"range": {"start": _position(0), "end": _position(lines + 1)}, "newText": new}]
    before, after = split_lines(old), split_lines(new)
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    middle = difflib.SequenceMatcher(
        None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False
    )
    return [
        {
            "range": {
                "start": _line_start(before, head + i1, encoding),
                "end": _line_start(before, head + i2, encoding),
            },
            "newText": "".join(after[head + j1 : head + j2]),
        }
        for tag, i1, i2, j1, j2 in middle.get_opcodes()
        if tag != "equal"
    ]


def _position(line: int, character: int = 0) -> dict[str, int]:
    return {"line": line, "character": character}


def _line_start(lines: Sequence[str], index: int, encoding: str) -> dict[str, int]:
    """Return where line `index` begins; after a last line without a line end, that is the end of that line."""
    if index < len(lines) or not lines or lines[-1].endswith("\n"):
        return _position(index)
    return _position(len(lines) - 1, units_of(lines[-1], encoding))
