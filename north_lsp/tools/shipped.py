"""The tools that North ships, each imported when it is first called.

What a model is told of them is in `shipped.json`, which `just generate` makes from the tools themselves (`builtin.py`):
importing them all, with pydantic, took a third of the time until the first answer, and most conversations call a few.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from north_lsp.storage.edit_settings import EditVariant
from north_lsp.tools.base import Host, Output, Tool
from north_lsp.tools.registry import Registry
from north_lsp.workspace.workspace import Workspace

R = TypeVar("R")
SEARCH = "search_tools"
"""The tool that finds others: conversations have it where it is of use."""

_UNASKED = frozenset({"lsp", "edit_rename_symbol", "edit_format_file", "remember", "web_search"})
"""Offered where the editor lets its language servers be asked, where memory is on, and where a search
provider is configured."""
HIDDEN: dict[EditVariant, frozenset[str]] = {
    "anchors": _UNASKED | {"edit_patch"},
    "patch": _UNASKED | {"edit_after_anchor", "edit_before_anchor", "edit_by_anchor", "edit_replace_block"},
}
"""The tools that are not offered to models, though they can be called, by the edit tools that are wanted."""


class ShippedTool(Tool):
    """A tool that is not imported yet; `row` is what the table has of it."""

    def __init__(self, name: str, row: Mapping[str, Any]) -> None:
        self.name = name
        self.also = tuple(row["also"])
        self.kind = row["kind"]
        self.needs = frozenset(row["needs"])
        self.modes = frozenset(row["modes"])
        self.parallel = row["parallel"]
        self.discoverable = row["discoverable"]
        self._row = row

    def told(self) -> tuple[str, Mapping[str, object]]:
        texts = self._row["descriptions"]
        return texts.get(sys.platform, texts[""]), self._row["schema"]

    def loaded(self) -> Tool:
        return _imported(self.name)

    @property
    def is_loaded(self) -> bool:
        return self.name in _TOOLS

    def title(self, args: dict[str, Any]) -> str:
        try:
            return self.loaded().title(args)
        except Exception:  # noqa: BLE001 - a title is no reason to fail; whoever calls the tool is told
            return self.name

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await self.loaded().invoke(args, workspace, host)


def shipped_tools(variant: EditVariant = "anchors") -> Registry:
    """Return the registry. `variant` says which edit tools are offered to models; the others can still be called."""
    return Registry([shipped_tool(name) for name in _table() if name != SEARCH], HIDDEN[variant])


def shipped_tool(name: str) -> Tool:
    return ShippedTool(name, _table()[name])


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    table: Mapping[str, Mapping[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return table


_TOOLS: dict[str, Tool] = {}
"""Those that are imported."""


def _imported(name: str) -> Tool:
    if name not in _TOOLS:
        row = _table()[name]
        module, _, kind = row["class"].partition(":")
        make = getattr(import_module(f"{__package__}.{module}"), kind)
        _TOOLS[name] = make({part: _imported(part) for part in row["parts"]}) if row["parts"] else make()
    return _TOOLS[name]
