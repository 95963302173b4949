"""Where nothing contains a command, as on Windows, each one is asked about, whatever was allowed before."""

from pathlib import Path

import pytest

from north_lsp import systems
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.shell import setup
from north_lsp.shell.plain.programs import Program
from north_lsp.storage.settings import Settings
from tests.agent.shell.test_run import shell


@pytest.fixture(autouse=True)
def no_shell_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systems, "CAN_KEEP_SHELLS", False)
    monkeypatch.setattr(setup, "find_shell", lambda *_: Program("bash", "/bin/bash"))


@pytest.mark.parametrize("command", ["echo ran", "ls", "pwd", "git status", "cat README.md"])
async def test_every_command_asks_in_spite_of_rules_and_auto_approval(tmp_path: Path, command: str) -> None:
    async with shell(tmp_path, Settings(shell_interceptor=False)) as one:
        one.approvals.allow_command(command)
        one.approvals.allow_rule({"words": [command.split(maxsplit=1)[0]], "flags": ["-*"], "args": "any"})
        one.approvals.enable_shell_auto_approve()
        one.approvals.approve_commands_of_this_session()
        await one.text(command=command)
        await one.text(command=command)
        first, second = one.editor.reviews
        assert first.command.command == second.command.command == command
        assert not first.may_remember
        assert first.held is None
        assert "there is no sandbox on Windows" in first.reasons[-1]


async def test_the_user_is_not_told_of_a_sandbox_that_could_be_there(tmp_path: Path) -> None:
    async with shell(tmp_path, Settings(sandbox="workspace")) as one:
        assert await one.text(command="cd /; echo ran") == "ran\nthe shell is now in /"
        assert await one.text(command="pwd") == "/"
        assert [event for event in one.editor.shown if isinstance(event, Notice)] == []
