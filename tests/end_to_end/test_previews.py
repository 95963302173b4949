"""Edits that are shown while they still arrive, over ACP."""

from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_file_blocks import WHOLE, block, deciding
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Call, Gate, Say, answer


async def test_an_edit_is_shown_while_it_arrives_and_its_proposal_replaces_that(
    world: World, server: ModelServer
) -> None:
    edit = Call("edit_create_file", {"path": "new.py", "content": WHOLE}, "toolu_held", Gate("half"))
    server.script(answer(edit), answer(Say("Done.")))
    async with conversation(world, knows=True) as (client, session):
        asked = deciding(client, "reject")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("half")
        update = await client.wait_update(lambda update: bool(update.get("content")) and "toolCallId" in update)
        (shown,) = update["content"]
        assert (shown["path"], shown["oldText"]) == (str(world.project / "new.py"), None)
        assert WHOLE.startswith(shown["newText"].rstrip("\n"))
        assert shown["_meta"] == {"north": {"preview": True, "line": 1}}
        assert not (world.project / "new.py").exists()
        server.open("half")
        assert (await client.answer(request))["stopReason"] == "end_turn"
        rows = [row["update"] for row in client.updates if row["update"].get("toolCallId") == "toolu_held"]
        (question,) = asked
    contents = [row["content"][0] for row in rows if row.get("content")]
    assert contents[-1] != shown
    assert question["toolCall"]["content"][0]["newText"] == WHOLE
    assert "_meta" not in question["toolCall"]["content"][0]
    assert not (world.project / "new.py").exists()


async def test_a_file_block_is_shown_while_it_arrives(world: World, server: ModelServer) -> None:
    server.script(answer(Say(block(WHOLE, end=False)), Gate("half"), Say("</NORTH_FILE>\n")), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        deciding(client, "accept")
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("half")
        update = await client.wait_update(lambda update: bool(update.get("content")) and "toolCallId" in update)
        diff, words = update["content"]
        assert (diff["newText"], diff["oldText"]) == (WHOLE, None)
        assert words["content"]["text"] == "80 lines"
        server.open("half")
        assert (await client.answer(request))["stopReason"] == "end_turn"
    assert (world.project / "new/big.txt").read_text() == WHOLE


async def test_ask_mode_shows_no_edits(world: World, server: ModelServer) -> None:
    edit = Call("edit_create_file", {"path": "new.py", "content": WHOLE}, "toolu_held")
    server.script(answer(edit), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        assert await prompt(client, session, "Go") == "end_turn"
        rows = [row["update"] for row in client.updates if row["update"].get("toolCallId") == "toolu_held"]
    assert not any(part["type"] == "diff" for row in rows for part in row.get("content", ()))
