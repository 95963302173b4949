"""Calculates how much of a model's window a request leaves for the answer."""

from itertools import takewhile

from north_lsp.agent.costs.estimates import input_tokens, message_tokens
from north_lsp.agent.log.messages import StoredUsage
from north_lsp.providers.base import AssistantMessage, Failed, ModelRequest
from north_lsp.providers.model import Model

MIN_OUTPUT_TOKENS = 1_024


def remaining_output_tokens(model: Model, read: int) -> int | None:
    """Return how many tokens are left after `read` tokens; None for a model whose window is unknown."""
    return model.window - read if model.window_known and model.provider.api != "offline" else None


def read_tokens(last: StoredUsage | None, request: ModelRequest) -> int:
    """Return how many tokens a model reads of a request: those counted for the last answer (`last`), plus an estimate
    of what is new since."""
    if last is not None and (total := last.all_tokens):
        newest = takewhile(lambda message: not isinstance(message, AssistantMessage), reversed(request.messages))
        return total + message_tokens(newest)
    return input_tokens(request)


def too_long(model: Model, room: int) -> Failed:
    """Make the failure for a request that leaves too little room and is not sent."""
    used = max(model.window - room, 0)
    message = (
        f"the conversation fills the context window of {model.title}: about {used:,} of {model.window:,} tokens. "
        "Start a new one, or choose a model with a larger window"
    )
    return Failed("context_overflow", message, AssistantMessage(()))
