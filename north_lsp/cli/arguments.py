"""What the command line takes: the commands with their options, examples and help. Knows nothing of what they do."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from north_lsp import __version__
from north_lsp.lazy_dataclass import dataclass

USAGE = 2
FORMATS = ("html", "md", "txt", "json")
SHELLS = ("bash", "zsh", "fish")
_MODES = ("ask", "agent", "plan")
_WITH_VALUE = ("--path", "--model", "--mode", "--log-level")
_LEVELS = ("debug", "info", "warn", "error")
EXIT_CODES = (
    (0, "done, or there was nothing to do"),
    (1, "it failed, or you said no; doctor: something is broken"),
    (2, "a mistake in the command line, said in one line"),
    (70, "a failure inside North; the details are in a file that is named"),
    (130, "interrupted with Ctrl-C"),
    (141, "the program that read the output has closed it"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line. `fill` adds its arguments when they are needed: a command line has only one
    command."""

    def __init__(self, fill: "Callable[[Parser], None] | None" = None, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
        self._fill = fill

    def filled(self) -> "Parser":
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


@dataclass(frozen=True)
class Command:
    """A command. `takes_model`: it has --model and --mode, too. `examples` are what follows `north-lsp`."""

    name: str
    group: str
    help: str
    examples: Sequence[str]
    add: Callable[[Parser], None] = lambda _: None
    takes_model: bool = False
    aliases: Sequence[str] = ()


def _acp(parser: Parser) -> None:
    parser.add_argument("--login", action="store_true", help="store a provider's key instead, in this terminal")
    _add_no_session(parser)


def _add_no_session(parser: Parser) -> None:
    parser.add_argument("--no-session", action="store_true", help="do not save new conversations")


def _lsp(parser: Parser) -> None:
    carrier = parser.add_mutually_exclusive_group()
    carrier.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    carrier.add_argument(
        "--tcp", metavar="HOST:PORT", help="listen on a loopback address; clients must send the token that is printed"
    )
    _add_no_session(parser)


def _demo(parser: Parser) -> None:
    parser.add_argument(
        "--path", metavar="DIR", default=argparse.SUPPRESS, help="show it on a copy of this project (default: a sample)"
    )
    parser.add_argument("--yes", action="store_true", help="approve every edit and command without asking")
    parser.add_argument("--prompt", metavar="TEXT", help="what to ask (default: a prompt that shows everything)")


def _conversations(parser: Parser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ACTION",
        help="list (the default), search WORDS, show ID, export ID [FILE], rename ID TITLE, archive ID, unarchive ID, "
        "delete ID, trash [WORDS], restore ID, fork ID (a copy for this project); the beginning of an id is enough",
    )
    parser.add_argument("--all", action="store_true", help="those of all projects")
    parser.add_argument("--archived", action="store_true", help="archived ones, too")
    parser.add_argument("--limit", type=int, metavar="N", help="show at most N")
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _export(parser: Parser) -> None:
    parser.add_argument("conversation", metavar="ID|FILE", help="its id (north-lsp conversations shows it), or a log")
    parser.add_argument("out", nargs="?", help="the file to write, or - (default: north-<id>-<date> in this folder)")
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of the file's name, else html")
    parser.add_argument("--raw", action="store_true", help="do not mask keys and your home folder")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _stats(parser: Parser) -> None:
    parser.add_argument("conversation", nargs="?", metavar="ID", help="its id; the beginning is enough")
    parser.add_argument("--disk", action="store_true", help="instead: what North keeps on the disk, and what frees it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _models(parser: Parser) -> None:
    parser.add_argument("pattern", nargs="?", default="", help="a part of a model's name")
    parser.add_argument("--available", action="store_true", help="only those that can be used")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _login(parser: Parser) -> None:
    parser.add_argument("provider", nargs="?", help="for example anthropic (default: asks)")


def _logout(parser: Parser) -> None:
    parser.add_argument("provider", nargs="?", help="whose keys (default: shows them and asks)")


def _setup(parser: Parser) -> None:
    parser.add_argument("what", choices=("provider",), help="what to set up")
    parser.add_argument("--preset", metavar="NAME", required=True, help="minimax, minimax-cn, glm, openrouter or local")
    parser.add_argument("--id", metavar="ID", help="the provider's name in models.yml")
    parser.add_argument("--address", metavar="URL", help="the address of a local server")
    parser.add_argument("--yes", action="store_true", help="write without asking")


def _import(parser: Parser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="the logs; they are not changed")
    parser.add_argument("--salvage", action="store_true", help="copy what can be read of damaged ones, too")


def _purge(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--project", action="store_true", help="instead: all conversations about this project")
    which.add_argument("--all", action="store_true", help="instead: all conversations, costs, keys and logs")
    parser.add_argument("--yes", action="store_true", help="remove without asking")


def _settings(parser: Parser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="ACTION", help="list [WORDS] (the default), get KEY, set KEY VALUE, reset KEY"
    )
    parser.add_argument("--project", action="store_true", help="change the project's file instead of yours")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _doctor(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--bundle", metavar="FILE", nargs="?", const="", help="write a zip for reports, without secrets"
    )
    parser.add_argument("--conversation", metavar="ID", help="with --bundle: add this conversation, after a question")


def _docs(parser: Parser) -> None:
    parser.add_argument("page", nargs="?", help="for example shell, or start/neovim (default: lists the pages)")
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def _help(parser: Parser) -> None:
    parser.add_argument("about", nargs="?", metavar="COMMAND", help="the command to explain (default: all of them)")


COMMANDS = (
    Command(
        "demo",
        "Try it",
        "Show a whole turn in the terminal, on a copy of a project.",
        ("demo", "demo --yes", "demo --path ~/my-project --model sonnet-4-5"),
        _demo,
        takes_model=True,
    ),
    Command(
        "acp",
        "For editors",
        "Serve the Agent Client Protocol on standard input and output.",
        ("acp", "acp --model sonnet-4-5 --mode ask"),
        _acp,
        takes_model=True,
    ),
    Command(
        "lsp",
        "For editors",
        "Serve the Language Server Protocol on standard input and output.",
        ("lsp", "lsp --tcp 127.0.0.1:5007"),
        _lsp,
        takes_model=True,
    ),
    Command(
        "login",
        "Set up",
        "Store a provider's API key, readable only by you.",
        ("login", "login anthropic", "login openai < keyfile"),
        _login,
    ),
    Command("logout", "Set up", "Remove stored API keys.", ("logout", "logout anthropic"), _logout),
    Command(
        "models",
        "Set up",
        "List the models that North knows, and why some cannot be used.",
        ("models", "models sonnet --available", "models --json"),
        _models,
    ),
    Command(
        "setup",
        "Set up",
        "Add a ready-made provider to models.yml.",
        ("setup provider --preset openrouter", "setup provider --preset local --address http://127.0.0.1:8000/v1"),
        _setup,
    ),
    Command(
        "settings",
        "Set up",
        "Show the settings with where each value comes from, or change one in its file.",
        ("settings list shell", "settings get shell.timeoutS", "settings set shell.timeoutS 120", "settings --json"),
        _settings,
    ),
    Command(
        "schema",
        "Set up",
        "Print the JSON Schema of config.json, for editors to complete and check it.",
        ("schema > north.schema.json",),
    ),
    Command(
        "completion",
        "Set up",
        "Print the completions of this program for a shell.",
        ("completion bash > ~/.local/share/bash-completion/completions/north-lsp", "completion fish | source"),
        _completion,
    ),
    Command(
        "conversations",
        "Conversations",
        "List, search, show, export, rename, archive, delete or restore stored conversations.",
        (
            "conversations",
            "conversations search cache bug --all",
            "conversations show 3f2a",
            "conversations export 3f2a notes.md",
            "conversations delete 3f2a",
        ),
        _conversations,
        aliases=("list",),
    ),
    Command(
        "export",
        "Conversations",
        "Write a stored conversation to a file, or to standard output.",
        ("export 3f2a0c61-8d0b-7c3e-9a55-1f0e2d3c4b5a", "export 3f2a0c61-8d0b-7c3e-9a55-1f0e2d3c4b5a - --format md"),
        _export,
    ),
    Command(
        "import",
        "Conversations",
        "Copy logs of conversations, also of other formats, into North's store.",
        ("import backup/*.jsonl", "import --salvage damaged.jsonl"),
        _import,
    ),
    Command(
        "stats",
        "Look after it",
        "Show what a conversation adds up to, or what North keeps on the disk.",
        ("stats 3f2a", "stats 3f2a --json", "stats --disk"),
        _stats,
    ),
    Command(
        "doctor",
        "Look after it",
        "Check this installation and say what to do about what is wrong.",
        ("doctor", "doctor --json", "doctor --bundle report.zip"),
        _doctor,
        takes_model=True,
    ),
    Command(
        "docs",
        "Look after it",
        "Print a page of the manual, or the list of pages.",
        ("docs", "docs start/neovim", "docs troubleshooting | less"),
        _docs,
    ),
    Command(
        "purge",
        "Look after it",
        "Show what North can do without on your disk, and remove it after a question.",
        ("purge", "purge --project"),
        _purge,
    ),
    Command("help", "Look after it", "Explain a command.", ("help", "help conversations"), _help),
)


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
    """Add the options that may stand before the command and after it. The default of those after it is not to touch
    what was given before."""
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
