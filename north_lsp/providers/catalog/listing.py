"""Lists the models as rows for people and programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.catalog import Catalog
from north_lsp.providers.catalog.model_selection import ALL_MODELS, Allowed
from north_lsp.providers.catalog.selectors import canonical
from north_lsp.providers.clouds import what_to_set
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.keys.credential_lookup import require_credential
from north_lsp.providers.model import Model

_HOUR = 3600
_NEEDS_KEY = "needs a key"


@dataclass(frozen=True, slots=True)
class Row:
    """A model and, in `reason`, why it cannot be used (None if it can). `age_s` is how long ago its server was
    asked."""

    model: Model
    canonical: str
    reason: str | None
    age_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        model, prices = self.model, self.model.prices
        thinking = model.thinking
        price = {
            "input": prices.input,
            "output": prices.output,
            "cacheRead": prices.cache_read,
            "cacheWrite": prices.cache_write,
        }
        return {
            "selector": model.selector,
            "canonical": self.canonical,
            "alias": model.alias,
            "name": model.title,
            "provider": model.provider.id,
            "contextWindow": model.window,
            "maxTokens": model.max_output,
            "cost": price if prices.known else None,
            "thinking": list(thinking.levels) if thinking is not None else [],
            "images": model.images,
            "source": model.source,
            "available": self.reason is None,
            "reason": self.reason,
            "ageS": None if self.age_s is None else round(self.age_s),
        }


def rows(
    known: Catalog, pattern: str = "", *, allowed: Allowed = ALL_MODELS, available: bool = False, now: float = 0.0
) -> list[Row]:
    """Return the models whose selector, alias or name contains the pattern; `now` is in seconds since 1970."""
    wanted = pattern.lower()
    found = []
    for model in known.models:
        if wanted and not any(wanted in text.lower() for text in (model.selector, model.alias, model.title)):
            continue
        reason = _reason(known, model, allowed)
        if reason is None or not available:
            asked = known.found_at.get(model.provider.id) if model.source == "discovered" else None
            age = None if asked is None else max(now - asked, 0.0)
            found.append(Row(model, canonical(model, known.names), reason, age))
    return found


def _reason(known: Catalog, model: Model, allowed: Allowed) -> str | None:
    try:
        require_credential(model, known.environ, known.keys)
    except MissingCredential:
        names = " or ".join(model.provider.credentials)
        return f"{_NEEDS_KEY} ({names})" if names else _NEEDS_KEY
    if not known.is_available(model):
        how = what_to_set(model.provider.api)
        return f"has no address: {how}" if how else "has no address"
    return allowed.reason_against(model)


def table(found: Sequence[Row], default: Model | None = None) -> str:
    """Format one model per line in aligned columns: selector, window, output, price, thinking, notes. Those that can
    be used come first, with the `default` marked; the others by provider, below what is in the way of using them."""
    head = ["model", "context", "output", "$/M in, out", "thinking", ""]
    groups: dict[str, list[Row]] = {"": [row for row in found if row.reason is None]}
    for row in found:
        if row.reason is not None:
            groups.setdefault(_obstacle(row), []).append(row)
    cells = {title: [list(_cells(row, default)) for row in rows] for title, rows in groups.items()}
    every = [head, *(line for lines in cells.values() for line in lines)]
    widths = [max(len(line[column]) for line in every) for column in range(len(head))]

    def aligned(line: Sequence[str]) -> str:
        return "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()

    shown = [aligned(head), *map(aligned, cells.pop(""))]
    for title, lines in cells.items():
        shown += ["", title, *map(aligned, lines)]
    return "\n".join(shown)


def _obstacle(row: Row) -> str:
    """Say in a line what is in the way of using a provider's models."""
    provider, reason = row.model.provider, row.reason or ""
    how = f"; `north-lsp login {provider.id}` stores one" if reason.startswith(_NEEDS_KEY) else ""
    return one_line(f"{provider.title}: {reason}{how}", 200)


def _cells(row: Row, default: Model | None) -> Iterator[str]:
    model, prices = row.model, row.model.prices
    yield one_line(model.selector, 80)
    yield _tokens(model.window)
    yield _tokens(model.max_output)
    if not prices.known:
        yield "?"
    else:
        yield "free" if not (prices.input or prices.output) else f"{prices.input:g}, {prices.output:g}"
    yield model.thinking.mode if model.thinking is not None else "no"
    notes = ["default"] if default is not None and model.selector == default.selector else []
    if row.age_s is not None and row.age_s >= _HOUR:
        notes.append(f"as of {row.age_s / _HOUR:.0f} h ago")
    yield one_line("; ".join(notes), 120)


def _tokens(count: int) -> str:
    return f"{count / 1_000_000:.1f}M" if count >= 1_000_000 else f"{round(count / 1000)}K"
