"""The command line. It imports nothing heavy: each command imports what it needs when it runs."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from north_lsp.server.options import Options, UsageError

if TYPE_CHECKING:
    import argparse

    from north_lsp.agent.session.configuration import Place
    from north_lsp.cli.arguments import Parser
    from north_lsp.server.opening import Protocol
    from north_lsp.storage.areas import Scope

USAGE = 2
_INTERRUPTED = 130
_NOBODY_READS = 141
_FAILED = 70
_OF_SERVERS: dict[tuple[str, ...], dict[str, Any]] = {
    ("acp",): {"login": False},
    ("lsp",): {"stdio": False, "tcp": None},
    ("lsp", "--stdio"): {"stdio": True, "tcp": None},
}
"""The command lines with which editors start a server, and what is special about each."""


def _parser() -> Parser:
    from north_lsp.cli.arguments import parser

    return parser()


def _options(arguments: argparse.Namespace) -> Options:
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
    if getattr(arguments, "no_session", False):
        environ["NORTH_NO_SESSION"] = "1"
    model = arguments.model if arguments.model is not None else environ.get("NORTH_MODEL", "").strip() or None
    if environ.get("NORTH_NO_NETWORK"):
        from north_lsp.server.no_network import forbid, is_forbidden

        if is_forbidden(environ):
            forbid()
    options = Options(environ, path, model, arguments.mode, arguments.log_level)
    if arguments.command == "demo":
        options.check_model()
    return options


def _environ() -> dict[str, str]:
    """Return the environment, with what `~/.env` adds to it."""
    path = Path(os.path.expanduser("~"), ".env")
    if not path.is_file():
        return dict(os.environ)
    from north_lsp.providers.catalog.catalog import secret_names
    from north_lsp.providers.keys.env_file import with_env_file

    return with_env_file(os.environ, path, secret_names())


def _tell_who_types(protocol: Protocol) -> None:
    """Say on standard error what waits here, to somebody who started a server by hand in a terminal."""
    if os.isatty(0) and os.isatty(2):
        text = f"north-lsp {protocol} waits for an editor's messages. To try North in this terminal: north-lsp demo"
        sys.stderr.write(f"{text} (Ctrl-C ends this)\n")


def _let_interrupts_end() -> None:
    """Let Ctrl-C end this process at once, until the connection takes the signal over: nothing can be lost yet, and
    Python's own exception gets lost where nothing can be raised (in a callback of the garbage collector, for one)."""
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _serve(protocol: Protocol, options: Options) -> int:
    """Answer `initialize` on standard input and output before anything heavy is imported, then serve the connection."""
    from north_lsp.rpc.opening import ConnectionEnded
    from north_lsp.server.garbage import pause_collector
    from north_lsp.server.opening import claim_stdio, open_connection

    _let_interrupts_end()
    _tell_who_types(protocol)
    pause_collector()
    opening = open_connection(protocol, options.environ)
    read_fd, write_fd = claim_stdio()
    try:
        opening.run_blocking(read_fd, write_fd)
    except ConnectionEnded as ended:
        return ended.exit_code
    from north_lsp.server.code_bundle import read_code_bundle

    read_code_bundle(protocol)
    from north_lsp.server.connection import run_stdio

    code = run_stdio(protocol, opening, read_fd, write_fd, options)
    # Everything is written and closed. A thread may still import a vendor's SDK; the client should not wait for it.
    os._exit(code)


def _lsp(arguments: argparse.Namespace, options: Options) -> int:
    if arguments.tcp is None:
        return _serve("lsp", options)
    from north_lsp.server.tcp import read_address, run_tcp

    return run_tcp(read_address(arguments.tcp), options)


def _demo(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.demo.run import run_demo

    return run_demo(options, prompt=arguments.prompt, unattended=arguments.yes)


def _conversations(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.conversations import Wishes, conversations

    if arguments.words[:1] == ["export"]:
        return _export_one(arguments.words[1:], options)
    wishes = Wishes(arguments.all, arguments.archived, arguments.limit, arguments.yes, arguments.json)
    return conversations(options, arguments.words, wishes, _ask, print)


def _export_one(words: Sequence[str], options: Options) -> int:
    """Export the conversation whose id begins with the first word, to the file that the second one names."""
    from north_lsp.cli.conversations import find_id
    from north_lsp.cli.export import export

    if not 1 <= len(words) <= 2:
        raise UsageError("conversations export takes ID [FILE]; north-lsp export --help has all options")
    id = find_id(options, words[0])
    if id is None:
        return 1
    out = words[1] if len(words) > 1 else None
    return export(options, id, out, None, raw=False, force=False, ask=_ask)


def _export(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.export import export

    wanted = (arguments.out, arguments.format)
    return export(options, arguments.conversation, *wanted, raw=arguments.raw, force=arguments.force, ask=_ask)


def _doctor(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.doctor import examine
    from north_lsp.cli.finding import as_json, report
    from north_lsp.cli.talking import complain, is_colored, waiting

    with waiting("Checking this installation…"):
        findings = examine(options)
        if arguments.check_updates:
            from north_lsp.cli.updates import updates

            findings.append(updates(options.environ))
    if arguments.bundle is not None:
        from north_lsp.cli.bundle import write_bundle

        return write_bundle(options, arguments.bundle, arguments.conversation, report(findings), _ask, print, complain)
    if arguments.report:
        from north_lsp.cli.problem_report import problem_report

        print(problem_report(options, findings))
    else:
        print(as_json(findings) if arguments.json else report(findings, colored=is_colored(sys.stdout)))
    return 1 if any(finding.level == "error" for finding in findings) else 0


def _docs(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.docs import docs
    from north_lsp.cli.talking import complain

    return docs(arguments.page, arguments.json, print, complain)


def _completion(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.completion import completion

    return completion(arguments.shell, print)


def _help(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.arguments import subparsers

    whole = _parser()
    if arguments.about is None:
        whole.print_help()
        return 0
    found = subparsers(whole).get(arguments.about)
    if found is None:
        raise UsageError(f"unknown command {arguments.about!r}; north-lsp help lists them")
    found.print_help()
    return 0


def _acp(arguments: argparse.Namespace, options: Options) -> int:
    return _login(arguments, options) if arguments.login else _serve("acp", options)


def _models(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.reports import models
    from north_lsp.cli.talking import complain, waiting

    with waiting("Asking providers for their models…"):
        text, problems = models(options, arguments.pattern, available=arguments.available, as_json=arguments.json)
    print(text)
    for problem in problems:
        complain(problem)
    return 0


def _login(arguments: argparse.Namespace, options: Options) -> int:
    from getpass import getpass

    from north_lsp.cli.login import is_terminal, login

    provider = getattr(arguments, "provider", None)
    if provider is None and not is_terminal():
        raise UsageError("without a terminal, name the provider and give the key: north-lsp login anthropic < keyfile")
    ask_secret = getpass if is_terminal() else lambda _: sys.stdin.readline()
    return login(options, provider, _ask, ask_secret, print)


def _logout(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.login import logout, stored_as_json

    if arguments.json:
        return stored_as_json(options, arguments.provider, print)
    return logout(options, arguments.provider, _ask, print)


def _setup(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.login import setup_provider

    return setup_provider(options, arguments.preset, arguments.id, arguments.address, arguments.yes, _ask, print)


def _import(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.keeping import import_files
    from north_lsp.cli.talking import complain

    return import_files(options, arguments.files, salvage=arguments.salvage, say=print, complain=complain)


def _purge(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.purge import purge
    from north_lsp.cli.talking import complain

    scope: Scope = "all" if arguments.all else "project" if arguments.project else "spare"
    return purge(options, scope, _ask if not arguments.yes else None, print, complain)


def _stats(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.stats import stats

    return stats(options, arguments.conversation, disk=arguments.disk, as_json=arguments.json, show=print)


def _schema(arguments: argparse.Namespace, options: Options) -> int:
    import json

    from north_lsp.storage.settings_json_schema import json_schema

    print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return 0


def _settings(arguments: argparse.Namespace, options: Options) -> int:
    from north_lsp.cli.settings import settings
    from north_lsp.cli.talking import complain

    place: Place = "project" if arguments.project else "user"
    return settings(options, arguments.words, place, arguments.json, print, complain)


def _ask(question: str) -> str:
    """Ask for a line of input, on standard error, so that output can be piped; empty at the end of the input."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().rstrip("\n")


def _crashed(error: Exception) -> int:
    """Write down what went wrong inside North, and say so in one line."""
    from north_lsp.cli.crash import keep_crash
    from north_lsp.cli.talking import complain

    file = keep_crash(error, os.environ)
    where = f"the details are in {file}" if file is not None else "the details could not be written down"
    complain(f"something failed inside North ({type(error).__name__}); {where}")
    return _FAILED


_COMMANDS: dict[str, Callable[[argparse.Namespace, Options], int]] = {
    "acp": _acp,
    "lsp": _lsp,
    "demo": _demo,
    "conversations": _conversations,
    "list": _conversations,
    "completion": _completion,
    "docs": _docs,
    "doctor": _doctor,
    "export": _export,
    "help": _help,
    "models": _models,
    "login": _login,
    "logout": _logout,
    "setup": _setup,
    "import": _import,
    "purge": _purge,
    "schema": _schema,
    "stats": _stats,
    "settings": _settings,
}


def read_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line. Those of editors need no parser, which takes a fifth of the time until the first answer to
    make."""
    if (special := _OF_SERVERS.get(tuple(argv))) is not None:
        none = dict.fromkeys(("path", "model", "mode", "log_level"))
        return cast("argparse.Namespace", SimpleNamespace(**none, command=argv[0], no_session=False, **special))
    from north_lsp.cli.arguments import read

    return read(argv)


def _print_what_can_be_printed() -> None:
    """Have characters replaced that the reader's code page lacks, where standard output is no console."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code: 2 for a mistake in it, with one line that says what to do."""
    arguments = read_arguments(sys.argv[1:] if argv is None else argv)
    if os.name == "nt":
        _print_what_can_be_printed()
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
