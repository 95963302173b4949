"""The data that a session is opened with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.model_selection import ALL_MODELS, Allowed

if TYPE_CHECKING:
    from north_lsp.agent.approvals.project import ProjectApprovals
    from north_lsp.agent.context.conversation_context import ConversationContext
    from north_lsp.agent.edits.checkpoints import Checkpoints
    from north_lsp.agent.log.log import Log
    from north_lsp.agent.log.queued import QueuedRow
    from north_lsp.agent.secrets.secrets import Secrets
    from north_lsp.providers.model import Model
    from north_lsp.storage.artifacts import Artifacts
    from north_lsp.storage.conversation import Conversation
    from north_lsp.vocabulary import Mode


@dataclass(frozen=True)
class Stored:
    """The stored parts of a session; `queue` is what an earlier process left, and `new_context` makes the context."""

    log: Log
    approvals: ProjectApprovals
    checkpoints: Checkpoints
    new_context: Callable[[], ConversationContext]
    secrets: Secrets
    artifacts: Artifacts | None = None
    queue: Sequence[QueuedRow] = ()

    @cached_property
    def context(self) -> ConversationContext:
        """What the model is told besides the conversation; opening a session does not need it."""
        return self.new_context()

    @property
    def conversation(self) -> Conversation:
        """The conversation as it is stored."""
        return self.log.conversation


@dataclass(frozen=True)
class Start:
    """The model and mode that a session starts with; `notices` are what the user should be told about opening it.
    `resumes_turns`: its client takes up a turn that an earlier process did not finish."""

    model: Model
    mode: Mode
    notices: Sequence[str] = ()
    allowed: Allowed = ALL_MODELS
    resumes_turns: bool = False
