"""Inline completion: what a small model would write at the cursor, once the user has paused."""

import anyio

from north_lsp.agent.ports.editor import OpenTexts
from north_lsp.display import visible
from north_lsp.lsp.conversation import CurrentConversation
from north_lsp.rpc.messages import Params, invalid_params
from north_lsp.rpc.peer import Call
from north_lsp.uris import local_path
from north_lsp.workspace.edit.positions import offset_of
from north_lsp.workspace.language_features import Position

_PAUSE_SECONDS = 0.3
_INVOKED = 1


class InlineCompletion:
    """Answers `textDocument/inlineCompletion`; a newer request ends the one before."""

    def __init__(self, documents: OpenTexts, conversation: CurrentConversation, encoding: str) -> None:
        self._documents = documents
        self._conversation = conversation
        self._encoding = encoding
        self._running: anyio.CancelScope | None = None

    async def answer(self, params: Params, call: Call) -> object:
        """Return what to insert: → `{items}`. Raises RpcError."""
        document, position = params.get("textDocument"), params.get("position")
        path = local_path(document.get("uri")) if isinstance(document, dict) else None
        try:
            assert isinstance(position, dict)
            at = Position(int(position["line"]), int(position["character"]))
        except (AssertionError, KeyError, TypeError, ValueError):
            raise invalid_params("position", "must be a position") from None
        folders = self._conversation.folders
        if path is None or not any(path.is_relative_to(folder) for folder in folders):
            return None
        session = await self._conversation.current()
        if not session.code_completion.is_on:
            return None
        if self._running is not None:
            self._running.cancel()
        with anyio.CancelScope() as scope:
            self._running = scope
            context = params.get("context")
            if not isinstance(context, dict) or context.get("triggerKind") != _INVOKED:
                await anyio.sleep(_PAUSE_SECONDS)
            text = await self._documents.read_unsaved(path)
            if text is None:
                return None
            try:
                offset = offset_of(text, at, self._encoding)
            except ValueError:
                raise invalid_params("position", "must be a position") from None
            found = await session.code_completion.complete(path, text, offset)
            place = {"line": at.line, "character": at.character}
            items = [{"insertText": visible(found), "range": {"start": place, "end": place}}] if found else []
            return {"items": items}
        return None
