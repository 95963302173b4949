"""Where definitions are looked for: North's folders and those of other tools, in the project and in the user's home,
those of plugins, then what North brings along. The table is all there is to add for another tool."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
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


def load_definitions(roots: Sequence[Path], place: Place | None, locations: Locations, home: Path) -> Definitions:
    """Read all definitions. `place` decides what of the project may be read, None: nothing of it."""
    found: list[Definition] = []
    problems: list[str] = []

    def take(family: Family, folder: Path, where: Place, resolve: Callable[[Path], tuple[Path, str]]) -> None:
        for one in _in_folder(family, folder, where, resolve):
            if isinstance(one, str):
                problems.append(one)
            else:
                found.append(one)
                problems.extend(one.problems)

    above = place_above(roots) if place is not None else None
    users = {"north": locations.config / _FOLDER, "opencode": home / ".config/opencode/agent"}
    for family, name in FAMILIES:
        if place is not None and above is not None:
            for root in roots:
                take(family, root / name, place, place.resolve)
                for _, folder in found_above(root, name):
                    take(family, folder, above, above.resolve)
        if family != "github":
            folder = users.get(family, home / name)
            take(family, folder, user_place(folder), users_own)
    for plugin in find_plugins(roots[0] if roots else home, home, locations, of_project=False).used:
        if plugin.family == "claude-plugin":
            folder = plugin.folder / _FOLDER
            take("claude", folder, user_place(folder), users_own)
    return Definitions(tuple(_settled([*found, *bundled()])), tuple(problems))


def without(known: Definitions, disabled: Collection[str]) -> Definitions:
    """Return the definitions, where none is used that the user's settings name (`disabled`, as `agent:name`)."""
    if not any(one.startswith("agent:") for one in disabled):
        return known
    off = "the setting `disabledItems` names it"
    return replace(
        known, all=tuple(replace(one, why=off) if f"agent:{one.name}" in disabled else one for one in known.all)
    )


def untrusted(roots: Sequence[Path]) -> tuple[str, ...]:
    """Say which agents wait for the user's word; empty if a project has none."""
    found = [name for _, name in FAMILIES if any(any((root / name).glob("*.md")) for root in roots)]
    if not found:
        return ()
    return (f"agents of this project ({', '.join(found)}) are not used before you trust it: `/trust on`",)


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
            yield parse_definition(text, Source(family, place.level, found, shown))
        except ToolError as error:
            yield f"{one_line(path.name, 100)}: {one_line(error.message, 300)}"
        except NotAnAgent as error:
            yield str(error)
    if more:
        yield f"{one_line(str(folder), 200)}: {more}"


@cache
def bundled() -> tuple[Definition, ...]:
    """Read the agents that North brings along. `just generate` has read their heads: the YAML library is not loaded for
    the first answer only for them."""
    heads = json.loads(_HEADS.read_text("utf-8"))
    found = []
    for path in sorted(_BUNDLED.glob("*.md")):
        body = path.read_text("utf-8").split("---\n", 2)[2].strip()
        found.append(definition_of(Front(heads[path.name], body), Source("builtin", "builtin", path, "North's own")))
    return tuple(found)


def _settled(found: Iterable[Definition]) -> Iterator[Definition]:
    """Say of each definition that is not the first of its name what comes before it."""
    names: dict[str, str] = {}
    for one in found:
        before = names.setdefault(one.name, one.source.shown)
        yield one if before is one.source.shown else replace(one, why=f"shadowed by {before}")
