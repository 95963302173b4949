"""Sums up what a conversation has used, by its log."""

from __future__ import annotations

from collections.abc import Iterable

from north_lsp.agent.log.compactions import CompactionEntry, PrunedEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Usage
from north_lsp.slash.base import Spent


class Totals:
    """Usage and cost of a path, entry by entry. An answer that is no longer sent to models counts as cost, but fills no
    window."""

    def __init__(self) -> None:
        self.last: StoredUsage | None = None  # of the last answer that is still sent to models
        self._counted: StoredUsage | None = None  # of the last such answer that has numbers
        self._sum: StoredUsage | None = None

    def add(self, logged: Logged, *, fills_window: bool = True) -> None:
        """Add an entry; one of a branch that was left only counts as cost."""
        if fills_window and isinstance(logged.entry, CompactionEntry | PrunedEntry):
            self._shorten(logged.entry)
        if not isinstance(logged.entry, AnswerEntry):
            return
        usage = logged.entry.usage
        if fills_window and not logged.entry.excluded:
            self.last = usage
            self._counted = usage if usage is not None and usage.all_tokens else self._counted
        if usage is not None:
            self._sum = (self._sum or StoredUsage()) + usage

    def _shorten(self, entry: CompactionEntry | PrunedEntry) -> None:
        """Forget what the vendor counted, since the next request is shorter by an unknown number of tokens."""
        before = self._counted.all_tokens if self._counted is not None else 0
        match entry:
            case CompactionEntry(tokens_after=after):
                left = after if after is not None else before
            case PrunedEntry(results):
                left = max(before - sum(results.values()), 0)
        self.last, self._counted = None, StoredUsage(input=left, estimated=True)

    def shown(self, window: int, aside: Iterable[StoredUsage] = ()) -> UsageChanged | None:
        """Return the totals to show, with what was used `aside`; the context is what the last answer read and wrote.
        None if no answer has a usage."""
        if self._sum is None:
            return None
        counted, total = self._counted or StoredUsage(), sum(aside, self._sum)
        return UsageChanged(
            counted.all_tokens,
            window,
            total.cost,
            counted.estimated,
            total.priced,
            total.all_tokens,
            counts=Usage(total.input, total.output, total.cache_read, total.cache_write),
        )


def usage_of(path: Iterable[Logged], window: int) -> UsageChanged | None:
    """Sum up usage and cost of a conversation by its log."""
    totals = Totals()
    for one in path:
        totals.add(one)
    return totals.shown(window)


def spent_by_model(path: Iterable[Logged]) -> list[Spent]:
    """Sum up what each model has used in a conversation; tokens read from and written to caches count as input."""
    rows: dict[str, Spent] = {}
    for one in path:
        answer = one.entry
        if not isinstance(answer, AnswerEntry) or (usage := answer.usage) is None or not usage.all_tokens:
            continue
        read = usage.all_tokens - usage.output
        name = f"{answer.provider}/{answer.model}"
        row = rows.get(name, Spent(name, 0, 0, 0.0))
        priced = row.priced and usage.priced
        rows[name] = Spent(name, row.input + read, row.output + usage.output, row.cost_usd + usage.cost, priced)
    return list(rows.values())
