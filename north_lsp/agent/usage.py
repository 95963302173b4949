"""What a conversation has used, by its log."""

from typing import Any

from north_lsp.agent.events import UsageChanged


def usage_of(path: list[dict[str, Any]], window: int) -> UsageChanged | None:
    """Use and cost of a conversation by its log: the context is what the last answer had read and written."""
    used, cost = None, 0.0
    for entry in path:
        message = entry.get("message") or {}
        if entry.get("type") == "message" and message.get("role") == "assistant" and message.get("usage"):
            usage = message["usage"]
            cost += usage.get("cost", {}).get("total", 0.0)
            total = sum(usage.get(key, 0) for key in ("input", "output", "cacheRead", "cacheWrite"))
            used = total or used
    return None if used is None else UsageChanged(used, window, cost)
