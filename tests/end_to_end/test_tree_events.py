"""The user's extensions are told when the user goes somewhere else in a conversation, before and after."""

import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import entries, texts
from tests.end_to_end.test_rewind import TEXT, prompts, rewind, talk, two_edits, write
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer

EXTENSION = """
import json

def note(event, told):
    with open({notes!r}, "a") as file:
        file.write(json.dumps([event, told]) + "\\n")

def before(event):
    note("before", event)
    event.clear()
    {answer}

async def after(event):
    note("after", event)
    {answer_after}

def setup(api):
    api.on("session_before_tree", before)
    api.on("session_tree", after)
"""


def extension(world: World, answer: str = "pass", answer_after: str = "pass", name: str = "watch") -> None:
    folder = world.folder / "config" / "extensions"
    folder.mkdir(parents=True, exist_ok=True)
    notes = str(world.folder / "notes")
    (folder / f"{name}.py").write_text(EXTENSION.format(notes=notes, answer=answer, answer_after=answer_after))


def told(world: World) -> list[Any]:
    path = world.folder / "notes"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def tree(world: World) -> list[dict[str, Any]]:
    return [one for one in entries(world) if "parentId" in one]


async def test_an_extension_is_told_before_and_after(world: World, server: ModelServer) -> None:
    extension(world)
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (_, second) = prompts(client)
        before = tree(world)
        place = [one["id"] for one in before].index(second)
        assert (await rewind(client, session, second))["moved"] is True
    ((name, event), (other, done)) = told(world)
    assert (name, other) == ("before", "after")
    assert (event["targetId"], event["oldLeafId"], event["userWantsSummary"]) == (second, before[-1]["id"], False)
    assert event["commonAncestorId"] == before[place - 1]["id"]
    assert [one["id"] for one in event["entriesToSummarize"]] == [one["id"] for one in before[place:]]
    assert event["entriesToSummarize"][0]["message"]["role"] == "user"
    assert (done["oldLeafId"], done["fromExtension"]) == (before[-1]["id"], False)
    assert "summaryEntry" not in done


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ('return {"cancel": True, "reason": "not on Fridays"}', "watch.py prevented this: not on Fridays"),
        ("raise KeyError('x')", r"watch.py failed to handle `session_before_tree` \(KeyError: 'x'\); fix it"),
        ("return 7", "watch.py answered `session_before_tree` with something that is not a dict"),
        ('return {"summary": {"summary": 7}}', "watch.py supplied a summary that is not"),
    ],
)
async def test_one_that_cancels_or_fails_keeps_the_conversation_and_the_files(
    world: World, server: ModelServer, answer: str, says: str
) -> None:
    extension(world, answer)
    path = write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (_, second) = prompts(client)
        before, text = tree(world), path.read_text()
        with pytest.raises(RpcFailure, match=f"the conversation does not move: the extension .*{says}"):
            await rewind(client, session, second, what="both")
        assert (tree(world), path.read_text()) == (before, text)
    assert [name for name, _ in told(world)] == ["before"]


async def test_one_supplies_the_summary_if_the_user_wants_one(world: World, server: ModelServer) -> None:
    extension(world, 'return {"summary": {"summary": "It did not help.", "details": {"readFiles": ["a.py"]}}}')
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (first, second) = prompts(client)
        asked = len(server.requests)
        gone = await rewind(client, session, second, summarize=True)
        assert (gone["moved"], gone["summarized"]) == (True, True)
        assert len(server.requests) == asked
        assert "It did not help." in texts(client)
        (summary,) = [one for one in tree(world) if one["type"] == "branch_summary"]
        assert (summary["summary"], summary["fromExtension"]) == ("It did not help.", True)
        assert summary["details"] == {"readFiles": ["a.py"]}
        assert "summarized" not in await rewind(client, session, first)
    (_, (_, done), _, (_, last)) = told(world)
    assert (done["fromExtension"], done["summaryEntry"]["id"]) == (True, summary["id"])
    assert last["fromExtension"] is False


async def test_one_that_fails_afterwards_is_named(world: World, server: ModelServer) -> None:
    extension(world, answer_after="raise ValueError('too late')")
    write(world, "a.py", TEXT)
    async with talk(world) as (client, session):
        await two_edits(client, server, session)
        (_, second) = prompts(client)
        assert (await rewind(client, session, second))["moved"] is True
        assert "failed to handle `session_tree` (ValueError: too late)" in texts(client)
