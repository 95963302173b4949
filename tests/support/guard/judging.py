"""Checks a request in North's own form as each vendor would receive and judge it. Imports the vendors' adapters."""

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from north_lsp.providers.adapters import anthropic, bedrock_converse, google, openai_chat, openai_responses
from north_lsp.providers.adapters.message_cache import dumps
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest, StreamEvent
from north_lsp.providers.compat import compat_for
from tests.support.guard import JUDGED, RECORD
from tests.support.rules.check import check_http

_OPENAI = "https://api.openai.com/v1"
_STRICT = {"supports_strict_mode": True, "tool_strict_mode": "all_strict"}


def _chat(request: ModelRequest, reasons: bool, **flags: object) -> dict[str, Any]:
    return openai_chat.request_body(request, compat_for(_OPENAI, flags), _OPENAI, request.model, reasons)


def _google(model: str) -> tuple[str, Callable[[ModelRequest], Mapping[str, Any]]]:
    path = f"/models/{quote(model)}:streamGenerateContent"
    return path, lambda request: google.request_body(request, model, reasons=True)


def _converse(model: str) -> tuple[str, Callable[[ModelRequest], Mapping[str, Any]]]:
    return f"/model/{quote(model)}/converse-stream", lambda request: bedrock_converse.request_body(request, model)


_FORMS: tuple[tuple[str, Callable[[ModelRequest], Mapping[str, Any]]], ...] = (
    ("/messages", anthropic.request_body),
    ("/responses", openai_responses.request_body),
    ("/responses", lambda request: openai_responses.request_body(request, strict_tools=True)),
    ("/chat/completions", lambda request: _chat(request, reasons=False)),
    ("/chat/completions", lambda request: _chat(request, reasons=True, **_STRICT)),
    _google("gemini-2.5-flash"),
    _google("gemini-3-pro-preview"),
    _converse("eu.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    _converse("us.amazon.nova-pro-v1:0"),
    _converse("openai.gpt-oss-120b-1:0"),
)


def complaints(request: ModelRequest) -> Iterator[str]:
    """Yield what the vendors would refuse the request for. The effort is not checked: its words are those of the model
    that was asked, and the vendors' models have others."""
    for path, form in _FORMS:
        try:
            body = json.loads(dumps(form(request)))
        except ValueError as error:
            yield f"{path}: it cannot be written: {error}"
            continue
        refusal = check_http(path, body)
        if refusal is not None:
            yield f"{path}: {refusal.message.strip()}"


def refused(request: ModelRequest) -> AsyncGenerator[StreamEvent, None] | None:
    """Return the stream of a request that some vendor would refuse, and record it; None if all of them accept it."""
    said = "; ".join(dict.fromkeys(complaints(request)))
    if not said:
        if JUDGED in os.environ:
            Path(os.environ[JUDGED]).touch()
        return None
    with open(os.environ[RECORD], "a", encoding="utf-8") as record:
        record.write(f"{said!r}\n")
    return _refusal(said)


async def _refusal(said: str) -> AsyncGenerator[StreamEvent, None]:
    yield Failed("bad_request", f"the vendors would have refused: {said}", AssistantMessage(()))
