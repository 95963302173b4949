"""LSP's life cycle, and North's LSP commands for clients that did not opt in to the chat on their connection."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.log.modes import find_mode
from north_lsp.agent.log.prompt import FileLink, Part, TextPart
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.asking import Questions
from north_lsp.agent.session.conversations import Conversations
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.factory import Defaults, SessionFactory
from north_lsp.agent.session.other_folders import OtherProject, UnlikeFolder, is_agreed
from north_lsp.agent.session.session import Session
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.display import visible
from north_lsp.lsp.documents import OpenDocuments
from north_lsp.lsp.editor import PlainEditor
from north_lsp.lsp.initialize import LspClient, local_folders
from north_lsp.providers.credentials import MissingCredential
from north_lsp.rpc.messages import (
    AUTH_REQUIRED,
    INVALID_REQUEST,
    RESOURCE_NOT_FOUND,
    Params,
    RpcError,
    invalid_params,
)
from north_lsp.rpc.peer import Call, Handler, Peer
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed, UnknownConversation
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.workspace.paths import Roots

_PARENT_SECONDS = 2.0
_PROGRESS_SECONDS = 2.0
_NOTIFICATIONS = (
    "exit",
    "window/workDoneProgress/cancel",
    "workspace/didChangeWorkspaceFolders",
)


class LspService:
    """A peer's service for the LSP methods that do not go to pygls. One conversation is current at a time."""

    def __init__(
        self,
        peer: Peer,
        environment: Environment,
        client: LspClient,
        documents: OpenDocuments,
        folder: Path | None,
        defaults: Defaults,
        log: DiagnosticsLog,
        on_shutdown: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Create the service. `on_shutdown` ends whatever else is served on the connection."""
        self._peer = peer
        self._on_shutdown = on_shutdown
        self._environment = environment
        self._client = client
        self._editor = PlainEditor(peer, documents, client)
        self._folders = list(client.folders) or ([folder] if folder is not None else [])
        self._mode = defaults.mode
        self._factory = SessionFactory(environment, defaults, log, lambda _: self._editor)
        self._session: Session | None = None
        self._asking = anyio.Lock()
        self._waiting: list[anyio.CancelScope] = []  # the scopes of `north.ask` calls that have not begun
        self._tokens = 0
        self._shut_down = False
        self._methods: dict[str, Handler] = {
            "initialize": self._initialize_again,
            "shutdown": self._shutdown,
            "workspace/executeCommand": self._execute,
            "textDocument/codeLens": self._lenses,
            "textDocument/codeAction": self._actions,
        }
        self._commands: dict[str, Callable[[dict[str, Any], Params, Call], Awaitable[object]]] = {
            "north.ask": self._ask,
            "north.cancel": self._cancel,
            "north.listConversations": self._list,
            "north.loadConversation": self._load,
            "north.newConversation": self._new,
            "north.setMode": self._set_mode,
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
        elif method == "window/workDoneProgress/cancel" and params.get("token") == self._editor.token:
            self._stop()
        elif method == "workspace/didChangeWorkspaceFolders":
            event = params.get("event")
            change = event if isinstance(event, dict) else {}
            gone = local_folders(change.get("removed"))
            self._folders = [folder for folder in self._folders if folder not in gone]
            self._folders += [path for path in local_folders(change.get("added")) if path not in self._folders]

    async def watch_parent(self) -> None:
        """Stop the peer when the client's process is gone, as LSP requires. Runs until cancelled."""
        pid = self._client.process_id
        while pid is not None:
            await anyio.sleep(_PARENT_SECONDS)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                self._peer.stop(1, "parent gone")
                return
            except PermissionError:
                continue

    async def close(self, reason: str) -> None:
        if self._session is not None:
            await self._session.close(reason)

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
        if command is None:
            raise invalid_params("command", f"must be one of {', '.join(self._commands)}, not {name!r}")
        arguments = params.get("arguments") or []
        first = arguments[0] if isinstance(arguments, list) and arguments else {}
        return await command(first if isinstance(first, dict) else {"value": first}, params, call)

    async def _ask(self, given: dict[str, Any], params: Params, call: Call) -> object:
        """Run a turn: `{prompt, uri?, range?}` or the bare prompt → `{conversationId, stopReason, text}`."""
        text = given.get("prompt", given.get("value"))
        if not isinstance(text, str) or not text.strip():
            raise invalid_params("arguments[0].prompt", "must be a string that is not empty")
        parts: tuple[Part, ...] = (TextPart(text), *_selection(given))
        self._roots()  # fail at once if no folder is open
        id, stopped, answer = None, "cancelled", ""
        waiting, running = anyio.CancelScope(), anyio.CancelScope()
        call.on_cancel = waiting.cancel
        self._waiting.append(waiting)
        try:
            with waiting:
                async with self._asking:
                    session = await self._current()
                    id = session.id
                    self._editor.take_answer()
                    async with self._progress(params, text):
                        call.on_cancel = lambda: _give_up(session, running)
                        self._waiting.remove(waiting)
                        stopped = await _run(session, parts, running)
                    if session.moved_to is not None:  # the next prompt begins a new conversation, in the open folder
                        await self.close("exit")
                        self._session = None
                    answer = self._editor.take_answer()
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
        id = id or (self._session.id if self._session is not None else None)
        return {"conversationId": id, "stopReason": stopped, "text": answer}

    def _stop(self) -> None:
        for scope in self._waiting:
            scope.cancel()
        if self._session is not None:
            self._session.cancel()

    async def _cancel(self, given: dict[str, Any], params: Params, call: Call) -> object:
        self._stop()
        return None

    async def _new(self, given: dict[str, Any], params: Params, call: Call) -> object:
        self._stop()
        async with self._asking:
            before = self._session
            session = self._start()
            if before is not None:
                session.take_over_shell(before)
                await before.close("exit")
            return {"conversationId": session.id}

    async def _set_mode(self, given: dict[str, Any], params: Params, call: Call) -> object:
        try:
            mode = find_mode(str(given.get("mode", given.get("value"))))
        except ValueError as error:
            raise RpcError(-32602, f"invalid params: {error}", {"field": "arguments[0].mode"}) from None
        self._mode = mode
        if self._session is not None:
            await self._session.set_mode(mode)
        return {"mode": mode}

    async def _list(self, given: dict[str, Any], params: Params, call: Call) -> object:
        found = await Conversations(self._environment.locations).of_project(self._roots().main)
        return [{"conversationId": row.id, "title": row.name, "updatedAt": row.updated_at} for row in found]

    async def _load(self, given: dict[str, Any], params: Params, call: Call) -> object:
        """Load a conversation and continue it: `{conversationId}` or the bare id → `{conversationId, text}`."""
        id = given.get("conversationId", given.get("value"))
        if not isinstance(id, str):
            raise invalid_params("arguments[0].conversationId", "must be a conversation's id")
        self._stop()
        async with self._asking:
            roots = self._roots()
            if self._session is None or self._session.id != id:
                try:
                    session = await self._open_agreed(id, roots)
                except UnknownConversation:
                    raise RpcError(RESOURCE_NOT_FOUND, f"there is no conversation {id!r}") from None
                except (OtherProject, UnlikeFolder) as other:
                    raise RpcError(INVALID_REQUEST, visible(str(other))) from None
                except OSError as error:
                    problem = f"the conversation {id} cannot be read: {error.strerror or error}"
                    raise RpcError(INVALID_REQUEST, problem) from None
                await self.close("exit")
                self._session = session
            self._editor.take_answer()
            await self._session.replay(self._editor.show)
            for warning in self._session.load_warnings:
                await self._editor.show(Notice("warning", warning))
            await self._session.recover()
            return {"conversationId": id, "text": self._editor.take_answer()}

    async def _open_agreed(self, id: str, roots: Roots) -> Session:
        """Open a conversation, after a question if its folder is gone and this one is not like it."""
        try:
            return await self._factory.open(id, roots)
        except UnlikeFolder as unlike:
            if not await is_agreed(unlike, Questions(self._editor)):
                raise
            return await self._factory.open(id, roots, agreed=True)

    # -- an edit that waits ------------------------------------------------------------------------------------------

    async def _lenses(self, params: Params, call: Call) -> object:
        return await self._editor.reviews.lenses(dict(params))

    async def _actions(self, params: Params, call: Call) -> object:
        return await self._editor.reviews.actions(dict(params))

    async def _review(self, given: dict[str, Any], params: Params, call: Call) -> object:
        return self._editor.reviews.pending(given).summary()

    async def _decide(self, given: dict[str, Any], params: Params, call: Call, *, accepts: bool) -> object:
        return await self._editor.reviews.command(given, accepts=accepts)

    # -- sessions ----------------------------------------------------------------------------------------------------

    def _roots(self) -> Roots:
        existing = [folder for folder in self._folders if os.path.isdir(folder)]
        if not existing:
            raise RpcError(INVALID_REQUEST, "no folder is open: open the project's folder in the editor first")
        return Roots.of(*existing)

    async def _current(self) -> Session:
        """Return the conversation to continue. If folders were opened or closed since, it is opened again with the
        current ones; another main folder is another project and starts a new conversation."""
        session, roots = self._session, self._roots()
        if session is None:
            return self._start()
        if session.roots == roots.roots:
            return session
        await session.close("exit")
        try:
            self._session = await self._factory.open(session.id, roots)
        except (UnknownConversation, OtherProject, UnlikeFolder):
            return self._start()
        return self._session

    def _start(self) -> Session:
        self._session = self._factory.new(self._roots(), self._mode)
        return self._session

    @asynccontextmanager
    async def _progress(self, params: Params, prompt: str) -> AsyncIterator[None]:
        """Report progress on the client's token, or on one of our own if the client shows progress."""
        token = params.get("workDoneToken")
        if token is None and self._client.progress:
            self._tokens += 1
            token = f"north-{self._tokens}"
            try:
                with anyio.fail_after(_PROGRESS_SECONDS):
                    await self._peer.request("window/workDoneProgress/create", {"token": token})
            except (RpcError, TimeoutError):
                token = None
        if token is None:
            yield
            return
        begin = {"kind": "begin", "title": "North", "message": prompt.strip().split("\n")[0][:80], "cancellable": True}
        await self._peer.notify("$/progress", {"token": token, "value": begin})
        self._editor.token = token
        try:
            yield
        finally:
            self._editor.token = None
            with anyio.CancelScope(shield=True):
                await self._peer.notify("$/progress", {"token": token, "value": {"kind": "end"}})


def _selection(given: dict[str, Any]) -> tuple[Part, ...]:
    """Return the file, or its selected lines, that the prompt is about."""
    uri, range = given.get("uri"), given.get("range") or {}
    if not isinstance(uri, str):
        return ()
    try:
        first, last = int(range["start"]["line"]) + 1, int(range["end"]["line"]) + 1
        if range["end"].get("character") == 0 and last > first:
            last -= 1  # a selection of whole lines ends at the start of the next one
    except (TypeError, KeyError, ValueError):
        return (FileLink(uri),)
    return (FileLink(uri, (first, max(first, last))),)


def _give_up(session: Session, running: anyio.CancelScope) -> None:
    running.cancel()
    session.questions.give_up()


async def _run(session: Session, parts: tuple[Part, ...], scope: anyio.CancelScope) -> str:
    try:
        return await session.prompt(parts, scope)
    except MissingCredential as error:
        raise RpcError(AUTH_REQUIRED, str(error)) from None
    except ModelFailed:
        return "end_turn"
    except ValueError as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None
