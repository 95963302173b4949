"""Converts tool calls, both ways: ids, names, and the JSON text of arguments. Pure; shared by all adapters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import ToolCall
from north_lsp.providers.json_values import read_arguments

_ILLEGAL = lazy_pattern(r"[^A-Za-z0-9_-]")
_LONGEST = 64


def parse_call(id: str, name: str, text: str) -> ToolCall:
    """Return a complete call; its `problem` says where the arguments are not a JSON object."""
    try:
        arguments = read_arguments(text if text.strip() else "{}")
    except json.JSONDecodeError as error:
        return ToolCall(id, name, {}, f"the arguments are not valid JSON: {error.msg} at character {error.pos}")
    except ValueError as error:
        return ToolCall(id, name, {}, f"the arguments are not valid JSON: {error}")
    if not isinstance(arguments, dict):
        return ToolCall(id, name, {}, "the arguments are not a JSON object")
    return ToolCall(id, name, arguments)


def arguments_text(arguments: Mapping[str, object]) -> str:
    """Return arguments as compact JSON, as models write them: the same bytes each time."""
    return json.dumps(dict(arguments), ensure_ascii=False, separators=(",", ":"))


def sent_name(name: str) -> str:
    """Return the name of a call as every vendor accepts it: a model can have made up another one, and with that in it
    the vendor would refuse the whole conversation."""
    return _ILLEGAL.sub("_", name)[:_LONGEST] or "_"


def sent_id(id: str) -> str:
    """Return a call's id using only characters that Anthropic and Amazon allow. It is the same for call and result."""
    legal = _ILLEGAL.sub("_", id)
    if legal == id and 0 < len(id) <= _LONGEST:
        return id
    return f"{legal[: _LONGEST - 17]}_{sha256(id.encode()).hexdigest()[:16]}"
