"""The facts that are fixed when a turn begins and hold until its end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from north_lsp.agent.ports.holds import NO_HOLD, Hold
from north_lsp.agent.ports.stream_rules import StreamRule
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.model import Model
from north_lsp.storage.settings import Settings
from north_lsp.vocabulary import Mode
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry


async def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class TurnRules:
    """What watches over a turn: `follow` tells the model about the files that calls have touched since the last time,
    `stream` are the rules for its answers while they arrive, `hold` says what may not be changed at this moment."""

    follow: Callable[[], Awaitable[None]] = _nothing
    stream: tuple[StreamRule, ...] = ()
    hold: Callable[[], Hold | None] = NO_HOLD


NO_RULES = TurnRules()


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The `model` that is asked first, the `system` text, the `mode` that was set when the prompt was sent, the `tools`
    that are offered, the workspace and settings as they were read for this turn, and the rules that watch over it."""

    model: Model
    system: str
    mode: Mode
    tools: Registry
    workspace: Workspace
    settings: Settings
    rules: TurnRules = NO_RULES

    @property
    def plans(self) -> bool:
        """Whether a plan is worked out: nothing else may be written."""
        return self.mode == "plan"

    @property
    def may_write(self) -> bool:
        """Whether edits may be proposed, also in the text of an answer."""
        return self.mode == "agent" and self.tools.has_writers
