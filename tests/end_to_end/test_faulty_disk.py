"""A data folder of which one call fails: the conversation goes on, that is said once, and nothing is missing later."""

import errno
import os
import re
from typing import Any

import pytest

from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_file_blocks import block
from tests.end_to_end.test_pictures_of_users import block as picture
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.faulty_disk import FaultyDisk
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import Say, Think, answer, call

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
NOTICE = re.compile(r"\*[^*]*\*\n\n")
TWO_LINES = block("one\ntwo\n", "two.txt")
UNSAVED = "cannot be saved at the moment"


def said(client: RawAcpClient, session: str) -> dict[str, str]:
    """All that stands in a conversation, by who said it; notices and pictures left out."""
    of_it = [row["update"] for row in client.updates if row["sessionId"] == session]
    found: dict[str, str] = {}
    for row in (row for row in of_it if row["sessionUpdate"].endswith("_chunk") and row["content"]["type"] == "text"):
        found[row["sessionUpdate"]] = found.get(row["sessionUpdate"], "") + row["content"]["text"]
    return {kind: NOTICE.sub("", text) for kind, text in found.items()}


async def whole_conversation(world: World, server: ModelServer, disk: FaultyDisk) -> int:
    """Through it with a disk; whether everything is there for the next process. Gives how often it was told that
    saving fails."""
    server.drop()
    server.script(
        answer(Think("Let me see."), Say("Hello to you.")),
        answer(Say("I make it."), call("edit_create_file", path="new.py", content="x = 1\n")),
        answer(Say("It was tried."), call("shell_run", command="seq 30000")),
        answer(Say(f"A file.\n{TWO_LINES}There.")),
        answer(Say("And done.")),
        answer(Say("I see.")),
        answer(Say("Good bye.")),
    )
    with disk.mounted():
        async with inside(world.environ) as client:
            client.handlers["session/request_permission"] = allowing
            where = {"cwd": str(world.project), "mcpServers": []}
            session = (await client.request("session/new", where))["sessionId"]
            for text in ("Hello", "Make it", "!echo mine", "/checkpoint here", "/rename Mine"):
                assert await prompt(client, session, text) == "end_turn", text
            shown = [{"type": "text", "text": "See"}, picture(png())]
            await client.request("session/prompt", {"sessionId": session, "prompt": shown})
            copied = await tried(client, "session/fork", {"sessionId": session, **where})
            if copied is not None:
                await tried(client, "session/delete", {"sessionId": copied["sessionId"]})
            assert await prompt(client, session, "Bye") == "end_turn"
            live, told = said(client, session), texts(client).count(UNSAVED)
            await client.request("session/close", {"sessionId": session})
    async with inside(world.environ) as client:
        await client.request("session/load", {"sessionId": session, **where})
        loaded = said(client, session)
    prompts = "HelloMake it!echo mine/checkpoint here/rename MineSeeBye"
    assert loaded == live | {"user_message_chunk": prompts}
    assert live["agent_thought_chunk"] == "Let me see."
    return told


async def allowing(params: dict[str, Any]) -> dict[str, Any]:
    """Commands for always, edits once."""
    options = {option["optionId"] for option in params["options"]}
    chosen = "accept" if "accept" in options else "always" if "always" in options else "run"
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


async def tried(client: RawAcpClient, method: str, params: dict[str, Any]) -> Any:
    """What may fail as a whole: then it says so in words."""
    try:
        return await client.request(method, params)
    except RpcFailure as failure:
        if not any(os.strerror(error) in failure.message for error in ERRORS):
            raise
        return None


@pytest.mark.parametrize("part", range(4))
async def test_one_failure_anywhere_is_survived(world: World, server: ModelServer, part: int) -> None:
    """Some of the calls, unless NORTH_TEST_WHOLE asks for all of them with every error."""
    disk = FaultyDisk(world.data)
    assert await whole_conversation(world, server, disk) == 0
    whole = "NORTH_TEST_WHOLE" in os.environ
    for number in range(1 + part, len(disk.calls) + 1, 4 if whole else 40):
        for error in ERRORS if whole else (ERRORS[number % 3],):
            again = make_world(world.folder / f"{number}-{error}", server.url)
            faulty = FaultyDisk(again.data, number, error)
            try:
                assert await whole_conversation(again, server, faulty) <= 1
            except BaseException as failure:
                calls = faulty.calls[number - 1 : number]
                failure.add_note(f"call {number} of {len(disk.calls)} failed with {errno.errorcode[error]}: {calls}")
                raise


async def test_a_full_disk_and_room_again_are_said_once_each(world: World, server: ModelServer) -> None:
    """All that could not be kept meanwhile is there at the end; nothing else is said of it."""
    server.script(
        answer(Say("0.")),
        answer(Say("1."), call("shell_run", command="seq 30000")),
        answer(Say(TWO_LINES)),
        answer(Say("It was not written.")),
        answer(Say("2.")),
        answer(Say("3.")),
    )
    disk = FaultyDisk(world.data)
    with disk.mounted():
        async with inside(world.environ) as client:
            client.handlers["session/request_permission"] = allowing
            session = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
            await prompt(client, session, "0")
            disk.is_full = True
            for number in (1, 2):
                assert await prompt(client, session, str(number)) == "end_turn"
                assert texts(client).count(UNSAVED) == 1
            disk.is_full = False
            await prompt(client, session, "3")
            assert texts(client).count(UNSAVED) == texts(client).count("is saved again") == 1
            assert "Something failed inside North" not in texts(client)
            assert not (world.project / "two.txt").exists()
            assert "(No space left on device), so nothing was written" in str(server.requests[-3].body)
            live = said(client, session)
    async with inside(world.environ) as client:
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert said(client, session) == live | {"user_message_chunk": "0123"}
