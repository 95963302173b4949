"""What the command line takes: the parser of the commands, their help, and mistakes in one line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from north_lsp import __version__
from north_lsp.cli.commands import COMMANDS, Command

USAGE = 2
_MODES = ("ask", "agent", "plan")
_WITH_VALUE = ("--path", "--model", "--mode", "--log-level")
_LEVELS = ("debug", "info", "warn", "error")
EXIT_CODES = (
    (0, "done, or there was nothing to do"),
    (1, "it failed, or you said no; doctor: something is broken"),
    (2, "a mistake in the command line, named in one line"),
    (70, "a failure inside North; the details are in a file that is named"),
    (130, "interrupted with Ctrl-C"),
    (141, "the program that read the output has closed it"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line. `fill` adds its arguments when they are needed: a command line has only one
    command."""

    def __init__(self, fill: Callable[[Parser], None] | None = None, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._fill = fill

    def filled(self) -> Parser:
        """Return this parser with all of its arguments."""
        if self._fill is not None:
            fill, self._fill = self._fill, None
            fill(self)
        return self

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        self.filled()
        return super().parse_known_args(*args, **options)

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"north-lsp: {message}; see {self.prog} --help\n")


def parser() -> Parser:
    """Return the parser of the whole command line. A command's own options are added when that command is parsed."""
    whole = Parser(
        prog="north-lsp",
        usage="north-lsp [OPTIONS] COMMAND [...]",
        description=f"A coding agent that lives inside the editor.\n\n{_listed()}",
        epilog=_epilog(("demo", "login anthropic", "--path ~/my-project conversations")) + f"\n\n{_codes()}",
    )
    whole.add_argument("-V", "--version", action="version", version=f"north-lsp {__version__}")
    _add_global(whole, takes_model=True, default=None)
    commands = whole.add_subparsers(
        prog="north-lsp",
        dest="command",
        metavar="COMMAND",
        required=True,
        parser_class=Parser,
        help=argparse.SUPPRESS,
    )
    for command in COMMANDS:
        commands.add_parser(
            command.name,
            description=command.help,
            epilog=_epilog(command.examples),
            aliases=command.aliases,
            fill=_fill(command),
        )
    return whole


def subparsers(whole: Parser) -> dict[str, Parser]:
    """Return the parser of each command, with all of its options, by name."""
    (action,) = (one for one in whole._actions if isinstance(one, argparse._SubParsersAction))
    return {name: one.filled() for name, one in action.choices.items()}


def read(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. Ends the process with a usage error for a mistake, and after --help and --version."""
    whole = parser()
    _refuse_unknown_command(whole, argv)
    arguments: argparse.Namespace
    arguments, extra = whole.parse_known_args(argv)
    if extra:
        subparsers(whole)[arguments.command].error(f"unrecognized arguments: {' '.join(extra)}")
    (command,) = (one for one in COMMANDS if arguments.command in (one.name, *one.aliases))
    for name in ("model", "mode"):
        if not command.takes_model and getattr(arguments, name) is not None:
            whole.error(f"{command.name} takes no --{name}")
    return arguments


def _refuse_unknown_command(whole: Parser, argv: Sequence[str]) -> None:
    if not argv:
        whole.error("which command? north-lsp demo shows a whole turn")
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    word, before = "", ""
    for one in argv:
        if not one.startswith("-") and before not in _WITH_VALUE:
            word = one
            break
        before = one
    if word and word not in names:
        from difflib import get_close_matches

        near = get_close_matches(word, names, 1, 0.5)
        whole.error(f"unknown command {word!r}" + (f"; did you mean {near[0]}?" if near else ""))


def _fill(command: Command) -> Callable[[Parser], None]:
    def fill(parser: Parser) -> None:
        command.add(parser)
        _add_global(parser, takes_model=command.takes_model, default=argparse.SUPPRESS)

    return fill


def _add_global(parser: Parser, *, takes_model: bool, default: Any) -> None:
    """Add the options that may come before the command and after it. The default of those after it is not to touch what
    was given before."""
    shared = parser.add_argument_group("options before or after the command")

    def add(name: str, **options: Any) -> None:
        shared.add_argument(name, default=default, **options)

    if "--path" not in parser._option_string_actions:  # the demo has its own
        add("--path", metavar="DIR", help="the project's folder (default: the current one)")
    if takes_model:
        add("--model", metavar="SELECTOR", help="which model answers, for example sonnet-4-5 or offline")
        add("--mode", choices=_MODES, help="ask only reads; plan writes a plan; agent proposes edits and commands")
    add("--log-level", choices=_LEVELS, help="what North writes to its log file (default: info)")


def _listed() -> str:
    """List the commands by group."""
    lines: list[str] = []
    for group in dict.fromkeys(command.group for command in COMMANDS):
        lines += ["", f"{group}:"]
        lines += [f"  {command.name:<14} {command.help}" for command in COMMANDS if command.group == group]
    return "\n".join(lines[1:])


def _epilog(examples: Sequence[str]) -> str:
    return "\n".join(["examples:", *(f"  north-lsp {example}" for example in examples)])


def _codes() -> str:
    return "\n".join(["exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES)])


def options_of(parser: Parser) -> Iterator[argparse.Action]:
    """Yield the options of a command, without its positional arguments."""
    return (action for action in parser._actions if action.option_strings)
