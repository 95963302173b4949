"""zsh and fish complete the command line, with what `north-lsp completion` prints, installed as the manual says."""

import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.e2e.nvim.screen import Screen
from tests.support.completed import LINES, NOTHING, make_files

NORTH = Path(sys.executable).parent / "north-lsp"
_FUNCTION = "fpath=(~/.zfunc $fpath)\nautoload -Uz compinit && compinit -u\n"
_SOURCED = "source <(north-lsp completion zsh)\n"


@cache
def bed() -> Path:
    """The folder of the shells, set up first when they are not there yet."""
    setup = Path(__file__).parents[1] / "setup-shells.sh"
    return Path(subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def script(shell: str) -> str:
    return subprocess.run([NORTH, "completion", shell], check=True, stdout=subprocess.PIPE, text=True).stdout


def offered_by_fish(folder: Path, line: str) -> set[str]:
    command = f"source {folder / 'north-lsp.fish'}; complete -C '{line}'"
    done = subprocess.run([bed() / "bin/fish", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return {row.partition("\t")[0].rstrip("/") for row in done.stdout.splitlines()}


def test_fish_completes_commands_options_and_values(tmp_path: Path) -> None:
    make_files(tmp_path)
    (tmp_path / "north-lsp.fish").write_text(script("fish"))
    for line, offered in LINES.items():
        assert offered_by_fish(tmp_path, line) == offered, line
    for line in NOTHING:
        assert offered_by_fish(tmp_path, line) == set(), line


@pytest.mark.parametrize("configuration", [_FUNCTION, _SOURCED], ids=["function", "sourced"])
def test_zsh_completes_commands_options_and_values(tmp_path: Path, configuration: str) -> None:
    project = tmp_path / "project"
    project.mkdir()
    make_files(project)
    shutil.copy(bed() / "zshenv", tmp_path / ".zshenv")
    (tmp_path / ".zfunc").mkdir()
    (tmp_path / ".zfunc" / "_north-lsp").write_text(script("zsh"))
    (tmp_path / ".zshrc").write_text(f"PS1='%% '\n{configuration}")
    environ = {"HOME": str(tmp_path), "ZDOTDIR": str(tmp_path), "PATH": f"{NORTH.parent}:/usr/bin:/bin"}
    with Screen([bed() / "bin/zsh", "-i"], columns=130, rows=40, cwd=project, env=environ) as screen:
        screen.wait_for(r"^%")
        for line, offered in LINES.items():
            screen.keys("C-u", "C-l")
            screen.wait_for(r"\A% *$")
            screen.write(line)
            screen.keys("Tab")
            if len(offered) == 1:
                screen.wait_for(re.escape(" ".join([*line.split()[:-1], *offered])))
            else:
                for word in offered:
                    screen.wait_for(rf"(^|  ){re.escape(word)}( |$)")
