"""Finds calls into which a model has leaked text from its internal channels: they are refused, or salvaged where
possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.providers.leaks import leak_in, may_leak, texts_of
from north_lsp.tools.support.texts import resolve_open, text_of

_TOLD_AT = 2
_SHOWN = 60


class LeakGuard:
    """Checks the calls of one turn."""

    def __init__(self, context: TurnContext, ports: Ports) -> None:
        self._context = context
        self._ports = ports
        self._leaks = 0

    async def cleaned(self, call: ToolCall) -> tuple[ToolCall, str | None]:
        """Return the call, or what can be kept of it with a note for the model. Raises ToolError if the call is
        refused."""
        model = self._context.model
        if not may_leak(model.id):
            return call, None
        for name, text in texts_of(call.arguments):
            leak = leak_in(text)
            if leak is None or await self._stands_there(call.arguments, text[leak:].split("\n")[0][:_SHOWN]):
                continue
            self._ports.diagnostics.event("channel_leak", toolName=call.name, field=name)
            tool = self._context.tools.find(call.name)
            if name in call.arguments and tool is not None and (kept := tool.cut_before(text, leak)) is not None:
                note = (
                    "a later part of the patch contained text of another channel and was left out: send that part again"
                )
                return replace(call, arguments={**call.arguments, name: kept}), note
            self._leaks += 1
            if self._leaks == _TOLD_AT:
                told = f"{model.title} keeps leaking internal text into its tool calls; another model may work better"
                await self._ports.show(Notice("warning", told))
            problem = f"{name} contains text that belongs to another channel ({one_line(text[leak:], _SHOWN)})"
            raise ToolError("INVALID_INPUT", problem, f"send the call again with a clean {name}")
        return call, None

    async def _stands_there(self, arguments: Mapping[str, object], marker: str) -> bool:
        """Tell whether the file that the call names contains the marker already; then the text is intended."""
        workspace = self._context.workspace
        try:
            resolved = await resolve_open(str(arguments["path"]), workspace)
            text, _ = await text_of(resolved.path, workspace)
        except (KeyError, ToolError):
            return False
        return marker.split(maxsplit=1)[0] in text.text
