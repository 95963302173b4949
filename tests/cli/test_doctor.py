"""What `doctor` says of the user's shell."""

import os
from pathlib import Path

import pytest

from north_lsp.cli.doctor import _shell
from north_lsp.server.options import Options


@pytest.mark.parametrize(("shell", "said"), [("/bin/zsh", 1), ("/usr/bin/fish", 1), ("/bin/bash", 0), ("", 0)])
def test_a_user_of_another_shell_is_told_that_commands_run_with_bash(tmp_path: Path, shell: str, said: int) -> None:
    found = list(_shell(Options(environ={"SHELL": shell, "PATH": os.environ["PATH"]})))
    assert len(found) == said
    for one in found:
        assert one.level == "note"
        assert f"your shell is {os.path.basename(shell)}: commands run with bash" in one.text
        assert "~/.bash_profile" in one.remedy
