"""`/config`: the settings, shown with where they come from, searched and changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.slash.base import Command, Reply, SettingPlace, UsageError

_FLAG = lazy_pattern(r"\s+--(project|session|user|reset)$")
_FLAGS = "`--project`, `--session`, `--reset`"


class HostForConfig(Protocol):
    """What commands about settings ask of a session. Every method may raise CommandError."""

    def is_setting(self, name: str) -> bool: ...

    async def settings(self, query: str) -> str:
        """Show a setting by its name, those with the words of a query, or those that were changed, in Markdown."""
        ...

    async def set_setting(self, name: str, value: str, place: SettingPlace) -> str: ...

    async def reset_setting(self, name: str, place: SettingPlace | None) -> str:
        """Take a setting back, without a place from where its value comes from."""
        ...


async def _config(host: HostForConfig, words: Sequence[str]) -> Reply:
    text, flags = f" {words[0]}" if words else "", set[str]()
    while (flag := _FLAG.search(text)) is not None:
        flags.add(flag[1])
        text = text[: flag.start()]
    name, _, value = text.strip().partition(" ")
    places: list[SettingPlace] = [place for place in ("user", "project", "session") if place in flags]
    if len(places) > 1:
        raise UsageError("There can be only one of `--user`, `--project` and `--session`.")
    place = places[0] if places else None
    if name.startswith("--"):
        raise UsageError(f"The options are {_FLAGS}, after the name of a setting.")
    if "reset" in flags:
        if not name or value.strip():
            raise UsageError("`--reset` follows the name of one setting.")
        return Reply(await host.reset_setting(name, place))
    if value.strip() and host.is_setting(name):
        return Reply(await host.set_setting(name, value.strip(), place or "user"))
    if place is not None:
        raise UsageError("There must be a value, or `--reset`, after the name of a setting.")
    return Reply(await host.settings(text.strip()))


CONFIG = (
    Command(
        "config",
        "Show, search or change the settings",
        _config,
        "[key|words] [value|--reset] [--project|--session]",
        takes_text=True,
        names_settings=True,
    ),
)
