"""LSP's life cycle, and North's LSP commands for clients that did not opt in to the chat on their connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import anyio

from north_lsp import systems
from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.process.environment import Environment
from north_lsp.lsp import file_actions
from north_lsp.lsp.chat import Chat
from north_lsp.lsp.chat_features import ChatFeatures
from north_lsp.lsp.conversation import Asked, CurrentConversation
from north_lsp.lsp.initialize import LspClient, local_folders
from north_lsp.lsp.inline_completion import InlineCompletion
from north_lsp.rpc.messages import INVALID_REQUEST, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler, Peer
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed
from north_lsp.uris import local_path

_PARENT_SECONDS = 2.0
_ERROR = 1
_NOTIFICATIONS = (
    "exit",
    "window/workDoneProgress/cancel",
    "workspace/didChangeWorkspaceFolders",
)


class LspService:
    """A peer's service for the LSP methods that do not go to pygls."""

    def __init__(
        self,
        peer: Peer,
        environment: Environment,
        client: LspClient,
        conversation: CurrentConversation,
        chat: Chat,
        features: ChatFeatures,
        inline: InlineCompletion,
        on_shutdown: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Create the service. `on_shutdown` ends whatever else is served on the connection."""
        self._peer = peer
        self._on_shutdown = on_shutdown
        self._environment = environment
        self._client = client
        self._conversation = conversation
        self._chat = chat
        self._features = features
        self._shut_down = False
        self._methods: dict[str, Handler] = {
            "initialize": self._initialize_again,
            "shutdown": self._shutdown,
            "workspace/executeCommand": self._execute,
            "textDocument/codeLens": self._lenses,
            "textDocument/codeAction": self._actions,
            "textDocument/inlineCompletion": inline.answer,
        }
        self._commands: dict[str, Callable[[dict[str, Any], Params, Call], Awaitable[object]]] = {
            "north.ask": self._ask,
            "north.cancel": self._cancel,
            "north.listConversations": self._list,
            "north.loadConversation": self._load,
            "north.newConversation": self._new,
            "north.review": self._review,
            "north.review.accept": partial(self._decide, accepts=True),
            "north.review.reject": partial(self._decide, accepts=False),
        }

    def owns(self, method: str) -> bool:
        return method in self._methods or method in _NOTIFICATIONS

    async def request(self, method: str, params: Params, call: Call) -> object:
        if self._shut_down:
            raise RpcError(INVALID_REQUEST, f"{method} came after shutdown")
        try:
            return await self._methods[method](params, call)
        except (ConversationBusy, ConversationClosed) as busy:
            raise RpcError(INVALID_REQUEST, str(busy)) from None

    async def notification(self, method: str, params: Params) -> None:
        if method == "exit":
            self._peer.stop(0 if self._shut_down else 1, "exit")
        elif method == "window/workDoneProgress/cancel" and params.get("token") == self._conversation.token:
            self._conversation.stop()
        elif method == "workspace/didChangeWorkspaceFolders":
            event = params.get("event")
            change = event if isinstance(event, dict) else {}
            gone = local_folders(change.get("removed"))
            folders = self._conversation.folders
            folders[:] = [folder for folder in folders if folder not in gone]
            folders += [path for path in local_folders(change.get("added")) if path not in folders]

    async def watch_parent(self) -> None:
        """Stop the peer when the client's process is gone, as LSP requires. Runs until cancelled."""
        pid = self._client.process_id
        while pid is not None:
            await anyio.sleep(_PARENT_SECONDS)
            if not systems.is_alive(pid):
                self._peer.stop(1, "parent gone")
                return

    async def close(self, reason: str) -> None:
        await self._conversation.close(reason)

    async def _initialize_again(self, params: Params, call: Call) -> object:
        raise RpcError(INVALID_REQUEST, "initialize was answered already")

    async def _shutdown(self, params: Params, call: Call) -> object:
        self._shut_down = True
        await self.close("exit")
        if self._on_shutdown is not None:
            await self._on_shutdown("exit")
        return None

    # -- commands ----------------------------------------------------------------------------------------------------

    async def _execute(self, params: Params, call: Call) -> object:
        name = params.get("command")
        command = self._commands.get(name) if isinstance(name, str) else None
        chat = self._chat.commands.get(name) if isinstance(name, str) else None
        if command is None and chat is None:
            known = ", ".join(sorted([*self._commands, *self._chat.commands]))
            raise invalid_params("command", f"must be one of {known}, not {name!r}")
        arguments = params.get("arguments") or []
        first = arguments[0] if isinstance(arguments, list) and arguments else {}
        given = first if isinstance(first, dict) else {"value": first}
        try:
            if command is not None:
                return await command(given, params, call)
            assert chat is not None
            return await chat(given)
        except (ConversationBusy, ConversationClosed) as busy:
            raise await self._told(RpcError(INVALID_REQUEST, str(busy))) from None
        except RpcError as error:
            raise await self._told(error) from None

    async def _told(self, error: RpcError) -> RpcError:
        """Tell the user why a command failed, where the client drops what commands answer."""
        if not self._client.shows_results:
            await self._chat.tell(str(error), _ERROR)
        return error

    async def _ask(self, given: dict[str, Any], params: Params, call: Call) -> object:
        """Run a turn: `{prompt, uri?, range?}` or the bare prompt → `{conversationId, stopReason, text}`. Without a
        prompt, the chat document is shown; in a client that drops results, the answer comes there."""
        text = given.get("prompt", given.get("value"))
        if text is None:
            return await self._chat.commands["north.openChat"]({})
        if not isinstance(text, str) or not text.strip():
            raise invalid_params("arguments[0].prompt", "must be a string that is not empty")
        parts = (TextPart(text), *file_actions.file_part(given))
        if not self._client.shows_results:
            return await self._chat.start(parts, text)
        turned = await self._conversation.ask(Asked(parts, text, call, params.get("workDoneToken")))
        await self._chat.tell_unanswered(turned)
        return {"conversationId": turned.conversation_id, "stopReason": turned.stopped, "text": turned.text}

    async def _cancel(self, given: dict[str, Any], params: Params, call: Call) -> object:
        self._conversation.stop()
        return None

    async def _new(self, given: dict[str, Any], params: Params, call: Call) -> object:
        return {"conversationId": (await self._conversation.begin_anew()).id}

    async def _list(self, given: dict[str, Any], params: Params, call: Call) -> object:
        found = await Conversations(self._environment.locations).of_project(self._conversation.roots().main)
        return [{"conversationId": row.id, "title": row.name, "updatedAt": row.updated_at} for row in found]

    async def _load(self, given: dict[str, Any], params: Params, call: Call) -> object:
        """Load a conversation and continue it: `{conversationId}` or the bare id → `{conversationId, text}`. Without an
        id, the user is asked, and its document is shown."""
        id = given.get("conversationId", given.get("value"))
        if id is None:
            return await self._chat.commands["north.openConversation"]({})
        if not isinstance(id, str):
            raise invalid_params("arguments[0].conversationId", "must be a conversation's id")
        _, text = await self._conversation.load(id)
        return {"conversationId": id, "text": text}

    # -- in documents ------------------------------------------------------------------------------------------------

    async def _lenses(self, params: Params, call: Call) -> object:
        uri = file_actions.document_uri(params)
        text = self._features.text(uri)
        if text is not None:
            return self._features.lenses(str(uri), text)
        return await self._conversation.editor.reviews.lenses(dict(params))

    async def _actions(self, params: Params, call: Call) -> object:
        uri = file_actions.document_uri(params)
        text = self._features.text(uri)
        if text is not None:
            return file_actions.wanted(self._features.actions(str(uri), text), params)
        reviews = await self._conversation.editor.reviews.actions(dict(params))
        if not self._is_of_project(uri):
            return reviews
        return reviews + file_actions.actions(params, asks=self._chat.own_chat is None)

    def _is_of_project(self, uri: object) -> bool:
        path = local_path(uri)
        return path is not None and any(path.is_relative_to(folder) for folder in self._conversation.folders)

    async def _review(self, given: dict[str, Any], params: Params, call: Call) -> object:
        return self._conversation.editor.reviews.pending(given).summary()

    async def _decide(self, given: dict[str, Any], params: Params, call: Call, *, accepts: bool) -> object:
        return await self._conversation.editor.reviews.command(given, accepts=accepts)
