"""The tools of a session: their descriptions for the model, and the check of arguments before anything runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import anyio.to_thread

from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolSpec
from north_lsp.tools.base import Tool
from north_lsp.vocabulary import Mode

MAX_ARGUMENT_BYTES = 50 * 1024


class Registry:
    """Tools by name; two tools of one name raise ValueError. `hidden` ones are not offered but can be called."""

    def __init__(self, tools: Iterable[Tool], hidden: frozenset[str] = frozenset()) -> None:
        self.hidden = hidden
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool
        self._also = {name: tool for tool in self._tools.values() for name in tool.also if name not in self._tools}

    def offering(self, *names: str) -> Registry:
        """Return a registry of the same tools in which these are not hidden."""
        return Registry(self._tools.values(), self.hidden - {*names}) if self.hidden & {*names} else self

    def joined(self, tools: Sequence[Tool]) -> Registry:
        """Return a registry that has these tools, too."""
        return Registry([*self._tools.values(), *tools], self.hidden) if tools else self

    def without(self, *names: str) -> Registry:
        """Return a registry that does not have these tools."""
        if not names:
            return self
        return Registry([tool for tool in self._tools.values() if tool.name not in names], self.hidden)

    def find(self, name: str) -> Tool | None:
        """Return the tool that a call means; one that North ships is imported now. One that cannot be imported, as
        after an update under a running server, is returned as it is listed: only a call of it fails."""
        tool = self.listed(name)
        try:
            return tool.loaded() if tool is not None else None
        except Exception:  # noqa: BLE001 - whatever its module raises; `check` raises it again, for the call
            return tool

    def listed(self, name: str) -> Tool | None:
        """Return a tool as it is listed, which tells what it is and need not be imported yet."""
        return self._tools.get(name) or self._also.get(name)

    def search(self, query: str, limit: int) -> Sequence[ToolSpec]:
        """Find tools among those that are listed by name only, which are described from then on."""
        return ()

    async def load(self, name: str) -> None:
        """Import the tool that a call means, on a thread: with the first one, that takes a while."""
        tool = self.listed(name)
        if tool is not None and not tool.is_loaded:
            await anyio.to_thread.run_sync(self.find, name)

    def specs(self, mode: Mode) -> tuple[ToolSpec, ...]:
        """Return what the model may use in a mode, by name, so that requests of one conversation stay identical."""
        tools = sorted(self._tools.values(), key=lambda tool: tool.name)
        return tuple(self.spec(tool) for tool in tools if mode in tool.modes and tool.name not in self.hidden)

    def tools(self) -> tuple[Tool, ...]:
        """Return all tools as they are listed."""
        return tuple(self._tools.values())

    @property
    def has_writers(self) -> bool:
        """Whether any of the tools proposes edits."""
        return any("write" in tool.needs for tool in self._tools.values())

    @staticmethod
    def spec(tool: Tool) -> ToolSpec:
        return ToolSpec(tool.name, *tool.told())

    def schema(self, name: str) -> Mapping[str, object]:
        """Return the JSON Schema of a tool's arguments; empty for a tool that does not exist."""
        tool = self.listed(name)
        return self.spec(tool).schema if tool is not None else {}

    def check(self, name: str, arguments: Mapping[str, object], mode: Mode) -> tuple[Tool, Any]:
        """Look up the tool and parse its arguments. Raises ToolError before anything has run."""
        tool = self.listed(name)
        if tool is None:
            raise ToolError(
                "NOT_FOUND", f"there is no tool called {name!r}", f"available: {', '.join(sorted(self._tools))}"
            )
        if mode == "plan" and mode not in tool.modes:
            raise plan_required(f"{name} is not available in plan mode")
        if mode not in tool.modes:
            raise ToolError(
                "MODE_FORBIDDEN",
                f"{name} is not available in {mode} mode",
                "this mode is read-only; ask the user to switch to agent mode if changes are wanted",
            )
        size = len(json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace"))
        if size > MAX_ARGUMENT_BYTES:
            raise ToolError(
                "TOO_LARGE",
                f"the arguments of {name} are {size} bytes; at most {MAX_ARGUMENT_BYTES} are accepted",
                "write the file in your answer, between <NORTH_FILE> tags, or make several smaller edits"
                if "write" in tool.needs
                else "send less at once",
            )
        tool = tool.loaded()
        return tool, tool.checked(arguments)


def plan_required(what: str) -> ToolError:
    """Make the error for what has to wait until a plan is approved."""
    hint = "work out the plan with write_plan, then present it with exit_plan_mode; nothing is changed before that"
    return ToolError("PLAN_REQUIRED", what, hint)
