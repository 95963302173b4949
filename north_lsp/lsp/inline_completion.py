"""Inline completion: what a small model would write at the cursor, or change near it, once the user has paused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from north_lsp.agent.session.completion.code_completion import CodeCompletion
from north_lsp.agent.session.completion.next_edit import NextEdit
from north_lsp.agent.session.session import Session
from north_lsp.display import visible
from north_lsp.lsp.conversation import CurrentConversation
from north_lsp.lsp.file_actions import document_uri
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.own_chat import OwnChat
from north_lsp.lsp.recent_edits import RecentEdits
from north_lsp.lsp.texts import OpenDocumentTexts
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call
from north_lsp.uris import local_path
from north_lsp.workspace.edit.positions import offset_of, position_of
from north_lsp.workspace.language_features import Position

_PAUSE_SECONDS = 0.3
_INVOKED = 1


class InlineCompletion:
    """Answers `textDocument/inlineCompletion`; a newer request ends the one before. `own_chat` is that of a client that
    has one itself, whose conversation then counts."""

    def __init__(
        self, texts: OpenDocumentTexts, conversation: CurrentConversation, own_chat: OwnChat | None, client: LspClient
    ) -> None:
        self._texts = texts
        self._conversation = conversation
        self._own_chat = own_chat
        self._client = client
        self._recent = RecentEdits()
        self._running: anyio.CancelScope | None = None

    async def answer(self, params: Params, call: Call) -> object:
        """Return what to insert, or to put in place of something: → `{items}`. Raises RpcError."""
        uri, at = document_uri(params), _position(params)
        path = local_path(uri)
        if path is None or not any(path.is_relative_to(folder) for folder in self._conversation.folders):
            return None
        session = await self._session()
        if session is None or not (session.code_completion.is_on or session.code_completion.predicts):
            return None
        if self._running is not None:
            self._running.cancel()
        with anyio.CancelScope() as scope:
            self._running = scope
            context = params.get("context")
            if not isinstance(context, dict) or context.get("triggerKind") != _INVOKED:
                await anyio.sleep(_PAUSE_SECONDS)
            opened = self._texts.find(str(uri))
            if opened is None:
                return None
            if session.code_completion.predicts:
                self._recent.keep({local_path(one.uri) for one in self._texts.all()})
                self._recent.note(path, opened.text, opened.opened)
            return {"items": await self._items(session.code_completion, path, opened.text, at)}
        return None

    async def _session(self) -> Session | None:
        """Return the conversation whose settings and limits count."""
        return await self._conversation.current() if self._own_chat is None else self._own_chat.last()

    async def _items(self, completion: CodeCompletion, path: Path, text: str, at: Position) -> Sequence[dict[str, Any]]:
        try:
            offset = offset_of(text, at, self._client.encoding)
        except ValueError:
            raise invalid_params("position", "must be a position") from None
        if completion.predicts:
            edit = await completion.next_edit(path, text, offset, self._recent.all())
            item = self._item(text, edit, at) if edit is not None else None
            if item is not None:
                return [item]
        found = await completion.complete(path, text, offset)
        return [_inserted(found, at, at)] if found else []

    def _item(self, text: str, edit: NextEdit, at: Position) -> dict[str, Any] | None:
        """Return an edit for the client; None if it can only show one in the line of the cursor."""
        start, end = (position_of(text, offset, self._client.encoding) for offset in (edit.start, edit.end))
        is_here = start.line == end.line == at.line
        return _inserted(edit.text, start, end) if is_here or self._client.takes_next_edits else None


def _position(params: Params) -> Position:
    """Return the position that a request is about. Raises RpcError."""
    try:
        return Position(int(params["position"]["line"]), int(params["position"]["character"]))
    except (KeyError, TypeError, ValueError):
        raise invalid_params("position", "must be a position") from None


def _inserted(text: str, start: Position, end: Position) -> dict[str, Any]:
    places = ({"line": place.line, "character": place.character} for place in (start, end))
    return {"insertText": visible(text), "range": dict(zip(("start", "end"), places, strict=True))}
