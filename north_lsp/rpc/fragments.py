"""Reads what it can of a broken or overlong JSON-RPC message: its id, and whether it was an answer."""

from __future__ import annotations

import json

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

Id = str | int

_TOKEN = lazy_pattern(rb'\s*(?:("(?:[^"\\\x00-\x1f]|\\.){0,500}")|(-?\d{1,18})(?=[\s,}\]])|([{}\[\]:,])|([\w.+-]+))')
_LAST_ID = lazy_pattern(rb'[,{]\s*"id"\s*:\s*("(?:[^"\\\x00-\x1f]|\\.){0,200}"|-?\d{1,18})\s*\}\s*$')


@dataclass(frozen=True, slots=True)
class Fragment:
    """What was read of a message: `id` is None if none was found; `is_answer` says that it had a result or an error."""

    id: Id | None = None
    is_answer: bool = False


NOTHING = Fragment()


def read_fragment(head: bytes, tail: bytes) -> Fragment:
    """Read a message's first and last bytes. Only keys of the message itself count, not those of nested objects."""
    keys: dict[str, Id | None] = {}
    key: str | None = None
    depth, at, expects_key = 0, 0, False
    while (found := _TOKEN.match(head, at)) is not None:
        at = found.end()
        text, number, mark = found[1], found[2], found[3]
        if mark in (b"{", b"["):
            depth += 1
            expects_key = mark == b"{" and depth == 1
        elif mark in (b"}", b"]"):
            depth -= 1
        elif mark == b"," and depth == 1:
            expects_key = True
        elif depth == 1 and text is not None and expects_key:
            key, expects_key = str(_value(text)), False
            keys.setdefault(key, None)
        elif depth == 1 and key == "id" and (text or number) is not None:
            keys["id"] = _value(text or number)
            key = None
    id = keys.get("id")
    if "id" not in keys and (last := _LAST_ID.search(tail)) is not None:
        id = _value(last[1])
    is_answer = "method" not in keys and ("result" in keys or "error" in keys)
    return Fragment(id, is_answer)


def _value(text: bytes) -> Id | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, str | int) else None
