"""The trace that a prompt belongs to, as its client says (W3C `traceparent`); for telemetry only."""

from __future__ import annotations

from contextvars import ContextVar

from north_lsp.lazy_pattern import lazy_pattern

_FORM = lazy_pattern(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_CURRENT: ContextVar[str | None] = ContextVar("traceparent", default=None)


def belong_to(traceparent: object) -> None:
    """Have the rest of this task belong to a trace; anything that does not name one is ignored."""
    _CURRENT.set(traceparent if isinstance(traceparent, str) and _FORM.fullmatch(traceparent) else None)


def fields() -> dict[str, object]:
    """Return what an event says of the trace: nothing, if there is none."""
    current = _CURRENT.get()
    return {} if current is None else {"traceparent": current}
