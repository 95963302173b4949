"""The command line. It imports nothing heavy: each command imports what it needs when it runs."""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from north_lsp import __version__
from north_lsp.server.options import Options, UsageError

if TYPE_CHECKING:
    import argparse

    from north_lsp.agent.session.configuration import Place
    from north_lsp.server.opening import Protocol
    from north_lsp.storage.areas import Scope

USAGE = 2
_INTERRUPTED = 130
_NOBODY_READS = 141
_FAILED = 70
_MODES = ("ask", "agent", "plan")
_NEED_A_MODEL = ("demo", "doctor")
_FORMATS = ("html", "md", "txt", "json")
_LEVELS = ("debug", "info", "warn", "error")


def _parser() -> "argparse.ArgumentParser":
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            self.exit(USAGE, f"north-lsp: {message}; see north-lsp --help\n")

    parser = Parser(prog="north-lsp", description="A coding agent that lives inside the editor.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"north-lsp {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)

    def add(name: str, help: str, *aliases: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=help, aliases=aliases, allow_abbrev=False)
        command.add_argument("--path", metavar="DIR", help="the project's folder (default: the current one)")
        command.add_argument(
            "--model", metavar="SELECTOR", help="which model answers, for example sonnet-4-5 or offline"
        )
        command.add_argument("--mode", choices=_MODES, help="ask only reads; agent proposes edits and commands")
        command.add_argument("--log-level", choices=_LEVELS, help="what North writes to its log file")
        return command

    acp = add("acp", "Serve the Agent Client Protocol on standard input and output.")
    acp.add_argument("--login", action="store_true", help="store a provider's key instead, in this terminal")
    lsp = add("lsp", "Serve the Language Server Protocol on standard input and output.")
    lsp.add_argument("--stdio", action="store_true", help="use standard input and output (the default)")
    lsp.add_argument("--tcp", metavar="HOST:PORT", help="listen on a loopback address instead; clients need a token")
    demo = add("demo", "Show a whole turn in the terminal, on a copy of a project.")
    demo.add_argument("--yes", action="store_true", help="answer every question by itself")
    demo.add_argument("--prompt", metavar="TEXT", help="what to ask (default: a prompt that shows everything)")
    stored = add(
        "conversations", "List, search, show, rename, archive, delete or restore stored conversations.", "list"
    )
    stored.add_argument(
        "words",
        nargs="*",
        metavar="ACTION",
        help="list (the default), search WORDS, show ID, rename "
        "ID TITLE, archive ID, unarchive ID, delete ID, trash [WORDS], restore ID, fork ID (a copy for "
        "this project); an id may be its beginning",
    )
    stored.add_argument("--all", action="store_true", help="those of all projects")
    stored.add_argument("--archived", action="store_true", help="also archived ones")
    stored.add_argument("--limit", type=int, metavar="N", help="at most so many")
    stored.add_argument("--yes", action="store_true", help="delete without asking")
    stored.add_argument("--json", action="store_true", help="as JSON")
    export = add("export", "Write a stored conversation to a file, or to standard output.")
    export.add_argument("conversation", metavar="ID|FILE", help="its id (north-lsp list shows them), or a log file")
    export.add_argument("out", nargs="?", help="the file to write, or - (default: north-<id>-<date> in this folder)")
    export.add_argument("--format", choices=_FORMATS, help="default: by the ending of the file's name, else html")
    export.add_argument("--raw", action="store_true", help="do not mask keys and your home folder")
    export.add_argument("--force", action="store_true", help="replace a file that exists")
    models = add("models", "List the models that North knows, and why some cannot be used.")
    models.add_argument("pattern", nargs="?", default="", help="a part of a model's name")
    models.add_argument("--available", action="store_true", help="only those that can be used")
    models.add_argument("--json", action="store_true", help="as JSON")
    login = add("login", "Store a provider's API key, readable only by you.")
    login.add_argument("provider", nargs="?", help="for example anthropic (default: asks)")
    logout = add("logout", "Remove stored API keys.")
    logout.add_argument("provider", nargs="?", help="whose keys (default: shows them and asks)")
    setup = add("setup", "Add a ready-made provider to models.yml.")
    setup.add_argument("what", choices=("provider",), help="what to set up")
    setup.add_argument("--preset", metavar="NAME", required=True, help="minimax, minimax-cn, glm, openrouter or local")
    setup.add_argument("--id", metavar="ID", help="the provider's name in models.yml")
    setup.add_argument("--address", metavar="URL", help="where a local server is")
    setup.add_argument("--yes", action="store_true", help="write without asking")
    importer = add("import", "Copy logs of conversations, also of other formats, into North's store.")
    importer.add_argument("files", nargs="+", metavar="FILE", help="the logs; they are left as they are")
    importer.add_argument("--salvage", action="store_true", help="also damaged ones: copy what can be read")
    purge = add("purge", "Show what North can do without on your disk, and remove it after a question.")
    which = purge.add_mutually_exclusive_group()
    which.add_argument("--project", action="store_true", help="instead: all conversations about this project")
    which.add_argument("--all", action="store_true", help="instead: all conversations, costs, keys and logs")
    purge.add_argument("--yes", action="store_true", help="remove without asking")
    settings = add("settings", "Show the settings with where each value comes from, or change one in its file.")
    settings.add_argument(
        "words", nargs="*", metavar="ACTION", help="list [WORDS] (the default), get KEY, set KEY VALUE, reset KEY"
    )
    settings.add_argument("--project", action="store_true", help="change it in the project's file instead of yours")
    settings.add_argument("--json", action="store_true", help="as JSON")
    add("schema", "Print the JSON Schema of config.json, for editors to complete and check it.")
    doctor = add("doctor", "Check this installation and say what to do about what is wrong.")
    doctor.add_argument(
        "--bundle", metavar="FILE", nargs="?", const="", help="write a zip for reports, without secrets"
    )
    doctor.add_argument("--conversation", metavar="ID", help="with --bundle: this conversation, too, after a question")
    return parser


def _options(arguments: "argparse.Namespace") -> Options:
    path = None
    if arguments.path is not None:
        path = Path(arguments.path).expanduser().absolute()
        if not path.is_dir():
            raise UsageError(f"--path: there is no folder {arguments.path}")
    environ = _environ()
    for name in ("NORTH_CONFIG_DIR", "NORTH_DATA_DIR", "NORTH_STATE_DIR"):
        value = environ.get(name)
        if value and not os.path.isabs(os.path.expanduser(value)):
            raise UsageError(f"{name} must be an absolute path, not {value!r}")
    model = arguments.model if arguments.model is not None else environ.get("NORTH_MODEL", "").strip() or None
    if environ.get("NORTH_NO_NETWORK"):
        from north_lsp.server.no_network import forbid, is_forbidden

        if is_forbidden(environ):
            forbid()
    options = Options(environ, path, model, arguments.mode, arguments.log_level)
    if arguments.command in _NEED_A_MODEL:
        options.check_model()
    return options


def _environ() -> dict[str, str]:
    """Return the environment, with what `~/.env` adds to it."""
    path = Path(os.environ.get("HOME") or "/", ".env")
    if not path.is_file():
        return dict(os.environ)
    from north_lsp.providers.catalog.catalog import secret_names
    from north_lsp.providers.keys.env_file import with_env_file

    return with_env_file(os.environ, path, secret_names())


def _serve(protocol: "Protocol", options: Options) -> int:
    """Answer `initialize` on standard input and output before anything heavy is imported, then serve the connection."""
    from north_lsp.rpc.opening import ConnectionEnded
    from north_lsp.server.garbage import pause_collector
    from north_lsp.server.opening import claim_stdio, open_connection

    pause_collector()
    opening = open_connection(protocol)
    read_fd, write_fd = claim_stdio()
    try:
        opening.run_blocking(read_fd, write_fd)
    except ConnectionEnded as ended:
        return ended.exit_code
    from north_lsp.server.connection import run_stdio

    code = run_stdio(protocol, opening, read_fd, write_fd, options)
    # Everything is written and closed. A thread may still import a vendor's SDK; the client should not wait for it.
    os._exit(code)


def _lsp(arguments: "argparse.Namespace", options: Options) -> int:
    if arguments.tcp is None:
        return _serve("lsp", options)
    from north_lsp.server.tcp import read_address, run_tcp

    return run_tcp(read_address(arguments.tcp), options)


def _demo(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.demo.run import run_demo

    return run_demo(options, prompt=arguments.prompt, unattended=arguments.yes)


def _conversations(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.conversations import Wishes, conversations

    wishes = Wishes(arguments.all, arguments.archived, arguments.limit, arguments.yes, arguments.json)
    return conversations(options, arguments.words, wishes, _ask, print)


def _export(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.export import export

    wanted = (arguments.out, arguments.format)
    return export(options, arguments.conversation, *wanted, raw=arguments.raw, force=arguments.force, ask=_ask)


def _doctor(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.doctor import examine, report

    findings = examine(options)
    if arguments.bundle is not None:
        from north_lsp.cli.bundle import write_bundle
        from north_lsp.cli.talking import complain

        return write_bundle(options, arguments.bundle, arguments.conversation, report(findings), _ask, print, complain)
    print(report(findings))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _acp(arguments: "argparse.Namespace", options: Options) -> int:
    return _login(arguments, options) if arguments.login else _serve("acp", options)


def _models(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.reports import models

    print(models(options, arguments.pattern, available=arguments.available, as_json=arguments.json))
    return 0


def _login(arguments: "argparse.Namespace", options: Options) -> int:
    from getpass import getpass

    from north_lsp.cli.login import is_terminal, login

    ask_secret = getpass if is_terminal() else lambda _: sys.stdin.readline()
    return login(options, getattr(arguments, "provider", None), _ask, ask_secret, print)


def _logout(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.login import logout

    return logout(options, arguments.provider, _ask, print)


def _setup(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.login import setup_provider

    return setup_provider(options, arguments.preset, arguments.id, arguments.address, arguments.yes, _ask, print)


def _import(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.keeping import import_files
    from north_lsp.cli.talking import complain

    return import_files(options, arguments.files, salvage=arguments.salvage, say=print, complain=complain)


def _purge(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.purge import purge
    from north_lsp.cli.talking import complain

    scope: Scope = "all" if arguments.all else "project" if arguments.project else "spare"
    return purge(options, scope, _ask if not arguments.yes else None, print, complain)


def _schema(arguments: "argparse.Namespace", options: Options) -> int:
    import json

    from north_lsp.storage.settings_schema import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0


def _settings(arguments: "argparse.Namespace", options: Options) -> int:
    from north_lsp.cli.settings import settings
    from north_lsp.cli.talking import complain

    place: Place = "project" if arguments.project else "user"
    return settings(options, arguments.words, place, arguments.json, print, complain)


def _ask(question: str) -> str:
    """Ask for a line of input; empty at the end of the input."""
    try:
        return input(question)
    except EOFError:
        return ""


def _crashed(error: Exception) -> int:
    """Write down what went wrong inside North, and say so in one line."""
    from north_lsp.cli.crash import keep_crash
    from north_lsp.cli.talking import complain

    file = keep_crash(error, os.environ)
    where = f"the details are in {file}" if file is not None else "the details could not be written down"
    complain(f"something failed inside North ({type(error).__name__}); {where}")
    return _FAILED


_COMMANDS: "dict[str, Callable[[argparse.Namespace, Options], int]]" = {
    "acp": _acp,
    "lsp": _lsp,
    "demo": _demo,
    "conversations": _conversations,
    "list": _conversations,
    "doctor": _doctor,
    "export": _export,
    "models": _models,
    "login": _login,
    "logout": _logout,
    "setup": _setup,
    "import": _import,
    "purge": _purge,
    "schema": _schema,
    "settings": _settings,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code: 2 for a mistake in it, with one line that says what to do."""
    arguments = _parser().parse_args(argv)
    try:
        code = _COMMANDS[arguments.command](arguments, _options(arguments))
        sys.stdout.flush()
        return code
    except UsageError as error:
        print(f"north-lsp: {error}", file=sys.stderr)
        return USAGE
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # the reader has closed the pipe, `| head` for example
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return _NOBODY_READS
    except Exception as error:  # noqa: BLE001 - the outermost frame of the process
        return _crashed(error)
