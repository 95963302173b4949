"""A request as texts, for a log that is to have whole requests."""

import json
from collections.abc import Mapping
from dataclasses import asdict

from north_lsp.providers.base import ModelRequest


def request_texts(request: ModelRequest) -> Mapping[str, str]:
    """Return what a model is sent, part by part; nothing of how North identifies itself to its vendor."""
    messages = [{"kind": type(one).__name__, **asdict(one)} for one in request.messages]
    return {
        "system": request.system,
        "messages": json.dumps(messages, ensure_ascii=False, default=str),
        "tools": json.dumps([tool.name for tool in request.tools]),
    }
