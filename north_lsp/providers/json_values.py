"""Read values from a vendor's JSON, which may hold anything: a value of the wrong type counts as absent. Pure."""

from __future__ import annotations

import json
import math
from typing import Any

from north_lsp.lazy_pattern import lazy_pattern

MOST = 10**12
"""More tokens than any request has."""
_MOST_DIGITS = 18
_LARGEST = 2**63
_DEEPEST = 100
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def read_event(text: str) -> object:
    """Parse the JSON of a vendor's event. Integers that are too long become large ones, lone surrogates U+FFFD. Raises
    ValueError."""
    try:
        value = json.loads(text, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return without_surrogates(value) if "\\ud" in text or "\\uD" in text else value


def read_arguments(text: str) -> object:
    """Parse JSON that a model has written for a tool. Raises ValueError (JSONDecodeError) for invalid JSON, and for
    numbers or nesting beyond any sensible size."""
    try:
        value = json.loads(text, parse_int=_exact, parse_float=_finite, parse_constant=_refuse_constant)
        if _is_deep(value, _DEEPEST):
            raise ValueError("they are nested too deeply")
    except RecursionError:
        raise ValueError("they are nested too deeply") from None
    return without_surrogates(value) if "\\u" in text else value


def without_surrogates(value: object) -> object:
    match value:
        case str():
            return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
        case list():
            return [without_surrogates(item) for item in value]
        case dict():
            return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case _:
            return value


def _whole(text: str) -> int:
    large: int = 10**_MOST_DIGITS
    if len(text) <= _MOST_DIGITS:
        return int(text)
    return -large if text.startswith("-") else large


def _exact(text: str) -> int:
    if len(text) > len(str(-_LARGEST)) or abs(value := int(text)) > _LARGEST:
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:40]} is too large")
    return value


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a JSON value")


def _is_deep(value: object, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(inner) and (left == 0 or any(_is_deep(item, left - 1) for item in inner))


def as_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_text(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return min(max(value, 0), MOST)
