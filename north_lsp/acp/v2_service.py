"""The methods of protocol version 2: they do what those of version 1 do, and a prompt is answered when it is a part of
its conversation."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import anyio

from north_lsp.acp import params as read
from north_lsp.acp import v2
from north_lsp.acp.agent import AcpAgent
from north_lsp.acp.plain import without_extension
from north_lsp.acp.v2_peer import Prompt, V2Peer
from north_lsp.background import Background
from north_lsp.rpc.messages import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    Params,
    RpcError,
    invalid_params,
)
from north_lsp.rpc.peer import Call, Handler, Service

_SERVERS = ("stdio", "http", "acp")
_ALIKE = (
    "auth/status",
    "providers/disable",
    "providers/list",
    "providers/set",
    "session/set_title",
    "session/status",
    "session/unarchive",
)
"""The methods whose params and results are those of version 1. All of them are marked as unstable there, too."""


class V2Service:
    """Answers version 2's methods with those of `agent`, which knows version 1."""

    def __init__(self, agent: AcpAgent, peer: V2Peer, background: Background) -> None:
        self._agent = agent
        self._peer = peer
        self._background = background
        self._turns: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)
        self._waiting: defaultdict[str, list[Prompt]] = defaultdict(list)
        self._methods: dict[str, Handler] = {
            "auth/login": self._renamed("authenticate"),
            "auth/logout": self._renamed("logout"),
            **{method: self._renamed(method) for method in _ALIKE},
            "initialize": self._renamed("initialize"),
            "session/archive": self._ending("session/archive"),
            "session/close": self._ending("session/close"),
            "session/delete": self._ending("session/delete"),
            "session/fork": self._fork,
            "session/list": self._list,
            "session/new": self._new,
            "session/prompt": self._prompt,
            "session/resume": self._resume,
            "session/set_config_option": self._set_option,
            "terminal/cancel": self._stopping("terminalId"),
            "tool_call/cancel": self._stopping("toolCallId"),
        }

    def owns(self, method: str) -> bool:
        return method in self._methods or method == "session/cancel" or self._agent.owns(method)

    async def request(self, method: str, params: Params, call: Call) -> object:
        handler = self._methods.get(method)
        if handler is not None:
            return await handler(params, call)
        if not method.startswith("_"):
            raise RpcError(METHOD_NOT_FOUND, f"unknown method {method}")
        return await self._agent.request(method, params, call)

    async def notification(self, method: str, params: Params) -> None:
        if method == "session/cancel":
            for prompt in self._waiting.pop(str(params.get("sessionId")), []):
                prompt.fail(RpcError(REQUEST_CANCELLED, "the prompt was cancelled before its turn"))
        await self._agent.notification(method, params)

    def _renamed(self, method: str) -> Handler:
        async def handler(params: Params, call: Call) -> object:
            result = await self._agent.request(method, params, call)
            return without_extension(result) if isinstance(result, dict) else result

        return handler

    def _ending(self, method: str) -> Handler:
        end = self._renamed(method)

        async def handler(params: Params, call: Call) -> object:
            result = await end(params, call)
            self._peer.forget(read.text(params, "sessionId"))
            return result

        return handler

    def _stopping(self, field: str) -> Handler:
        """Answer the cancelling of a call or of a command's terminal, for which it is the same. What becomes of it is
        told by updates."""

        async def handler(params: Params, call: Call) -> object:
            session, id = read.text(params, "sessionId"), read.text(params, field)
            wanted = {"sessionId": session, "toolCallId": id}
            known = self._peer.can_stop(session, field, id)
            stopped: Any = await self._agent.request("_north/calls/stop", wanted, call) if known else {}
            if not stopped.get("stopped"):
                raise invalid_params(field, "must name something that runs and can be cancelled")
            return {}

        return handler

    async def _list(self, params: Params, call: Call) -> object:
        found: Any = await self._agent.request("session/list", params, call)
        return {**found, "sessions": [v2.session_row(row) for row in found["sessions"]]}

    async def _new(self, params: Params, call: Call) -> object:
        _refuse_unknown_servers(params)
        made: Any = await self._agent.request("session/new", params, call)
        return {"sessionId": made["sessionId"], "configOptions": v2.config_options(made["configOptions"])}

    async def _fork(self, params: Params, call: Call) -> object:
        _refuse_unknown_servers(params)
        made: Any = await self._agent.request("session/fork", params, call)
        return {"sessionId": made["sessionId"], "configOptions": v2.config_options(made["configOptions"])}

    async def _resume(self, params: Params, call: Call) -> object:
        """Open a session, with a replay from its start if that is wanted. Everything about it comes before the
        answer."""
        _refuse_unknown_servers(params)
        start = params.get("replayFrom")
        if start is not None and (not isinstance(start, dict) or start.get("type") != "start"):
            raise invalid_params("replayFrom", "must be of the type start")
        method, id = "session/resume" if start is None else "session/load", read.text(params, "sessionId")
        opening = Call(call.id)
        with self._peer.collecting(id) as commands:
            opened: Any = await self._agent.request(method, params, opening)
            if opening.after is not None:
                await opening.after()
        options = v2.config_options(opened["configOptions"])
        return {"configOptions": options, "availableCommands": list(commands)}

    async def _set_option(self, params: Params, call: Call) -> object:
        if params.get("type") not in ("id", "boolean"):
            raise invalid_params("type", "must be id or boolean")
        changed: Any = await self._agent.request("session/set_config_option", params, call)
        return {"configOptions": v2.config_options(changed["configOptions"])}

    async def _prompt(self, params: Params, call: Call) -> object:
        """Insert a prompt, after the running turn, and answer with the id of its message. The turn continues behind the
        answer."""
        id = read.text(params, "sessionId")
        read.prompt_parts(params)  # what is wrong with it is said now, and not when its turn comes
        if call.cancelled:  # before anybody has looked at it
            raise RpcError(REQUEST_CANCELLED, "session/prompt was cancelled")
        prompt, turn = Prompt(list(params["prompt"])), Call(call.id)
        self._waiting[id].append(prompt)

        def give_up() -> None:
            if not prompt.settled.is_set():
                if prompt in self._waiting[id]:
                    self._waiting[id].remove(prompt)
                prompt.fail(RpcError(REQUEST_CANCELLED, "session/prompt was cancelled"))
            turn.cancel()

        call.on_cancel = give_up
        self._background.start_soon(self._run, id, params, prompt, turn)
        await prompt.settled.wait()
        if prompt.error is not None:
            raise prompt.error
        return {"messageId": prompt.message_id}

    async def _run(self, id: str, params: Params, prompt: Prompt, turn: Call) -> None:
        """Run the turn of a prompt when those before it have ended."""
        lock = self._turns[id]
        async with lock:
            if not prompt.settled.is_set():  # else it was given up meanwhile
                if prompt in self._waiting[id]:
                    self._waiting[id].remove(prompt)
                await self._insert_and_run(id, params, prompt, turn)
        if not lock.locked() and not self._waiting[id]:
            self._turns.pop(id, None)
            self._waiting.pop(id, None)

    async def _insert_and_run(self, id: str, params: Params, prompt: Prompt, turn: Call) -> None:
        if await self._agent.openings.wait("session/prompt", id):
            prompt.fail(RpcError(REQUEST_CANCELLED, "the prompt was cancelled before its turn"))
        if prompt.settled.is_set():  # it was withdrawn meanwhile
            return
        error: RpcError | None = None
        stop_reason = "error"
        with self._peer.prompting(id, prompt):
            try:
                ended: Any = await self._agent.request("session/prompt", params, turn)
                stop_reason = ended["stopReason"]
                await self._peer.inserted(id)  # a command that North has answered itself
            except RpcError as failed:
                error = failed
            except Exception:
                prompt.fail(RpcError(INTERNAL_ERROR, "session/prompt failed inside North; see the log"))
                raise
            if error is not None and not prompt.settled.is_set():
                prompt.fail(error)
        if prompt.error is None:
            await self._peer.idle(id, stop_reason, error)
        for method, held in prompt.held:
            await self._peer.notify(method, held)
        if turn.after is not None:
            await turn.after()


def _refuse_unknown_servers(params: Params) -> None:
    """Refuse servers that are reached in a way that was not announced. What else is wrong with one is told in the
    session."""
    rows = params.get("mcpServers")
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and row.get("type") not in _SERVERS:
            raise invalid_params("mcpServers", f"must be of the types {', '.join(_SERVERS)}")


def service_for(agent: AcpAgent, peer: object, background: Background) -> Service:
    """Return who answers on a connection: for version 2 the agent behind its methods, else the agent itself."""
    return V2Service(agent, peer, background) if isinstance(peer, V2Peer) else agent
