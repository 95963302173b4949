"""Goals and workflows in the chat document of a plain LSP client: seen by lens, action and hover, and decided there."""

import asyncio

from tests.end_to_end.test_goals import CHECK, SET, WELL, goal, run
from tests.end_to_end.test_workflows import HIGH, move, write
from tests.end_to_end.world import World
from tests.lsp.test_chat import NO_LENSES, answered, opened
from tests.support.lsp_client import LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Gate, Say, answer, call


async def sent(client: LspClient, prompt: str, said: str) -> str:
    uri = await opened(client)
    client.write(uri, prompt)
    await client.command("north.send", {"uri": uri})
    await answered(client, uri, said)
    return uri


async def hover(client: LspClient, uri: str) -> str:
    place = {"line": 0, "character": 0}
    found = await client.request("textDocument/hover", textDocument={"uri": uri}, position=place)
    return str(found["contents"]["value"]) if found is not None else ""


async def test_a_goal_is_seen_and_decided(world: World, server: ModelServer) -> None:
    (world.project / "made.txt").write_text("x\n")
    server.script(SET, run(CHECK), goal("evidence", id="c1"), WELL)
    async with lsp_client(world) as client:
        client.answers = ["Run"]
        uri = await sent(client, "Make it work", "Well.")
        lenses = await client.lenses(uri)
        assert "Goal: It works (1 of 2 met)" in lenses
        assert "- [x] c1: made `test -f made.txt`: met (exit code 0)\n- [ ] c2: it is tidy: open" in await hover(
            client, uri
        )
        await client.press(lenses["Confirm c2"])
        await client.until(lambda: "/goal confirm c2" in client.text(uri))
        assert await until_offered(client, uri, "goal: It works (2 of 2 met)")
        await answered(client, uri, "c2")
        drop = "Drop the goal: its criteria and their evidence are not shown any more"
        await client.press((await client.lenses(uri))[drop])
        assert await until_offered(client, uri, "North: send", gone="goal:")
        assert await hover(client, uri) == ""


async def until_offered(client: LspClient, uri: str, title: str, gone: str | None = None) -> bool:
    """Wait for a code action, and for others to go."""
    async with asyncio.timeout(PATIENCE):
        while True:
            titles = list(await client.actions(uri))
            if any(title in one for one in titles) and not any(gone is not None and gone in one for one in titles):
                return True


async def test_a_workflow_is_seen_with_what_it_holds_also_without_lenses(world: World, server: ModelServer) -> None:
    server.script(move("explore"), answer(call("list_root")), write("unknowns", [HIGH]), move("question"), WELL)
    server.script(answer(Say("Bye "), Gate("on"), Say("now.")))
    async with lsp_client(world, NO_LENSES) as client:
        uri = await sent(client, "/work start clarify A login page", "Well.")
        actions = await client.actions(uri)
        assert "North: workflow clarify: question, changes are held" in actions
        ends = "North: end the workflow: models may change files again then"
        assert ends in actions
        assert "**Workflow:** clarify (.north/work/a-login-page)\n\n✓ intake → ✓ explore → **question**" in (
            told := await hover(client, uri)
        )
        assert "Held: edits and commands are refused" in told
        assert "Left: 5 rounds of questions" in told
        client.write(uri, "Go on")
        await client.command("north.send", {"uri": uri})
        await server.reached("on")
        offered = await client.actions(uri)
        assert "North: continue" not in offered  # the turn goes on by itself
        await client.press(offered[ends])
        assert await until_offered(client, uri, "North: stop", gone="workflow")
        assert "Bye now." not in client.text(uri)
        await client.until(lambda: "The workflow has ended; its documents stay." in client.text(uri))
        server.open("on")
        await answered(client, uri, "now.")


async def test_a_criterion_is_confirmed_and_the_goal_dropped_while_a_turn_runs(
    world: World, server: ModelServer
) -> None:
    server.script(SET, WELL)
    server.script(answer(Say("Bye "), Gate("on"), Say("now.")))
    async with lsp_client(world) as client:
        uri = await sent(client, "Make it work", "Well.")
        client.write(uri, "Go on")
        await client.command("north.send", {"uri": uri})
        await server.reached("on")
        await client.press((await client.lenses(uri))["Confirm c2"])
        assert await until_offered(client, uri, "goal: It works (1 of 2 met)")
        lenses = await client.lenses(uri)
        await client.press(next(one for title, one in lenses.items() if title.startswith("Drop the goal")))
        assert await until_offered(client, uri, "North: stop", gone="goal")
        server.open("on")
        await answered(client, uri, "now.")
        text = client.text(uri)
        assert "The goal is dropped." in text
        assert text.count("## You") == 3  # the prompts, and the place for the next
    assert len(server.requests) == 3
