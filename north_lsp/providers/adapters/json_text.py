"""Converts the JSON text of tool arguments, both ways. Pure; shared by all adapters."""

import json
from collections.abc import Mapping

from north_lsp.providers.base import ToolCall
from north_lsp.providers.json_values import read_arguments


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
