"""A client that sends what its user says now among what was said before, as avante.nvim does."""

import json

from north_lsp.acp.previous_messages import newest_alone
from north_lsp.agent.log.prompt import FileLink, Part, TextPart
from tests.end_to_end.world import World
from tests.support.foreign import foreign
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

CONTINUED = "<system_context>Continuing from previous session with {} recent user messages</system_context>"
FILE = FileLink("file:///project/a.py")


def blocks(*messages: str) -> list[str]:
    said = [f"<previous_user_message>{message}</previous_user_message>" for message in messages]
    return [*said, CONTINUED.format(len(messages))]


def made(*messages: str, typed: frozenset[str] = frozenset()) -> list[str]:
    """Return the texts of what becomes of a prompt that has a file first."""
    parts: tuple[Part, ...] = (FILE, *map(TextPart, blocks(*messages)))
    first, *others = newest_alone(parts, lambda: typed)
    assert first == FILE
    return [one.text for one in others if isinstance(one, TextPart)]


def test_the_first_message_is_the_newest() -> None:
    assert made("find x\nand y") == ["find x\nand y"]
    assert made("two", "one", typed=frozenset({"one"})) == ["two"]
    assert made("same", "one", typed=frozenset({"one", "same"})) == ["same"]


def test_a_message_that_was_not_typed_before_is_the_newest_wherever_it_stands() -> None:
    assert made("two", "one", "three", typed=frozenset({"one", "two"})) == ["three"]


def test_messages_of_another_conversation_stay() -> None:
    assert made("two", "one") == ["two", "<previous_user_message>one</previous_user_message>"]


def test_prompts_of_another_shape_stay_as_they_are() -> None:
    others: list[tuple[str, ...]] = [
        (),
        ("What does <previous_user_message>x</previous_user_message> mean?", CONTINUED.format(1)),
        ("<previous_user_message>x</previous_user_message>", "And then?"),
        ("<previous_user_message>x</previous_user_message>",),
    ]
    for texts in others:
        parts = tuple(map(TextPart, texts))
        assert newest_alone(parts, frozenset) == parts


async def test_the_words_are_a_title_a_prompt_and_a_command(world: World, server: ModelServer) -> None:
    server.script(answer(say("One.")), answer(say("Two.")))
    async with foreign(world) as client:
        await client.prompt(*blocks("First words"))
        await client.prompt(*blocks("/help", "First words"))
        assert "/help" in client.said()
        await client.prompt(*blocks("Second words", "/help", "First words"))
        titles = [one["update"].get("title") for one in client.raw.updates if "title" in one["update"]]
        assert titles == ["First words"]
    assert len(server.requests) == 2
    told = json.dumps(server.requests[1].body["messages"])
    assert told.count("First words") == told.count("Second words") == 1
    assert "previous" not in told
    assert "system_context" not in told
