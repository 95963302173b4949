"""`session/prompt`, and North's methods for a turn: continuing with one, steering it, its retries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio

from north_lsp.acp import params as read
from north_lsp.acp.context import with_editor
from north_lsp.acp.control import confirm_after, prompt_kind, unsent_fields
from north_lsp.acp.previous_messages import newest_alone
from north_lsp.agent.ports import trace
from north_lsp.agent.ports.events import QueuedPromptText
from north_lsp.agent.session.session import Session
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.queue import Answered, QueuedPrompt
from north_lsp.providers.base import Failed
from north_lsp.providers.credentials import MissingCredential
from north_lsp.rpc.messages import AUTH_REQUIRED, INVALID_REQUEST, Params, RpcError
from north_lsp.rpc.peer import Call, Handler


def prompt_methods(
    session_of: Callable[[Params], Session],
    reopen: Callable[[Session, Params, Call], Awaitable[None]],
    prompting: Callable[[str], AbstractAsyncContextManager[None]],
) -> dict[str, Handler]:
    """Return the handlers by method name. `session_of` finds the session named in the params and raises RpcError;
    `reopen` opens one where its conversation was moved; `prompting` is entered for a session as long as a prompt of it
    is answered."""

    async def prompt(params: Params, call: Call) -> object:
        session, kind = session_of(params), prompt_kind(params)
        parts = with_editor(params, newest_alone(read.prompt_parts(params), session.typed))
        trace.belong_to(read.meta(params).get("traceparent"))
        async with prompting(session.id):
            answer = await _turn(session, call, lambda scope: session.intake.prompt(parts, scope, kind))
        if session.moved_to is not None:
            await reopen(session, params, call)
        return answer

    async def resume(params: Params, call: Call) -> object:
        """Continue with the turn that an earlier process did not finish. Answers like `session/prompt`."""
        session = session_of(params)

        async def continued(scope: anyio.CancelScope) -> Answered:
            return Answered(await session.intake.resume_turn(scope))

        return await _turn(session, call, continued)

    async def steer(params: Params, call: Call) -> object:
        """Steer the running turn. Returns `{delivered}`, whether the prompt became part of that turn, once that is
        known."""
        session = session_of(params)
        parts = with_editor(params, read.prompt_parts(params))
        queued_prompt: QueuedPrompt | None = None
        with anyio.CancelScope() as scope:
            call.on_cancel = scope.cancel
            try:
                queued_prompt = await session.intake.steer(parts)
            except ValueError as error:
                raise RpcError(INVALID_REQUEST, str(error)) from None
        if queued_prompt is None or queued_prompt.delivered:
            return {"delivered": queued_prompt is not None}
        confirm_after(call, session, [QueuedPromptText(queued_prompt.id, queued_prompt.text)])
        return {"delivered": False}

    async def retry_now(params: Params, call: Call) -> object:
        """Retry now instead of waiting any longer. Returns `{ok}`, whether a retry was waiting."""
        control = session_of(params).retry_control
        waiting = control.is_waiting
        control.now()
        return {"ok": waiting}

    async def retry_abort(params: Params, call: Call) -> object:
        """Stop retrying: the turn ends with the failure that led to the retries. Returns `{ok}`, whether a retry was
        waiting."""
        control = session_of(params).retry_control
        waiting = control.is_waiting
        control.abort()
        return {"ok": waiting}

    return {
        "session/prompt": prompt,
        "_north/retry/abort": retry_abort,
        "_north/retry/now": retry_now,
        "_north/steer": steer,
        "_north/turn/resume": resume,
    }


async def _turn(
    session: Session, call: Call, run: Callable[[anyio.CancelScope], Awaitable[Answered]]
) -> dict[str, Any]:
    scope = anyio.CancelScope()

    def give_up() -> None:
        scope.cancel()
        session.questions.give_up()

    call.on_cancel = give_up
    try:
        answered = await run(scope)
        more = _take_unsent(session, call)
        if answered.is_unsent:
            more = _with(more, "unsent", True)
        return {"stopReason": answered.stopped, **more}
    except MissingCredential as error:
        raise RpcError(AUTH_REQUIRED, str(error)) from None
    except ModelFailed as failed:
        return {"stopReason": "end_turn", **_with_error(_take_unsent(session, call), failed.failure)}
    except ValueError as error:
        raise RpcError(INVALID_REQUEST, str(error)) from None


def _take_unsent(session: Session, call: Call) -> dict[str, Any]:
    back = session.unsent.pop()
    confirm_after(call, session, back)
    return unsent_fields(back)


def _with_error(answer: dict[str, Any], failure: Failed) -> dict[str, Any]:
    """Add why the turn ended without an answer to the `_meta` of `answer`. The text for the user is already in the
    conversation."""
    return _with(answer, "error", {"kind": failure.kind, "status": failure.status, "retryable": failure.retryable})


def _with(answer: dict[str, Any], name: str, value: object) -> dict[str, Any]:
    north = answer.get("_meta", {}).get("north", {})
    return {"_meta": {"north": {**north, name: value}}}
