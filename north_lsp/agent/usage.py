"""What a conversation has used, by its log."""

from collections.abc import Mapping
from typing import Any

from north_lsp.agent.events import UsageChanged
from north_lsp.commands.base import Spent

_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def usage_of(path: list[dict[str, Any]], window: int) -> UsageChanged | None:
    """Use and cost of a conversation by its log: the context is what the last answer had read and written."""
    used, cost, tokens = None, 0.0, 0
    estimated, priced = False, True
    for entry in path:
        message = entry.get("message") or {}
        if entry.get("type") == "message" and message.get("role") == "assistant" and message.get("usage"):
            usage = message["usage"]
            cost += usage.get("cost", {}).get("total", 0.0)
            total = all_tokens(usage)
            tokens += total
            priced = priced and usage.get("priced", True) is not False
            if total:
                estimated = usage.get("estimated") is True
            used = total or used
    return None if used is None else UsageChanged(used, window, cost, estimated, priced, tokens)


def all_tokens(usage: Mapping[str, Any]) -> int:
    """What an answer has read and written, by its stored usage."""
    return sum(usage.get(key, 0) for key in _COUNTS)


def spent_by_model(path: list[dict[str, Any]]) -> list[Spent]:
    """What each model has used in a conversation; what caches gave and took counts as input."""
    rows: dict[str, Spent] = {}
    for entry in path:
        message = entry.get("message") or {}
        usage = message.get("usage")
        if entry.get("type") != "message" or message.get("role") != "assistant" or not usage:
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
