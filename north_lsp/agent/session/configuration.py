"""The settings of a session for people: listed with where each value comes from, searched, changed and reset."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import anyio.to_thread

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import Declared, InProject, PartlyWrong, declared
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_file import SettingsFile
from north_lsp.storage.settings_layers import Layered, as_written, project_file, stricter
from north_lsp.storage.settings_reader import Origin, did_you_mean, expected, read_value
from north_lsp.storage.settings_write import save_setting

Place = Literal["user", "project", "session"]
"""Where a setting is changed: in the user's file, in the project's, or for this session alone."""
SECRET = "(not shown)"
_YES, _NO = ("true", "on", "yes"), ("false", "off", "no")


class WrongSetting(ValueError):
    """A setting that is unknown, or cannot have this value in this place; the text says what to do."""


@dataclass(frozen=True)
class SettingRow:
    """A setting as it is now. `others` are what the layers below say of it, the strongest first; `choices` all values
    that it can have, if they are few. Values are as they could be written."""

    key: str
    text: str
    value: object
    default: object
    origin: Origin
    others: Sequence[tuple[Origin, object]]
    expects: str
    choices: Sequence[object]
    restart: bool
    project: InProject


class Configuration:
    """The settings of one session, or of the process where no session is named."""

    def __init__(self, settings: SettingsFile) -> None:
        self._settings = settings

    @property
    def files(self) -> Mapping[Place, Path]:
        """Where settings are written."""
        root = self._settings.root
        more: dict[Place, Path] = {} if root is None else {"project": project_file(root)}
        return {"user": self._settings.locations.config / "config.json", **more}

    @property
    def problems(self) -> tuple[str, ...]:
        return self._settings.current().problems

    def rows(self, query: str = "") -> list[SettingRow]:
        """List the settings that have every word of a query in their names or their texts; those with it in the name
        come first."""
        layered, words = self._settings.layered(), query.lower().split()
        found = [
            row
            for row in declared(Settings).values()
            if all(word in f"{' '.join(row.setting.names)} {row.setting.text}".lower() for word in words)
        ]
        found.sort(key=lambda row: not all(word in row.setting.key.lower() for word in words))
        return [_row(row, layered) for row in found]

    def row(self, name: str) -> SettingRow:
        """Return a setting by any of its names. Raises WrongSetting."""
        return _row(self._find(name), self._settings.layered())

    def typed(self, name: str, text: str) -> object:
        """Return the value that a text stands for, as it could be written. Raises WrongSetting."""
        row = self._find(name)
        try:
            return _typed(row, text.strip())
        except ValueError:
            raise WrongSetting(f"{row.setting.key} must be {expected(row)}") from None

    async def set(self, name: str, value: object, place: Place) -> SettingRow:
        """Set a setting. Raises WrongSetting, and OSError when it cannot be written."""
        row = self._find(name)
        key = row.setting.key
        try:
            meant = read_value(row, value)
        except PartlyWrong as error:
            raise WrongSetting(f"{key} {error.problems[0]}") from None
        except ValueError as error:
            raise WrongSetting(f"{key} {error}") from None
        self._check(row, meant, place)
        if place == "session":
            self._settings.session.replace({**self._settings.session.written, key: value})
        else:
            await self._write(row, place, value)
        return self.row(key)

    async def reset(self, name: str, place: Place) -> SettingRow:
        """Take a setting out of where it was set. Raises as `set` does."""
        row = self._find(name)
        if place == "session":
            left = {key: value for key, value in self._settings.session.written.items() if key != row.setting.key}
            self._settings.session.replace(left)
        else:
            await self._write(row, place, None)
        return self.row(row.setting.key)

    def _find(self, name: str) -> Declared:
        rows = declared(Settings)
        found = next((row for row in rows.values() if name in row.setting.names), None)
        if found is None:
            raise WrongSetting(f"there is no setting {name}{did_you_mean(name, rows)}")
        return found

    def _check(self, row: Declared, meant: object, place: Place) -> None:
        setting = row.setting
        if place == "user":
            return
        if setting.secret:
            raise WrongSetting(f"{setting.key} is a secret: it belongs in your own file, {self.files['user']}")
        layers = self._settings.layered().layers
        if layers and layers[0].is_unknown:
            raise WrongSetting(
                f"your own file cannot be read, so nothing else counts: fix it first. {self.problems[0]}"
            )
        if place == "session":
            if setting.restart:
                raise WrongSetting(
                    f"{setting.key} counts only from the next start of North on: set it permanently instead"
                )
            return
        if "project" not in self.files:
            raise WrongSetting("no project is open")
        if setting.project == "no":
            raise WrongSetting(f"a project cannot set {setting.key}: it is for your own settings")
        own = layers[0].values.get(setting.key, setting.default) if layers else setting.default
        if setting.project == "stricter" and stricter(row, own, meant) is None:
            told = json.dumps(as_written(own))
            raise WrongSetting(f"a project can only make {setting.key} stricter than you do, and you have {told}")

    async def _write(self, row: Declared, place: Place, value: object) -> None:
        path = self.files.get(place)
        if path is None:
            raise WrongSetting("no project is open")
        root = self._settings.root
        if place == "project" and root is not None and not path.resolve().is_relative_to(root.resolve()):
            raise WrongSetting(f"{path} points outside the project, so it is not written")
        names = (row.setting.key, *(name for name in row.setting.names if name != row.setting.key))
        await anyio.to_thread.run_sync(save_setting, self._settings.locations, path, names, value)


def _row(row: Declared, layered: Layered) -> SettingRow:
    setting, key = row.setting, row.setting.key
    value, others = layered.shown(key), layered.below(key)
    if setting.secret:
        value = SECRET if value else None
        others = [(origin, SECRET) for origin, _ in others]
    default = as_written(setting.default)
    choices: tuple[object, ...] = get_args(row.kind) if get_origin(row.kind) is Literal else ()
    choices = (True, False) if row.kind is bool else choices
    origin = layered.origin(key)
    return SettingRow(
        key, setting.text, value, default, origin, others, expected(row), choices, setting.restart, setting.project
    )


def _typed(row: Declared, text: str) -> Any:
    """Return the value that a text stands for. Raises ValueError."""
    is_text = row.kind is str or get_origin(row.kind) is Literal
    if row.setting.schema is None and is_text:
        quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
        return text[1:-1] if quoted else text
    if row.kind is bool and text.lower() in (*_YES, *_NO):
        return text.lower() in _YES
    if row.kind == tuple[str, ...] and not text.startswith("["):
        return [word.removesuffix(",") for word in shlex.split(text)]
    return json.loads(text)
