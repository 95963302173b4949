"""Serves ACP's methods over any carrier: sessions are created, found and driven here. `v1.py` builds the updates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.acp import params as read
from north_lsp.acp import v1
from north_lsp.acp.editor import AcpEditor
from north_lsp.acp.editor_servers import EditorServers
from north_lsp.acp.held_notices import HeldNotices, holds_notices
from north_lsp.acp.language import ClientLanguage
from north_lsp.acp.moving import ensure_agreed, tell_of_moved_folder
from north_lsp.acp.opening import OPENING, Openings
from north_lsp.acp.options import option_methods
from north_lsp.acp.plain import without_extension
from north_lsp.acp.prompting import prompt_methods
from north_lsp.acp.refusals import unknown_session
from north_lsp.acp.servers import take_servers
from north_lsp.acp.settings_watch import watch_settings
from north_lsp.agent.log.header import EditorName
from north_lsp.agent.ports.events import CommandsChanged, Event, Notice, QueuedPromptText
from north_lsp.agent.session.factory import Defaults, SessionFactory
from north_lsp.agent.session.opening.other_folders import OtherProject, UnlikeFolder
from north_lsp.agent.session.process.switching import Reason, Switch, SwitchKept
from north_lsp.display import one_line, visible
from north_lsp.providers.catalog.model_selection import Allowed
from north_lsp.rpc.messages import (
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Params,
    RpcError,
    invalid_params,
)
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed, UnknownConversation
from north_lsp.workspace.paths import Roots

OWN = frozenset({"authenticate", "initialize", "logout", "mcp/message"})
OWN_BEGINNINGS = ("_", "auth/", "providers/", "session/")
"""The methods that are ACP's on any connection, and how the others of them begin."""

if TYPE_CHECKING:
    from north_lsp.acp.initialize import Client
    from north_lsp.agent.ports.editor import OpenTexts
    from north_lsp.agent.session.library.conversations import Conversations
    from north_lsp.agent.session.opening.moved_folders import MovedFolders
    from north_lsp.agent.session.process.environment import Environment
    from north_lsp.agent.session.session import Session
    from north_lsp.rpc.peer import Call, Handler, Peer
    from north_lsp.storage.diagnostics_log import DiagnosticsLog

_UNSENT_LENGTH = 2000


class AcpAgent:
    """A peer's service for `session/*`. `texts_for` returns this carrier's editor texts for a session id."""

    def __init__(
        self,
        peer: Peer,
        environment: Environment,
        client: Client,
        texts_for: Callable[[str], OpenTexts],
        defaults: Defaults,
        log: DiagnosticsLog,
    ) -> None:
        self._peer = peer
        self._environment = environment
        settings = environment.settings
        shows, clears = settings.models.show_thinking, settings.planning.todo_clear_s
        wants = environment.notifies
        self._client = replace(client, shows_thoughts=shows, wants_attention=wants, clears_todo_s=clears)
        self._texts_for = texts_for
        named = EditorName(client.name, client.version) if client.name else None
        defaults = replace(defaults, client=named, resumes_turns=client.resumes_turns)
        self._factory = SessionFactory(environment, defaults, log, self._editor, self._language)
        self._editor_servers = EditorServers(peer)
        self._sessions: dict[str, Session] = {}
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
        self._held: defaultdict[str, HeldNotices] | None = defaultdict(HeldNotices) if holds_notices(client) else None
        self._opening = anyio.Lock()
        self.openings = Openings()
        self._ended = False
        self.is_left = False
        """The client has said that it goes, and comes back to what runs."""
        self._methods: dict[str, Handler] = {
            "initialize": self._initialize_again,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/close": self._close,
            "session/delete": self._delete,
            "_north/costs/get": self._costs,
            **prompt_methods(self._session, self._reopen, self._prompting),
            **option_methods(self._session, self._options),
            "mcp/message": self._editor_servers.answer,
        }
        self._has_all = False
        environment.models.catalog_refresh.listen(self._announce_models)
        environment.background.start_soon(watch_settings, lambda: self.sessions)

    def owns(self, method: str) -> bool:
        return method in OWN or method.startswith(OWN_BEGINNINGS)

    @cached_property
    def _conversations(self) -> Conversations:
        from north_lsp.agent.session.library.conversations import Conversations

        return Conversations(self._environment.locations)

    @cached_property
    def _moved_folders(self) -> MovedFolders:
        from north_lsp.agent.session.opening.moved_folders import MovedFolders

        return MovedFolders(self._environment.locations)

    def _handler(self, method: str) -> Handler | None:
        """Return what answers a request. The methods that no conversation needs in order to begin are loaded with the
        first of them."""
        if method not in self._methods and not self._has_all:
            from north_lsp.acp.methods import Served, more_methods

            served = Served(
                self._session, self._sessions, self._conversations, self._end_one, self._allowed, self._client
            )
            self._methods |= more_methods(served, self._environment, self._peer, self._methods["session/prompt"])
            self._has_all = True
        return self._methods.get(method)

    async def request(self, method: str, params: Params, call: Call) -> object:
        handler = self._handler(method)
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method {method}")
        id = params.get("sessionId")
        if await self.openings.wait(method, id):
            return self._told({"stopReason": "cancelled", "_meta": {"north": {"unsent": True}}})
        if call.cancelled:
            raise RpcError(REQUEST_CANCELLED, f"{method} was cancelled")
        if self._ended:
            raise RpcError(INVALID_REQUEST, f"{method} came after shutdown")
        opens = method in OPENING and isinstance(id, str)
        try:
            with self.openings.under_way(str(id)) if opens else nullcontext():
                return self._told(await handler(params, call))
        except (ConversationBusy, ConversationClosed) as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None

    def _told(self, result: object) -> object:
        return result if self._client.gets_extension or not isinstance(result, dict) else without_extension(result)

    async def notification(self, method: str, params: Params) -> None:
        if method == "session/cancel":
            id = str(params.get("sessionId"))
            self.openings.cancel(id)
            session = self._sessions.get(id)
            if session is not None:
                session.cancel()
        elif method == "mcp/message":
            self._editor_servers.take(params)
        elif method == "_north/leaving":
            self.is_left = self._client.comes_back

    @property
    def sessions(self) -> Sequence[Session]:
        return tuple(self._sessions.values())

    async def shut_down(self, reason: str) -> None:
        """End all sessions because the client asks for it, unless it comes back to them."""
        if not self.is_left:
            await self.close(reason)

    async def close(self, reason: str) -> None:
        """End all sessions: their prompts answer `cancelled`, and no new request is accepted."""
        self._ended = True
        async with anyio.create_task_group() as tasks:
            for session in self._sessions.values():
                tasks.start_soon(session.close, reason)
        self._sessions.clear()

    # -- connection --------------------------------------------------------------------------------------------------

    async def _initialize_again(self, params: Params, call: Call) -> object:
        raise RpcError(INVALID_REQUEST, "initialize was answered already")

    # -- sessions ----------------------------------------------------------------------------------------------------

    async def _new(self, params: Params, call: Call) -> object:
        read.refuse_system_prompt(params)
        await self._environment.models.catalog_refresh.refresh()
        roots = Roots.of(*read.folders(params))
        switch = await self._leave("new", None)
        session = self._factory.new(roots)
        await session.keep()
        self._sessions[session.id] = session
        before = self._sessions.get(read.north_text(params, "shellOf") or "")
        if before is not None:
            session.take_over_shell(before)
        self._announce_after(session, params, call, await self._arrive(switch, session))
        return {"sessionId": session.id, **self._state(session)}

    async def _load(self, params: Params, call: Call) -> object:
        shown: list[str] = []
        switch = await self._leave(None, read.text(params, "sessionId"))
        session = await self._open(params, shown)
        problems = await self._arrive(switch, session)
        async with session.replaying:  # each load gets the whole replay
            await session.replay(self._editor(session.id).show, shown)
        return self._opened(session, params, call, problems)

    async def _resume(self, params: Params, call: Call) -> object:
        switch = await self._leave(None, read.text(params, "sessionId"))
        session = await self._open(params)
        return self._opened(session, params, call, await self._arrive(switch, session), lambda: _stands(session))

    async def _fork(self, params: Params, call: Call) -> object:
        from north_lsp.acp.navigation import forked

        id = read.text(params, "sessionId")
        switch = await self._leave("fork", id)
        try:
            session = await forked(params, self._sessions.get(id), self._conversations, self._open)
        except UnknownConversation:
            raise unknown_session(id) from None
        self._announce_after(session, params, call, await self._arrive(switch, session))
        return {"sessionId": session.id, **self._state(session)}

    async def _leave(self, reason: Reason | None, id: str | None) -> Switch:
        """Ask the user's extensions whether the client may go to a conversation (None: a new one). Raises RpcError."""
        try:
            return await self._factory.switches.before(reason, id)
        except SwitchKept as kept:
            raise RpcError(INVALID_REQUEST, visible(str(kept))) from None

    async def _arrive(self, switch: Switch, session: Session) -> Sequence[str]:
        """Tell the user's extensions that the client is there; returns what went wrong in them."""
        self._factory.switches.is_in(session.id)
        return await self._factory.switches.after(switch, session.id)

    def _opened(
        self,
        session: Session,
        params: Params,
        call: Call,
        problems: Sequence[str],
        more: Callable[[], Sequence[Event]] = tuple,
    ) -> object:
        """Return the answer for an opened session and announce it. Prompts that were queued when an earlier process
        ended are offered again, in the answer and as notices."""
        from north_lsp.acp.control import opened_fields

        unsent = session.unsent.pop()
        self._announce_after(session, params, call, problems, unsent, more)
        return {**self._state(session), **opened_fields(session, unsent)}

    async def _open(self, params: Params, shown: list[str] | None = None) -> Session:
        """Open a session; if its folder is gone and this one is not like it, the user is asked first, unless the client
        has done so. With `shown`, the beginning of a long one is shown before the rest is read; the entries of that are
        added to `shown`."""
        try:
            return await self._open_in(params, shown, agreed=read.north_flag(params, "continuesHere"))
        except UnlikeFolder as unlike:
            await ensure_agreed(unlike, self._editor(read.text(params, "sessionId")))
            return await self._open_in(params, shown, agreed=True)

    async def _open_in(self, params: Params, shown: list[str] | None, *, agreed: bool = False) -> Session:
        """Open a session. Raises UnlikeFolder unless the user has `agreed`."""
        read.refuse_system_prompt(params)
        id = read.text(params, "sessionId")
        roots = Roots.of(*read.folders(params))
        async with self._opening:  # two loads of one conversation are one session
            session = self._sessions.get(id)
            if session is not None and session.roots != roots.roots:
                raise RpcError(INVALID_REQUEST, f"the session {id} is open with other folders: close it first")
            if session is not None and not session.is_closed:
                return session
            if shown is not None:
                from north_lsp.agent.session.replay.early_replay import show_beginning

                shown += await show_beginning(self._environment, id, roots.main, self._editor(id).show)
            try:
                session = await self._factory.open(id, roots, agreed=agreed)
            except UnknownConversation:
                raise unknown_session(id) from None
            except OtherProject as other:
                raise invalid_params(
                    "cwd",
                    f"is not the project of this conversation: {other.root} is; `session/fork` copies it into this one",
                ) from None
            except OSError as error:
                problem = f"the session {id} cannot be read: {error.strerror or error}"
                raise RpcError(INVALID_REQUEST, problem) from None
            self._sessions[id] = session
            return session

    def _editor(self, session_id: str) -> AcpEditor:
        documents = self._texts_for(session_id)
        options = partial(self._options, session_id)
        numbers, held = self._numbers[session_id], self._held[session_id] if self._held is not None else None
        return AcpEditor(self._peer, session_id, self._client, documents, options, numbers, held)

    def _prompting(self, session_id: str) -> AbstractAsyncContextManager[None]:
        """Tell that a session has a prompt."""
        if self._held is None:
            return nullcontext()
        return self._held[session_id].prompting(partial(self._peer.notify, "session/update"))

    def _language(self, session_id: str) -> ClientLanguage | None:
        return ClientLanguage(self._peer, session_id) if self._client.has_language_features else None

    def _options(self, session_id: str) -> list[dict[str, Any]]:
        session = self._sessions.get(session_id)
        return v1.config_options(session, switches=self._client.switches_options) if session is not None else []

    def _state(self, session: Session) -> dict[str, Any]:
        return {"modes": v1.mode_state(session.mode), "configOptions": self._options(session.id)}

    def _allowed(self, params: Params) -> Allowed:
        """Return which models the session named in the params may use; all models if none is named."""
        session = self._sessions.get(str(params.get("sessionId")))
        return session.choice.allowed if session is not None else Allowed()

    async def _announce_models(self) -> None:
        """Tell the client of every session that the available models or keys have changed."""
        for id in list(self._sessions):
            if id not in self._sessions:  # closed while another one was notified
                continue
            update = {"sessionUpdate": "config_option_update", "configOptions": self._options(id)}
            await self._peer.notify("session/update", {"sessionId": id, "update": update})

    def _announce_after(
        self,
        session: Session,
        params: Params,
        call: Call,
        problems: Sequence[str] = (),
        unsent: Sequence[QueuedPromptText] = (),
        more: Callable[[], Sequence[Event]] = tuple,
    ) -> None:
        session.window = read.north_text(params, "windowId") or session.window
        of_servers = take_servers(session, params, self._editor_servers)

        async def announce() -> None:
            for event in more():  # first, and as it is now: the next prompt can change it
                await self._editor(session.id).show(event)
            await self._editor(session.id).show(CommandsChanged(await session.refresh_commands()))
            session.servers.begin()
            notices = [
                *of_servers,
                *session.load_warnings,
                *session.choice.take_notices(),
                *map(_not_sent, unsent),
                *problems,
            ]
            for text in notices:
                await self._editor(session.id).show(Notice("warning", text))
            session.unsent.confirm(unsent)
            session.share()
            await session.recover()
            await tell_of_moved_folder(self._moved_folders, session, self._client, self._editor(session.id))

        call.after = announce
        self._environment.models.catalog_refresh.discover_soon()

    async def _costs(self, params: Params, call: Call) -> object:
        """Return what each model has used and cost over all conversations."""
        return await self._environment.costs.totals()

    async def _close(self, params: Params, call: Call) -> object:
        await self._end_one(self._session(params).id)
        return {}

    async def _end_one(self, id: str) -> None:
        async with self._opening:
            await self._end(id)

    async def _end(self, id: str) -> None:
        """Close a session and forget it. `_opening` must be held, so that a load of the same session comes after it."""
        if (session := self._sessions.get(id)) is not None:
            await session.close("exit")
            self._sessions.pop(id, None)

    async def _reopen(self, session: Session, params: Params, call: Call) -> None:
        """Open a session where its conversation was moved."""
        id = session.id
        async with self._opening:
            await self._end(id)
            try:
                self._sessions[id] = opened = await self._factory.reopen(session)
            except (OSError, ValueError, UnknownConversation) as error:
                why = f"the session {id} was closed to be moved, and cannot be opened: {error}. Load it again"
                raise RpcError(INVALID_REQUEST, visible(why)) from None
        self._announce_after(opened, params, call)

    async def _delete(self, params: Params, call: Call) -> object:
        id = read.text(params, "sessionId")
        async with self._opening:
            await self._end(id)
            try:
                await self._conversations.delete(id)
            except OSError as error:
                problem = f"the session {id} cannot be deleted: {error.strerror or error}"
                raise RpcError(INVALID_REQUEST, problem) from None
            self._numbers.pop(id, None)
            if self._held is not None:
                self._held.pop(id, None)
        return {}

    def _session(self, params: Params) -> Session:
        id = read.text(params, "sessionId")
        session = self._sessions.get(id)
        if session is None:
            raise unknown_session(id)
        if session.is_closed:
            raise RpcError(INVALID_REQUEST, f"the session {id} is being closed: load it again to continue it")
        return session


def _stands(session: Session) -> Sequence[Event]:
    """Return what a client is shown of a session whose conversation it has already."""
    return [one for one in (session.usage(), session.goal_and_work.anew()) if one is not None]


def _not_sent(queued_prompt: QueuedPromptText) -> str:
    return f"this prompt was queued when North ended and was not sent: {one_line(queued_prompt.text, _UNSENT_LENGTH)}"
