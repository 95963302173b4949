"""`_north/state/*`, `_north/queue/*` and the other methods that control a turn and that ACP does not have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from north_lsp.acp import params as read
from north_lsp.acp.context import with_editor
from north_lsp.agent.log.prompt import Part, TextPart
from north_lsp.agent.ports.events import QueuedPromptText
from north_lsp.agent.session.session import Session
from north_lsp.agent.turn.queue import QueuedPrompt
from north_lsp.display import visible
from north_lsp.rpc.messages import INVALID_REQUEST, RESOURCE_NOT_FOUND, Params, RpcError, invalid_params
from north_lsp.rpc.peer import Call, Handler
from north_lsp.storage.turn_settings import DequeueMode, InterruptMode, QueueKind

_T = TypeVar("_T")


_KINDS: dict[str, QueueKind] = {"steer": "steer", "followUp": "followUp"}
_DEQUEUE: dict[str, DequeueMode] = {"one-at-a-time": "one-at-a-time", "all": "all"}
_INTERRUPT: dict[str, InterruptMode] = {"immediate": "immediate", "wait": "wait"}
_SETTABLE = ("autoRetryEnabled", "steeringMode", "followUpMode", "interruptMode")


def prompt_kind(params: Params) -> QueueKind | None:
    """Return how to queue a prompt while a turn runs, by its `_meta.north.behavior`: `steer`, `followUp`, or None for
    the default."""
    meta = params.get("_meta")
    north = meta.get("north") if isinstance(meta, dict) else None
    wanted = north.get("behavior") if isinstance(north, dict) else None
    if wanted is None:
        return None
    if not isinstance(wanted, str) or wanted not in _KINDS:
        raise invalid_params("_meta.north.behavior", "must be steer or followUp")
    return _KINDS[wanted]


def unsent_fields(queued_prompts: Sequence[QueuedPromptText]) -> dict[str, Any]:
    """Return the fields of a prompt's answer that list the unsent prompts; empty if there are none."""
    return {"_meta": {"north": {"queued": _rows(queued_prompts)}}} if queued_prompts else {}


def opened_fields(session: Session, queued_prompts: Sequence[QueuedPromptText]) -> dict[str, Any]:
    """Return the fields of a load's answer that say what an earlier process left: prompts that were not sent, and a
    turn that can continue, or was cut off; and which other process has the conversation."""
    left, holder = session.unfinished, session.sharing.holder
    north: dict[str, Any] = {"queued": _rows(queued_prompts)} if queued_prompts else {}
    north |= {"unfinished": {"reason": left.reason}} if left is not None else {}
    if left is None and holder is None and not session.is_busy and session.left_turn.ended_early:
        north["endedEarly"] = True
    if holder is not None:
        client, is_leaving = visible(holder.client or ""), holder.is_leaving
        north["openElsewhere"] = {"pid": holder.pid or 0, "client": client, "leaving": is_leaving}
    return {"_meta": {"north": north}} if north else {}


def confirm_after(call: Call, session: Session, queued_prompts: Sequence[QueuedPromptText]) -> None:
    """Confirm the unsent prompts after the answer that lists them was sent; until then they stay stored."""

    async def confirm() -> None:
        session.unsent.confirm(queued_prompts)

    if queued_prompts:
        call.after = confirm


def control_methods(session_of: Callable[[Params], Session], prompt: Handler) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params, and `prompt` answers a
    prompt."""

    async def get(params: Params, call: Call) -> object:
        return _state(session_of(params))

    async def change(params: Params, call: Call) -> object:
        session = session_of(params)
        wanted = {key: value for key, value in params.items() if key not in ("sessionId", "_meta")}
        for key in wanted:
            if key not in _SETTABLE:
                raise invalid_params(key, f"cannot be set here: only {', '.join(_SETTABLE)} can")
        queue = session.queue
        enabled = read.flag(wanted, "autoRetryEnabled", default=session.retry_control.settings.enabled)
        steering = _one_of(wanted, "steeringMode", _DEQUEUE, queue.steering_mode)
        follow_up = _one_of(wanted, "followUpMode", _DEQUEUE, queue.follow_up_mode)
        interrupt = _one_of(wanted, "interruptMode", _INTERRUPT, queue.interrupt_mode)
        session.retry_control.set_enabled(enabled)
        queue.set_modes(steering, follow_up, interrupt)
        return _state(session)

    async def follow_up(params: Params, call: Call) -> object:
        """Queue a prompt that runs when the turn has ended. Returns `{ok, id}` at once."""
        session = session_of(params)
        try:
            queued_prompt = await session.intake.follow_up(with_editor(params, read.prompt_parts(params)))
        except ValueError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        return {"ok": True, "id": queued_prompt.id}

    async def abort(params: Params, call: Call) -> object:
        """End the turn. Returns `{ok, queued}` once it has ended; `ok` is false if no turn was running."""
        session = session_of(params)
        was_running = session.is_running
        session.cancel()
        back = session.unsent.pop()
        confirm_after(call, session, back)
        await session.quiet()
        return {"ok": was_running, "queued": _rows(back)}

    async def stop_call(params: Params, call: Call) -> object:
        """Stop a call that runs; the turn continues. Returns `{stopped}`, false if there is none to stop."""
        return {"stopped": session_of(params).running_calls.stop(read.text(params, "toolCallId"))}

    async def abort_and_prompt(params: Params, call: Call) -> object:
        """Replace the running turn with another prompt. Answers when the new prompt's turn has ended."""
        session = session_of(params)
        read.prompt_parts(params)  # reject an invalid prompt before ending anything
        session.cancel()
        back = session.unsent.pop()
        try:
            answer = await prompt(params, call)
        except RpcError:
            session.unsent.give_back(back)
            raise
        of_the_new_turn = call.after

        async def confirm() -> None:
            session.unsent.confirm(back)
            if of_the_new_turn is not None:
                await of_the_new_turn()

        call.after = confirm
        said = answer if isinstance(answer, dict) else {}
        north = said.get("_meta", {}).get("north", {})
        more = {name: north[name] for name in ("error", "unsent") if name in north}
        queued = [*_rows(back), *north.get("queued", [])]
        return {"ok": True, "stopReason": said.get("stopReason"), "queued": queued, **more}

    async def listed(params: Params, call: Call) -> object:
        return _queue(session_of(params))

    async def edit(params: Params, call: Call) -> object:
        session = session_of(params)
        queued_prompt = _queued_prompt(session, params)
        parts: tuple[Part, ...] | None = None
        if params.get("prompt") is not None:
            parts = read.prompt_parts(params)
        elif params.get("text") is not None:
            parts = (TextPart(read.text(params, "text")),)
        kind = params.get("kind")
        if kind is not None and kind not in _KINDS:
            raise invalid_params("kind", "must be steer or followUp")
        if kind == "steer" and not session.queue.is_open:
            raise invalid_params("kind", "cannot be steer while no turn runs")
        place = read.whole_number(params, "position", 0, 0) if params.get("position") is not None else None
        try:
            await session.intake.edit_queued(queued_prompt, parts, _KINDS[kind] if kind is not None else None, place)
        except ValueError as error:
            raise RpcError(INVALID_REQUEST, str(error)) from None
        return _queue(session)

    async def take_over(params: Params, call: Call) -> object:
        """Become the writer of a conversation that another process has open. Answers `{ok}` once that is so: when
        nothing runs there any more."""
        await session_of(params).sharing.take_over()
        return {"ok": True}

    async def withdraw(params: Params, call: Call) -> object:
        session = session_of(params)
        queued_prompt = _queued_prompt(session, params)
        await session.queue.withdraw(queued_prompt)
        return {"ok": True, "id": queued_prompt.id, "text": visible(queued_prompt.text)}

    return {
        "_north/abort": abort,
        "_north/calls/stop": stop_call,
        "_north/abortAndPrompt": abort_and_prompt,
        "_north/followUp": follow_up,
        "_north/queue/edit": edit,
        "_north/queue/list": listed,
        "_north/queue/withdraw": withdraw,
        "_north/sessions/takeOver": take_over,
        "_north/state/get": get,
        "_north/state/set": change,
    }


def _queued_prompt(session: Session, params: Params) -> QueuedPrompt:
    id = read.text(params, "id")
    try:
        return session.queue.find(id)
    except KeyError:
        raise RpcError(RESOURCE_NOT_FOUND, f"no queued prompt has the id {id[:64]!r}", {"id": id[:64]}) from None


def _one_of(wanted: dict[str, Any], key: str, choices: dict[str, _T], now: _T) -> _T:
    value = wanted.get(key)
    if value is None:
        return now
    if not isinstance(value, str) or value not in choices:
        raise invalid_params(key, f"must be {' or '.join(choices)}")
    return choices[value]


def _rows(queued_prompts: Sequence[QueuedPromptText]) -> list[dict[str, str]]:
    return [{"id": queued_prompt.id, "text": visible(queued_prompt.text)} for queued_prompt in queued_prompts]


def _queue(session: Session) -> dict[str, Any]:
    rows: dict[str, list[dict[str, Any]]] = {"steer": [], "followUp": []}
    for queued_prompt in session.queue.waiting:
        rows[queued_prompt.kind].append(
            {
                "id": queued_prompt.id,
                "text": visible(queued_prompt.text),
                "mode": queued_prompt.mode,
                "hasRequest": queued_prompt.is_owned,
            }
        )
    return {"ok": True, **rows}


def _state(session: Session) -> dict[str, Any]:
    state, usage, queue = session.status.current, session.usage(), session.queue
    context = {"used": usage.used, "limit": usage.window} if usage is not None else None
    return {
        "ok": True,
        "sessionId": session.id,
        "name": session.title,
        "file": str(session.file),
        "model": session.choice.model.selector,
        "mode": session.mode,
        "state": state,
        "isStreaming": state == "streaming",
        "isCompacting": state == "compacting",
        "isRetrying": state == "retrying",
        "autoRetryEnabled": session.retry_control.settings.enabled,
        "steeringMode": queue.steering_mode,
        "followUpMode": queue.follow_up_mode,
        "interruptMode": queue.interrupt_mode,
        "messageCount": session.message_count,
        "queueCount": len(queue.waiting),
        "context": context,
        "cost": {"amount": usage.cost_usd if usage is not None else 0.0, "currency": "USD"},
    }
