"""The spending of one conversation: recorded, shown, and checked against the user's limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Usage
from north_lsp.providers.model import Model


class Account:
    """The account of one session. `usage` returns what the conversation has used, given the size of a context window in
    tokens."""

    def __init__(
        self,
        costs: CostRecorder,
        spending: Spending,
        usage: Callable[[int], UsageChanged | None],
        editor: Editor,
    ) -> None:
        self._costs = costs
        self._spending = spending
        self._usage = usage
        self._editor = editor
        self._is_reported = True

    async def check(self, model: Model, editor: Editor | None = None) -> None:
        """Check the user's limits before a request; `editor` asks in the name of somebody else. Raises LimitReached."""

        def spent() -> float:
            usage = self._usage(model.window)
            return usage.cost_usd if usage is not None else 0.0

        await self._spending.check(spent, editor)

    def record(self, model: Model, usage: Usage) -> None:
        """Record what a request used, whatever became of its answer."""
        self._costs.record(model, usage)
        self._is_reported = False

    async def report(self, model: Model) -> None:
        """Show what the conversation has used so far."""
        self._is_reported = True
        event = self._usage(model.window)
        if event is not None:
            await self._editor.show(replace(event, all_time_usd=self._costs.all_time()))

    async def report_rest(self, model: Model) -> None:
        """Show what the conversation has used until now, if that has not been shown since the last request."""
        if not self._is_reported:
            await self.report(model)
