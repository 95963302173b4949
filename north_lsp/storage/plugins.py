"""What other agents have installed beside their own files: Claude's plugins, and extensions with a manifest as Gemini
has them. Only read, and nothing of it is run from here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_json
from north_lsp.storage.kinds import Kind, Level, Loader, SourceId
from north_lsp.storage.locations import Locations

Family = Literal["claude-plugin", "extension"]
MANIFEST = "gemini-extension.json"
_INSTALLED = ".claude/plugins/installed_plugins.json"
_CLAUDE_SETTINGS = ".claude/settings.json"
_OF_NORTH, _OF_GEMINI = ".north/extensions", ".gemini/extensions"
_MOST = 100
_CONTEXT = "GEMINI.md"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One that is installed; `source` is the tool whose folder it is in. `servers` are its MCP servers by name,
    `context_files` the names of its files for models. `why` says why it does not count; empty for one that does."""

    name: str
    family: Family
    level: Level
    folder: Path
    description: str = ""
    servers: Mapping[str, object] | None = None
    context_files: tuple[str, ...] = ()
    why: str = ""
    source: SourceId = "claude-plugin"

    @property
    def applies(self) -> bool:
        return not self.why


@dataclass(frozen=True, slots=True)
class Plugins:
    """All that are installed, the strongest first, and what is wrong in their files, a line each."""

    all: tuple[Plugin, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def used(self) -> tuple[Plugin, ...]:
        return tuple(one for one in self.all if one.applies)


class Installed(Kind[Plugin]):
    """Plugins and extensions: one of each name, of each family. With `project_last`, what is in the project itself
    hides nothing of the user's."""

    title = "Plugins and extensions"

    def __init__(self, *, project_last: bool) -> None:
        super().__init__()
        self._project_last = project_last

    def name(self, item: Plugin) -> str:
        return f"{item.family} {item.name}"

    def source(self, item: Plugin) -> SourceId:
        return item.source

    def level(self, item: Plugin) -> Level:
        return item.level

    def shown(self, item: Plugin) -> str:
        return str(item.folder)

    def rank(self, item: Plugin) -> tuple[Any, ...]:
        is_extension = item.family == "extension"
        goes_last = self._project_last and is_extension and item.level == "project"
        return is_extension, goes_last, *super().rank(item)


def find_plugins(
    root: Path, home: Path, locations: Locations, *, of_project: bool, project_last: bool = False
) -> Plugins:
    """Read what is installed for a project and its user. `of_project`: whether what is in the project itself counts;
    else it is not even looked at. `project_last`: that hides nothing of the user's. Reads files: call it on a
    thread."""
    loaders: list[Loader[Plugin]] = [
        Loader("claude-plugin", partial(_claude_plugins, root, home)),
        Loader("north", partial(_extensions, locations.config / "extensions", "user", "north")),
        Loader("gemini", partial(_extensions, home / _OF_GEMINI, "user", "gemini")),
    ]
    if of_project:
        loaders += [
            Loader("north", partial(_extensions, root / _OF_NORTH, "project", "north", inside=root)),
            Loader("gemini", partial(_extensions, root / _OF_GEMINI, "project", "gemini", inside=root)),
        ]
    loaded = Installed(project_last=project_last).load(loaders)
    return Plugins(tuple(loaded.all), tuple(loaded.problems))


def plugin_files(root: Path, home: Path, locations: Locations) -> list[Path]:
    """Return the files and folders whose changes say that something was installed or removed."""
    folders = [root / _OF_NORTH, root / _OF_GEMINI, locations.config / "extensions", home / _OF_GEMINI]
    return [home / _INSTALLED, home / _CLAUDE_SETTINGS, *folders]


def _claude_plugins(root: Path, home: Path) -> Iterator[Plugin | str]:
    """Read Claude's list: `plugins` has `<name>@<market>` with one installation, or several with their scopes."""
    path = home / _INSTALLED
    problems: list[str] = []
    content = _object(path, problems, "Claude's plugins are left out")
    yield from problems
    if content is None:
        return
    listed = content.get("plugins")
    if not isinstance(listed, Mapping):
        yield Problem(f"{path}: `plugins` must be an object, so Claude's plugins are left out", path)
        return
    switches = (_object(home / _CLAUDE_SETTINGS, [], "") or {}).get("enabledPlugins")
    off = {name for name, on in switches.items() if on is False} if isinstance(switches, Mapping) else set()
    for full, written in list(listed.items())[:_MOST]:
        for one in written if isinstance(written, list) else [written]:
            if (plugin := _claude_plugin(str(full), one, root)) is not None:
                why = "it is switched off in Claude's settings" if full in off else ""
                yield replace(plugin, why=plugin.why or why)


def _claude_plugin(full: str, written: object, root: Path) -> Plugin | None:
    """Read one installation; None for one of another project, or that says not where it is."""
    if not isinstance(written, Mapping) or not isinstance(where := written.get("installPath"), str):
        return None
    level: Level = "user"
    if written.get("scope") in ("project", "local"):
        level, project = "project", written.get("projectPath")
        if not isinstance(project, str) or (top := _real(Path(project))) is None or not root.is_relative_to(top):
            return None
    folder = _expanded(where)
    bare = Plugin(full.partition("@")[0], "claude-plugin", level, folder)
    if not folder.is_absolute() or not os.path.isdir(folder):
        return replace(bare, why=f"there is no folder {where}")
    servers = _object(folder / ".mcp.json", [], "") or {}
    table = servers.get("mcpServers", servers)
    return replace(bare, servers=_placed(table, _claude_places(folder)))


def _extensions(folder: Path, level: Level, source: SourceId, inside: Path | None = None) -> Iterator[Plugin | str]:
    for path in sorted(_folders(folder))[:_MOST]:
        manifest = path / MANIFEST
        if inside is not None and not _leads_into(manifest, inside):
            yield Problem(f"{path} points outside the project, so it is left out", path)
        elif os.path.isfile(manifest):
            problems: list[str] = []
            yield _extension(Plugin(path.name, "extension", level, path, source=source), problems)
            yield from problems


def _extension(bare: Plugin, problems: list[str]) -> Plugin:
    content = _object(bare.folder / MANIFEST, problems, "this extension is left out")
    if content is None:
        return replace(bare, why="its manifest cannot be read")
    name, description = content.get("name"), content.get("description")
    named = content.get("contextFileName", [] if content.get("context") else _CONTEXT)
    files = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return replace(
        bare,
        name=name if isinstance(name, str) and name.strip() else bare.name,
        description=description if isinstance(description, str) else "",
        servers=_placed(content.get("mcpServers"), _gemini_places(bare.folder)),
        context_files=tuple(one for one in files if isinstance(one, str) and _is_inside(bare.folder, one)),
    )


def _is_inside(folder: Path, name: str) -> bool:
    return _leads_into(folder / name, folder) and os.path.isfile(folder / name)


def _leads_into(path: Path, folder: Path) -> bool:
    real, top = _real(path), _real(folder)
    return real is not None and top is not None and real.is_relative_to(top)


def _real(path: Path) -> Path | None:
    """Return what a path leads to; None for what is not a path, or leads round in a circle."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):
        return None


def _expanded(where: str) -> Path:
    """Return the path with the home folder in place of `~`; as it is written if no account can be called so."""
    try:
        return Path(os.path.expanduser(where))
    except ValueError:
        return Path(where)


def _claude_places(folder: Path) -> Callable[[str], str]:
    return lambda text: text.replace("${CLAUDE_PLUGIN_ROOT}", str(folder))


def _gemini_places(folder: Path) -> Callable[[str], str]:
    def put(text: str) -> str:
        text = text.replace("${extensionPath}", str(folder)).replace("${workspacePath}", "${workspaceFolder}")
        return text.replace("${/}", os.sep).replace("${pathSeparator}", os.sep)

    return put


def _placed(table: object, put: Callable[[str], str]) -> Mapping[str, object] | None:
    """Put folders in the places that MCP servers' entries have for them."""
    return {str(name): _deep(entry, put) for name, entry in table.items()} if isinstance(table, Mapping) else None


def _deep(value: object, put: Callable[[str], str], depth: int = 0) -> object:
    if isinstance(value, str):
        return put(value)
    if depth > 8:
        return None
    if isinstance(value, list):
        return [_deep(one, put, depth + 1) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _deep(one, put, depth + 1) for key, one in value.items()}
    return value


def _folders(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if not path.name.startswith(".") and path.is_dir()]
    except OSError:
        return []


def _object(path: Path, problems: list[str], otherwise: str) -> Mapping[str, Any] | None:
    """Read a JSON object; None if there is none, and a problem if it is none."""
    try:
        content = read_json(path, 16 * MAX_CONFIG_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        problems.append(Problem(f"{path} cannot be read, so {otherwise}: {why}", path))
        return None
    if isinstance(content, Mapping):
        return content
    problems.append(Problem(f"{path} must be an object, so {otherwise}", path))
    return None
