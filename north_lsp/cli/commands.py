"""The commands of the command line: their options, examples and help. Knows nothing of what they do."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable, Mapping, Sequence

from north_lsp.lazy_dataclass import dataclass

FORMATS = ("html", "md", "txt", "json")
SHELLS = ("bash", "zsh", "fish")
# What the first word of some commands may be, and what follows it.
SETTING_ACTIONS = {"list": "[WORDS] (the default)", "get": "KEY", "set": "KEY VALUE", "reset": "KEY"}
_CONVERSATION_ACTIONS = {
    "list": "(the default)",
    "search": "WORDS",
    "show": "ID",
    "export": "ID [FILE]",
    "rename": "ID TITLE",
    "archive": "ID",
    "unarchive": "ID",
    "delete": "ID",
    "trash": "[WORDS]",
    "restore": "ID",
    "fork": "ID (a copy for this project)",
}


@dataclass(frozen=True)
class Command:
    """A command. `takes_model`: it has --model and --mode, too. `examples` are what follows `north-lsp`. `actions` are
    what its first word may be."""

    name: str
    group: str
    help: str
    examples: Sequence[str]
    add: Callable[[ArgumentParser], None] = lambda _: None
    takes_model: bool = False
    aliases: Sequence[str] = ()
    actions: Mapping[str, str] | None = None


def told(actions: Mapping[str, str]) -> str:
    """Say which actions there are, with what follows each."""
    return ", ".join(f"{name} {takes}" for name, takes in actions.items())


def _acp(parser: ArgumentParser) -> None:
    parser.add_argument("--login", action="store_true", help="store a provider's key instead, in this terminal")
    _add_no_session(parser)


def _add_no_session(parser: ArgumentParser) -> None:
    parser.add_argument("--no-session", action="store_true", help="do not save new conversations")


def _lsp(parser: ArgumentParser) -> None:
    carrier = parser.add_mutually_exclusive_group()
    carrier.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    carrier.add_argument(
        "--tcp", metavar="HOST:PORT", help="listen on a loopback address; clients must send the token that is printed"
    )
    _add_no_session(parser)


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--path", metavar="DIR", default=SUPPRESS, help="show it on a copy of this project (default: a sample)"
    )
    parser.add_argument("--yes", action="store_true", help="approve every edit and command without asking")
    parser.add_argument("--prompt", metavar="TEXT", help="what to ask (default: a prompt that shows everything)")


def _conversations(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        metavar="ACTION",
        help=f"{told(_CONVERSATION_ACTIONS)}; the beginning of an id is enough",
    )
    parser.add_argument("--all", action="store_true", help="those of all projects")
    parser.add_argument("--archived", action="store_true", help="archived ones, too")
    parser.add_argument("--limit", type=int, metavar="N", help="show at most N")
    parser.add_argument("--yes", action="store_true", help="delete without asking")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("conversation", metavar="ID|FILE", help="its id (north-lsp conversations shows it), or a log")
    parser.add_argument("out", nargs="?", help="the file to write, or - (default: north-<id>-<date> in this folder)")
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of the file's name, else html")
    parser.add_argument("--raw", action="store_true", help="do not mask keys and your home folder")
    parser.add_argument("--force", action="store_true", help="replace an existing file")


def _stats(parser: ArgumentParser) -> None:
    parser.add_argument("conversation", nargs="?", metavar="ID", help="its id; the beginning is enough")
    parser.add_argument("--disk", action="store_true", help="instead: what North keeps on the disk, and what frees it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _models(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", default="", help="a part of a model's name")
    parser.add_argument("--available", action="store_true", help="only those that can be used")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _login(parser: ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="for example anthropic (default: asks)")


def _logout(parser: ArgumentParser) -> None:
    parser.add_argument("provider", nargs="?", metavar="PROVIDER", help="whose keys (default: shows them and asks)")
    parser.add_argument("--json", action="store_true", help="print what is stored as JSON, and remove nothing")


def _setup(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", choices=("provider",), default="provider", help="what to set up")
    parser.add_argument(
        "--preset",
        metavar="PRESET",
        help="minimax, minimax-cn, glm, openrouter or local (default: lists them and asks)",
    )
    parser.add_argument("--id", metavar="ID", help="the provider's name in models.yml")
    parser.add_argument("--address", metavar="URL", help="the address of a local server")
    parser.add_argument("--yes", action="store_true", help="write without asking")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="the logs; they are not changed")
    parser.add_argument("--salvage", action="store_true", help="copy what can be read of damaged ones, too")


def _purge(parser: ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--project", action="store_true", help="instead: all conversations about this project")
    which.add_argument("--all", action="store_true", help="instead: all conversations, costs, keys and logs")
    parser.add_argument("--yes", action="store_true", help="remove without asking")


def _settings(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="ACTION", help=told(SETTING_ACTIONS))
    parser.add_argument("--project", action="store_true", help="change the project's file instead of yours")
    parser.add_argument("--json", action="store_true", help="print JSON")


def _doctor(parser: ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="print JSON")
    how.add_argument(
        "--report", action="store_true", help="print what a report of a problem needs, without secrets, to be pasted"
    )
    how.add_argument("--bundle", metavar="FILE", nargs="?", const="", help="write a zip for reports, without secrets")
    parser.add_argument("--check-updates", action="store_true", help="ask PyPI whether there is a newer version, too")
    parser.add_argument("--conversation", metavar="ID", help="with --bundle: add this conversation, after asking")


def _docs(parser: ArgumentParser) -> None:
    parser.add_argument(
        "page", nargs="?", metavar="PAGE", help="for example shell, or start/neovim (default: lists the pages)"
    )
    parser.add_argument("--json", action="store_true", help="print the list as JSON")


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="your shell")


def _help(parser: ArgumentParser) -> None:
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
        (
            "setup",
            "setup provider --preset openrouter",
            "setup provider --preset local --address http://127.0.0.1:8000/v1",
        ),
        _setup,
    ),
    Command(
        "settings",
        "Set up",
        "Show the settings with where each value comes from, or change one in its file.",
        ("settings list shell", "settings get shell.timeoutS", "settings set shell.timeoutS 120", "settings --json"),
        _settings,
        actions=SETTING_ACTIONS,
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
        (
            "completion bash > ~/.local/share/bash-completion/completions/north-lsp",
            "completion fish > ~/.config/fish/completions/north-lsp.fish",
            "completion zsh > ~/.zfunc/_north-lsp",
        ),
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
        actions=_CONVERSATION_ACTIONS,
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
        "Maintenance",
        "Show the statistics of a conversation, or what North keeps on the disk.",
        ("stats 3f2a", "stats 3f2a --json", "stats --disk"),
        _stats,
    ),
    Command(
        "doctor",
        "Maintenance",
        "Check this installation and say what to do about what is wrong.",
        ("doctor", "doctor --json", "doctor --report", "doctor --check-updates", "doctor --bundle report.zip"),
        _doctor,
        takes_model=True,
    ),
    Command(
        "docs",
        "Maintenance",
        "Print a page of the manual, or the list of pages.",
        ("docs", "docs start/neovim", "docs troubleshooting | less"),
        _docs,
    ),
    Command(
        "purge",
        "Maintenance",
        "Show what North can do without on your disk, and remove it after asking.",
        ("purge", "purge --project"),
        _purge,
    ),
    Command("help", "Maintenance", "Explain a command.", ("help", "help conversations"), _help),
)
