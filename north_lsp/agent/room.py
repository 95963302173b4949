"""How much of a model's window a request leaves for the answer."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from north_lsp.agent.estimates import input_tokens, message_tokens
from north_lsp.agent.usage import all_tokens
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest
from north_lsp.providers.model import Model

LEAST_ANSWER = 1_024


def room_for_answer(model: Model, path: Sequence[Mapping[str, Any]], request: ModelRequest) -> int | None:
    """Tokens, by what the vendor counted for the last answer, and by an estimate of what is new since. None for a model
    whose window nobody has told."""
    if not model.window_known or model.provider.api == "offline":
        return None
    return model.window - (_counted(path, request) or input_tokens(request))


def too_long(model: Model, room: int) -> Failed:
    """The failure that stands for a request which leaves too little, and is not sent."""
    used = max(model.window - room, 0)
    message = (
        f"the conversation fills the window of {model.title}: about {used:,} of {model.window:,} tokens. Start a new "
        "one, or choose a model with a larger window"
    )
    return Failed("context_overflow", message, AssistantMessage(()))


def _counted(path: Sequence[Mapping[str, Any]], request: ModelRequest) -> int | None:
    """What the last answer had read and written, and an estimate of what came behind it; None if the last answer has no
    numbers of the vendor's."""
    answers = (entry for entry in reversed(path) if (entry.get("message") or {}).get("role") == "assistant")
    last = next((entry for entry in answers if not entry.get("excludeFromContext")), None)
    usage = (last or {}).get("message", {}).get("usage") or {}
    total = all_tokens(usage)
    if not total or usage.get("estimated"):
        return None
    newest = takewhile(lambda message: not isinstance(message, AssistantMessage), reversed(request.messages))
    return total + message_tokens(newest)
