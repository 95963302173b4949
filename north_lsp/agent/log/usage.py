"""What requests used, as the log has it: tokens, and what they cost, in all and by what was charged for. Pure."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from north_lsp.agent.log.fields import Json, as_object, given, unknown, whole_number
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Cost, Usage

_COUNTS = ("input", "output", "cacheRead", "cacheWrite")
_KEYS = frozenset({*_COUNTS, "reasoning", "cost", "priced", "estimated"})


@dataclass(frozen=True, slots=True)
class StoredUsage:
    """Tokens and cost of an answer. `priced`: its price is known; `estimated`: its tokens were counted by North alone;
    `split` is the cost by its parts (None: an older North, or another program, stored only the sum)."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    priced: bool = True
    estimated: bool = False
    more: Json = field(default_factory=dict)
    split: Cost | None = None
    reasoning: int = 0

    @classmethod
    def of(cls, used: Usage, cost: Cost, *, priced: bool = True, estimated: bool = False) -> StoredUsage:
        """Return what a request used, and what that cost."""
        counts = (used.input, used.output, used.cache_read, used.cache_write)
        return cls(*counts, cost.total, priced, estimated, split=cost, reasoning=used.reasoning)

    @property
    def all_tokens(self) -> int:
        """All tokens that the answer has read and written."""
        return self.input + self.output + self.cache_read + self.cache_write

    def __add__(self, other: StoredUsage) -> StoredUsage:
        """Sum up two answers: price and split are known if both are, and the tokens are estimated if any are."""
        return StoredUsage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost + other.cost,
            self.priced and other.priced,
            self.estimated or other.estimated,
            split=_sum(self, other),
            reasoning=self.reasoning + other.reasoning,
        )

    @classmethod
    def from_json(cls, stored: object) -> StoredUsage | None:
        usage = as_object(stored)
        if not usage:
            return None
        read, wrote, from_cache, to_cache = (usage.get(key, 0) for key in _COUNTS)
        cost = as_object(usage.get("cost"))
        priced, estimated = usage.get("priced", True) is not False, usage.get("estimated") is True
        more, thought = unknown(usage, _KEYS), whole_number(usage.get("reasoning")) or 0
        total = cost.get("total", 0.0)
        return cls(read, wrote, from_cache, to_cache, total, priced, estimated, more, _split(cost), thought)

    def to_json(self) -> dict[str, Any]:
        counted = {"input": self.input, "output": self.output, "cacheRead": self.cache_read}
        counted |= {"cacheWrite": self.cache_write} | given(reasoning=self.reasoning or None)
        told = ({} if self.priced else {"priced": False}) | ({"estimated": True} if self.estimated else {})
        return {**counted, "cost": {**_parts(self.split), "total": self.cost}, **told, **self.more}


def usage_aside(record: Json) -> StoredUsage:
    """Read what a request used that is no part of a turn; what makes no sense counts as nothing."""
    usage, cost = as_object(record.get("usage")), record.get("cost")
    read, wrote, from_cache, to_cache = (whole_number(usage.get(key)) or 0 for key in _COUNTS)
    total = float(cost) if isinstance(cost, int | float) else 0.0
    return StoredUsage(read, wrote, from_cache, to_cache, total, split=_split(as_object(usage.get("cost"))))


def _sum(one: StoredUsage, other: StoredUsage) -> Cost | None:
    """Return the split of both together; what cost nothing needs none."""
    known = [each.split for each in (one, other) if each.split is not None]
    if any(each.split is None and each.cost for each in (one, other)):
        return None
    return sum(known, Cost()) if known else None


def _split(cost: Json) -> Cost | None:
    """Read the parts; None if none of them is there."""
    parts = [cost.get(key) for key in _COUNTS]
    numbers = [float(part) if isinstance(part, int | float) else 0.0 for part in parts]
    return Cost(*numbers) if any(part is not None for part in parts) else None


def _parts(cost: Cost | None) -> dict[str, float]:
    if cost is None:
        return {}
    return dict(zip(_COUNTS, (cost.input, cost.output, cost.cache_read, cost.cache_write), strict=True))
