"""Agents in git work trees of their own: what they may there, what of it reaches the user, and what is left behind."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editors import plain_editor
from tests.end_to_end.left import NORTH, client_of, new_session
from tests.end_to_end.test_agents import agent_logs, submit, talking, task, tasks, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import entries, prompt, sent
from tests.end_to_end.test_goals import run
from tests.end_to_end.test_left_turns import statuses
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Fail, Gate, Say, answer, call

WELL = answer(Say("Well."))
READ = answer(call("read_file", path="notes.txt"))
LINES = "".join(f"line {number}\n" for number in range(1, 31))


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    ended = subprocess.run(("git", *identity, *args), cwd=folder, check=True, capture_output=True, text=True)
    return ended.stdout


def first_commit(folder: Path) -> None:
    """Make a folder a repository with all that is in it."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "first")


@pytest.fixture
def repository(world: World) -> World:
    (world.project / "notes.txt").write_text(LINES)
    (world.project / ".gitignore").write_text("built/\n")
    first_commit(world.project)
    return world


def isolated(agent: str, text: str, **more: Any) -> dict[str, Any]:
    return task(agent, text, isolation="worktree", **more)


def replaced(old: str, new: str, path: str = "notes.txt") -> Any:
    return answer(call("edit_replace_exact", path=path, old=old, new=new))


def left_over(world: World) -> list[str]:
    """What is left of work trees: in North's folder, and in git's list."""
    folder = world.folder / "state" / "worktrees"
    listed = git(world.project, "worktree", "list", "--porcelain").count("worktree ")
    return [*(one.name for one in folder.iterdir())] * folder.is_dir() + ["listed"] * (listed - 1)


async def test_what_an_agent_changes_in_its_tree_arrives_as_one_proposal(
    repository: World, server: ModelServer
) -> None:
    world = repository
    (world.project / "notes.txt").write_text(LINES.replace("line 30", "line thirty"))  # not committed
    (world.project / "mine.txt").write_text("untracked\n")
    server.script(
        tasks(isolated("executor", "Change it", id="one")),
        answer(call("read_file", path="mine.txt")),
        READ,
        replaced("line thirty", "line THIRTY"),
        answer(call("edit_create_file", path="new/made.txt", content="hello\n")),
        answer(call("edit_delete_file", path="mine.txt")),
        submit({"done": True, "files": [], "checks": [], "open": []}),
        WELL,
    )
    async with talking(world) as (client, session):
        shown = answering(client, "accept")
        assert await prompt(client, session, "Have it changed") == "end_turn"
        (question,) = shown
        assert question["toolCall"]["title"].startswith("executor (0-one): ")
        assert question["toolCall"]["toolCallId"].startswith("agent:0-one:")
        paths = {Path(part["path"]).name for part in question["toolCall"]["content"] if part["type"] == "diff"}
        assert paths == {"notes.txt", "made.txt", "mine.txt"}
        assert (world.project / "notes.txt").read_text() == LINES.replace("line 30", "line THIRTY")
        assert (world.project / "new/made.txt").read_text() == "hello\n"
        assert not (world.project / "mine.txt").exists()
        assert left_over(world) == []
        assert await prompt(client, session, "/undo") == "end_turn"
        assert (world.project / "mine.txt").read_text() == "untracked\n"
        assert (world.project / "notes.txt").read_text() == LINES.replace("line 30", "line thirty")
    asked = [json.dumps(one) for one in sent(server)]
    assert "untracked" in asked[2]
    assert "line thirty" in asked[3]
    assert "You work in a git work tree of your own" in asked[1]
    assert "The user was asked about its changes, as one edit" in told(server)
    assert statuses(world) == ["accepted"]


async def test_what_the_user_changes_meanwhile_stays_and_conflicts_are_told(
    repository: World, server: ModelServer
) -> None:
    world = repository
    server.route("Have it changed", tasks(isolated("task", "ALPHA")), WELL)
    server.route(
        "ALPHA",
        READ,
        replaced("line 2\n", "line two by the agent\n"),
        replaced("line 10\n", "line ten by the agent\n"),
        replaced("line 28\n", "line 28 by the agent\n"),
        answer(Say("I "), Gate("edited"), call("list_root")),
        submit("Changed."),
    )
    async with talking(world) as (client, session):
        shown = answering(client, "accept")
        blocks = text_blocks("Have it changed")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("edited")
        assert (world.project / "notes.txt").read_text() == LINES
        mine = LINES.replace("line 10\n", "line ten by the user\n").replace("line 20\n", "line 20, kept\n")
        (world.project / "notes.txt").write_text(mine)
        server.open("edited")
        assert (await client.answer(request))["stopReason"] == "end_turn"
    wanted = mine.replace("line 2\n", "line two by the agent\n").replace("line 28\n", "line 28 by the agent\n")
    assert (world.project / "notes.txt").read_text() == wanted
    assert len(shown) == 1
    assert "notes.txt: line 10" in told(server)
    assert "line ten by the agent" in told(server)
    assert any("your version is kept" in json.dumps(one) and "line 10" in json.dumps(one) for one in client.updates)


async def test_single_hunks_of_the_proposal_can_be_rejected(repository: World, server: ModelServer) -> None:
    world = repository
    server.script(
        tasks(isolated("task", "Change it")),
        READ,
        replaced("line 2\n", "line two\n"),
        replaced("line 28\n", "line twenty-eight\n"),
        submit("Changed."),
        WELL,
    )
    async with talking(world) as (client, session):

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            path = str(world.project / "notes.txt")
            more = {"_meta": {"north": {"hunks": {path: ["h2"]}}}}
            return {"outcome": {"outcome": "selected", "optionId": "accept"}, **more}

        client.handlers["session/request_permission"] = decide
        assert await prompt(client, session, "Have it changed") == "end_turn"
    assert (world.project / "notes.txt").read_text() == LINES.replace("line 28\n", "line twenty-eight\n")


@pytest.mark.parametrize("how", ["reject", "stop", "cancel"])
async def test_nothing_is_left_behind(repository: World, server: ModelServer, how: str) -> None:
    world = repository
    server.route("Have it changed", tasks(isolated("task", "ALPHA")), WELL)
    changed = replaced("line 2\n", "line two\n")
    server.route("ALPHA", READ, changed, answer(Say("I "), Gate("waits"), call("list_root")), submit("Changed."))
    async with talking(world) as (client, session):
        shown = answering(client, "reject" if how == "reject" else None)
        blocks = text_blocks("Have it changed")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("waits")
        assert len(left_over(world)) == 2
        if how == "cancel":
            await client.notify("session/cancel", {"sessionId": session})
        else:
            server.open("waits")
        assert (await client.answer(request))["stopReason"] == ("end_turn" if how == "reject" else "cancelled")
        async with asyncio.timeout(PATIENCE):
            while how == "cancel" and left_over(world):  # a cancel waits only briefly for it
                await asyncio.sleep(0.01)
        assert left_over(world) == []
        assert len(shown) == (0 if how == "cancel" else 1)
    assert (world.project / "notes.txt").read_text() == LINES
    assert git(world.project, "status", "--porcelain") == ""


async def test_the_tree_of_a_killed_process_is_removed_by_the_next(repository: World, server: ModelServer) -> None:
    world = repository
    server.route("Have it changed", tasks(isolated("task", "ALPHA")), WELL)
    server.route("ALPHA", READ, replaced("line 2\n", "line two\n"), answer(Say("I "), Gate("waits")))
    async with client_of(world, **NORTH) as client:
        session = await new_session(client, world)
        blocks = text_blocks("Have it changed")
        await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("waits")
        client.process.kill()
        await client.wait_exit()
    assert len(left_over(world)) == 2
    server.drop()
    server.script(tasks(isolated("task", "BETA")), submit("Looked."), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Again")
        assert "It proposes no change" in told(server)
    assert left_over(world) == []
    assert (world.project / "notes.txt").read_text() == LINES


async def test_without_git_there_is_no_tree_and_that_is_said(world: World, server: ModelServer) -> None:
    server.script(tasks(isolated("task", "ALPHA")), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Go")
    assert "is not in a git repository" in told(server)
    assert 'isolation \\"none\\"' in told(server)
    assert agent_logs(world) == {}


async def test_a_hostile_agent_in_a_tree_reaches_nothing_else(repository: World, server: ModelServer) -> None:
    """North's own folder, in which the tree is, stays closed, and so do the user's files, closed files and git's."""
    world = repository
    (world.project / ".northignore").write_text("closed.txt\n")
    (world.project / "closed.txt").write_text("nobody reads this\n")
    (world.folder / "state" / "secret.txt").parent.mkdir(exist_ok=True)
    (world.folder / "state" / "secret.txt").write_text("belongs to North\n")
    up = "../" * 3
    reads = ["closed.txt", f"{up}secret.txt", str(world.folder / "state/secret.txt"), str(world.project / "notes.txt")]
    reads += [str(world.folder / "state"), f"{up}north.log", "../base/notes.txt", "../owner", ".git"]
    writes = [str(world.project / "pwned.txt"), f"{up}pwned.txt", "../pwned.txt", ".git", ".git/pwned", "way/pwned"]
    server.script(
        tasks(isolated("task", "Do whatever you can")),
        *(answer(call("read_file", path=path)) for path in reads),
        *(answer(call("edit_create_file", path=path, content="x\n")) for path in writes),
        answer(call("edit_delete_file", path=".git")),
        *(answer(call("shell_run", command=f"cat {path}")) for path in (f"{up}secret.txt", "../owner")),
        answer(call("shell_run", command="git worktree list | cat")),
        tasks(isolated("executor", "Deeper")),
        submit("Nothing."),
        WELL,
    )
    async with talking(world) as (client, session):
        shown: list[dict[str, Any]] = []

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            if params["toolCall"]["kind"] == "execute":
                return {"outcome": {"outcome": "selected", "optionId": "deny"}}
            shown.append(params)
            return {"outcome": {"outcome": "selected", "optionId": "accept"}}

        client.handlers["session/request_permission"] = decide
        await prompt(client, session, "Go")
        asked = json.dumps([one.body["messages"] for one in server.requests])
    for one in ("nobody reads this", "belongs to North"):
        assert one not in asked
    assert "works in a work tree already" in asked
    assert not [path for path in world.folder.rglob("pwned*") if path.parent.name != "way"]
    (question,) = shown  # what it wrote in its tree, and nothing else
    assert {Path(part["path"]).name for part in question["toolCall"]["content"] if part["type"] == "diff"} == {"pwned"}
    assert left_over(world) == []


async def test_commands_of_an_agent_in_a_tree_run_there(repository: World, server: ModelServer) -> None:
    world = repository
    server.script(
        tasks(isolated("task", "Run it", id="run")),
        answer(call("shell_run", command="mkdir -p built; echo more >> notes.txt; echo x > built/out; git status -s")),
        submit("Ran."),
        WELL,
    )
    async with talking(world) as (client, session):
        shown = answering(client, "run", "accept")
        await prompt(client, session, "Go")
    assert len(shown) == 2
    told = json.dumps(shown[0]["toolCall"]["content"])
    assert "Asked for by the agent task (0-run)." in told
    assert "runs in the agent's own work tree, with changes of its files that you have not seen" in told
    assert (world.project / "notes.txt").read_text() == f"{LINES}more\n"
    assert not (world.project / "built").exists()
    assert "M notes.txt" in json.dumps(sent(server)[2])
    assert left_over(world) == []


async def test_three_side_by_side_of_which_one_fails_one_is_cancelled_and_one_conflicts(
    repository: World, server: ModelServer
) -> None:
    world = repository
    rows = [isolated("task", "ALPHA", id="a"), isolated("task", "BETA", id="b"), isolated("task", "GAMMA", id="c")]
    server.route("Have all done", tasks(*rows), WELL)
    server.route("ALPHA", answer(Fail(400, "invalid_request_error", "no such thing")))
    server.route("BETA", READ, replaced("line 3\n", "line three\n"), answer(Say("I "), Gate("never")))
    edited = answer(Say("I "), Gate("edited"), call("list_root"))
    server.route("GAMMA", READ, replaced("line 10\n", "line ten\nline 10b\n"), edited, submit("C is done."))
    async with talking(world) as (client, session):
        shown = answering(client)
        blocks = text_blocks("Have all done")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("never")
        await server.reached("edited")
        (world.project / "notes.txt").write_text(LINES.replace("line 10\n", "line ten by the user\n"))
        assert (await client.request("_north/tasks/cancel", {"sessionId": session, "taskId": "1-b"}))["cancelled"]
        server.open("edited")
        assert (await client.answer(request))["stopReason"] == "end_turn"
        used = [one for one in entries(world) if one["type"] == "usage_recorded"]
        states = {row["id"]: row["state"] for row in (await listed(client, session))}
    assert states == {"0-a": "failed", "1-b": "cancelled", "2-c": "done"}
    assert shown == []  # nothing is left to propose
    assert "line ten\nline 10b" in told(server)
    assert (world.project / "notes.txt").read_text() == LINES.replace("line 10\n", "line ten by the user\n")
    assert left_over(world) == []
    assert {one["purpose"] for one in used} == {"task:task"}


async def listed(client: RawAcpClient, session: str) -> list[dict[str, Any]]:
    found = await client.request("_north/tasks/list", {"sessionId": session})
    rows: list[dict[str, Any]] = found["tasks"]
    return rows


async def test_a_plain_lsp_client_reviews_what_an_agent_brings_from_its_tree(
    repository: World, server: ModelServer
) -> None:
    world = repository
    server.script(tasks(isolated("task", "Change it", id="one")), READ, replaced("line 2\n", "line two\n"))
    server.script(submit("Changed."), WELL)
    async with plain_editor(world) as editor:
        editor.choices = ["accept"]
        await editor.prompt("Have it changed")
        (shown,) = editor.questions
    assert shown.text.startswith("task: What it changed in its work tree, 1 file")
    assert (world.project / "notes.txt").read_text() == LINES.replace("line 2\n", "line two\n")
    assert left_over(world) == []


async def said(client: RawAcpClient, text: str) -> None:
    await client.wait_update(lambda update: text in json.dumps(update))


@pytest.mark.parametrize("how", ["plan", "ask", "workflow"])
async def test_nothing_is_written_where_the_conversation_may_not_write_any_more(
    repository: World, server: ModelServer, how: str
) -> None:
    world = repository
    server.may_refuse = True
    server.route("I began the workflow", WELL, WELL)  # first: what the agent is asked to do is in these requests, too
    server.route("Have it", tasks(isolated("task", "ALPHA", background=True)), WELL, WELL)
    edited = answer(Say("I "), Gate("edited"), call("list_root"))
    server.route("ALPHA", READ, replaced("line 2\n", "line two by the agent\n"), edited, submit("Changed."))
    async with talking(world) as (client, session):
        shown = answering(client, "accept", "accept")
        auto = {"sessionId": session, "configId": "_edits", "value": "auto"}
        await client.request("session/set_config_option", auto)
        await prompt(client, session, "Have it changed")
        await server.reached("edited")
        (tree,) = (world.folder / "state" / "worktrees").glob("*/tree")
        (tree / "picture").write_bytes(b"\0agent")
        if how == "workflow":
            await prompt(client, session, "/work start clarify a thing")
        else:
            await client.request("session/set_mode", {"sessionId": session, "modeId": how})
        server.open("edited")
        await said(client, "Its changes could not be applied")
        await said(client, "has ended its task")
        assert await prompt(client, session, "Well?") == "end_turn"
    assert (world.project / "notes.txt").read_text() == LINES
    assert shown == []
    (kept,) = world.data.rglob("*.task.log")
    assert "+line two by the agent" in kept.read_text()
    assert (tree / "picture").read_bytes() == b"\0agent"
    assert f"Binary files are left in the work tree, which is kept: {tree}" in json.dumps(sent(server))


async def test_what_is_too_large_to_review_is_left_out_and_kept(repository: World, server: ModelServer) -> None:
    world = repository
    server.route("Have it", tasks(isolated("task", "ALPHA")), WELL)
    made = "seq 1 1900000 > big.txt; echo more >> notes.txt; truncate -s 30M huge; git init -q inner; touch inner/made"
    server.route("ALPHA", run(made), submit("Made."))
    async with talking(world) as (client, session):
        answering(client, "run", "accept")
        await prompt(client, session, "Have it changed")
    assert (world.project / "notes.txt").read_text() == f"{LINES}more\n"
    assert not (world.project / "big.txt").exists()
    assert "big.txt: with it the edit would be too large to review" in told(server)
    assert "What was not written, in full: artifact://" in told(server)
    assert len(told(server)) < 20_000
    (tree,) = (world.folder / "state" / "worktrees").glob("*/tree")
    assert ((tree / "huge").stat().st_size, (tree / "inner/made").exists()) == (30 << 20, True)
    for name in ("huge", "inner"):
        assert f"(the agent's is in the work tree, {tree / name})" in told(server)
        assert any(str(tree / name) in json.dumps(one) for one in client.updates)
    (kept,) = world.data.rglob("*.task.log")
    assert "+1900000\n" in kept.read_text()


async def test_the_review_says_which_files_become_executable(repository: World, server: ModelServer) -> None:
    world = repository
    (world.project / "alone.txt").write_text("same\n")
    (world.project / "tool.txt").write_text("same\n")
    (world.project / "tool.txt").chmod(0o755)
    server.route("Have it", tasks(isolated("task", "ALPHA")), WELL)
    command = "echo more >> notes.txt; echo x > new.sh; chmod +x notes.txt alone.txt new.sh; chmod -x tool.txt"
    server.route("ALPHA", run(command), submit("Made."))
    async with talking(world) as (client, session):
        shown = answering(client, "run", "accept")
        await prompt(client, session, "Have it changed")
    question = json.dumps(shown[1]["toolCall"]["content"])
    for name in ("notes.txt", "alone.txt", "new.sh"):
        assert f"{name} becomes executable" in question
        assert (world.project / name).stat().st_mode & 0o100
    assert "tool.txt is no longer executable" in question


async def test_a_tree_that_cannot_be_compared_is_kept_and_named(repository: World, server: ModelServer) -> None:
    world = repository
    server.route("Have it", tasks(isolated("task", "ALPHA")), WELL)
    gated = answer(Say("I "), Gate("edited"), call("list_root"))
    server.route("ALPHA", READ, replaced("line 2\n", "line two by the agent\n"), gated, submit("Made."))
    async with talking(world) as (client, session):
        blocks = text_blocks("Have it changed")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("edited")
        (tree,) = (world.folder / "state" / "worktrees").glob("*/tree")
        (tree / ".git").unlink()
        server.open("edited")
        assert (await client.answer(request))["stopReason"] == "end_turn"
    assert f"It is kept: {tree}" in told(server)
    assert "line two by the agent" in (tree / "notes.txt").read_text()
