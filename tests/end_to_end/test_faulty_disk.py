"""A data folder of which one call fails: the conversation goes on, that is said once, and nothing is missing later."""

import errno
import os
import re

import pytest

from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_file_blocks import deciding
from tests.end_to_end.world import World, make_world
from tests.support.client import RawAcpClient
from tests.support.faulty_disk import FaultyDisk
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, Think, answer, call

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS)
NOTICE = re.compile(r"\*[^*]*\*\n\n")
UNSAVED = "cannot be saved at the moment"


def said(client: RawAcpClient) -> dict[str, str]:
    """All that stands in the conversation, by who said it; notices left out."""
    rows = [row["update"] for row in client.updates if row["update"]["sessionUpdate"].endswith("_chunk")]
    found: dict[str, str] = {}
    for row in rows:
        found[row["sessionUpdate"]] = found.get(row["sessionUpdate"], "") + row["content"]["text"]
    return {kind: NOTICE.sub("", text) for kind, text in found.items()}


async def whole_conversation(world: World, server: ModelServer, disk: FaultyDisk) -> int:
    """Through it with a disk; whether everything is there for the next process. Gives how often it was told that
    saving fails."""
    server.script(
        answer(Think("Let me see."), Say("Hello to you.")),
        answer(Say("I make it."), call("edit_create_file", path="new.py", content="x = 1\n")),
        answer(Say("It was tried.")),
        answer(Say("Good bye.")),
    )
    with disk.mounted():
        async with inside(world.environ) as client:
            deciding(client, "accept")
            where = {"cwd": str(world.project), "mcpServers": []}
            session = (await client.request("session/new", where))["sessionId"]
            for text in ("Hello", "Make it", "!echo mine", "/checkpoint here", "Bye"):
                assert await prompt(client, session, text) == "end_turn", text
            live, told = said(client), texts(client).count(UNSAVED)
            await client.request("session/close", {"sessionId": session})
    async with inside(world.environ) as client:
        await client.request("session/load", {"sessionId": session, **where})
        loaded = said(client)
    assert loaded == live | {"user_message_chunk": "HelloMake it!echo mine/checkpoint hereBye"}
    assert live["agent_thought_chunk"] == "Let me see."
    return told


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


async def test_failing_and_recovering_are_reported_once_each(world: World, server: ModelServer) -> None:
    server.script(*(answer(Say(f"{number}.")) for number in range(4)))
    async with inside(world.environ) as client:
        session = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        conversations = world.data / "conversations"
        await prompt(client, session, "0")
        (log,) = conversations.glob("*.jsonl")
        log.rename(world.folder / "away")
        for number in (1, 2):
            await prompt(client, session, str(number))
            assert texts(client).count(UNSAVED) == 1
        (world.folder / "away").rename(log)
        await prompt(client, session, "3")
        assert texts(client).count(UNSAVED) == texts(client).count("is saved again") == 1
        live = said(client)
    async with inside(world.environ) as client:
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert said(client)["agent_message_chunk"] == live["agent_message_chunk"]
