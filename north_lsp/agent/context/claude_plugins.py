"""The plugins that the user has installed in Claude Code: where their files are. Reads files: for a thread."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass

_LIST = Path(".claude/plugins/installed_plugins.json")
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class ClaudePlugins:
    """The folders of plugins, those of the project first, then the user's; `problem` says why they cannot be told."""

    folders: tuple[Path, ...] = ()
    problem: str = ""


def claude_plugins(home: Path, roots: Sequence[Path], *, is_trusted: bool) -> ClaudePlugins:
    """Find the plugins that hold for a workspace: those of a project only if it is trusted."""
    try:
        with open(home / _LIST, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError:
        return ClaudePlugins()
    try:
        stored = json.loads(data) if len(data) <= _LARGEST else None
    except (ValueError, RecursionError):
        stored = None
    plugins = stored.get("plugins") if isinstance(stored, dict) else None
    if not isinstance(plugins, dict):
        return ClaudePlugins(problem=f"~/{_LIST} cannot be read, so no plugins of Claude Code are used")
    rows = [row for one in plugins.values() for row in (one if isinstance(one, list) else [one])]
    here = {root.resolve() for root in roots} if is_trusted else set[Path]()
    installed = [*_installed(rows)]
    own = [folder for folder, project in installed if project is not None and project in here]
    users = [folder for folder, project in installed if project is None]
    return ClaudePlugins(tuple(dict.fromkeys((*own, *users))))


def _installed(rows: Sequence[object]) -> Iterator[tuple[Path, Path | None]]:
    """Yield the folder of each plugin, with the project that it is for, None for all of the user's."""
    for row in rows:
        if not isinstance(row, Mapping) or not isinstance(folder := row.get("installPath"), str):
            continue
        project, scope = row.get("projectPath"), row.get("scope", "user")
        path = Path(folder)
        if not path.is_absolute() or "\0" in folder:
            continue
        if scope == "user":
            yield path, None
        elif scope in ("project", "local") and isinstance(project, str) and "\0" not in project:
            yield path, Path(project).resolve()
