"""Where definitions are looked for: North's folders and those of other tools, in the project and in the user's home,
those of plugins, then what is bundled with North. The table is all there is to add for another tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from north_lsp.agent.context.above import found_above, place_above
from north_lsp.agent.context.documents import Place, documents_in, read_document, user_place, users_own
from north_lsp.agent.context.frontmatter import Front
from north_lsp.agent.subagents.definition import (
    Definition,
    Family,
    NotAnAgent,
    Source,
    definition_of,
    parse_definition,
)
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.kinds import Kind, Level, Loader, SourceId
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import find_plugins

FAMILIES: Sequence[tuple[Family, str]] = (
    ("north", ".north/agents"),
    ("claude", ".claude/agents"),
    ("codex", ".codex/agents"),
    ("gemini", ".gemini/agents"),
    ("github", ".github/agents"),
    ("opencode", ".opencode/agent"),
)
"""Where those of a project are; the user's are at the same places of the home folder, but for GitHub's."""
_FOLDER = "agents"
_SUFFIXES = (".md",)
_BUNDLED = Path(__file__).parent / "bundled"
_HEADS = _BUNDLED / "heads.json"


class Agents(Kind[Definition]):
    """Agents: one of each name. Those of Claude's plugins come after those of all tools' own folders."""

    title = "Agents"

    def name(self, item: Definition) -> str:
        return item.name

    def source(self, item: Definition) -> SourceId:
        return item.source.family

    def level(self, item: Definition) -> Level:
        return "project" if item.source.whose == "project" else "user"

    def shown(self, item: Definition) -> str:
        return item.source.shown

    def called(self, item: Definition) -> str:
        return f"agent:{item.name}"

    def priority(self, source: SourceId) -> int:
        return 30 if source == "claude-plugin" else super().priority(source)


@dataclass(frozen=True, slots=True)
class Definitions:
    """All definitions, also those that others of the same name come before, and what went wrong on the way."""

    all: tuple[Definition, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[Definition, ...]:
        return tuple(one for one in self.all if not one.why)

    def find(self, name: str) -> Definition | None:
        """Find an agent by its name; case counts."""
        return next((one for one in self.used if one.name == name), None)


def load_definitions(
    roots: Sequence[Path], place: Place | None, locations: Locations, home: Path, disabled: Collection[str] = ()
) -> Definitions:
    """Read all definitions. `place` decides what of the project may be read, None: nothing of it. None is used that the
    user's settings name (`disabled`, as `agent:name`)."""
    loaded = Agents(disabled).load(_loaders(roots, place, locations, home))
    return Definitions(tuple(loaded.all), tuple(loaded.problems))


def _loaders(
    roots: Sequence[Path], place: Place | None, locations: Locations, home: Path
) -> Iterator[Loader[Definition]]:
    above = place_above(roots) if place is not None else None
    users = {"north": locations.config / _FOLDER, "opencode": home / ".config/opencode/agent"}
    for family, name in FAMILIES:
        if place is not None and above is not None:
            for root in roots:
                yield Loader(family, partial(_in_folder, family, root / name, place, place.resolve))
                yield Loader(family, partial(_above, family, root, name, above))
        if family != "github":
            folder = users.get(family, home / name)
            yield Loader(family, partial(_in_folder, family, folder, user_place(folder), users_own))
    for plugin in find_plugins(roots[0] if roots else home, home, locations, of_project=False).used:
        if plugin.family == "claude-plugin":
            folder = plugin.folder / _FOLDER
            yield Loader("claude-plugin", partial(_in_folder, "claude-plugin", folder, user_place(folder), users_own))
    yield Loader("builtin", bundled)


def untrusted(roots: Sequence[Path]) -> tuple[str, ...]:
    """Say which agents wait for the user's word; empty if a project has none."""
    found = [name for _, name in FAMILIES if any(any((root / name).glob("*.md")) for root in roots)]
    if not found:
        return ()
    return (f"agents of this project ({', '.join(found)}) are not used before you trust it: `/trust on`",)


def _above(family: Family, root: Path, name: str, above: Place) -> Iterator[Definition | str]:
    for _, folder in found_above(root, name):
        yield from _in_folder(family, folder, above, above.resolve)


def _in_folder(
    family: Family, folder: Path, place: Place, resolve: Callable[[Path], tuple[Path, str]]
) -> Iterator[Definition | str]:
    if not folder.is_dir():
        return
    try:
        real = place.resolve(folder)[0]
    except ToolError:
        return  # a closed folder has nothing to say, as for every other reader
    paths, more = documents_in(real, _SUFFIXES, deep=False)
    for path in paths:
        try:
            found, shown = resolve(path)
            text, _ = read_document(found)
            one = parse_definition(text, Source(family, place.level, found, shown))
        except ToolError as error:
            yield f"{one_line(path.name, 100)}: {one_line(error.message, 300)}"
        except NotAnAgent as error:
            yield str(error)
        else:
            yield one
            yield from one.problems
    if more:
        yield f"{one_line(str(folder), 200)}: {more}"


@cache
def bundled() -> tuple[Definition, ...]:
    """Read the agents that are bundled with North. `just generate` has read their heads: the YAML library is not loaded
    for the first answer only for them."""
    heads = json.loads(_HEADS.read_text("utf-8"))
    found = []
    for path in sorted(_BUNDLED.glob("*.md")):
        body = path.read_text("utf-8").split("---\n", 2)[2].strip()
        found.append(definition_of(Front(heads[path.name], body), Source("builtin", "builtin", path, "North's own")))
    return tuple(found)
