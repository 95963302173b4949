"""The commands about what runs unasked: listed, switched, taken back, in a session with real files."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from north_lsp.agent.approvals.session_approvals import SessionApprovals
from north_lsp.agent.ports.events import Event
from north_lsp.agent.session.commands.slash_host import SessionHost
from north_lsp.errors import ToolError
from north_lsp.slash.base import CommandError
from north_lsp.slash.parsing import Invocation
from north_lsp.slash.registry import Commands
from north_lsp.storage.approvals import Approvals
from tests.support.edits import World


class Editor:
    """Hears what changes, and forgets it."""

    async def show(self, event: Event) -> None: ...


async def nothing_more() -> None: ...


def host(tmp_path: Path, jobs: object = None) -> tuple[SessionHost, Approvals]:
    """Of a session with the real approvals, and jobs that the test names."""
    world, nothing = World(tmp_path), cast(Any, None)
    approvals = Approvals(world.locations, "0" * 16, world.root)
    switches = SessionApprovals(approvals, cast(Any, Editor()), nothing_more)
    session = SimpleNamespace(approvals=switches, jobs=jobs, roots=(world.root,))
    return SessionHost(cast(Any, session), *[nothing] * 3), approvals


async def typed(host: SessionHost, name: str, *words: str) -> str:
    return (await Commands().run(Invocation(name, words, ""), host)).text


async def test_permissions_are_listed_and_taken_back_by_their_number(tmp_path: Path) -> None:
    one, approvals = host(tmp_path)
    assert await typed(one, "permissions") == "In this project, every edit and every command asks first."
    approvals.allow_command("pnpm test")
    approvals.allow_rule({"words": ["git", "log"], "flags": ["--oneline"], "args": "paths"})
    approvals.enable_shell_auto_approve()
    text = await typed(one, "permissions")
    assert [line[:2] for line in text.split("\n")[:3]] == ["1.", "2.", "3."]
    for part in ("all commands", "`pnpm test`, exactly", "`git log` with --oneline, on paths in the workspace"):
        assert part in text
    approvals.revoke("pnpm test")  # by somebody else: numbers still mean what was shown
    with pytest.raises(CommandError, match="already revoked"):
        await typed(one, "permissions", "revoke", "2")
    assert await typed(one, "permissions", "revoke", "3") == (
        "Revoked: `git log` with --oneline, on paths in the workspace."
    )
    assert approvals.command_rules() == []
    assert await typed(one, "permissions", "revoke", "1") == "Revoked: all commands."
    assert not approvals.shell_auto_approved()


@pytest.mark.parametrize("words", [["revoke"], ["revoke", "0"], ["revoke", "9"], ["revoke", "x"], ["grant", "1"]])
async def test_what_is_no_permission_is_refused(tmp_path: Path, words: Sequence[str]) -> None:
    one, approvals = host(tmp_path)
    approvals.allow_command("true")
    with pytest.raises(CommandError):
        await typed(one, "permissions", *words)
    assert approvals.command_allowed("true")


async def test_switches(tmp_path: Path) -> None:
    one, approvals = host(tmp_path)
    assert (await typed(one, "autoaccept")).count("ask first") == 2
    assert "Commands: accepted without asking" in await typed(one, "autoaccept", "shell")
    assert (approvals.edits_auto_accepted(), approvals.shell_auto_approved()) == (False, True)
    await typed(one, "autoaccept", "edits", "on")
    await typed(one, "autoaccept", "shell", "off")
    assert (approvals.edits_auto_accepted(), approvals.shell_auto_approved()) == (True, False)
    await typed(one, "autoaccept", "shell", "on")
    assert (await typed(one, "autoaccept", "off")).count("ask first") == 2
    for words in (["on"], ["all"], ["shell", "yes"], ["edits", "on", "now"]):
        with pytest.raises(CommandError):
            await typed(one, "autoaccept", *words)
    assert (approvals.edits_auto_accepted(), approvals.shell_auto_approved()) == (False, False)


class Jobs:
    def __init__(self) -> None:
        self.state = "running for 3 s"
        self.job = SimpleNamespace(id="1", command="npm run dev\nrm x", state=lambda: self.state)

    def all(self) -> list[Any]:
        return [self.job]

    def find(self, id: str) -> Any:
        if id != "1":
            raise ToolError("NOT_FOUND", f"there is no job {id!r}", "jobs: 1 (running)")
        return self.job

    async def kill(self, job: object) -> None:
        self.state = "ended after 3 s: killed"


async def test_jobs_are_listed_and_ended(tmp_path: Path) -> None:
    one, _ = host(tmp_path, Jobs())
    assert await typed(one, "jobs") == "- 1: `npm run dev rm x` running for 3 s"
    assert await typed(one, "jobs", "kill", "1") == "Job 1 ended after 3 s: killed."
    with pytest.raises(CommandError, match=r"there is no job '7'; jobs: 1"):
        await typed(one, "jobs", "kill", "7")


def test_a_terminal_s_command_stands_alone(tmp_path: Path) -> None:
    one, _ = host(tmp_path)
    with pytest.raises(CommandError, match="nothing else"):
        anyio.run(typed, one, "terminal", "ls")


async def test_what_is_accepted_for_a_conversation_is_stored_nowhere(tmp_path: Path) -> None:
    one, approvals = host(tmp_path)
    text = await typed(one, "autoaccept", "shell", "conversation")
    assert "Commands: accepted without asking, in this conversation" in text
    assert "Edits: ask first" in text
    assert approvals.shell_auto_approved()
    again, others = host(tmp_path)
    assert not others.shell_auto_approved()
    assert "all commands (for this conversation only)" in await typed(one, "permissions")
    assert "Commands: ask first" in await typed(one, "autoaccept", "shell", "off")
    assert await typed(again, "autoaccept", "edits", "conversation")
    assert others.edits_auto_accepted()
    assert not approvals.edits_auto_accepted()
    assert "Commands: accepted without asking\n" in await typed(again, "autoaccept", "shell", "on") + "\n"
    assert approvals.shell_auto_approved()


async def test_trust_is_shown_and_decided(tmp_path: Path) -> None:
    one, approvals = host(tmp_path)
    assert "You have not decided" in await typed(one, "trust")
    approvals.allow_command("make")
    approvals.enable_edits_auto_accept()
    approvals.approve_commands_of_this_session()
    assert approvals.command_allowed("make")
    assert "is not trusted (you said so)" in await typed(one, "trust", "off")
    assert "None of these apply" in await typed(one, "permissions")
    _, others = host(tmp_path)
    for each in (approvals, others):
        assert not each.command_allowed("make")
        assert not each.edits_auto_accepted()
        assert not each.shell_auto_approved()
    assert "is trusted (you said so)" in await typed(one, "trust", "on")
    assert others.command_allowed("make")
    assert others.edits_auto_accepted()
    assert approvals.shell_auto_approved()
    with pytest.raises(CommandError):
        await typed(one, "trust", "maybe")


def git(root: Path, *words: str) -> str:
    environ = {"HOME": str(root), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True, env=environ).stdout


async def test_git_is_told_to_ignore_the_switches_if_the_user_wants_that(tmp_path: Path) -> None:
    one, _ = host(tmp_path)
    root = World(tmp_path).root
    assert "Git does not ignore" not in await typed(one, "autoaccept", "edits", "on")
    with pytest.raises(CommandError, match="in no git repository"):
        await typed(one, "autoaccept", "ignore")
    git(root, "init", "-q")
    exclude = root / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("mine")
    assert "`/autoaccept ignore` adds it" in await typed(one, "autoaccept")
    assert str(exclude) in await typed(one, "autoaccept", "ignore")
    await typed(one, "autoaccept", "ignore")
    lines = exclude.read_text().splitlines()
    assert (lines[0], len(lines)) == ("mine", 4)
    assert ".north/autoaccept.json" not in git(root, "status", "--porcelain", "-uall")
    assert "Git does not ignore" not in await typed(one, "autoaccept")
    assert not (root / ".gitignore").exists()


async def test_a_link_in_the_place_of_that_file_is_not_followed(tmp_path: Path) -> None:
    one, _ = host(tmp_path)
    root = World(tmp_path).root
    git(root, "init", "-q")
    exclude = root / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.unlink(missing_ok=True)
    exclude.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CommandError, match="nothing was added"):
        await typed(one, "autoaccept", "ignore")
    assert not (tmp_path / "elsewhere").exists()
