"""What a conversation has used, by its log."""

from collections.abc import Iterable, Mapping
from typing import Any

from north_lsp.agent.log.transcript import is_excluded
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.slash.base import Spent
from north_lsp.storage.entries import message_of

_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


class Totals:
    """Use and cost of a path, entry by entry. What no model gets any more has cost, but fills no window."""

    def __init__(self) -> None:
        self.last: dict[str, Any] = {}  # of the last answer that models get
        self._counted: dict[str, Any] = {}  # of the last one of them that has numbers
        self._any = False
        self._cost, self._tokens = 0.0, 0
        self._priced = True

    def add(self, entry: Mapping[str, Any]) -> None:
        message = message_of(entry)
        usage = message.get("usage")
        if message.get("role") != "assistant":
            return
        if not is_excluded(entry):
            self.last = usage or {}
            self._counted = self.last if all_tokens(self.last) else self._counted
        if not usage:
            return
        self._any = True
        self._cost += usage.get("cost", {}).get("total", 0.0)
        self._tokens += all_tokens(usage)
        self._priced = self._priced and usage.get("priced", True) is not False

    def shown(self, window: int) -> UsageChanged | None:
        """The context is what the last answer had read and written."""
        if not self._any:
            return None
        used, estimated = all_tokens(self._counted), self._counted.get("estimated") is True
        return UsageChanged(used, window, self._cost, estimated, self._priced, self._tokens)


def usage_of(path: Iterable[Mapping[str, Any]], window: int) -> UsageChanged | None:
    """Use and cost of a conversation by its log."""
    totals = Totals()
    for entry in path:
        totals.add(entry)
    return totals.shown(window)


def all_tokens(usage: Mapping[str, Any]) -> int:
    """What an answer has read and written, by its stored usage."""
    return sum(usage.get(key, 0) for key in _COUNTS)


def spent_by_model(path: list[dict[str, Any]]) -> list[Spent]:
    """What each model has used in a conversation; what caches gave and took counts as input."""
    rows: dict[str, Spent] = {}
    for entry in path:
        message = message_of(entry)
        usage = message.get("usage")
        if message.get("role") != "assistant" or not usage:
            continue
        read = sum(usage.get(key, 0) for key in ("input", "cacheRead", "cacheWrite"))
        if not read and not usage.get("output"):
            continue
        name = f"{message.get('provider')}/{message.get('model')}"
        row = rows.get(name, Spent(name, 0, 0, 0.0))
        cost = usage.get("cost", {}).get("total", 0.0)
        priced = row.priced and usage.get("priced", True) is not False
        rows[name] = Spent(name, row.input + read, row.output + usage.get("output", 0), row.cost_usd + cost, priced)
    return list(rows.values())
