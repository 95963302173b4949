"""Finds the tool servers that files name: North's own, and those of other agents. The table is all there is to add for
another one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Literal

from north_lsp.agent.ports.servers import Origin, ServerSpec
from north_lsp.agent.servers.config import Place, read_entry
from north_lsp.display import one_line
from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_json, read_regular
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
    """A file that names servers: `path` is relative to the project, the home folder or North's own configuration."""

    base: Base
    path: str


SOURCES = (
    Source("project", ".north/mcp.json"),
    Source("config", "mcp.json"),
    Source("project", ".claude/.mcp.json"),
    Source("home", ".claude.json"),
    Source("project", ".codex/config.toml"),
    Source("home", ".codex/config.toml"),
    Source("project", ".gemini/settings.json"),
    Source("home", ".gemini/settings.json"),
    Source("project", ".cursor/mcp.json"),
    Source("home", ".cursor/mcp.json"),
    Source("project", ".vscode/mcp.json"),
    Source("project", "mcp.json"),
    Source("project", ".mcp.json"),
)
"""From the strongest to the weakest: the first that names a server has it."""


@dataclass
class Found:
    """The servers of all sources, as they are written: the one that counts for each name, and those that a stronger
    source hides. `problems` are what is wrong in the files, a line each."""

    specs: list[ServerSpec] = field(default_factory=list)
    shadowed: list[ServerSpec] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def add(self, spec: ServerSpec) -> None:
        """Take a server, unless a stronger source has one of that name."""
        names = {one.name for one in self.specs}
        (self.shadowed if spec.name in names else self.specs).append(spec)


def find_servers(given: list[ServerSpec], root: Path, home: Path, locations: Locations, of_project: OfProject) -> Found:
    """Read all sources; `given` are the editor's, which are the strongest. Reads files: call it on a thread."""
    found = Found()
    for spec in given:
        found.add(spec)
    sources = list(zip(SOURCES, _places(root, home, locations), strict=True))
    plugins = find_plugins(
        root, home, locations, of_project=of_project != "left out", project_last=of_project == "listed"
    )
    if of_project == "used":
        _add_of_files(found, sources, root, home)
    else:  # all of the user's goes first
        _add_of_files(found, [one for one in sources if one[0].base != "project"], root, home)
        _add_of_plugins(found, [one for one in plugins.used if not _is_of_project(one)], home)
    if of_project == "listed":
        _add_of_files(found, [one for one in sources if one[0].base == "project"], root, home)
        _add_of_plugins(found, [one for one in plugins.used if _is_of_project(one)], home)
    elif of_project == "used":
        _add_of_plugins(found, plugins.used, home)
    found.problems += plugins.problems
    return found


def _add_of_files(found: Found, sources: Sequence[tuple[Source, Path]], root: Path, home: Path) -> None:
    for source, path in sources:
        origin: Origin = "project" if source.base == "project" else "user"
        shown = source.path if origin == "project" else _short(path, home)
        for name, entry in _entries(path, root if origin == "project" else None, root, found.problems, shown):
            if len(found.specs) + len(found.shadowed) >= _MOST_SERVERS:
                found.problems.append(f"{shown}: more than {_MOST_SERVERS} MCP servers; the rest is left out")
                break
            spec, warnings = read_entry(name, entry, Place(origin, shown))
            found.problems += [f"{shown}: the MCP server {spec.name}: {warning}" for warning in warnings]
            found.add(spec)


def _is_of_project(plugin: Plugin) -> bool:
    """Tell whether a plugin is in a project's own folders; Claude's are in the user's, whatever they are for."""
    return plugin.family == "extension" and plugin.level == "project"


def _add_of_plugins(found: Found, plugins: Sequence[Plugin], home: Path) -> None:
    """Add the servers of what other agents have installed: the weakest."""
    for plugin in plugins:
        origin: Origin = "project" if _is_of_project(plugin) else "user"
        shown = f"{plugin.family} {one_line(plugin.name, 100)} ({_short(plugin.folder, home)})"
        for name, entry in list((plugin.servers or {}).items())[:_MOST_SERVERS]:
            if len(found.specs) + len(found.shadowed) >= _MOST_SERVERS:
                return
            spec, warnings = read_entry(name, entry, Place(origin, shown))
            found.problems += [f"{shown}: the MCP server {spec.name}: {warning}" for warning in warnings]
            found.add(spec)


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
            raise OSError("it leads out of the project")
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
