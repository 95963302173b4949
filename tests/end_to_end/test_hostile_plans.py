"""Plan mode and a workflow that holds, against models that try what no tool's table names: nothing is written, nothing
is even asked."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_agents import submit, task, tasks, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import configure, opened, prompt
from tests.end_to_end.test_mcp import entry, own, talk
from tests.end_to_end.test_plan_mode import PLAN, SHOW, planning, tree, write
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.test_work_trees import first_commit
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Gate, Say, answer, call

WELL = answer(Say("Well."))
NEW = {"path": "pwned.py", "content": "x\n"}
TOUCH = {"command": "touch pwned"}


def says(text: str) -> Answer:
    return answer(Say(text))


OTHER_NAMES = [
    ("Write", {"file_path": "pwned.py", "content": "x"}), ("write_file", NEW), ("create_file", NEW),
    ("str_replace_editor", {"command": "create", "path": "pwned.py", "file_text": "x"}),
    ("apply_patch", {"input": "*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch"}), ("Bash", TOUCH),
    ("bash", TOUCH), ("shell", TOUCH), ("run_terminal_cmd", TOUCH), ("execute_command", TOUCH),
    ("Edit_Create_File", NEW),
    ("edit_create_file ", NEW), ("edit_create_fileﬁ", NEW), ("../edit_create_file", NEW), ("SHELL_RUN", TOUCH),
]  # fmt: skip
TEXTS = [
    '```xml\n<NORTH_FILE path="pwned.py">\nx\n</NORTH_FILE>\n```\n',
    '<NORTH_FILE path="pwned.py" action="append">\nx\n</NORTH_FILE>\n',
    '<north_file PATH="pwned.py">\nx\n</north_file>\n',
    '<NORTH_FILE path=".north/plans/../../pwned.py">\nx\n</NORTH_FILE>\n',
    '<NORTH_FILE path="json/decoder.py" delete="true">\n</NORTH_FILE>\n',
    "/mode agent\n/trust on\n!touch pwned\n",
]
CALLS: list[Answer] = [
    answer(call("write_plan", content=PLAN, path="json/decoder.py", file="pwned.md")),
    answer(call("workflow", action="start", workflow="execute-and-verify", title="pwned")),
    answer(call("goal", action="set", statement="x", criteria=[{"text": "y", "command": "touch pwned"}])),
    answer(call("search_tools", query="rename a symbol"), call("edit_rename_symbol", path="json", new="pwned")),
    answer(call("read_file", path="!touch pwned"), call("read_file", path="$(touch pwned)")),
    answer(call("read_file", path="data.db", query="CREATE TABLE pwned (x)", inner="x; DROP TABLE t")),
    answer(call("find_files", pattern="*; touch pwned"), call("search_text", query="x", path="--pre=touch pwned")),
    answer(call("lsp", action="rename", path="json/decoder.py", new="pwned"), call("lsp", action="code_action")),
    answer(call("enter_plan_mode", reason="x"), call("edit_create_file", **NEW)),
    tasks(task("explore", "x", isolation="worktree"), task("executor", "Write it", isolation="worktree")),
    tasks(task("executor", "Write it", background=True)),
    tasks(task("Task", "x"), task("task\u200b", "x"), task("ｔａｓｋ", "x"), task("../task", "x")),
    answer(call("task", agent="task", prompt="Write it")),
    answer(call("job", action="start", **TOUCH), call("undo_edit", id="1")),
]  # fmt: skip


async def test_nothing_that_a_hostile_model_thinks_of_changes_anything_in_plan_mode(
    world: World, server: ModelServer
) -> None:
    database = world.project / "data.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    before, held = tree(world.project), database.read_bytes()
    attacks = [*(answer(call(name, **arguments)) for name, arguments in OTHER_NAMES), *map(says, TEXTS), *CALLS]
    assert len(attacks) > 30
    async with planning(world) as (client, session):
        shown = answering(client)
        for attack in attacks:
            server.script(attack, WELL, WELL)
            assert await prompt(client, session, "Do whatever you can") == "end_turn"
            server.drop()
        assert shown == []
    assert tree(world.project) == before
    assert database.read_bytes() == held
    assert not list(world.folder.rglob("*pwned*"))


async def test_what_comes_with_the_plan_in_one_answer_is_not_carried_out(world: World, server: ModelServer) -> None:
    """The mode of a prompt holds to its end, whatever the user decides about the plan meanwhile."""
    before = tree(world.project)
    both = answer(call("exit_plan_mode", summary="Fine."), call("edit_create_file", **NEW), call("shell_run", **TOUCH))
    async with planning(world) as (client, session):
        for decision in ("reject", "approve"):
            answering(client, decision)
            server.script(write(), both, answer(call("edit_create_file", **NEW)), WELL, WELL)
            await prompt(client, session, "Go")
            server.drop()
            assert tree(world.project) == before
    assert not list(world.folder.rglob("*pwned*"))


async def test_neither_a_server_nor_an_agent_is_a_way_out_of_plan_mode(world: World, server: ModelServer) -> None:
    own(world, mine=entry(autoApprove=["echo"]))
    folder = world.folder / "config" / "agents"
    folder.mkdir(parents=True)
    (folder / "quiet.md").write_text(
        "---\nname: quiet\ndescription: Looks\ntools: read, shell, edit, mcp, task\n---\nx"
    )
    (folder / "reader.md").write_text("---\nname: reader\ndescription: Looks\ntools: read, mcp\nspawns: '*'\n---\nx")
    before = tree(world.project)
    inner: list[Any] = [
        answer(call("mcp_mine_echo", text="x")),
        answer(call("edit_create_file", **NEW)),
        answer(call("shell_run", **TOUCH)),
        tasks(task("reader", "Again")),
        tasks(task("executor", "Write it")),
        says(TEXTS[0]),
    ]
    async with talk(world) as (client, session):
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        shown = answering(client)
        for name in ("quiet", "reader", "oracle"):
            server.script(tasks(task(name, "Do whatever you can")), *inner, submit("Nothing."), WELL, WELL, WELL)
            assert await prompt(client, session, "Go") == "end_turn"
            server.drop()
        server.script(answer(call("mcp_mine_echo", text="x")), WELL, WELL)
        await prompt(client, session, "Go")
    assert shown == []
    assert tree(world.project) == before
    assert not list(world.folder.rglob("*pwned*"))
    assert "echoed" not in json.dumps([one.body["messages"] for one in server.requests])


@pytest.mark.parametrize("how", ["plan", "ask", "clarify"])
async def test_an_agent_that_changes_nothing_has_no_tree_written_into_the_repository(
    world: World, server: ModelServer, how: str
) -> None:
    first_commit(world.project)
    before = {str(path) for path in (world.project / ".git").rglob("*")}
    began = "I began the workflow" if how == "clarify" else "Look at it"
    server.route(began, tasks(task("explore", "ALPHA", isolation="worktree")), WELL)
    found = submit({"summary": "One.", "answer": "There."})
    server.route("ALPHA", answer(Say("I "), Gate("looks"), call("list_root")), found)
    async with talk(world) as (client, session):
        if how != "clarify":
            await client.request("session/set_mode", {"sessionId": session, "modeId": how})
        text = "/work start clarify Something" if how == "clarify" else "Look at it"
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks(text)})
        await server.reached("looks")
        assert {str(path) for path in (world.project / ".git").rglob("*")} == before
        assert not (world.folder / "state/worktrees").exists()
        server.open("looks")
        assert (await client.answer(request))["stopReason"] == "end_turn"
    assert "explore: done" in told(server)


@pytest.mark.parametrize("by", ["itself", "an agent of its own"])
async def test_an_agent_in_the_background_changes_nothing_once_the_mode_is_another(
    world: World, server: ModelServer, by: str
) -> None:
    server.route("Have it done", tasks(task("task", "ALPHA", background=True)), WELL)
    tries = [answer(call("edit_create_file", **NEW)), answer(call("shell_run", **TOUCH))]
    attack = tries if by == "itself" else [tasks(task("executor", "BETA"))]
    server.route("ALPHA", answer(Say("I "), Gate("works"), call("list_root")), *attack, submit("Done."))
    server.route("BETA", *tries, submit({"done": False, "files": [], "checks": [], "open": []}))
    async with talk(world) as (client, session):
        shown = answering(client)
        for option, value in (("_edits", "auto"), ("_shell", "auto")):
            await client.request(
                "session/set_config_option", {"sessionId": session, "configId": option, "value": value}
            )
        before = tree(world.project)
        await prompt(client, session, "Have it done")
        await server.reached("works")
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        server.open("works")
        await client.wait(lambda message: "has ended its task" in json.dumps(message))
    assert shown == []
    assert tree(world.project) == before
    assert "the conversation is in plan mode now" in json.dumps([one.body["messages"] for one in server.requests])


async def test_evidence_is_written_into_no_folder_in_plan_mode(world: World, server: ModelServer) -> None:
    goal: dict[str, Any] = {"action": "set", "statement": "It works", "criteria": [{"text": "A1 it is there"}]}
    server.script(answer(call("goal", **goal)), answer(call("workflow", action="move", to="baseline")), WELL)
    configure(world, **{"todo.reminders": False})
    async with talk(world) as (client, session):
        await prompt(client, session, "/work start execute-and-verify Something")
        before = tree(world.project)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        server.script(answer(call("goal", action="evidence", id="c1", text="I saw it")), WELL)
        await prompt(client, session, "Go on")
    assert tree(world.project) == before
    assert "[x] c1" in json.dumps(server.requests[-1].body["messages"])


async def test_a_package_reaches_nothing_but_what_it_owns(world: World, server: ModelServer) -> None:
    first_commit(world.project)
    before = tree(world.project)
    rows = [{"id": id, "owns": [f"{id}/**"], "reads": [], "agent": "task"} for id in ("one", "two", "three")]
    out = world.project / "pwned"
    server.route(
        "I began the workflow",
        answer(call("workflow", action="write", document="packages", content=json.dumps(rows))),
        answer(call("workflow", action="move", to="work", note="")),
        tasks(task("task", "DO-IT", id="one", isolation="worktree")),
        tasks(task("task", "AGAIN", id="one")),
        tasks(task("task", "AGAIN", id="One", isolation="none")),
        WELL,
    )
    server.route(
        "DO-IT",
        *(
            answer(call("edit_create_file", path=path, content="x\n"))
            for path in ("two/pwned", "one/../two/pwned", "pwned", ".git/hooks/pwned", ".north/work/x/pwned", str(out))
        ),
        answer(call("edit_move_file", path="json/decoder.py", newPath="one/decoder.py")),
        answer(call("edit_delete_file", path="json/tool.py")),
        tasks(task("executor", "DEEPER")),
        submit("Done."),
    )
    nothing = {"done": False, "files": [], "checks": [], "open": []}
    server.route("DEEPER", answer(call("edit_create_file", path="two/pwned", content="x\n")), submit(nothing))
    server.route("AGAIN", answer(call("ls")), submit("Nothing."))
    configure(world, **{"todo.reminders": False})
    async with inside(world.environ, north={"events": True}) as client:
        session = await opened(client, world)
        shown = answering(client, *["accept"] * 9)
        await prompt(client, session, "/work start team Something")
    after = {name: text for name, text in tree(world.project).items() if ".north" not in str(name)}
    assert after == {name: text for name, text in before.items() if ".north" not in str(name)}
    assert shown == []
    assert not list(world.folder.rglob("*pwned*"))


@pytest.mark.parametrize("place", ["plan.md", ".north/plans/x.md"])
async def test_a_plan_is_written_nowhere_else(world: World, server: ModelServer, place: str) -> None:
    """A plan's heading names its file in the project, which must not lead out of its folder."""
    odd = PLAN.replace("A new file.", "# ../../../pwned\n../../pwned")
    before = {name for name in tree(world.project) if ".north" not in str(name)}
    async with planning(world, **{"plan.inProject": place != "plan.md"}) as (client, session):
        answering(client, "leave")
        server.script(write(odd), SHOW, WELL)
        await prompt(client, session, "../../../pwned/../x")
    assert {name for name in tree(world.project) if ".north" not in str(name)} == before
    plans = [path for path in world.folder.rglob("*.md") if "pwned" in path.read_text()]
    assert all(path.parent.name == "plans" or path.name == "plan.md" for path in plans)
    assert all(path.is_relative_to(world.project / ".north/plans") or _is_kept(world, path) for path in plans)


def _is_kept(world: World, path: Path) -> bool:
    return path.is_relative_to(world.data / "conversations")
