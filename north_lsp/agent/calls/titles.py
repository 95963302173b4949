"""Makes what people see of a call before it has a result: its title, and the file that it is about to read."""

from __future__ import annotations

import os

from north_lsp.agent.log.call_details import NOT_RUN
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.events import CallEnded
from north_lsp.agent.ports.results import Result, failed
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.vocabulary import Location


@dataclass(frozen=True, slots=True)
class Titles:
    """Makes the titles of one turn's calls."""

    context: TurnContext
    diagnostics: Diagnostics

    def title(self, call: ToolCall) -> str:
        tool = self.context.tools.find(call.name)
        title = call.name
        if tool is not None:
            with self.diagnostics.guarded(f"the title of {call.name}"):
                title = tool.title(dict(call.arguments))
        return one_line(title)

    def places(self, call: ToolCall) -> tuple[Location, ...]:
        """Return the file that a reading call is about to read, so that an editor can follow along."""
        with self.diagnostics.guarded(f"the place of {call.name}"):
            return self._places(call)
        return ()

    def _places(self, call: ToolCall) -> tuple[Location, ...]:
        path, line = call.arguments.get("path", call.arguments.get("file")), call.arguments.get("startLine")
        tool = self.context.tools.find(call.name)
        if tool is None or not tool.only_reads or not isinstance(path, str):
            return ()
        if not path or "\0" in path or "://" in path or ".." in path.split("/") or path.startswith("~"):
            return ()
        root = self.context.workspace.roots.main
        place = root / path
        if not place.is_relative_to(root) or not os.path.isfile(place):
            return ()
        return (Location(place, line if isinstance(line, int) and line > 0 else None),)

    def failure(self, call: ToolCall, error: ToolError) -> Result:
        """Make the result of a call that failed: for people what is wrong, for the model also what to do instead."""
        ended = CallEnded(call.id, self.title(call), False, visible(error.message))
        details = NOT_RUN if error.code == "CANCELLED" else {}
        return Result(failed(error), True, ended, details)
