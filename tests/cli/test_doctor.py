"""What `doctor` says of the user's shell, of files that others can read, and of what takes room."""

import os
from pathlib import Path

import pytest

from north_lsp.cli.doctor import _modes, _settings, _shell, _storage
from north_lsp.server.options import Options


@pytest.mark.parametrize(("shell", "said"), [("/bin/zsh", 1), ("/usr/bin/fish", 1), ("/bin/bash", 0), ("", 0)])
def test_a_user_of_another_shell_is_told_that_commands_run_with_bash(tmp_path: Path, shell: str, said: int) -> None:
    found = list(_shell(Options(environ={"SHELL": shell, "PATH": os.environ["PATH"]})))
    assert len(found) == said
    for one in found:
        assert one.level == "note"
        assert f"your shell is {os.path.basename(shell)}: commands run with bash" in one.text
        assert "~/.bash_profile" in one.remedy


def test_files_with_secrets_that_others_can_read_are_named_and_closed(tmp_path: Path) -> None:
    options = Options(environ={f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")})
    for path in (tmp_path / "DATA" / "agent.db", tmp_path / "CONFIG" / "secrets.yml"):
        path.parent.mkdir()
        path.write_text("x")
        path.chmod(0o644)
        (found,) = _modes(options)
        assert (found.level, str(path) in found.text) == ("warning", True)
        assert path.stat().st_mode & 0o777 == 0o600
        assert list(_modes(options)) == []


def test_what_takes_room_is_listed_with_what_frees_it(tmp_path: Path) -> None:
    options = Options(environ={f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")})
    assert list(_storage(options)) == []
    (tmp_path / "STATE").mkdir()
    (tmp_path / "STATE" / "north.log").write_bytes(b"x" * 12_345)
    (found,) = _storage(options)
    assert found.text.startswith("storage: log files: 12 KB in 1 file; freed by `north-lsp purge`; `log.maxBytes`")


def test_what_is_wrong_in_the_users_settings_and_in_the_projects_is_named(tmp_path: Path) -> None:
    environ = {f"NORTH_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "DATA", "STATE")}
    (tmp_path / "CONFIG").mkdir()
    (tmp_path / "CONFIG" / "config.json").write_text('{"shell.timeoutS": 0}')
    (tmp_path / "p" / ".north").mkdir(parents=True)
    (tmp_path / "p" / ".north" / "settings.json").write_text('{"cost.dayLimitUsd": 5}')
    found = list(_settings(Options(environ=environ, path=tmp_path / "p")))
    assert [one.level for one in found] == ["error", "warning"]
    assert "cost.dayLimitUsd has no effect in a project's file" in found[1].text
