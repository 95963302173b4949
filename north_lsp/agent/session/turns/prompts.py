"""The prompts of a session on their way to a turn: queued, delivered, or back with the user."""

from __future__ import annotations

from north_lsp.agent.session.turns.delivery import PromptDelivery
from north_lsp.agent.session.turns.unsent import UnsentPrompts
from north_lsp.agent.turn.queue import PromptQueue
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Prompts:
    """The prompts of one session."""

    queue: PromptQueue
    delivery: PromptDelivery
    unsent: UnsentPrompts
