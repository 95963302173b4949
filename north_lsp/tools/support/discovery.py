"""Rarely used tools, and those of servers when there are very many, are listed by name only, until the model has looked
them up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolSpec
from north_lsp.tools.registry import Registry
from north_lsp.tools.shipped import SEARCH, shipped_tool
from north_lsp.tools.support.ranking import ranked
from north_lsp.vocabulary import Mode

_MOST_DESCRIBED = 100_000


@dataclass
class Discovery:
    """The tools that one conversation has looked up: `chosen`, which `note` stores. Tools of servers are described as
    long as there are no more than `threshold` tools besides the rarely used ones, and their descriptions are no longer
    than 100,000 characters together; with a threshold of 0, all are."""

    threshold: int
    chosen: set[str] = field(default_factory=set)
    note: Callable[[Iterable[str]], None] = lambda names: None
    registry: Registry | None = None

    def find(self, query: str, limit: int) -> list[ToolSpec]:
        """Find the tools that fit a query best; from the next request on they are described in full."""
        if self.registry is None:
            return []
        hidden = self.registry.hidden
        tools = [tool for tool in self.registry.tools() if tool.discoverable and tool.name not in hidden]
        specs = {tool.name: self.registry.spec(tool) for tool in tools}
        best = ranked(query, {name: f"{name} {name} {spec.description}" for name, spec in specs.items()})[:limit]
        new = [name for name in best if name not in self.chosen]
        if new:
            self.chosen.update(new)
            self.note(sorted(self.chosen))
        return [specs[name] for name in best]


class DiscoveringRegistry(Registry):
    """The tools of one conversation, with descriptions of those that have been looked up."""

    def __init__(self, registry: Registry, discovery: Discovery) -> None:
        super().__init__([*registry.tools(), shipped_tool(SEARCH)], registry.hidden)
        self._discovery = discovery
        discovery.registry = registry

    def search(self, query: str, limit: int) -> Sequence[ToolSpec]:
        return self._discovery.find(query, limit)

    def specs(self, mode: Mode) -> tuple[ToolSpec, ...]:
        every = super().specs(mode)
        offered = tuple(spec for spec in every if spec.name != SEARCH)
        threshold = self._discovery.threshold
        if not threshold:
            return offered
        rare = [spec.name for spec in offered if self._is_untold(spec.name, many=False)]
        many = len(offered) - len(rare) > threshold or self._is_much(offered)
        names = [spec.name for spec in offered if self._is_untold(spec.name, many)]
        if not names:
            return offered
        found = (spec for spec in every if spec.name not in names)
        told = f"\n\nNot described so far: {', '.join(names)}"
        return tuple(
            replace(spec, description=spec.description + told) if spec.name == SEARCH else spec for spec in found
        )

    def _is_much(self, offered: Iterable[ToolSpec]) -> bool:
        """Tell whether the descriptions of tools of servers would take much of the model's window."""
        described = (one for one in offered if (tool := self.listed(one.name)) is not None and tool.described)
        return sum(len(one.description) + len(json.dumps(one.schema)) for one in described) > _MOST_DESCRIBED

    def _is_untold(self, name: str, many: bool) -> bool:
        tool = self.listed(name)
        if tool is None or not tool.discoverable or name in self._discovery.chosen:
            return False
        return many or not tool.described
