"""Finds the MCP servers that files name: North's own, and those of other agents. The table is all there is to add for
another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from north_lsp.agent.ports.servers import Origin, ServerSpec
from north_lsp.agent.servers.config import Place, read_entry
from north_lsp.display import one_line
from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_json, read_regular
from north_lsp.storage.kinds import Kind, Level, Loaded, Loader, SourceId
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import Plugin, find_plugins, plugin_files

Base = Literal["project", "home", "config"]
OfProject = Literal["used", "listed", "left out"]
"""What becomes of the servers of a project's files. Those that are only listed hide none of the user's, and take
nobody's place."""

_MOST_SERVERS = 50
_KEYS = ("mcpServers", "servers", "mcp_servers")


@dataclass(frozen=True, slots=True)
class Source:
    """A file that names servers, and whose file it is: `path` is relative to the project, the home folder or North's
    own configuration."""

    base: Base
    path: str
    via: SourceId


SOURCES = (
    Source("project", ".north/mcp.json", "north"),
    Source("config", "mcp.json", "north"),
    Source("project", ".claude/.mcp.json", "claude"),
    Source("home", ".claude.json", "claude"),
    Source("project", ".codex/config.toml", "codex"),
    Source("home", ".codex/config.toml", "codex"),
    Source("project", ".gemini/settings.json", "gemini"),
    Source("home", ".gemini/settings.json", "gemini"),
    Source("project", ".cursor/mcp.json", "cursor"),
    Source("home", ".cursor/mcp.json", "cursor"),
    Source("project", ".vscode/mcp.json", "vscode"),
    Source("project", "mcp.json", "mcp-json"),
    Source("project", ".mcp.json", "mcp-json"),
)


@dataclass
class Found:
    """The servers of all sources, as they are written: the one that counts for each name, and those that a stronger
    source hides. `problems` are what is wrong in the files, a line each."""

    specs: list[ServerSpec] = field(default_factory=list)
    shadowed: list[ServerSpec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


class Servers(Kind[ServerSpec]):
    """MCP servers: one of each name, also if it cannot be used, and not too many. With `project_last`, those of the
    project's files hide none of the user's, and take nobody's place."""

    title = "MCP servers"

    def __init__(self, *, project_last: bool) -> None:
        super().__init__()
        self._project_last = project_last

    def name(self, item: ServerSpec) -> str:
        return item.name

    def source(self, item: ServerSpec) -> SourceId:
        return item.via

    def level(self, item: ServerSpec) -> Level:
        return "project" if item.origin == "project" else "user"

    def shown(self, item: ServerSpec) -> str:
        return item.source

    def marked(self, item: ServerSpec, why: str) -> ServerSpec:
        return item

    def rank(self, item: ServerSpec) -> tuple[Any, ...]:
        return self._project_last and item.origin == "project", *super().rank(item)

    def settled(self, items: Iterable[ServerSpec]) -> Loaded[ServerSpec]:
        ranked = sorted(items, key=self.rank)
        most = max(_MOST_SERVERS, sum(one.origin == "client" for one in ranked))  # the editor's are never left out
        left_out = dict.fromkeys(one.source for one in ranked[most:])
        told = [f"{shown}: more than {_MOST_SERVERS} MCP servers; the rest is left out" for shown in left_out]
        return replace(super().settled(ranked[:most]), problems=told)


def find_servers(given: list[ServerSpec], root: Path, home: Path, locations: Locations, of_project: OfProject) -> Found:
    """Read all sources; `given` are the editor's, which are the strongest. Reads files: call it on a thread."""
    is_listed = of_project == "listed"
    plugins = find_plugins(root, home, locations, of_project=of_project != "left out", project_last=is_listed)
    loaders: list[Loader[ServerSpec]] = [Loader("client", lambda: given)]
    for source, path in zip(SOURCES, _places(root, home, locations), strict=True):
        if source.base != "project" or of_project != "left out":
            loaders.append(Loader(source.via, partial(_of_file, source, path, root, home)))
    for plugin in plugins.used:
        via: SourceId = "gemini" if plugin.family == "extension" else "claude-plugin"
        loaders.append(Loader(via, partial(_of_plugin, plugin, via, home)))
    loaded = Servers(project_last=is_listed).load(loaders)
    return Found(list(loaded.used), list(loaded.shadowed), [*loaded.problems, *plugins.problems])


def _of_file(source: Source, path: Path, root: Path, home: Path) -> Iterator[ServerSpec | str]:
    origin: Origin = "project" if source.base == "project" else "user"
    shown = source.path if origin == "project" else _short(path, home)
    problems: list[str] = []
    entries = _entries(path, root if origin == "project" else None, root, problems, shown)
    yield from _read(entries, Place(origin, shown, source.via))
    yield from problems


def _of_plugin(plugin: Plugin, via: SourceId, home: Path) -> Iterator[ServerSpec | str]:
    origin: Origin = "project" if _is_of_project(plugin) else "user"
    shown = f"{plugin.family} {one_line(plugin.name, 100)} ({_short(plugin.folder, home)})"
    yield from _read((plugin.servers or {}).items(), Place(origin, shown, via))


def _read(entries: Iterable[tuple[str, object]], place: Place) -> Iterator[ServerSpec | str]:
    for name, entry in islice(entries, _MOST_SERVERS + 1):  # one more says that there are too many
        spec, warnings = read_entry(name, entry, place)
        yield spec
        yield from (f"{place.source}: the MCP server {spec.name}: {warning}" for warning in warnings)


def _is_of_project(plugin: Plugin) -> bool:
    """Tell whether a plugin is in a project's own folders; Claude's are in the user's, whatever they are for."""
    return plugin.family == "extension" and plugin.level == "project"


def watched_files(root: Path, home: Path, locations: Locations) -> list[Path]:
    """Return where the sources are, or would be, and what says which plugins are installed."""
    return [*_places(root, home, locations), *plugin_files(root, home, locations)]


def _places(root: Path, home: Path, locations: Locations) -> list[Path]:
    folders: Mapping[Base, Path] = {"project": root, "home": home, "config": locations.config}
    return [folders[source.base] / source.path for source in SOURCES]


def _entries(
    path: Path, inside: Path | None, root: Path, problems: list[str], shown: str
) -> Iterator[tuple[str, object]]:
    """Read the entries of one file; `inside` is the folder that it may not lead out of."""
    try:
        if inside is not None and path.exists() and not path.resolve().is_relative_to(inside.resolve()):
            raise OSError("it points outside the project")
        content = _parsed(path, MAX_CONFIG_BYTES if inside is not None else 16 * MAX_CONFIG_BYTES)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        return
    except (OSError, ValueError, RecursionError) as error:  # the last one: of objects in objects without end
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        problems.append(Problem(f"{shown} cannot be read, so its MCP servers are left out: {one_line(why)}", path))
        return
    if not isinstance(content, Mapping):
        problems.append(Problem(f"{shown} must be an object, so its MCP servers are left out", path))
        return
    tables = [content.get(key) for key in _KEYS]
    projects = content.get("projects")  # Claude Code keeps those of a folder under its path
    if isinstance(projects, Mapping) and isinstance(own := projects.get(str(root)), Mapping):
        tables.insert(0, own.get(_KEYS[0]))
    for table in tables:
        if isinstance(table, Mapping):
            yield from ((str(name), entry) for name, entry in table.items())
        elif table is not None:
            problems.append(Problem(f"{shown}: its servers must be an object, by name", path))


def _parsed(path: Path, most_bytes: int) -> object:
    if path.suffix != ".toml":
        return read_json(path, most_bytes)
    import tomllib

    return tomllib.loads(read_regular(path, MAX_CONFIG_BYTES).decode("utf-8"))


def _short(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
