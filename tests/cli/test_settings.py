"""`north-lsp settings`: lists, gets, sets and resets, in the user's file and the project's."""

import json
from functools import partial
from pathlib import Path

import pytest

from tests.cli import test_command_line
from tests.end_to_end.world import SERVER

run = partial(test_command_line.run, program=SERVER)


def test_a_setting_is_listed_set_and_reset_in_both_files(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "config.json"
    path.write_text('{\n  // mine\n  "shell": {"timeoutS": 5}\n}\n')
    listed = run(tmp_path, "settings", "list", "timeout")
    assert "shell.timeoutS = 5 (user)\n" in listed.stdout
    done = run(tmp_path, "settings", "set", "shell.timeoutS", "7", "--project")
    assert done.stdout.startswith("shell.timeoutS = 7 (project)\n  user: 5\n")
    assert json.loads((tmp_path / ".north" / "settings.json").read_text()) == {"shell.timeoutS": 7}
    run(tmp_path, "settings", "set", "edits.protected", "*.sql", "a b")
    rows = json.loads(run(tmp_path, "settings", "--json").stdout)
    assert {row["key"]: row["origin"] for row in rows if row["origin"] != "default"} == {
        "shell.timeoutS": "project",
        "edits.protected": "user",
    }
    run(tmp_path, "settings", "reset", "shell.timeoutS", "--project")
    got = json.loads(run(tmp_path, "settings", "get", "shell.timeoutS", "--json").stdout)
    assert (got["value"], got["origin"]) == (5, "user")
    assert "// mine" in path.read_text()


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (["set", "shell.timeoutS", "soon"], "must be a whole number, from 1 to 3600", 1),
        (["get", "shell.timeout"], "did you mean shell.timeoutS?", 1),
        (["set", "cost.dayLimitUsd", "1", "--project"], "a project cannot set cost.dayLimitUsd", 1),
        (["set", "shell.timeoutS"], "settings takes list", 2),
        (["drop"], "settings takes list", 2),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(
    tmp_path: Path, words: list[str], says: str, code: int
) -> None:
    done = run(tmp_path, "settings", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "config").exists()
    assert not (tmp_path / ".north").exists()


def test_a_broken_file_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    path = tmp_path / "config" / "config.json"
    path.write_text('{"a": ')
    done = run(tmp_path, "settings", "set", "shell.timeoutS", "7")
    assert done.returncode == 1
    assert "line 1, column 7" in done.stderr
    assert "fix it first" in done.stderr
    assert path.read_text() == '{"a": '
