"""The slash command about settings, as far as it needs a session."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import TYPE_CHECKING, cast, get_args

from north_lsp.agent.models.keys import UserKeys
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import SettingsWanted
from north_lsp.agent.session.configuration import Configuration, Place, SettingRow, WrongSetting
from north_lsp.display import counted, one_line, visible
from north_lsp.slash.base import CommandError, SettingPlace
from north_lsp.storage.settings import SECRETS

if TYPE_CHECKING:
    from north_lsp.agent.session.process.environment import Environment

_MOST = 30
_LONGEST = 200
_ORIGINS = {
    "default": "the default",
    "user": "your own settings",
    "project": "the project's settings",
    "editor": "the editor's settings",
    "session": "this conversation",
}


class ConfigHost:
    """The part of a slash command's `Host` that is about settings. Every method may raise CommandError."""

    def __init__(self, environment: Environment, editor: Editor) -> None:
        self._environment = environment
        self._list_shown_in = editor

    @property
    def _configuration(self) -> Configuration:
        return Configuration(self._environment.settings_file)

    def is_setting(self, name: str) -> bool:
        try:
            self._configuration.row(name)
        except WrongSetting:
            return False
        return True

    async def settings(self, query: str) -> str:
        if not query:
            await self._list_shown_in.show(SettingsWanted())
            return self._changed() + await self._accounts()
        if self.is_setting(query):
            return self._described(self._configuration.row(query))
        found = self._configuration.rows(query)
        if not found:
            try:
                self._configuration.row(query)
            except WrongSetting as error:
                raise CommandError(f"{error}. `/config <words>` searches the settings") from None
        rest = len(found) - _MOST
        more = [f"- … and {counted(rest, 'more setting')}"] if rest > 0 else []
        return "\n".join([*(_line(row) for row in found[:_MOST]), *more])

    async def set_setting(self, name: str, value: str, place: SettingPlace) -> str:
        key = self._configuration.row(name).key
        if key in SECRETS:
            path = self._configuration.files["user"]
            raise CommandError(f"`{key}` is a secret, which must not be in a conversation: write it into {path}")
        meant = _meant(self._configuration, key, value)
        row = await self._carried_out(self._configuration.set(key, meant, place))
        done = f"`{key}` is set to `{_shown(meant)}` in {_where(place)}."
        return f"{done} {_when(row)}" if row.origin == place else f"{done} But {_sentence(row)} That takes precedence."

    async def reset_setting(self, name: str, place: SettingPlace | None) -> str:
        try:
            row = self._configuration.row(name)
        except WrongSetting as error:
            raise CommandError(str(error)) from None
        if place is None:
            place = cast(Place, row.origin) if row.origin in get_args(Place) else "user"
        row = await self._carried_out(self._configuration.reset(row.key, place))
        return f"`{row.key}` is not set any more in {_where(place)}. {_sentence(row)} {_when(row)}"

    async def _carried_out(self, change: Awaitable[SettingRow]) -> SettingRow:
        try:
            return await change
        except WrongSetting as error:
            raise CommandError(visible(str(error))) from None
        except OSError as error:
            raise CommandError(f"the setting could not be written: {visible(str(error))}") from None

    def _changed(self) -> str:
        rows = [row for row in self._configuration.rows() if row.origin != "default"]
        usage = "`/config <words>` searches all settings, `/config <key> <value>` changes one, `--reset` after a key "
        usage += "undoes that; `--project` does so for the project, `--session` for this conversation."
        head = "These settings are not at their default:" if rows else "All settings are at their default."
        problems = [f"- {visible(problem)}" for problem in self._configuration.problems]
        wrong = ["", "**What is wrong**", *problems] if problems else []
        files = ", ".join(f"`{visible(str(path))}`" for path in self._configuration.files.values())
        return "\n".join([head, "", *(_line(row) for row in rows), *wrong, "", f"{usage} Files: {files}."])

    async def _accounts(self) -> str:
        """Say which providers there are keys for, where these are, and which of them rest."""
        environment = self._environment
        accounts = await UserKeys(environment.models, environment.locations, environment.environ).accounts()
        return "\n".join(["", "", "Keys:", *(f"- {visible(account)}" for account in accounts)]) if accounts else ""

    def _described(self, row: SettingRow) -> str:
        parts = [f"{_sentence(row)} {visible(row.text)}", "", f"- takes {row.expects}; default `{_shown(row.default)}`"]
        parts += [f"- {_ORIGINS[origin]}: `{_shown(value)}`" for origin, value in row.others]
        if row.restart:
            parts.append("- a change counts when North is started again")
        if row.project == "stricter":
            parts.append("- a project can only make it stricter")
        if row.project == "no":
            parts.append("- a project cannot set it")
        return "\n".join(parts)


def _meant(configuration: Configuration, key: str, text: str) -> object:
    try:
        return configuration.typed(key, text)
    except WrongSetting as error:
        raise CommandError(str(error)) from None


def _when(row: SettingRow) -> str:
    return "It counts when North is started again." if row.restart else "It counts from the next prompt on."


def _where(place: Place) -> str:
    return "this conversation, until it is closed" if place == "session" else _ORIGINS[place]


def _sentence(row: SettingRow) -> str:
    return f"`{row.key}` is `{_shown(row.value)}`, from {_ORIGINS[row.origin]}."


def _line(row: SettingRow) -> str:
    origin = "" if row.origin == "default" else f" ({_ORIGINS[row.origin]})"
    return f"- `{row.key}` = `{_shown(row.value)}`{origin}: {one_line(row.text, 100)}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False) if value is not None else "not set"
    return one_line(text, _LONGEST).replace("`", "'")
