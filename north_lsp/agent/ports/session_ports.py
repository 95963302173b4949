"""The ports that a session reports to: the editor, its status, North's own log, and the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Event
from north_lsp.agent.ports.extension_events import NO_EXTENSIONS, ExtensionEvents
from north_lsp.agent.ports.running_calls import RunningCalls
from north_lsp.agent.ports.status import Status
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass


async def _no_memory(kind: str, text: str) -> str:
    raise ToolError("UNAVAILABLE", "memory is disabled", "continue without it")


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one session. `remember` notes a text of some kind for later conversations, if the user agrees, and
    returns the note; it raises ToolError."""

    editor: Editor
    status: Status
    diagnostics: Diagnostics
    calls: RunningCalls = field(default_factory=RunningCalls)
    extensions: ExtensionEvents = NO_EXTENSIONS
    remember: Callable[[str, str], Awaitable[str]] = _no_memory

    async def show(self, event: Event) -> None:
        await self.editor.show(event)

    def on_failure(self, where: str, error: BaseException) -> None:
        """Write an unexpected exception to North's log."""
        self.diagnostics.failure(where, error)
