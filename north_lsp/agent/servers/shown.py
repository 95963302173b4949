"""Shows how an MCP server is written, whole, to whoever decides on it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.masking import KEY_FORMS, MASK, is_secret_name

_LITERAL = lazy_pattern(r"(?:(?:bearer|basic|token) )?(?![/.~])[\w.~+/=-]{8,}", re.IGNORECASE)
"""What looks like a key: no path, no words, no variable."""


def as_written(entry: object) -> str:
    """Return an entry as JSON, without the keys that are written out in it. Raises RecursionError."""
    return json.dumps(_hidden(entry, ""), ensure_ascii=False, indent=2, default=str)


def _hidden(value: object, name: str) -> object:
    if isinstance(value, str):
        return MASK if is_secret_name(name) and _LITERAL.fullmatch(value) else KEY_FORMS.sub(MASK, value)
    if isinstance(value, Mapping):
        return {key: _hidden(one, str(key)) for key, one in value.items()}
    if isinstance(value, list):
        return [_hidden(one, "") for one in value]
    return value
