"""The ports that a session reports to: the editor, its status, and North's own log."""

from dataclasses import field

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Event
from north_lsp.agent.ports.extension_events import NO_EXTENSIONS, ExtensionEvents
from north_lsp.agent.ports.running_calls import RunningCalls
from north_lsp.agent.ports.status import Status
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one session."""

    editor: Editor
    status: Status
    diagnostics: Diagnostics
    calls: RunningCalls = field(default_factory=RunningCalls)
    extensions: ExtensionEvents = NO_EXTENSIONS

    async def show(self, event: Event) -> None:
        await self.editor.show(event)

    def on_failure(self, where: str, error: BaseException) -> None:
        """Write an unexpected exception to North's log."""
        self.diagnostics.failure(where, error)
