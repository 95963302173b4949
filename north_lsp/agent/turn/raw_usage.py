"""What a vendor said of the tokens that it counted, small enough to be kept with each answer. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

from north_lsp.providers.base import Usage

_DEEPEST = 3
_MOST = 40
_LONGEST = 100


def counts_of(usage: Usage) -> dict[str, int]:
    """Return the counts alone; that of thinking only where the vendor has told it."""
    counts = {name: count for name, count in asdict(usage).items() if name != "raw"}
    return counts if usage.reasoning else {name: count for name, count in counts.items() if name != "reasoning"}


def kept_usage(said: Mapping[str, object]) -> dict[str, object]:
    """Return what a vendor said, without what is deep, long, or much: counts are neither."""
    return {key: value for key, value in _kept_fields(said, 1).items() if value not in ({}, [])}


def _kept_fields(said: Mapping[str, object], depth: int) -> dict[str, object]:
    rows = [(str(key), value) for key, value in said.items() if len(str(key)) <= _LONGEST and _is_small(value, depth)]
    return {key: _kept(value, depth) for key, value in rows[:_MOST]}


def _is_small(value: object, depth: int) -> bool:
    match value:
        case str():
            return len(value) <= _LONGEST
        case Mapping() | list():
            return depth < _DEEPEST
        case int():
            return value.bit_length() <= 63
        case float():
            return math.isfinite(value)
        case _:
            return value is None


def _kept(value: object, depth: int) -> object:
    match value:
        case Mapping():
            return _kept_fields(value, depth + 1)
        case list():
            return [_kept(one, depth + 1) for one in value[:_MOST] if _is_small(one, depth + 1)]
        case _:
            return value
