"""A connection in protocol version 2: what North sends in the form of version 1 goes out in that of version 2, with the
states that version 1 does not have."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import field
from itertools import count
from typing import Any

import anyio

from north_lsp.acp import v2
from north_lsp.acp.initialize import Client
from north_lsp.acp.v2_controls import CallControls
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Late, Peer


@dataclass(eq=False)
class Prompt:
    """A prompt that waits to be inserted into its conversation, or has been: then `message_id` is its id. What is sent
    about it meanwhile is `held`."""

    blocks: list[dict[str, Any]]
    settled: anyio.Event = field(default_factory=anyio.Event)
    message_id: str | None = None
    error: RpcError | None = None
    held: list[tuple[str, Any]] = field(default_factory=list)

    def fail(self, error: RpcError) -> None:
        """Refuse the prompt: it has not been inserted."""
        self.error = error
        self.settled.set()


class V2Peer(Peer):
    """A peer that speaks version 2 with this client; the other arguments are those of any peer."""

    def __init__(self, client: Client, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, accepts_batches=True, **more)
        self._client = client
        self._messages: dict[str, set[str]] = {}
        self._prompts: dict[str, Prompt] = {}
        self._running: set[str] = set()
        self._commands: dict[str, list[Any]] = {}
        self._controls: defaultdict[str, CallControls] = defaultdict(CallControls)
        self._numbers = count(1)

    @contextlib.contextmanager
    def prompting(self, session: str, prompt: Prompt) -> Iterator[None]:
        """Note which prompt the next turn of a session is about."""
        self._prompts[session] = prompt
        try:
            yield
        finally:
            del self._prompts[session]

    @contextlib.contextmanager
    def collecting(self, session: str) -> Iterator[list[Any]]:
        """Collect the commands of a session that is being opened instead of sending them."""
        commands = self._commands.setdefault(session, [])
        self.forget(session)  # what is replayed is created anew
        try:
            yield commands
        finally:
            self._commands.pop(session, None)

    def forget(self, session: str) -> None:
        """Forget which messages of a session have been created, and what of it can be stopped."""
        self._messages.pop(session, None)
        self._controls.pop(session, None)

    def can_stop(self, session: str, field: str, id: str) -> bool:
        """Tell whether the client was told that it can stop this call (`toolCallId`) or terminal (`terminalId`)."""
        return session in self._controls and self._controls[session].can_stop(field, id)

    async def inserted(self, session: str, message_id: str | None = None) -> None:
        """Say that the prompt of a session is a part of its conversation now, and send what was held. A prompt that
        North answers itself has no id of its own yet."""
        prompt = self._prompts[session]
        if prompt.settled.is_set():
            return
        prompt.message_id = message_id or f"own-{next(self._numbers)}"
        self._running.add(session)
        self._messages.setdefault(session, set()).add(prompt.message_id)
        message = {"sessionUpdate": "user_message", "messageId": prompt.message_id, "content": prompt.blocks}
        held, prompt.held = prompt.held, []
        prompt.settled.set()
        await self._send(session, message)
        await self._state(session, "running")
        for method, params in held:
            await self.notify(method, params)

    async def idle(self, session: str, stop_reason: str, error: RpcError | None = None) -> None:
        """Say that a session's work has ended, and why."""
        self._running.discard(session)
        more = {"error": error.to_wire()} if error is not None else {}
        await self._state(session, "idle", stopReason=stop_reason, **more)

    async def notify(self, method: str, params: Any) -> None:
        """Send a notification of version 1 as version 2 has it."""
        session = params.get("sessionId") if isinstance(params, dict) else None
        prompt = self._prompts.get(session or "")
        if method == "_north/event" and params["event"] == "turn_start" and prompt is not None:
            await self.inserted(params["sessionId"], params["turnId"])
        elif prompt is not None and not prompt.settled.is_set():
            prompt.held.append((method, params))
            return
        match method:
            case "session/update":
                await self._update(params["sessionId"], params["update"])
            case "_north/event":
                await self._event(params)
            case _:
                await super().notify(method, params)

    async def request(self, method: str, params: Any, *, cancellable: bool = False, late: Late | None = None) -> Any:
        """Send a request of version 1 as version 2 has it. Raises RpcError."""
        session = params.get("sessionId") if isinstance(params, dict) else None
        if session in self._prompts:
            await self.inserted(session)
        if method == "session/request_permission":
            self._controls[params["sessionId"]].asked(params["toolCall"])
            params = v2.permission(params, knows_north=self._client.knows_north)
        return await super().request(method, params, cancellable=cancellable, late=late)

    async def _update(self, session: str, update: dict[str, Any]) -> None:
        found = v2.project(update, knows_north=self._client.knows_north)
        if found is None:
            return
        if found["sessionUpdate"] == "available_commands_update" and session in self._commands:
            self._commands[session][:] = found["availableCommands"]
            return
        if found["sessionUpdate"].endswith("_chunk") and "compactionId" not in found:
            known = self._messages.setdefault(session, set())
            if found["messageId"] not in known and (whole := v2.whole_message(found)) is not None:
                known.add(found["messageId"])
                await self._send(session, whole)
        if found["sessionUpdate"] == "tool_call_update":
            for one in self._controls[session].updates(update, found):
                await self._send(session, one)
            return
        await self._send(session, found)

    async def _event(self, params: dict[str, Any]) -> None:
        session, name = params["sessionId"], params["event"]
        if name in ("review_shown", "review_resolved") and session in self._running:
            await self._state(session, "requires_action" if name == "review_shown" else "running")
        if name == "open_elsewhere" and params.get("by") is not None and not self._client.hears_events:
            title = f"This conversation is open in another editor ({visible(str(params['by'].get('client', '')))})"
            await self._send(session, {"sessionUpdate": "notice", "severity": "warning", "title": title})
        if self._client.hears_events:
            await super().notify("_north/event", params)

    async def _state(self, session: str, state: str, **more: Any) -> None:
        await self._send(session, {"sessionUpdate": "state_update", "state": state, **more})

    async def _send(self, session: str, update: dict[str, Any]) -> None:
        await super().notify("session/update", {"sessionId": session, "update": update})
