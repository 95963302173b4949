"""What agents of a model must not get around: closed files, MCP servers that nobody was asked about, settings, trust,
limits."""

import json

import pytest

from tests.end_to_end.test_agents import agent_logs, submit, talking, task, tasks, told
from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_mcp import entry, own, questions, talk
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

WELL = answer(Say("Well."))
_CLOSED_TEXT = "nobody reads this"


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("closed.txt", "closed.txt is closed"),
        ("way.txt", "is closed"),
        ("inside/other.txt", "is closed"),
        ("inside", "is closed"),
        ("../outside.txt", "outside"),
        ("json/none.py", "json/none.py does not exist"),
    ],
    ids=["file", "link", "in a folder", "folder", "outside", "missing"],
)
async def test_a_file_that_tools_may_not_read_is_given_to_no_agent(
    world: World, server: ModelServer, path: str, says: str
) -> None:
    (world.project / ".northignore").write_text("closed.txt\ninside/\n")
    (world.project / "inside").mkdir()
    for one in ("closed.txt", "inside/other.txt", "../outside.txt"):
        (world.project / one).write_text(_CLOSED_TEXT)
    (world.project / "way.txt").symlink_to("closed.txt")
    server.script(tasks(task("explore", "Fine"), task("explore", "Look", files=["json/tool.py", path])), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Go")
    assert says in told(server)
    assert len(server.requests) == 2
    assert agent_logs(world) == {}


async def test_a_file_that_is_closed_while_a_task_waits_is_not_given(world: World, server: ModelServer) -> None:
    (world.project / "later.txt").write_text(_CLOSED_TEXT)
    rows = [task("explore", "ALPHA"), task("explore", "BETA", files=["later.txt"])]
    server.route("Have both done", tasks(*rows), WELL)
    server.route("ALPHA", answer(Say("I "), Gate("a")), submit({"summary": "", "answer": "A"}))
    server.route("BETA", submit({"summary": "", "answer": "B"}))
    async with talking(world, **{"task.maxConcurrency": 1}) as (client, session):
        blocks = text_blocks("Have both done")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("a")
        (world.project / ".northignore").write_text("later.txt\n")
        server.open("a")
        await client.answer(request)
    assert "[1-explore-2] explore: done" in told(server)
    assert _CLOSED_TEXT not in json.dumps([one.body for one in server.requests])


async def test_the_prompt_of_a_task_sends_nothing_to_a_server(world: World, server: ModelServer) -> None:
    own(world, mine=entry())
    server.script(tasks(task("explore", "Look at @mcp:mine/notes://told-in-secret")))
    server.script(submit({"summary": "", "answer": "A"}), WELL)
    async with talk(world) as (client, session):
        assert await prompt(client, session, "Go") == "end_turn"
        assert questions(client) == []
    asked = json.dumps(server.requests[1].body["messages"])
    assert "@mcp:mine/notes://told-in-secret" in asked
    assert "What notes://told-in-secret says." not in asked
    assert "not attached" not in asked


async def test_a_tool_that_is_switched_off_is_off_for_agents(world: World, server: ModelServer) -> None:
    server.script(tasks(task("librarian", "Look")), answer(call("web_fetch", url="http://127.0.0.1:9/")))
    server.script(submit({"answer": "A", "sources": []}), WELL)
    async with talking(world, **{"web_fetch.enabled": False}) as (client, session):
        await prompt(client, session, "Go")
    assert "web_fetch" not in {tool["name"] for tool in server.requests[1].body["tools"]}
    assert "there is no tool called 'web_fetch'" in json.dumps(server.requests[2].body["messages"])


async def test_a_project_about_which_nothing_is_decided_has_no_agents(world: World, server: ModelServer) -> None:
    folder = world.project / ".north" / "agents"
    folder.mkdir(parents=True)
    (folder / "explore.md").write_text("---\nname: explore\ndescription: Theirs\n---\nDo as they say.")
    (folder / "more.md").write_text("---\nname: more\ndescription: Theirs\n---\nDo as they say.")
    server.script(tasks(task("more", "Look")), tasks(task("explore", "Look")))
    server.script(submit({"summary": "", "answer": "A"}), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Go")
    assert "there is no agent called 'more'" in json.dumps(server.requests[1].body["messages"])
    asked = json.dumps([one.body for one in server.requests])
    assert "You are the agent `explore`" in json.dumps(server.requests[2].body["system"])
    assert sum("are not used before you trust it" in json.dumps(one) for one in client.updates) == 1
    assert "Do as they say" not in asked
    assert "Theirs" not in asked


async def test_what_an_agent_sends_is_asked_about_if_a_secret_that_was_put_back_is_in_it(
    world: World, server: ModelServer
) -> None:
    (world.project / ".env").write_text("API_TOKEN=a-long-secret-value-1234\n")
    own(world, mine=entry(autoApprove=["echo"]))
    server.script(answer(call("mcp_mine_echo", text="it is <<$env:S0>>")), WELL, tasks(task("task", "Send it")))
    server.script(answer(call("mcp_mine_echo", text="it is a-long-secret-value-1234")), submit("Sent."), WELL)
    async with talk(world) as (client, session):
        assert await prompt(client, session, "Send a-long-secret-value-1234") == "end_turn"
        assert len(questions(client)) == 1
        assert await prompt(client, session, "/config secrets.enabled false") == "end_turn"
        assert await prompt(client, session, "Again") == "end_turn"
        assert len(questions(client)) == 2
    assert "a secret of yours" in json.dumps(questions(client)[1])
