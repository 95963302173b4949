"""What can be typed after `north-lsp`, read off the parser of the command line. Knows no shell."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from north_lsp.cli.arguments import Parser, options_of, parser, subparsers
from north_lsp.cli.commands import COMMANDS, Command
from north_lsp.lazy_dataclass import dataclass

Files = Literal["no", "files", "folders"]


@dataclass(frozen=True)
class Value:
    """What completes a value: words, or names of files. Free text has neither."""

    name: str
    words: Sequence[str] = ()
    files: Files = "no"


@dataclass(frozen=True)
class Option:
    """An option with all its spellings; `value` is None for a switch."""

    names: Sequence[str]
    help: str
    value: Value | None


@dataclass(frozen=True)
class Line:
    """A command, or `north-lsp` itself: its options, what its arguments are in order (the last one repeats), and what
    comes after an action."""

    name: str
    help: str
    options: Sequence[Option]
    places: Sequence[Value] = ()
    repeats: bool = False
    after: Mapping[str, Value] | None = None


def table() -> tuple[Line, Sequence[Line]]:
    """Read the parser: what may come before a command, and the commands."""
    whole = parser()
    commands = {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
    rows = [_line(name, commands[name], one) for name, one in subparsers(whole).items()]
    return Line("", "", _options(whole)), rows


def _line(name: str, command: Command, one: Parser) -> Line:
    if command.actions:
        places = [Value("ACTION", tuple(command.actions))]
        after = {action: Value("KEY", _keys()) for action, takes in command.actions.items() if takes.startswith("KEY")}
        return Line(name, command.help, _options(one), places, after=after)
    arguments = [action for action in one._actions if not action.option_strings]
    repeats = any(action.nargs in ("*", "+") for action in arguments)
    return Line(name, command.help, _options(one), [_value(action) for action in arguments], repeats)


def _options(one: Parser) -> list[Option]:
    return [
        Option(tuple(action.option_strings), action.help or "", None if action.nargs == 0 else _value(action))
        for action in options_of(one)
    ]


def _value(action: argparse.Action) -> Value:
    name = str(action.metavar or action.dest)
    if action.choices is not None:
        return Value(name, tuple(str(one) for one in action.choices))
    if name == "DIR":
        return Value(name, files="folders")
    if "FILE" in name or action.dest == "out":
        return Value(name, files="files")
    return Value(name, tuple(_WORDS[name]()) if name in _WORDS else ())


def _keys() -> Sequence[str]:
    from north_lsp.storage.setting import declared
    from north_lsp.storage.settings import Settings

    return sorted(declared(Settings))


def _pages() -> Sequence[str]:
    from north_lsp.tools.support.manual import manual_pages

    return list(manual_pages())


def _presets() -> Sequence[str]:
    from north_lsp.providers.catalog.presets import presets

    return [name for preset in presets() for name in (preset.name, *preset.aliases)]


def _providers() -> Sequence[str]:
    from north_lsp.providers.catalog.catalog import catalog

    return sorted(provider.id for provider in catalog().providers)


def _commands() -> Sequence[str]:
    return [command.name for command in COMMANDS]


# By the name that the help gives to a value.
_WORDS: Mapping[str, Callable[[], Sequence[str]]] = {
    "COMMAND": _commands,
    "PAGE": _pages,
    "PRESET": _presets,
    "PROVIDER": _providers,
}
