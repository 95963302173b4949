"""Which of all that is found in the folders of several tools counts: rules, agents, MCP servers and others. Each room
says what its kind of item is, and loads it. Here are the order of the sources, which item of one name counts, and that
a source which fails costs no other anything. Reads nothing itself, and knows no kind."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, Literal, TypeVar

from north_lsp.display import one_line
from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass

Level = Literal["project", "user"]
SourceId = Literal[
    "client",
    "north",
    "claude",
    "claude-plugin",
    "agents",
    "codex",
    "gemini",
    "cursor",
    "windsurf",
    "vscode",
    "cline",
    "github",
    "opencode",
    "mcp-json",
    "custom",
    "builtin",
]
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Source:
    """A tool whose folders and files items are read from: `title` is for people, and a higher `priority` goes first."""

    title: str
    priority: int


SOURCES: Mapping[SourceId, Source] = {
    "client": Source("the editor", 110),
    "north": Source("North", 100),
    "claude": Source("Claude Code", 80),
    "claude-plugin": Source("plugins of Claude Code", 70),
    "agents": Source("`.agents`", 70),
    "codex": Source("Codex", 70),
    "gemini": Source("Gemini", 60),
    "cursor": Source("Cursor", 50),
    "windsurf": Source("Windsurf", 50),
    "vscode": Source("VS Code", 45),
    "cline": Source("Cline", 40),
    "github": Source("GitHub Copilot", 40),
    "opencode": Source("opencode", 40),
    "mcp-json": Source("`mcp.json`", 20),
    "custom": Source("the settings' folders", 20),
    "builtin": Source("what is bundled with North", 0),
}
"""All sources of all kinds. Of two with the same priority the one further up goes first."""
_PLACES = {id: at for at, id in enumerate(SOURCES)}


@dataclass(frozen=True, slots=True)
class Loader(Generic[_Item]):
    """Finds the items of a source, or a part of them, and says what is wrong on the way, a line each."""

    source: SourceId
    load: Callable[[], Iterable[_Item | str]]


@dataclass(frozen=True, slots=True)
class Loaded(Generic[_Item]):
    """The items of a kind in order of precedence: those that are `used`, those that a stronger one of their name
    shadows, and those that cannot be used. `problems` are a line each."""

    all: Sequence[_Item]
    used: Sequence[_Item]
    shadowed: Sequence[_Item]
    problems: Sequence[str] = ()


class Kind(ABC, Generic[_Item]):
    """What a room says of its items, and which of them count. `disabled` are those that the user's settings name, as
    `kind:name`."""

    title: str
    """What people call several of them."""

    def __init__(self, disabled: Collection[str] = ()) -> None:
        self.disabled = disabled

    @abstractmethod
    def name(self, item: _Item) -> str:
        """Return what no two that count may share."""

    @abstractmethod
    def source(self, item: _Item) -> SourceId: ...

    @abstractmethod
    def level(self, item: _Item) -> Level: ...

    @abstractmethod
    def shown(self, item: _Item) -> str:
        """Return where an item is, for people."""

    def via(self, item: _Item) -> str:
        """Say for people whose folder an item comes from, and whether that is the project's or the user's; empty for
        what is bundled with North."""
        source = self.source(item)
        return "" if source == "builtin" else f"via {SOURCES[source].title}, {self.level(item)}"

    def placed(self, item: _Item, shown: str) -> str:
        """Say for people where an item is: whose folder that is, and what is `shown` of its path."""
        return ": ".join(filter(None, (self.via(item), shown)))

    def called(self, item: _Item) -> str:
        """Return what the setting `disabledItems` calls an item."""
        return ""

    def why(self, item: _Item) -> str:
        """Say why an item cannot be used, in which case it hides none that can; empty for one that can."""
        return str(getattr(item, "why", ""))

    def marked(self, item: _Item, why: str) -> _Item:
        """Return the item, which says why it is not used."""
        return replace(item, why=why)  # type: ignore[type-var]  # a dataclass, or this is overridden

    def meets(self, item: _Item, other: _Item) -> bool:
        """Tell whether two of one name stand for the same, so that only one of them counts."""
        return True

    def priority(self, source: SourceId) -> int:
        return SOURCES[source].priority

    def rank(self, item: _Item) -> tuple[Any, ...]:
        """Return what items are sorted by: the source's priority, and the project's before the user's. Those that are
        equal stay as they were found."""
        source = self.source(item)
        return -self.priority(source), _PLACES[source], self.level(item) == "user"

    def load(self, loaders: Iterable[Loader[_Item]]) -> Loaded[_Item]:
        """Load every source, and decide which items count. What fails in one source costs no other anything."""
        items: list[_Item] = []
        problems: list[str] = []
        for loader in loaders:
            try:
                for found in loader.load():
                    if isinstance(found, str):
                        problems.append(found)
                    else:
                        items.append(found)
            except Exception as error:  # noqa: BLE001 - whatever fails in one source, the others count
                told = f"{self.title} of {SOURCES[loader.source].title} cannot all be read ({_said(error)})"
                problems.append(Problem(told, event="capability_warning"))
        settled = self.settled(items)
        return replace(settled, problems=(*problems, *settled.problems))

    def settled(self, items: Iterable[_Item]) -> Loaded[_Item]:
        """Decide which items count: of those with one name the first."""
        taken: dict[str, list[_Item]] = {}
        every: list[_Item] = []
        used: list[_Item] = []
        shadowed: list[_Item] = []
        for item in sorted(items, key=self.rank):
            is_off = bool(self.disabled) and self.called(item) in self.disabled
            if why := "the setting `disabledItems` names it" if is_off else self.why(item):
                every.append(self.marked(item, why))
                continue
            before = taken.setdefault(self.name(item), [])
            by = next((one for one in before if self.meets(item, one)), None)
            if by is None:
                before.append(item)
                used.append(item)
                every.append(item)
            else:
                shadowed.append(self.marked(item, f"shadowed by {self.shown(by)}"))
                every.append(shadowed[-1])
        return Loaded(tuple(every), tuple(used), tuple(shadowed))


def _said(error: Exception) -> str:
    """Say what an exception says, and where it comes from: it is a bug, and this line is all that is known of it."""
    import traceback  # rare

    last = traceback.extract_tb(error.__traceback__)[-1]
    return one_line(f"{type(error).__name__}: {error}, {os.path.basename(last.filename)}:{last.lineno}", 300)
