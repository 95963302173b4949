"""`north-lsp settings`: the settings with where each value comes from; setting and resetting one in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from north_lsp.agent.session.configuration import Configuration, Place, SettingRow, WrongSetting
from north_lsp.cli.commands import SETTING_ACTIONS, told
from north_lsp.display import visible
from north_lsp.server.options import Options, UsageError
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.trust import Trust
from north_lsp.workspace.project_root import find_root, project_hash

Say = Callable[[str], object]


def settings(options: Options, words: Sequence[str], place: Place, as_json: bool, say: Say, complain: Say) -> int:
    """Show or change settings, as the words say; returns the exit code. Raises UsageError for words that make no
    sense."""
    locations = Locations.from_environment(options.environ)
    root = find_root(options.path or Path.cwd()).resolve()
    trust = Trust(locations, project_hash(root))
    configuration = Configuration(SettingsFile(locations).of(root, trust.is_distrusted))
    try:
        match list(words):
            case []:
                rows = configuration.rows()
            case ["list", *query]:
                rows = configuration.rows(" ".join(query))
            case ["get", key]:
                say(_one(configuration.row(key), as_json=as_json))
                return 0
            case ["set", key, *value] if value:
                meant = configuration.typed(key, " ".join(value))
                say(_one(anyio.run(configuration.set, key, meant, place), as_json=as_json))
                return 0
            case ["reset", key]:
                say(_one(anyio.run(configuration.reset, key, place), as_json=as_json))
                return 0
            case _:
                raise UsageError(f"settings takes {told(SETTING_ACTIONS)}")
    except WrongSetting as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"the setting could not be written: {error}")
        return 1
    if as_json:
        say(json.dumps([_as_json(row) for row in rows], indent=2, ensure_ascii=False))
    elif rows:
        say("\n".join(_line(row) for row in rows))
    for problem in configuration.problems:
        complain(problem)
    return 0


def _one(row: SettingRow, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(_as_json(row), indent=2, ensure_ascii=False)
    others = [f"  {origin}: {_value(value)}" for origin, value in row.others]
    return "\n".join([_line(row), *others, f"  {row.text}", f"  takes {row.expects}; default {_value(row.default)}"])


def _line(row: SettingRow) -> str:
    return f"{row.key} = {_value(row.value)} ({row.origin})"


def _value(value: object) -> str:
    return visible(json.dumps(value, ensure_ascii=False))


def _as_json(row: SettingRow) -> dict[str, object]:
    others = [{"origin": origin, "value": value} for origin, value in row.others]
    return {"key": row.key, "value": row.value, "origin": row.origin, "default": row.default, "others": others}
