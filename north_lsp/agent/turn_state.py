"""What one turn works with; made by the session, fixed for the turn."""

import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from north_lsp.agent.calls.abandoned_tasks import Detached
from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.costs.recorder import CostKeeper
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.status import Status
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.queue import PromptQueue, Queued
from north_lsp.agent.turn.retry import RetryControl, RetrySettings
from north_lsp.command_policy.commands import CommandApprovals
from north_lsp.providers.base import Failed, Provider
from north_lsp.providers.model import Model
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.approvals import Permission, Switch
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.settings import Settings
from north_lsp.storage.trust import Trust
from north_lsp.tools.base import Mode, Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


class ProjectApprovals(CommandApprovals, Protocol):
    """What the user has allowed in this project, and ways to add to it."""

    def allow_command(self, command: str) -> None: ...

    def allow_rule(self, rule: dict[str, Any]) -> None: ...

    def listed(self) -> list[Permission]: ...

    def revoke_id(self, id: str) -> bool: ...

    def note_use(self, used: Sequence[str | Mapping[str, object]]) -> None: ...

    def edits_auto_accepted(self) -> bool: ...

    def enable_edits_auto_accept(self) -> None: ...

    def disable_edits_auto_accept(self) -> None: ...

    def accept_edits_of_this_session(self) -> None: ...

    def enable_shell_auto_approve(self) -> None: ...

    def approve_commands_of_this_session(self) -> None: ...

    def disable_shell_auto_approve(self) -> None: ...

    def holds_for_session_only(self, switch: Switch) -> bool: ...

    @property
    def trust(self) -> Trust: ...

    @property
    def write_error(self) -> OSError | None:
        """Why the last answer could not be stored; it then holds for this session only."""
        ...


@dataclass(frozen=True)
class TurnState:
    """`system` is the system text; `mode` is the one that was in force when the prompt was sent. `say` adds what the
    user said meanwhile, `costs` counts what requests use and `spending` has its limits, `fallback` gives the model to
    go on with after a failure, `promotion` one with a larger window (but none of those named), and `artifacts` keeps
    what is too long for the conversation. `detached` takes over what a cancelled turn cannot wait for; `chosen` is the
    user's choice of now, `provider_of` reaches a model (raises MissingCredential)."""

    conversation: Conversation
    history: History
    model: Model
    provider: Provider
    system: str
    mode: Mode
    tools: "Registry"
    workspace: Workspace
    editor: Editor
    approvals: ProjectApprovals
    runner: CommandRunner
    checkpoints: Checkpoints
    diagnostics: Diagnostics
    sync: Callable[[], Awaitable[None]]
    retry: RetrySettings
    retry_control: RetryControl
    queue: PromptQueue
    status: Status
    say: Callable[[Queued], Awaitable[None]]
    costs: CostKeeper
    spending: Spending
    fallback: Callable[[Model, Failed], Awaitable[tuple[Model, Provider] | None]]
    promotion: Callable[[Model, Collection[str]], Awaitable[tuple[Model, Provider] | None]]
    detached: Detached
    chosen: Callable[[], Model]
    provider_of: Callable[[Model], Awaitable[Provider]]
    artifacts: Artifacts | None = None
    settings: Settings = field(default_factory=Settings)

    def milliseconds(self) -> int:
        return round(time.time() * 1000)

    def on_failure(self, where: str, error: BaseException) -> None:
        self.diagnostics.failure(where, error)
