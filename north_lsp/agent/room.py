"""How much of a model's window a request leaves for the answer."""

from collections.abc import Iterable, Mapping
from typing import Any

from north_lsp.agent.estimates import input_tokens
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest
from north_lsp.providers.model import Model

LEAST_ANSWER = 1_024
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")


def room_for_answer(model: Model, path: Iterable[Mapping[str, Any]], request: ModelRequest) -> int | None:
    """Tokens, by what the vendor counted for the last answer, and by an estimate of what is new since. None for a model
    whose window nobody has told."""
    if not model.window_known or model.provider.api == "offline":
        return None
    return model.window - (_counted(list(path), request) or input_tokens(request))


def too_long(model: Model, room: int) -> Failed:
    """The failure that stands for a request which leaves too little, and is not sent."""
    used = max(model.window - room, 0)
    message = (
        f"the conversation fills the window of {model.title}: about {used:,} of {model.window:,} tokens. Start a new "
        "one, or choose a model with a larger window"
    )
    return Failed("context_overflow", message, AssistantMessage(()))


def _counted(path: list[Mapping[str, Any]], request: ModelRequest) -> int | None:
    """What the last answer had read and written, and an estimate of what came behind it; None if the last answer has no
    numbers of the vendor's."""
    answers = (entry for entry in reversed(path) if (entry.get("message") or {}).get("role") == "assistant")
    last = next((entry for entry in answers if not entry.get("excludeFromContext")), None)
    usage = (last or {}).get("message", {}).get("usage") or {}
    total = sum(int(usage.get(key) or 0) for key in _COUNTS)
    if not total or usage.get("estimated"):
        return None
    behind = 0
    for message in reversed(request.messages):
        if isinstance(message, AssistantMessage):
            break
        behind += 1
    newest = request.messages[len(request.messages) - behind :]
    return total + input_tokens(ModelRequest(request.model, "", newest, (), 0))
