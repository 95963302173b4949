"""What goes on beside a turn or outside of the project, in the chat document of a plain LSP client: tasks in the
background, agents in work trees of git, pages of the web."""

import pytest

from tests.end_to_end.test_agents import submit, task, tasks
from tests.end_to_end.test_work_trees import LINES, READ, first_commit, isolated, replaced
from tests.end_to_end.world import World
from tests.lsp.test_chat import answered, opened
from tests.support.lsp_client import LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.script import Fail, Gate, Say, answer, call
from tests.support.web_site import Page, Site


async def sent(client: LspClient, prompt: str) -> str:
    uri = await opened(client)
    client.write(uri, prompt)
    await client.command("north.send", {"uri": uri})
    return uri


async def test_a_task_in_the_background_holds_up_no_turn_and_its_end_is_told(world: World, server: ModelServer) -> None:
    behind = tasks(task("task", "ALPHA", background=True))
    server.route("ALPHA-FIRST", behind, answer(Say("It works.")), answer(Say("I know.")))
    server.route('"ALPHA"', answer(Say("I "), Gate("on")), submit("A is done."))
    async with lsp_client(world) as client:
        uri = await sent(client, "ALPHA-FIRST")
        await server.reached("on")
        await answered(client, uri, "It works.")
        server.open("on")
        await client.until(lambda: any("has ended its task 0-task" in one for one in client.messages))
        client.write(uri, "And now?")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "I know.")
    assert "A is done." in str(server.requests[-1].body["messages"])


@pytest.mark.usefixtures("without_proxies")
async def test_a_page_of_the_web_is_asked_about_by_its_host(world: World, server: ModelServer, site: Site) -> None:
    site.pages["/fly"] = Page("<title>How to fly</title><p>Take wings and jump.</p>")
    server.script(answer(call("web_fetch", url=f"{site.url}/fly")), answer(Say("One jumps.")))
    async with lsp_client(world) as client:
        uri = await sent(client, "How does one fly?")
        await client.until(lambda: client.questions)
        (question,) = client.questions
        assert question["message"].startswith(f"Fetch from 127.0.0.1:{site.port}?")
        assert "this machine" in question["message"]
        assert site.asked == []
        offered = await client.actions(uri)
        await client.press(offered["North: fetch"])
        await answered(client, uri, "One jumps.")
    assert "Take wings and jump" in str(server.requests[-1].body["messages"])


async def test_what_an_agent_changes_in_its_work_tree_is_one_question_under_its_name(
    world: World, server: ModelServer
) -> None:
    path = world.project / "notes.txt"
    path.write_text(LINES)
    first_commit(world.project)
    server.script(tasks(isolated("executor", "Change it", id="one")), READ, replaced("line 2\n", "line two\n"))
    server.script(replaced("line 28\n", "line twenty-eight\n"))
    server.script(submit({"done": True, "files": [], "checks": [], "open": []}), answer(Say("It was changed.")))
    async with lsp_client(world) as client:
        client.open(path.as_uri())
        uri = await sent(client, "Have it changed")
        await client.until(lambda: client.questions)
        (question,) = client.questions
        assert question["message"].startswith("executor: What it changed in its work tree")
        assert client.text(path.as_uri()) == LINES
        here = await client.actions(path.as_uri(), 1, 1)
        await client.press(next(one for title, one in here.items() if title.startswith("North: reject")))
        there = await client.actions(path.as_uri(), 27, 27)
        await client.press(next(one for title, one in there.items() if title.startswith("North: accept")))
        await answered(client, uri, "It was changed.")
        assert client.text(path.as_uri()) == LINES.replace("line 28\n", "line twenty-eight\n")


async def test_of_three_agents_one_fails_one_is_cancelled_and_one_clashes_with_what_is_typed(
    world: World, server: ModelServer
) -> None:
    path = world.project / "notes.txt"
    path.write_text(LINES)
    first_commit(world.project)
    rows = [isolated("task", "ALPHA", id="a"), isolated("task", "BETA", id="b"), isolated("task", "GAMMA", id="c")]
    server.route("Have all done", tasks(*rows), answer(Say("All have ended.")))
    server.route("ALPHA", answer(Fail(400, "invalid_request_error", "no such thing")))
    server.route("BETA", READ, replaced("line 3\n", "line three\n"), answer(Say("I "), Gate("never")))
    edits = (replaced("line 10\n", "line ten\n"), replaced("line 28\n", "line twenty-eight\n"))
    server.route("GAMMA", READ, *edits, answer(Say("I "), Gate("edited"), call("list_root")), submit("C is done."))
    async with lsp_client(world) as client:
        client.open(path.as_uri())
        uri = await sent(client, "Have all done")
        await server.reached("never")
        await server.reached("edited")
        mine = LINES.replace("line 10\n", "line ten by the user\n")
        client.set(path.as_uri(), mine)
        client.write(uri, "/tasks cancel 1-b")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: "cancelled" in client.text(uri))
        server.open("edited")
        await client.until(lambda: client.questions)
        (question,) = client.questions
        assert question["message"].startswith("task: What it changed in its work tree")
        there = await client.actions(path.as_uri(), 27, 27)
        await client.press(next(one for title, one in there.items() if title.startswith("North: accept")))
        await answered(client, uri, "All have ended.")
        assert client.text(path.as_uri()) == mine.replace("line 28\n", "line twenty-eight\n")
    said = str(server.requests[-1].body["messages"])
    assert [
        said.count(f"[{id}] task: {how}") for id, how in (("0-a", "failed"), ("1-b", "cancelled"), ("2-c", "done"))
    ] == [1, 1, 1]
    assert "line ten" in said
