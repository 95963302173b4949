"""Calculates how much of a model's window a request leaves for the answer."""

from __future__ import annotations

from north_lsp.agent.compaction.limits import has_limit
from north_lsp.providers.base import AssistantMessage, Failed
from north_lsp.providers.model import Model

MIN_OUTPUT_TOKENS = 1_024


def remaining_output_tokens(model: Model, read: int) -> int | None:
    """Return how many tokens are left after `read` tokens; None for a model whose window is unknown."""
    return model.window - read if has_limit(model) else None


def too_long(model: Model, room: int) -> Failed:
    """Make the failure for a request that leaves too little room and is not sent."""
    used = max(model.window - room, 0)
    message = (
        f"the conversation fills the context window of {model.title}: about {used:,} of {model.window:,} tokens. "
        "Start a new one, or choose a model with a larger window"
    )
    return Failed("context_overflow", message, AssistantMessage(()))
