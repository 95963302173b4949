"""A conversation's state, in one word; every change is an event. Also wraps the editor to notice questions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import (
    Choice,
    CommandDecision,
    CommandReview,
    Decided,
    EditDecision,
    Editor,
    EditReview,
    PassingEditor,
)
from north_lsp.agent.ports.events import Activity, CallRunning, Event, ReviewResolved, ReviewShown, StateChanged
from north_lsp.agent.ports.forms import Form, FormAnswer, Page
from north_lsp.agent.ports.running_calls import RunningCalls


class Status:
    """The status of one session."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.current: Activity = "idle"
        self._is_leaving = False
        self._stands = False

    def leave(self) -> None:
        """Have the turn stand still before its next step: the client has gone."""
        self._is_leaving = True

    @property
    def stands_still(self) -> bool:
        """Whether the turn does nothing by itself: it waits for the user, or for the next process to continue with
        it."""
        return self._stands or self.current == "awaiting_review"

    async def before_step(self) -> None:
        """Wait forever if the client has gone: another process continues from here."""
        if self._is_leaving:
            self._stands = True
            await anyio.sleep_forever()

    async def set(self, state: Activity) -> None:
        if state != self.current:
            self.current = state
            await self._editor.show(StateChanged(state))

    @asynccontextmanager
    async def during(self, state: Activity) -> AsyncIterator[None]:
        """Set a state for the duration of the context, then restore the one before it."""
        before = self.current
        await self.set(state)
        try:
            yield
        finally:
            if self.current == state:
                with anyio.CancelScope(shield=True):
                    await self.set(before)


class GuardedEditor(PassingEditor):
    """An editor for which an event that cannot be shown is not fatal: the failure is logged, and the user is told."""

    def __init__(self, editor: Editor, diagnostics: Diagnostics) -> None:
        super().__init__(editor)
        self._diagnostics = diagnostics

    async def show(self, event: Event) -> None:
        with self._diagnostics.guarded(f"showing {type(event).__name__}"):
            await super().show(event)


class WatchedEditor(GuardedEditor):
    """The session's editor, which sets the status while the user is being asked. `keep` is called before anything is
    shown: it writes what has arrived of the answer; `then` after it. `calls` are those that can be stopped."""

    def __init__(
        self,
        editor: Editor,
        diagnostics: Diagnostics,
        status: Status,
        keep: Callable[[], None],
        then: Callable[[Event], Awaitable[None]],
        calls: RunningCalls,
    ) -> None:
        super().__init__(editor, diagnostics)
        self._then = then
        self._calls = calls
        self._status = status
        self._keep = keep

    async def show(self, event: Event) -> None:
        with self._diagnostics.guarded("storing an answer that arrives"):
            self._keep()
        if isinstance(event, CallRunning) and self._calls.can_stop(event.call_id):
            event = replace(event, can_stop=True)
        await super().show(event)
        with self._diagnostics.guarded("showing the goal"):
            await self._then(event)

    async def review_edit(self, review: EditReview) -> EditDecision:
        id, files = review.proposal.id, review.proposal.files
        added, removed = sum(one.lines_added for one in files), sum(one.lines_removed for one in files)
        self._diagnostics.event("write_review_shown", reviewId=id, files=len(files), added=added, removed=removed)
        started = anyio.current_time()
        async with self._asked(id, review.proposal.tool_call_id, "write") as outcome:
            decision = await super().review_edit(review)
            outcome.append(decision.kind)
        waited = round((anyio.current_time() - started) * 1000)
        self._diagnostics.event("write_review_decision", reviewId=id, decision=decision.kind, waitedMs=waited)
        return decision

    async def review_command(self, review: CommandReview) -> CommandDecision:
        async with self._asked(review.call_id, review.call_id, "shell") as outcome:
            decision = await super().review_command(review)
            outcome.append(decision.kind)
        return decision

    async def decide(self, choice: Choice) -> Decided:
        async with self._asked(choice.id, choice.call_id or choice.id, "choice") as outcome:
            decided = await super().decide(choice)
            outcome.append(decided.option or "unanswered")
        return decided

    async def choose(self, choice: Choice) -> str | None:
        async with self._asked(choice.id, choice.call_id or choice.id, "choice") as outcome:
            chosen = await super().choose(choice)
            outcome.append(chosen or "unanswered")
        return chosen

    async def fill(self, form: Form) -> FormAnswer | None:
        async with self._asked(form.id, form.call_id or form.id, "form") as outcome:
            answer = await super().fill(form)
            outcome.append(answer.kind if answer is not None else "unanswered")
        return answer

    async def open_page(self, page: Page) -> FormAnswer | None:
        async with self._asked(page.id, page.call_id or page.id, "page") as outcome:
            answer = await super().open_page(page)
            outcome.append(answer.kind if answer is not None else "unanswered")
        return answer

    @asynccontextmanager
    async def _asked(self, id: str, call_id: str, kind: str) -> AsyncIterator[list[str]]:
        outcome: list[str] = []
        async with self._status.during("awaiting_review"):
            await self.show(ReviewShown(id, call_id, kind))
            try:
                yield outcome
            finally:
                with anyio.CancelScope(shield=True):
                    await self.show(ReviewResolved(id, call_id, outcome[0] if outcome else "cancelled"))
