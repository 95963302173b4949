"""Help, examples, and what is printed where."""

import json
import os
import pty
import shlex
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

from north_lsp.cli.arguments import EXIT_CODES, parser, read, subparsers
from north_lsp.cli.commands import COMMANDS
from north_lsp.cli.main import _COMMANDS, _OF_SERVERS, read_arguments
from north_lsp.cli.talking import is_colored, waiting
from north_lsp.storage.locations import Locations
from tests.cli import test_command_line
from tests.end_to_end.world import SERVER
from tests.storage.test_listing import header, put, said

run = partial(test_command_line.run, program=SERVER)

ROOT = Path(__file__).parents[2]


def test_every_command_is_run_explained_and_has_examples_that_parse() -> None:
    names = [name for command in COMMANDS for name in (command.name, *command.aliases)]
    assert sorted(names) == sorted(_COMMANDS) == sorted(subparsers(parser()))
    for command in COMMANDS:
        assert command.help.endswith(".")
        assert command.examples, command.name
        for example in command.examples:
            words = shlex.split(example.split(" | ")[0].split(" > ")[0].split(" < ")[0])
            assert parser().parse_args(words).command == command.name
            assert example in subparsers(parser())[command.name].format_help()


@pytest.mark.parametrize("argv", _OF_SERVERS)
def test_what_editors_start_is_read_as_the_parser_reads_it(argv: tuple[str, ...]) -> None:
    assert vars(read_arguments(argv)) == vars(read(argv))


def test_the_help_lists_all_commands_and_exit_codes(tmp_path: Path) -> None:
    done = run(tmp_path, "help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run(tmp_path, "--help").stdout
    for command in COMMANDS:
        assert f"  {command.name:<14} {command.help}\n" in done.stdout
    for code, meaning in EXIT_CODES:
        assert f"  {code:<4} {meaning}\n" in done.stdout
    assert run(tmp_path, "help", "doctor").stdout == run(tmp_path, "doctor", "--help").stdout


def test_options_stand_before_the_command_or_after_it() -> None:
    for words in (["--path", "p", "--log-level", "debug", "models"], ["models", "--path", "p", "--log-level", "debug"]):
        found = parser().parse_args(words)
        assert (found.path, found.log_level, found.model) == ("p", "debug", None)
    found = parser().parse_args(["--model", "one", "--mode", "ask", "acp", "--model", "two"])
    assert (found.model, found.mode, found.path) == ("two", "ask", None)


@pytest.mark.parametrize("protocol", ["acp", "lsp"])
def test_a_server_that_is_started_by_hand_says_what_it_waits_for(tmp_path: Path, protocol: str) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever runs the tests in the background ignores it
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "north_lsp", protocol])
    shown = b""
    while b"Ctrl-C" not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    # Ended by the signal itself: an exception of Python's could get lost on its way.
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGINT
    os.close(terminal)
    assert f"north-lsp {protocol} waits for an editor's messages" in shown.decode()
    assert "north-lsp demo" in shown.decode()


def test_questions_are_not_part_of_the_output(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "north.log").write_text("{}\n")
    done = run(tmp_path, "purge", stdin=b"no\n")
    assert (done.returncode, "Type yes" in done.stderr, "Type yes" in done.stdout) == (1, True, False)
    assert "Nothing was removed." in done.stdout


def test_a_conversation_is_exported_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    put(Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state"), "aa11", header(1), said(2, "Explain it"))
    done = run(tmp_path, "conversations", "export", "aa", "notes.md")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert "Explain it" in (tmp_path / "notes.md").read_text()
    done = run(tmp_path, "conversations", "export", "zz")
    assert done.returncode == 1
    assert "no conversation starts with 'zz'" in done.stderr


def test_the_demo_says_that_its_path_is_a_copys() -> None:
    text = subparsers(parser())["demo"].format_help()
    assert text.count("--path DIR  ") == 1
    assert "default: a sample" in text
    assert parser().parse_args(["--path", "p", "demo"]).path == "p"
    assert parser().parse_args(["demo", "--path", "p"]).path == "p"


def test_the_manual_is_printed_and_listed(tmp_path: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    rows = json.loads(run(tmp_path, "docs", "--json").stdout)
    assert {row["page"] for row in rows} == pages
    assert all(row["title"] for row in rows)
    assert {line.split()[0] for line in run(tmp_path, "docs").stdout.split("\n\n")[0].splitlines()} == pages
    for name in ("shell", "docs/shell.md", "docs://north/shell"):
        assert run(tmp_path, "docs", name).stdout == (ROOT / "docs" / "shell.md").read_text("utf-8")
    done = run(tmp_path, "docs", "shel")
    assert (done.returncode, done.stdout) == (1, "")
    assert "did you mean shell?" in done.stderr


class Stream:
    def __init__(self, *, terminal: bool) -> None:
        self.terminal, self.text = terminal, ""

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


def test_colors_and_progress_are_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    screen, pipe = Stream(terminal=True), Stream(terminal=False)
    assert is_colored(screen)  # type: ignore[arg-type]
    assert not is_colored(pipe)  # type: ignore[arg-type]
    for stream in (screen, pipe):
        monkeypatch.setattr("sys.stderr", stream)
        with waiting("Looking…"):
            pass
    assert (screen.text, pipe.text) == ("Looking…\r\033[K", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not is_colored(screen)  # type: ignore[arg-type]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert is_colored(pipe)  # type: ignore[arg-type]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not is_colored(screen)  # type: ignore[arg-type]


def test_what_is_wrong_is_said_beside_the_table_not_in_it(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.yml").write_text("providers: 7\n")
    for arguments in (["models"], ["models", "--json"]):
        done = run(tmp_path, *arguments, environ={"NORTH_DISCOVERY": "off"})
        assert "models.yml" in done.stderr
        assert "models.yml" not in done.stdout
    json.loads(done.stdout)


def test_models_that_can_be_used_come_first_the_others_below_what_they_need(tmp_path: Path) -> None:
    off = {"NORTH_DISCOVERY": "off"}
    lines = run(tmp_path, "models", environ=off).stdout.splitlines()
    assert lines[1].split()[0] == "offline/offline"
    assert lines[1].endswith("default")
    assert lines[2] == ""
    assert "north-lsp login anthropic" in lines[3]
    assert lines[4].startswith("anthropic/")
    with_key = run(tmp_path, "models", environ=off | {"OPENAI_API_KEY": "k"}).stdout
    assert "login openai" not in with_key
    (marked,) = [line for line in with_key.splitlines() if line.endswith("default")]
    listed = json.loads(run(tmp_path, "models", "--json", environ=off | {"OPENAI_API_KEY": "k"}).stdout)
    assert [row["selector"] for row in listed if row["default"]] == [marked.split()[0]]
    assert marked.startswith("openai/")
