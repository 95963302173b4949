"""The slash commands that look after North itself, as far as they need a session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.display import counted, fenced, one_line, visible
from north_lsp.providers.catalog.extension_places import item_of, places_of
from north_lsp.slash.base import CommandError
from north_lsp.storage.plugins import Plugin, find_plugins, plugin_files

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment

_EXAMINE = ("-I", "-c", "from north_lsp.cli.main import main; main()", "doctor")
_SECONDS = 60.0
_FAMILIES = {"claude-plugin": "Claude's plugin", "extension": "extension"}
_OTHER_LANGUAGES = (".ts", ".js", ".mjs", ".cjs")


class UpkeepHost:
    """The part of a slash command's `Host` that is about North itself. Every method may raise CommandError."""

    def __init__(self, session: LiveSession, environment: Environment) -> None:
        self._session = session
        self._environment = environment

    async def reload(self) -> str:
        session, environment = self._session, self._environment
        environment.settings_file.forget()
        await session.tell_settings_problems()
        refresh = environment.models.catalog_refresh
        await refresh.refresh(again=True)
        refresh.discover_soon()
        offered = await session.refresh_commands()
        report = await session.context_report()
        kinds = Counter(item.kind for item in report.items)
        rows = [
            f"- settings: {', '.join(visible(str(path)) for path in environment.settings_file.files) or 'no files'}",
            f"- models: {counted(len(environment.models.catalog.available()), 'model')} can be used",
            f"- {counted(kinds['rule'], 'rule')}, {counted(kinds['file'], 'context file')}",
            f"- {counted(len(offered), 'command')} and skills",
        ]
        more = "Changed files are noticed without this, too. `/mcp reload` connects to MCP servers again."
        return "\n".join(["Read again:", "", *rows, "", more])

    async def doctor(self) -> str:
        return await anyio.to_thread.run_sync(self._doctor, abandon_on_cancel=True)

    def _doctor(self) -> str:
        try:
            ended = subprocess.run(
                [sys.executable, *_EXAMINE],
                cwd=self._session.roots[0],
                env=dict(self._environment.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            told = one_line(str(error), 200)
            raise CommandError(f"it could not be examined ({told}): run `north-lsp doctor` in a terminal") from None
        return fenced(visible(ended.stdout.decode("utf-8", "replace").strip()))

    async def extensions(self) -> str:
        rows = await anyio.to_thread.run_sync(lambda: list(self._extensions()))
        return (
            "\n".join(rows) or "Nothing is installed. Providers in Python, extensions and plugins would be shown here."
        )

    def _extensions(self) -> Iterator[str]:
        locations, root = self._environment.locations, self._session.roots[0]
        home = systems.home(self._environment.environ)
        trusted = self._session.approvals.trusted
        plugins = find_plugins(root, home, locations, of_project=trusted is None or trusted[0])
        for plugin in plugins.all:
            yield _described(plugin)
        for problem in plugins.problems:
            yield f"- {visible(problem)}"
        places = places_of(locations.config, self._environment.settings.models)
        for file in places.files():
            item, path = item_of(file), file.parent if file.name == "__init__.py" else file
            off = item in places.disabled
            why = ". Not used: the setting `disabledExtensions` names it" if off else ""
            yield f"- `{visible(item.partition(':')[2])}`: providers in Python ({visible(str(path))}){why}"
        for folder in plugin_files(root, home, locations):
            if folder.is_dir():
                for path in sorted(folder.glob("*")):
                    if path.suffix in _OTHER_LANGUAGES:
                        why = f"Not used: North runs no {path.suffix} files."
                        yield f"- `{visible(path.name)}` ({visible(str(path))}). {why}"


def _described(plugin: Plugin) -> str:
    parts = [f"{counted(len(plugin.servers), 'MCP server')}"] if plugin.servers else []
    parts += [f"`{visible(name)}`" for name in plugin.context_files]
    parts += [name for name in ("commands", "skills", "agents") if os.path.isdir(plugin.folder / name)]
    about = f": {one_line(plugin.description, 200)}" if plugin.description else ""
    has = f" Has {', '.join(parts)}." if parts else ""
    state = f" Not used: {visible(plugin.why)}." if plugin.why else ""
    kind = f"{_FAMILIES[plugin.family]}, {plugin.level}, {visible(str(plugin.folder))}"
    return f"- `{one_line(plugin.name, 100)}`{visible(about)} ({kind}).{has}{state}"
