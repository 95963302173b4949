"""From a call of `shell_run` or `job` to its result, with a real shell and an editor that the test plays."""

import itertools
import json
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import anyio

from north_lsp.agent.approvals.listing import described
from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.calls.dispatch import Dispatcher, ToolRunner
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import CommandDecision, CommandReview, Editor
from north_lsp.agent.ports.events import CallRunning, Event
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.status import Status
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.services.call_wiring import SessionTools
from north_lsp.agent.shell.setup import ShellResources, make_runner
from north_lsp.command_policy.allowed import Rule
from north_lsp.providers.base import ToolCall
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.shell.options import Place
from north_lsp.storage.approvals import Approvals
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.diagnostics_log import DiagnosticsLog
from north_lsp.storage.settings import Settings
from north_lsp.storage.shell_settings import InterceptorRule, ShellSettings
from tests.support.edits import MemoryEditor, World


@dataclass
class FakeTerminal:
    id: str = "t1"
    argv: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)

    async def output(self) -> str:
        return "typed\n"

    async def wait(self) -> int | None:
        return 4

    async def kill(self) -> None:
        self.calls.append("kill")

    async def release(self) -> None:
        self.calls.append("release")


@dataclass
class Playing(MemoryEditor):
    decision: CommandDecision = field(default_factory=lambda: CommandDecision("run"))
    reviews: list[CommandReview] = field(default_factory=list)
    shown: list[Event] = field(default_factory=list)
    terminal: FakeTerminal | None = None

    when_clocked: Path | None = None

    async def show(self, event: Event) -> None:
        self.shown.append(event)
        if self.when_clocked is not None and isinstance(event, CallRunning) and " of at most " in (event.output or ""):
            self.when_clocked.touch()

    async def review_command(self, review: CommandReview) -> CommandDecision:
        self.reviews.append(review)
        return self.decision

    async def review_edit(self, review: object) -> Any:
        raise AssertionError("nothing is edited here")

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> FakeTerminal | None:
        if self.terminal is not None:
            self.terminal.argv, self.terminal.environ = argv, environ
        return self.terminal


@dataclass
class Shell:
    """One conversation whose model makes the calls that the test names."""

    context: TurnContext
    means: SessionTools
    approvals: Approvals
    tools: ToolRunner
    ports: Ports
    editor: Playing
    world: World
    log: DiagnosticsLog
    count: int = 0

    async def call(self, tool: str = "shell_run", **arguments: object) -> dict[str, Any]:
        """The message with the result, as it is stored."""
        self.count += 1
        call = ToolCall(f"c{self.count}", tool, arguments)
        blocks = [{"type": "toolCall", "id": call.id, "name": tool, "arguments": arguments}]
        self.world.conversation.append("message", message={"role": "assistant", "content": blocks})
        calls = OpenCalls(self.world.log, self.ports, Titles(self.context, self.ports.diagnostics))
        calls.begin([call])
        await Dispatcher(self.context, calls, self.tools, self.ports).run([call])
        message: dict[str, Any] = self.world.conversation.active_path()[-1]["message"]
        return message

    async def text(self, tool: str = "shell_run", **arguments: object) -> str:
        return str((await self.call(tool, **arguments))["content"][0]["text"])


@asynccontextmanager
async def shell(
    folder: Path, settings: Settings | None = None, editor: Playing | None = None, **environ: str
) -> AsyncIterator[Shell]:
    settings = settings or Settings(shell=ShellSettings(snapshot=False))
    world, editor = World(folder), editor or Playing()
    log = DiagnosticsLog(world.locations, "debug")
    async with anyio.create_task_group() as background:
        given = {"PATH": os.environ["PATH"], "HOME": str(folder), **environ}
        own = {"NORTH_SESSION_ID": "s"}
        kept = world.locations.detached_jobs("0" * 16)
        quarantine = world.locations.quarantine("0" * 16)
        resources = ShellResources(given, frozenset({"KNOWN_KEY"}), own, background, None, kept, quarantine)
        runner = make_runner(settings, world.workspace, resources)

        async def sync() -> None:
            world.conversation.sync()

        model = load_catalog(folder, {}).find("offline")
        context = TurnContext(model, "", "agent", world.tools, world.workspace, settings)
        asked = cast(Editor, editor)
        diagnostics = Diagnostics(log, "s")
        ports = Ports(asked, Status(asked), diagnostics)
        approvals = Approvals(world.locations, "0" * 16, world.root)
        reviews = ReviewRecord(world.log, asked, approvals, sync)
        kept_whole = Artifacts(folder / "artifacts")
        means = SessionTools(lambda: runner, world.checkpoints, kept_whole, AbandonedTasks(background), lambda _: False)
        edits = EditReviewer(reviews, asked, world.checkpoints, runner.expect, diagnostics)
        tools = ToolRunner(
            lambda: means.services(world.log, reviews, edits, ports), world.checkpoints, kept_whole, ports
        )
        try:
            yield Shell(context, means, approvals, tools, ports, editor, world, log)
        finally:
            with anyio.CancelScope(shield=True):
                await runner.end_all(0.1)
            background.cancel_scope.cancel()
    log.close()


async def test_a_result_has_its_details(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        message = await one.call(command="echo out; false")
        assert message["content"][0]["text"] == "out\nexit code 1"
        assert message["isError"]
        details = message["details"]
        assert details["exitCode"] == 1
        assert not any(details[name] for name in ("timedOut", "cancelled", "truncated"))
        assert details["cwd"] == str(one.world.root)
        assert isinstance(details["durationMs"], int)
        long = await one.call(command="seq 100")
        assert long["details"]["outputId"] == long["details"]["artifactId"] == "1"
        assert long["details"]["truncated"]


async def test_lines_of_the_output_and_the_rest_is_kept(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        assert (
            await one.text(command="seq 9 | tail -2") == "8\n9\n(the last 2 of 9 lines)\nComplete output: artifact://1"
        )
        assert (await one.text(command="seq 9", head=3, tail=1)).startswith(
            "3\n(the first 3 and the last 1 of 9 lines)"
        )
        assert one.means.artifacts is not None
        assert one.means.artifacts.read(1).split()[0] == "1"


async def test_the_user_changes_the_command_and_the_model_sees_what_ran(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("run", "rather so", "echo changed")
        message = await one.call(command="echo asked; touch made")
        assert message["details"]["title"] == "Running echo changed"
        assert message["content"][0]["text"].split("\n") == [
            "changed",
            "The user changed the command before it ran. What ran: echo changed",
            "The user says: rather so",
        ]
        assert not (one.world.root / "made").exists()
        review = next(entry for entry in one.world.conversation.active_path() if entry["type"] == "review")
        assert review["decision"]["command"] == "echo changed"
        one.editor.decision = CommandDecision("run", None, "  ")
        assert "cannot be run" in await one.text(command="echo asked")
        one.editor.decision = CommandDecision("always", None, "echo other")
        assert await one.text(command="echo asked") == "asked"
        assert one.approvals.command_allowed("echo asked")
        assert not one.approvals.command_allowed("echo other")


async def test_the_user_runs_it_in_a_terminal(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("terminal")
        assert "is not available here" in await one.text(command="python3 ask.py")
        one.editor.terminal = FakeTerminal()
        message = await one.call(command="python3 ask.py")
        assert message["content"][0]["text"] == "typed\nexit code 4"
        assert one.editor.reviews[0].may_use_terminal
        assert one.editor.terminal.argv[-1] == "python3 ask.py"
        assert one.editor.terminal.environ == {}
        assert one.editor.terminal.calls == ["release"]
        assert any(isinstance(event, CallRunning) and event.terminal == "t1" for event in one.editor.shown)


async def test_a_job_is_approved_like_any_command_and_looked_after(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("deny")
        denied = await one.text(command="echo never", background=True)
        assert json.loads(denied)["data"] == {"denied": True}
        assert await one.text("job", action="list") == "there are no jobs"
        one.editor.decision = CommandDecision("run")
        message = await one.call(command="echo up; read x; echo heard $x", background=True)
        assert message["content"][0]["text"].split("\n")[1] == "up"
        assert message["details"]["jobId"] == "1"
        assert "(pid" in await one.text("job", action="list")
        one.editor.decision = CommandDecision("deny")
        denied = await one.text("job", action="input", jobId=1, text="rm -rf .\n")
        assert json.loads(denied)["data"] == {"denied": True}
        assert one.editor.reviews[-1].command.command == "rm -rf .\n"
        assert "which may run it" in one.editor.reviews[-1].warnings[0]
        one.editor.decision = CommandDecision("run")
        asked = len(one.editor.reviews) + 1
        assert "was sent 3 bytes" in await one.text("job", action="input", jobId=1, text="me\n")
        came = await one.text("job", action="wait", jobId="1", pattern="heard me", timeout=10)
        assert "the pattern was found" in came
        assert "heard me" in await one.text("job", action="output", jobId="1", lines=1)
        assert "exit code 0" in await one.text("job", action="wait", jobId="1", timeout=10)
        assert len(one.editor.reviews) == asked
        for arguments, problem in (
            ({"action": "output", "jobId": "7"}, "there is no job '7'"),
            ({"action": "kill"}, "jobId is missing"),
            ({"action": "wait", "jobId": "1", "pattern": "("}, "not a valid regular expression"),
            ({"action": "wait", "jobId": "1", "pattern": "(a+)+$"}, "forever"),
            ({"action": "input", "jobId": "1", "text": "x"}, "ended after"),
        ):
            assert problem in await one.text("job", **arguments)


async def test_what_is_allowed_is_listed_with_its_last_use_and_taken_back(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("rule")
        await one.call(command="wc -l a.txt")
        one.editor.decision = CommandDecision("always")
        await one.call(command="echo $HOME")
        asked = len(one.editor.reviews)
        assert (await one.call(command="wc -l b.txt"))["details"]["autoApproved"]
        assert len(one.editor.reviews) == asked
        approvals = one.approvals
        path = one.world.root / ".north/allowlist.json"
        content = json.loads(path.read_text())
        path.write_text(json.dumps({**content, "allowedCommands": [*content["allowedCommands"], "foreign"]}))
        rows = approvals.listed()
        assert [(row.origin, row.last_used is not None) for row in rows] == [
            ("user", False),
            ("project", False),
            ("user", True),
        ]
        text = described(rows)
        assert "1. `echo $HOME`, exactly (allowed by you on " in text
        assert "2. `foreign`, exactly (only in the project's file" in text
        assert "3. `wc` with -l, on paths in the workspace (allowed by you on " in text
        assert "last used" in text
        assert all(approvals.revoke_id(row.id) for row in rows)
        assert not approvals.revoke_id(rows[0].id)
        assert approvals.listed() == []
        one.editor.decision = CommandDecision("deny")
        await one.call(command="wc -l b.txt")
        assert len(one.editor.reviews) == asked + 1


async def test_switches_are_listed_and_taken_back(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("all")
        await one.call(command="echo on")
        assert [row.id for row in one.approvals.listed()] == ["shellAutoApprove"]
        assert one.approvals.revoke_id("shellAutoApprove")
        assert not one.approvals.shell_auto_approved()


async def test_the_log_has_no_command_but_at_debug(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        await one.call(command="echo words-of-it")
        one.log.close()
        rows = [json.loads(line) for line in (one.world.locations.state / "north.log").read_text().splitlines()]
    names = [row.get("event") or row.get("msg") or row.get("name") for row in rows]
    wanted = ["shell_review_shown", "shell_review_decision", "shell_run_start", "shell_run_complete"]
    assert [name for name in names if name in wanted] == wanted
    assert all("words-of-it" not in json.dumps(row) for row in rows if row["level"] != "debug")
    assert any("words-of-it" in json.dumps(row) for row in rows)


async def test_settings_of_the_shell_reach_commands(tmp_path: Path) -> None:
    given = ShellSettings(env={"WORD": "own"}, pass_keys=True, prefix="env MORE=1", snapshot=False)
    async with shell(tmp_path, Settings(shell=given), KNOWN_KEY="k", NORTH_BASH_NO_CI="1", OTHER_TOKEN="x") as one:
        text = await one.text(command="bash -c 'echo $WORD $KNOWN_KEY $MORE [$CI] [$OTHER_TOKEN] $NORTH_SESSION_ID'")
        assert text == "own k 1 [] [] s"
    async with shell(tmp_path, KNOWN_KEY="k", CLAUDE_CODE_SHELL_PREFIX="env MORE=2") as one:
        assert await one.text(command="bash -c 'echo [$KNOWN_KEY] $MORE $CI'") == "[] 2 1"


async def test_own_rules_of_the_interceptor_come_first_and_others_can_be_switched_off(tmp_path: Path) -> None:
    rules = (InterceptorRule("tests", r"^pytest\b", "read_file", "because"), InterceptorRule("read", enabled=False))
    async with shell(tmp_path, Settings(shell=ShellSettings(snapshot=False, interceptor_rules=rules))) as one:
        (one.world.root / "a.txt").write_text("text\n")
        blocked = json.loads(await one.text(command="pytest -x"))["error"]
        assert blocked["message"] == "BLOCKED: use read_file: because"
        assert blocked["details"] == {"suggestedTool": "read_file", "command": "pytest -x"}
        assert await one.text(command="cat a.txt") == "text"
        assert await one.text(command="echo 'a pytest'") == "a pytest"
        assert "BLOCKED" in await one.text(command="grep x a.txt")


async def test_progress_tells_the_time(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.when_clocked = one.world.root / "go"
        await one.call(command="echo here; until [ -e go ]; do sleep 0.02; done", timeout=30)
        texts = [event.output or "" for event in one.editor.shown if isinstance(event, CallRunning)]
        assert any(re.fullmatch(r"here\n\[\d+ s of at most 30 s\]", text) for text in texts), texts


async def test_a_command_may_run_in_a_folder_that_the_settings_open_but_is_asked_about(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        docs = tmp_path.resolve() / "docs"
        docs.mkdir()
        assert "outside the workspace" in await one.text(command="pwd", cwd=str(docs))
        workspace = one.context.workspace
        one.context = replace(one.context, workspace=replace(workspace, roots=replace(workspace.roots, extra=(docs,))))
        one.approvals.allow_rule(Rule(("pwd",), (), "none").to_json())
        assert await one.text(command="pwd") == str(one.world.root)
        assert one.editor.reviews == []
        assert await one.text(command="pwd", cwd=str(docs)) == str(docs)
        assert one.editor.reviews[0].reasons == ("the shell is outside the workspace",)


async def test_credentials_reach_no_command_by_any_way(tmp_path: Path) -> None:
    (tmp_path / ".bash_profile").write_text("export LOGIN_TOKEN=secret-login\nhi() { :; }\nalias token=true\n")
    settings = Settings(shell=ShellSettings(snapshot=True), shell_pass_variables=("PASSED_TOKEN",))
    given = {
        "MY_API_KEY": "secret-key",
        "KNOWN_KEY": "secret-known",
        "DB": "pg://u:secret-db@h/d",
        "PASSED_TOKEN": "mine",
    }
    async with shell(tmp_path, settings, None, **given) as one:
        runner = one.means.runner()
        one.approvals.allow_command("export")
        seen = [
            await one.text(command="export -p; type -t hi"),
            await one.text(command="export", tail=30),
            await one.text(command="export -p", background=True),
        ]
        assert len(one.editor.reviews) == 2
        places: list[Place] = ["session", "contained", "clean", "bare", "outside", "own"]
        for place in places:
            ran = await runner.run("export -p; cat /proc/self/environ", None, 10, _ignored, place, one.world.root)
            seen.append(ran.output.text)
        one.editor.decision, one.editor.terminal = CommandDecision("terminal"), FakeTerminal()
        await one.text(command="python3 ask.py")
        words = list(one.editor.terminal.argv)
        assert {"MY_API_KEY", "KNOWN_KEY", "DB"} <= {after for flag, after in itertools.pairwise(words) if flag == "-u"}
        assert "secret" not in json.dumps([words, dict(one.editor.terminal.environ)])
    assert "function" in seen[0]
    for text in seen:
        assert "secret" not in text
        assert "PASSED_TOKEN" in text


async def _ignored(text: str) -> None:
    return None


async def test_all_commands_are_approved_until_the_conversation_ends(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.editor.decision = CommandDecision("session")
        await one.text(command="true; echo one")
        assert await one.text(command="true; echo two") == "two"
        assert len(one.editor.reviews) == 1
        assert not Approvals(one.world.locations, "0" * 16, one.world.root).shell_auto_approved()
        assert await one.text(command="sudo true")  # what always asks still does
        assert len(one.editor.reviews) == 2


async def test_going_on_after_north_is_always_asked_about_and_said(tmp_path: Path) -> None:
    async with shell(tmp_path) as one:
        one.approvals.allow_command("sleep 60")
        one.approvals.enable_shell_auto_approve()
        assert "set background" in await one.text(command="sleep 60", keep=True)
        one.editor.decision = CommandDecision("deny")
        denied = await one.text(command="sleep 60", background=True, keep=True)
        assert json.loads(denied)["data"] == {"denied": True}
        (review,) = one.editor.reviews
        assert not review.may_remember
        assert any("keeps running after North has ended" in warning for warning in review.warnings)
        assert one.means.runner().jobs.all() == []
        one.editor.decision = CommandDecision("all")
        text = await one.text(command="echo up; exec sleep 60", background=True, keep=True)
        assert "outlives North; its whole output: artifact://1\nup" in text
        assert one.means.artifacts is not None
        assert one.means.artifacts.read(1) == "up\n"
        assert "killed" in await one.text("job", action="kill", jobId="1")
