"""Takes secrets out of what North learns: what is written outlasts the conversation and its placeholders."""

from __future__ import annotations

from collections.abc import Callable

from north_lsp.agent.session.keeping.exporting import mask_of
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.storage.masking import MASK, PLACEHOLDER


def learning_mask(stored: Stored, environment: Environment) -> Callable[[str], str]:
    """Return what masks keys by their value and form, the secrets of the conversation's folders, and what stands for
    those of other conversations. Raises ToolError if the keys cannot be known. Reads files: for a thread."""
    keys, secrets = mask_of(environment.models.catalog, environment.environ), stored.secrets
    secrets.refresh()

    def mask(text: str) -> str:
        return PLACEHOLDER.sub(MASK, secrets.masked(keys(text)))

    return mask
