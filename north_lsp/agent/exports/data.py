"""A conversation as JSON, for other programs: the rows of the document, each with its kind."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from north_lsp.agent.exports.document import Answered, Call, Document, Failure, Note, Prose, Said, Thought
from north_lsp.vocabulary import camel_case

_VERSION = 1
_KINDS: dict[type, str] = {
    Said: "prompt",
    Prose: "text",
    Thought: "thinking",
    Failure: "failure",
    Call: "call",
    Note: "note",
    Answered: "answered",
}


def json_of(document: Document) -> str:
    """Render a conversation. What is not ASCII is escaped, so that hidden characters can be seen."""
    made = {"format": "north-conversation", "version": _VERSION, **_fields(document)}
    return json.dumps(made, indent=1, default=str) + "\n"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _fields(value: Any) -> dict[str, Any]:
    kind = _KINDS.get(type(value))
    fields = {camel_case(one.name): _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    return fields if kind is None else {"kind": kind} | fields
