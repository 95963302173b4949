"""A request and its answer as texts, for a log that is to have all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from north_lsp.agent.ports.diagnostics import Hide
from north_lsp.providers.base import AssistantMessage, Image, ModelRequest

_PICTURE = {one.name for one in fields(Image)}


def request_texts(request: ModelRequest, hide: Hide) -> Mapping[str, str]:
    """Return what a model is sent, part by part; nothing of how North identifies itself to its vendor. Secrets are
    hidden in each text before that is written as JSON, which spells them differently."""
    messages = [{"kind": type(one).__name__, **_told(asdict(one), hide)} for one in request.messages]
    return {
        "system": hide(request.system),
        "messages": json.dumps(messages, ensure_ascii=False, default=str),
        "tools": json.dumps([hide(tool.name) for tool in request.tools]),
    }


def answer_texts(message: AssistantMessage, hide: Hide) -> Mapping[str, str]:
    """Return what a model has answered, with its secrets hidden."""
    blocks = [{"kind": type(one).__name__, **_told(asdict(one), hide)} for one in message.blocks]
    return {"answer": json.dumps(blocks, ensure_ascii=False, default=str)}


def _told(value: Any, hide: Hide) -> Any:
    """Return a value with its secrets hidden, and the size of a picture instead of its data."""
    match value:
        case str():
            return hide(value)
        case {"mime_type": str(kind), "data": str(data)} if value.keys() == _PICTURE:
            return f"<{kind}, {len(data):,} characters>"
        case Mapping():
            return {hide(str(key)): _told(one, hide) for key, one in value.items()}
        case list() | tuple():
            return [_told(one, hide) for one in value]
        case _:
            return value
