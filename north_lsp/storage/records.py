"""The lines of the log: plain JSON data in valid UTF-8, uncut, since what is stored is what models get."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Set
from typing import Any

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import Record

DEEP_MARK = "[cut when saved: nested too deeply]"
_MAX_DEPTH = 100
_TRANSIENT = frozenset({"partialJson", "jsonlEvents"})
_SURROGATE = lazy_pattern("[\ud800-\udfff]")


def storable(record: Mapping[str, Any]) -> Record:
    """Copy a record in the form that the log keeps: what is in memory is what a reader will find.

    Transient keys are dropped, lone surrogates replaced by U+FFFD; values that JSON cannot represent become strings.
    """
    return _storable_mapping(record, 0)


def encode(record: Record) -> bytes:
    """Encode a storable record as a line."""
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _storable_mapping(value: Mapping[Any, Any], depth: int) -> Record:
    return {_text(str(key)): _storable(item, depth + 1) for key, item in value.items() if key not in _TRANSIENT}


def _storable(value: object, depth: int) -> object:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if depth > _MAX_DEPTH:
        return DEEP_MARK
    if isinstance(value, Mapping):
        return _storable_mapping(value, depth)
    if isinstance(value, list | tuple | Set):
        return [_storable(item, depth + 1) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
