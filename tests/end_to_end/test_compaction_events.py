"""The user's extensions have a say when a conversation is summarized, and in what a model is sent of it."""

import json
from typing import Any

from tests.end_to_end.test_context import notices
from tests.end_to_end.test_faults import entries, prompt, sent
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Say, answer, usage

EXTENSION = """
import json

def listen(event):
    def handle(about):
        with open({notes!r}, "a") as file:
            file.write(json.dumps([event, about]) + "\\n")
        return answers(event, about)
    return handle

def answers(event, about):
    {answers}

def setup(api):
    for event in {events!r}:
        api.on(event, listen(event))
"""
ALL = ("session_before_compact", "session.compacting", "session_compact")
SUMMARY = answer(Say(json.dumps({"goal": "A summary of a model's"})))


def extension(world: World, answers: str, events: tuple[str, ...] = ALL) -> None:
    folder = world.folder / "config" / "extensions"
    folder.mkdir(parents=True, exist_ok=True)
    notes = str(world.folder / "notes")
    (folder / "watch.py").write_text(EXTENSION.format(notes=notes, answers=answers, events=events))


def told(world: World) -> list[Any]:
    path = world.folder / "notes"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def long_turns() -> tuple[Answer, ...]:
    return tuple(answer(Say("Yes."), usage(input=91_000 + number)) for number in range(3))


async def summarized(world: World, server: ModelServer, *more: Answer) -> str:
    """Have a long conversation summarized; returns what the user was told."""
    server.script(*long_turns(), *more)
    async with conversation(world) as (client, session):
        for text in ("First " + "long " * 50_000, "Second", "Third", "/compact keep the names", "Then"):
            await prompt(client, session, text)
        return "\n".join(notices(client))


def compactions(world: World) -> list[dict[str, Any]]:
    return [one for one in entries(world) if one["type"] == "compaction"]


async def test_an_extension_supplies_the_summary(world: World, server: ModelServer) -> None:
    extension(world, "return {'compaction': {'summary': 'Mine.', 'shortSummary': 'm'}} if 'before' in event else None")
    await summarized(world, server, answer(Say("Done.")))
    (entry,) = compactions(world)
    assert (entry["summary"], entry["shortSummary"], entry["fromExtension"]) == ("Mine.", "m", True)
    assert "Mine." in str(sent(server)[-1])
    (first, before), (last, after) = told(world)
    assert (first, last) == ("session_before_compact", "session_compact")
    preparation = before["preparation"]
    assert (preparation["reason"], preparation["instructions"]) == ("manual", "keep the names")
    assert preparation["entriesToSummarize"][0]["message"]["role"] == "user"
    assert (after["fromExtension"], after["compactionEntry"]["summary"]) == (True, "Mine.")


async def test_an_extension_says_how_the_summary_is_written(world: World, server: ModelServer) -> None:
    extension(
        world,
        "return {'prompt': 'Write three words.', 'context': ['The ticket is 17.'], 'preserveData': {'ticket': 17}}"
        " if event == 'session.compacting' else None",
    )
    await summarized(world, server, answer(Say("Three words only")), answer(Say("Done.")))
    request = server.requests[3].body
    assert "Write three words." in json.dumps(request["system"])
    assert "<additional-context>\\nThe ticket is 17.\\n</additional-context>" in json.dumps(request["messages"])
    assert "<additional-instructions>\\nkeep the names" in json.dumps(request["messages"])
    (entry,) = compactions(world)
    assert (entry["summary"], entry["preserveData"]) == ("Three words only", {"ticket": 17})
    assert [name for name, _ in told(world)] == list(ALL)


async def test_an_extension_keeps_all_of_it(world: World, server: ModelServer) -> None:
    extension(world, "return {'cancel': True, 'reason': 'not now'} if 'before' in event else None")
    said = await summarized(world, server, answer(Say("Done.")))
    assert "prevented the summary: not now" in said
    assert compactions(world) == []


async def test_one_that_fails_is_told_of_and_left_out(world: World, server: ModelServer) -> None:
    extension(world, "raise ValueError('broken')")
    said = await summarized(world, server, SUMMARY, answer(Say("Done.")))
    assert said.count("(ValueError: broken); the summary is written without it") == 3
    (entry,) = compactions(world)
    assert "A summary of a model's" in entry["summary"]


async def test_an_extension_changes_what_a_model_is_sent(world: World, server: ModelServer) -> None:
    extension(
        world,
        "rows = about['messages']; rows[0]['text'] = 'Changed.';"
        " return {'messages': [rows[0], {'role': 'user', 'text': 'Be brief.'}, rows[-1]]}",
        ("context",),
    )
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        await prompt(client, session, "second")
    assert [text for _, text in sent(server)[1]] == ["Changed.", "Be brief.", "second"]
    assert [
        one["message"]["content"][0]["text"] for one in entries(world) if one.get("message", {}).get("role") == "user"
    ] == ["first", "second"]
