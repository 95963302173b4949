"""Completions for shells, as the parser of the command line has them. zsh and fish themselves are in `tests/e2e`."""

import shlex
import shutil
import subprocess
from collections.abc import Set
from functools import partial
from pathlib import Path

import pytest

from north_lsp.cli.arguments import options_of, parser, subparsers
from north_lsp.cli.completion.table import table
from tests.cli import test_command_line
from tests.end_to_end.world import SERVER
from tests.support.completed import LINES, NOTHING, make_files

run = partial(test_command_line.run, program=SERVER)


@pytest.mark.parametrize(("line", "offered"), [*LINES.items(), *((line, set()) for line in NOTHING)])
def test_bash_completes_commands_options_and_values(tmp_path: Path, line: str, offered: Set[str]) -> None:
    make_files(tmp_path)
    script = run(tmp_path, "completion", "bash").stdout
    words = [*line.split(), *([""] if line.endswith(" ") else [])]
    script += f"COMP_WORDS=({' '.join(shlex.quote(word) for word in words)}); COMP_CWORD={len(words) - 1}\n"
    script += "_north_lsp; printf '%s\\n' \"${COMPREPLY[@]}\""
    done = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert set(done.stdout.split()) == offered
    assert done.stderr == ""


def test_the_table_has_every_command_and_option_of_the_parser() -> None:
    whole, commands = table()
    parsers = {"": parser(), **subparsers(parser())}
    assert [line.name for line in (whole, *commands)] == list(parsers)
    for line in (whole, *commands):
        names = [name for action in options_of(parsers[line.name]) for name in action.option_strings]
        assert [name for one in line.options for name in one.names] == names


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_every_command_and_option(tmp_path: Path, shell: str) -> None:
    done = run(tmp_path, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    _, commands = table()
    for line in commands:
        assert line.name in done.stdout
        for option in line.options:
            assert all(name.lstrip("-") in done.stdout for name in option.names)
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n"], input=done.stdout, text=True, check=True, capture_output=True)
