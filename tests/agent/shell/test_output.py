"""What the model is told of a command's output: lines that it asked for, filters, notes, and where the whole is."""

from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.shell.output import denied_by_sandbox, notes_of, report_to_model
from north_lsp.agent.shell.strip_head_tail import select_lines, strip_head_tail
from north_lsp.shell.minimize import minimize
from north_lsp.shell.output import OutputSink
from north_lsp.shell.results import CommandResult
from north_lsp.shell.sandbox import ActiveRestrictions
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command
from north_lsp.tools.builtin import builtin_tools
from north_lsp.tools.shell.shell_run import ShellRun
from north_lsp.workspace.workspace import Addresses
from tests.support.workspaces import make_workspace


def command(text: str, **more: Any) -> Command:
    return Command(text, None, 60, **more)


def ran(text: str, code: int | None = 0, artifacts: Artifacts | None = None, **more: Any) -> CommandResult:
    sink = OutputSink((lambda: artifacts.stream("shell_run")) if artifacts is not None else None)
    sink.feed(text.encode())
    return CommandResult(code, sink.finish(), False, 5, (), Path("/r"), **more)


@pytest.mark.parametrize(
    ("text", "shorter", "head", "tail"),
    [
        ("git log | head -n 5", "git log", 5, None),
        ("git log | head -5", "git log", 5, None),
        ("git log | head", "git log", 10, None),
        ("make 2>&1 | tail -n20", "make 2>&1", None, 20),
        ("make 2>&1 | tail -20  ", "make 2>&1", None, 20),
        ("cat a | sort | uniq -c | head --lines=3", "cat a | sort | uniq -c", 3, None),
        ("cd sub && make | tail -3", "cd sub && make", None, 3),
    ],
)
def test_a_last_head_or_tail_is_done_on_what_was_captured(
    text: str, shorter: str, head: int | None, tail: int | None
) -> None:
    found = strip_head_tail(command(text))
    assert (found.command, found.head, found.tail) == (shorter, head, tail)


@pytest.mark.parametrize(
    "text",
    [
        "echo 'a | head -n 5",
        "echo 'a | head -5'",
        'echo "x | tail -3"',
        "(make | tail -3)",
        "make | tail -3 && echo ok",
        "make | tail -3 || echo bad",
        "make | tail -3; echo on",
        "make && make test | tail -3",
        "cat <<E\n| tail -3\nE",
        "echo $(make | tail -3)",
        "make | tail -f",
        "make | tail +5",
        "make | head -n -5",
        "make | tail -n +3",
        "make | head -c 5",
        "make | head -5 file",
        "make |& tail -3",
        "head -5",
        "cd sub | tail -1",
        "export A=1 | tail -1",
        "make | tail -3 &",
        "x=$(id) | tail -1",
        "make | tail -0",
    ],
)
def test_any_other_command_stays_as_it_is(text: str) -> None:
    assert strip_head_tail(command(text)) == command(text)


def test_explicit_numbers_win_and_head_comes_before_tail() -> None:
    asked = command("seq 9 | tail -2", head=4)
    assert strip_head_tail(asked) == asked
    assert select_lines("1\n2\n3\n4\n5\n", 3, 2).text == "2\n3\n"
    assert select_lines("1\n2\n", None, None).left_out == 0
    assert select_lines("1\n2", 5, 5).text == "1\n2"


def test_the_whole_is_kept_where_lines_are_left_out(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    text = "".join(f"{number}\n" for number in range(100))
    short = report_to_model(ran(text), command("x", tail=2), artifacts, minimizes=True, notes=[])
    assert short.text == "98\n99\n(the last 2 of 100 lines)\nComplete output: artifact://1"
    assert (short.number, short.shortened) == (1, True)
    assert artifacts.read(1) == text
    plain = report_to_model(ran("a\n"), command("x", tail=2), artifacts, minimizes=True, notes=["exit code 1"])
    assert plain.text == "a\nexit code 1"
    assert (plain.number, plain.shortened) == (None, False)
    long = report_to_model(ran(text), command("x"), artifacts, minimizes=True, notes=["note"])
    assert long.text.endswith("99\nnote\nComplete output: artifact://2")
    assert artifacts.read(2).startswith(text[:50])
    lost = report_to_model(ran(text * 5000), command("x", tail=1), artifacts, minimizes=True, notes=[])
    assert lost.text.endswith("99\n(the last 1 of 500000 lines)\n(the complete output could not be stored)")
    assert lost.number is None


def test_more_than_fits_is_an_artifact_while_it_is_printed(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    text = "".join(f"line {number}\n" for number in range(20_000))
    found = ran(text, artifacts=artifacts)
    assert found.output.truncated
    assert found.output.number == 1
    assert artifacts.read(1) == text
    assert report_to_model(found, command("x"), artifacts, minimizes=True, notes=[]).number == 1


PIP = "".join(f"Collecting p{number}\n  Downloading p{number}.whl\n" for number in range(20)) + "Successfully\n"


@pytest.mark.parametrize(
    ("text", "output", "name"),
    [
        ("pip install x", PIP, "pip"),
        ("npm install", "npm warn deprecated a\n" * 30 + "added 3 packages\n", "npm"),
        ("cargo build", "   Compiling a v1\n" * 30 + "    Finished dev\n", "cargo"),
        ("pytest -v", "".join(f"t.py::test_{n} PASSED [ 1%]\n" for n in range(30)) + "30 passed\n", "pytest"),
        ("go test ./...", "=== RUN   T\n--- PASS: T (0.00s)\n" * 20 + "ok  \tx\t0.1s\n", "tests"),
        ("git fetch", "remote: Counting objects:  50% (1/2)\n" * 30 + "From x\n", "git"),
    ],
)
def test_noise_of_what_went_well_is_left_out_and_what_matters_stays(text: str, output: str, name: str) -> None:
    found = minimize(text, output)
    assert found is not None
    assert found.name == name
    assert found.left_out >= 30
    last = output.rstrip("\n").split("\n")[-1]
    assert name == "tests" or found.text.rstrip("\n").endswith(last)


def test_a_filter_never_touches_a_failure_or_other_commands(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path)
    assert minimize("cat log", PIP) is None
    assert minimize("pip install x", "Collecting a\nSuccessfully installed\n") is None
    done = report_to_model(ran(PIP), command("pip install x"), artifacts, minimizes=True, notes=[])
    assert done.text.startswith("Successfully\n(the filter 'pip' left out 40 lines")
    assert done.text.endswith("Complete output: artifact://1")
    for found, minimizes in ((ran(PIP, 1), True), (ran(PIP), False)):
        text = report_to_model(found, command("pip install x"), artifacts, minimizes=minimizes, notes=[]).text
        assert "filter" not in text
        assert "Collecting p0" in text


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("a\ntouch: cannot touch '/x': Read-only file system\nb\n", "touch: cannot touch '/x': Read-only file system"),
        (
            "ERROR: Could not find a version that satisfies the requirement click (from versions: none)\n",
            "ERROR: Could not find a version that satisfies the requirement click (from versions: none)",
        ),
        ("java.net.UnknownHostException: repo.example\n", "java.net.UnknownHostException: repo.example"),
        ("error: Request failed\n  Caused by: dns error\n", "Caused by: dns error"),
        (
            "Error: ENOENT: no such file or directory, mkdir '/home/u/.tool-cache'\n",
            "Error: ENOENT: no such file or directory, mkdir '/home/u/.tool-cache'",
        ),
        ("ERROR: No matching distribution found for x==9 (from versions: 1.0, 2.0)\n", None),
        ("Error: ENOENT: no such file or directory, open 'a.json'\n", None),
        ("1 failed\n", None),
    ],
)
def test_a_failure_for_want_of_something_outside_is_told_from_others(output: str, line: str | None) -> None:
    held = ActiveRestrictions(6, True)
    assert denied_by_sandbox(ran(output, 1, sandbox=held)) == line
    assert denied_by_sandbox(ran(output, 0, sandbox=held)) is None
    assert denied_by_sandbox(ran(output, 1)) is None


def test_notes_say_what_the_output_does_not() -> None:
    asked = command("x", notices=("timeout 9 is out of range",))
    found = ran("", 3, lost="the shell was closed", moved=True, shell_ended=True)
    notes = notes_of(found, asked, offered=False)
    assert notes[0] == "exit code 3"
    assert "variables and functions of earlier commands are gone" in notes[1]
    assert "the shell is now in /r" in notes
    assert "timeout 9 is out of range" in notes
    assert notes_of(ran("", None, enough=True), asked, offered=False)[0].startswith("stopped after the requested lines")
    assert notes_of(ran("", None), asked, offered=False)[0] == "missing exit status"


@pytest.mark.parametrize(
    ("arguments", "timeout", "notices"),
    [
        ({}, 60, 0),
        ({"timeout": 5}, 5, 0),
        ({"timeoutMs": 5000}, 5, 0),
        ({"timeout": 0}, 1, 1),
        ({"timeout": 99999}, 3600, 1),
        ({"timeout": float("nan")}, 60, 1),
        ({"head": 0, "tail": 99999}, 60, 2),
        ({"description": "x" * 100}, 60, 1),
    ],
)
def test_arguments_out_of_range_are_put_right_and_told(
    tmp_path: Path, arguments: dict[str, object], timeout: float, notices: int
) -> None:
    tool, args = builtin_tools().check("shell_run", {"command": "ls", **arguments}, "agent")
    assert isinstance(tool, ShellRun)
    made = tool.command(args, make_workspace(tmp_path))
    assert made.timeout == timeout
    assert len(made.notices) == notices
    assert made.head in (None, 1)
    assert made.tail in (None, 10_000)
    assert len(made.description or "") <= 80


class Skills:
    def skill(self, address: str) -> str:
        return ""

    def skill_path(self, address: str) -> Path:
        return Path("/the skills") / address


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("sh skill://a/b.sh", "sh '/the skills/a/b.sh'"),
        ("sh 'skill://a/b.sh' \"skill://c\"", "sh '/the skills/a/b.sh' '/the skills/c'"),
        ('git commit -m "say skill://a/b.sh twice"', 'git commit -m "say skill://a/b.sh twice"'),
        ("echo 'say skill://a/b.sh twice' skill://c", "echo 'say skill://a/b.sh twice' '/the skills/c'"),
        ('echo "a \\" skill://a b" \\\' skill://c', "echo \"a \\\" skill://a b\" \\' '/the skills/c'"),
    ],
)
def test_a_file_of_a_skill_is_named_by_a_word_alone_not_in_a_text(tmp_path: Path, text: str, run: str) -> None:
    tool, args = builtin_tools().check("shell_run", {"command": text}, "agent")
    assert isinstance(tool, ShellRun)
    workspace = make_workspace(tmp_path, addresses=Addresses(skills=Skills()))
    assert tool.command(args, workspace).command == run
