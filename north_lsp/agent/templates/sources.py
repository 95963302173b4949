"""Where templates are looked for: the folders of North and of other tools, in the project and in the user's home. The
tables are all there is to add for another tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from north_lsp.agent.context.above import found_above
from north_lsp.agent.context.documents import (
    MAX_FILE_BYTES,
    Place,
    documents_in,
    folders_in,
    read_document,
    user_place,
    users_own,
)
from north_lsp.agent.templates.template import Kind, Provider, Template, parse_template
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.kinds import Loader
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import Plugin

_MD = (".md",)
_PY = (".py",)
SKILL = "SKILL.md"


@dataclass(frozen=True, slots=True)
class Source:
    """A folder whose files with one of the `suffixes` are templates, also those below it if it is `deep`; or, for
    skills, whose folders each have a `SKILL.md`. `path` is relative to a root or to the home folder."""

    kind: Kind
    provider: Provider
    path: str
    suffixes: Sequence[str] = _MD
    deep: bool = False


PROJECT = (
    Source("command", "north", ".north/commands", deep=True),
    Source("python", "north", ".north/commands", _PY),
    Source("prompt", "north", ".north/prompts"),
    Source("skill", "north", ".north/skills"),
    Source("command", "claude", ".claude/commands", deep=True),
    Source("skill", "claude", ".claude/skills"),
    Source("skill", "agents", ".agents/skills"),
    Source("command", "codex", ".codex/commands"),
    Source("command", "codex", ".codex/prompts"),
    Source("skill", "codex", ".codex/skills"),
    Source("command", "gemini", ".gemini/commands", (".toml",), deep=True),
    Source("prompt", "github", ".github/prompts", (".prompt.md",)),
    Source("command", "opencode", ".opencode/command"),
)
USER = (
    Source("command", "claude", ".claude/commands", deep=True),
    Source("skill", "claude", ".claude/skills"),
    Source("skill", "agents", ".agents/skills"),
    Source("command", "codex", ".codex/prompts"),
    Source("skill", "codex", ".codex/skills"),
    Source("command", "gemini", ".gemini/commands", (".toml",), deep=True),
)
OWN = (
    Source("command", "north", "commands", deep=True),
    Source("python", "north", "commands", _PY),
    Source("prompt", "north", "prompts"),
    Source("skill", "north", "skills"),
)
"""North's own of the user, in the configuration folder."""
OF_PLUGIN = (
    Source("command", "claude-plugin", "commands", deep=True),
    Source("skill", "claude-plugin", "skills"),
)
OF_EXTENSION = (Source("command", "gemini", "commands", (".toml",), deep=True),)
_NOT_IN_NAMES = lazy_pattern(r"[^a-z0-9_-]+")


def project_templates(root: Path, place: Place) -> Iterator[Loader[Template]]:
    """Return what reads the templates of one root; `place` decides what may be read."""
    for source in PROJECT:
        yield Loader(source.provider, partial(_in_folder, source, root / source.path, place, place.resolve))


def templates_above(root: Path, place: Place) -> Iterator[Loader[Template]]:
    """Return what reads the templates of folders above a root, in the same repository; `place` decides what may be
    read there."""
    for source in PROJECT:
        yield Loader(source.provider, partial(_above, source, root, place))


def user_templates(locations: Locations, home: Path) -> Iterator[Loader[Template]]:
    """Return what reads the user's own templates: North's, and those for other tools."""
    folders = [(source, locations.config / source.path) for source in OWN]
    folders += [(source, home / source.path) for source in USER]
    for source, folder in folders:
        if folder.is_dir():
            yield Loader(source.provider, partial(_in_folder, source, folder, user_place(folder), users_own))


def plugin_templates(plugins: Iterable[Plugin], inside: Place | None) -> Iterator[Loader[Template]]:
    """Return what reads the templates of plugins and extensions; `inside` decides on those in the project, None: none
    of them counts. Those of Claude's plugins begin with the plugin's name."""
    for plugin in plugins:
        if plugin.level == "project" and plugin.family == "extension" and inside is None:
            continue
        for source in OF_PLUGIN if plugin.family == "claude-plugin" else OF_EXTENSION:
            yield Loader(source.provider, partial(_of_plugin, source, plugin, inside))


def custom_skills(folders: Sequence[str], home: Path) -> Iterator[Loader[Template]]:
    """Return what reads the skills of further folders that the user's settings name."""
    source = Source("skill", "custom", "", (SKILL,), deep=True)
    for written in folders:
        folder = home / written[2:] if written.startswith("~/") else Path(written)
        if folder.is_absolute():
            yield Loader(source.provider, partial(_in_folder, source, folder, user_place(folder), users_own))


def _above(source: Source, root: Path, place: Place) -> Iterator[Template | str]:
    for _, folder in found_above(root, source.path):
        yield from _in_folder(source, folder, place, place.resolve)


def _of_plugin(source: Source, plugin: Plugin, inside: Place | None) -> Iterator[Template | str]:
    is_own = plugin.level == "project" and plugin.family == "extension"
    folder = plugin.folder / source.path
    place = inside if is_own and inside is not None else user_place(folder)
    for one in _in_folder(source, folder, place, place.resolve if is_own else users_own):
        yield one if isinstance(one, str) else _named_after(plugin, one)


def _named_after(plugin: Plugin, one: Template) -> Template:
    if plugin.family != "claude-plugin":
        return one
    own = _NOT_IN_NAMES.sub("-", plugin.name.lower())
    if one.kind == "skill":
        return replace(one, name=f"skill:{own}:{one.name.removeprefix('skill:')}")
    return replace(one, name=f"{own}:{one.name}")


def _in_folder(
    source: Source, folder: Path, place: Place, resolve: Callable[[Path], tuple[Path, str]]
) -> Iterator[Template | str]:
    if not folder.is_dir():
        return
    try:
        real = place.resolve(folder)[0]
    except ToolError:
        return  # a closed folder has nothing to say, as for every other reader
    more = ""
    if source.kind == "skill" and not source.deep:
        folders = folders_in(real, may_be_links=place.level == "user")
        paths = [path / SKILL for path in folders if (path / SKILL).is_file()]
    else:
        paths, more = documents_in(real, source.suffixes, deep=source.deep)
    for path in paths:
        about = Template(_name(path, real, source), source.kind, source.provider, place.level, path, path.name)
        try:
            found, shown = resolve(path)
            text, size = read_document(found)
            if source.kind == "python" and size > MAX_FILE_BYTES:
                raise ToolError("TOO_LARGE", f"it is longer than {MAX_FILE_BYTES // 1024} KB")
        except ToolError as error:
            yield Template(about.name, about.kind, about.provider, about.level, path, path.name, why=_told(error))
            continue
        at = path if source.kind == "skill" and place.level == "project" else found  # its folder is where it is named
        about = replace(about, path=at, shown=shown)
        if source.kind == "python":
            from north_lsp.agent.templates.python_source import parse_python  # rare, and loads Python's parser

            yield parse_python(text, about)
        else:
            yield parse_template(text, about)
    if more:
        yield f"{one_line(str(folder), 200)}: {more}"


def _name(path: Path, folder: Path, source: Source) -> str:
    """Name a template after its file, with the folders that it is in; a skill after its folder."""
    if source.kind == "skill":
        return f"skill:{path.parent.name}".lower()
    relative = path.relative_to(folder).as_posix()
    suffix = next(one for one in source.suffixes if relative.endswith(one))
    return one_line(relative.removesuffix(suffix).replace("/", ":"), 120).lower()


def _told(error: ToolError) -> str:
    return one_line(error.message, 300)
