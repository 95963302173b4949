"""Files that the model writes in the text of its answer."""

import asyncio
import json
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, entries, prompt, sent, texts
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Answer, Cut, Gate, Say, Stop, StreamError, answer, call
from tests.support.selecting import selected

LINES = [f"line {number}" for number in range(1, 81)]
WHOLE = "".join(f"{line}\n" for line in LINES)


def block(content: str, path: str = "new/big.txt", *, end: bool = True, mode: str = "") -> str:
    return f'<NORTH_FILE path="{path}"{mode}>\n{content}' + ("</NORTH_FILE>\n" if end else "")


def deciding(client: RawAcpClient, option: str) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []

    async def decide(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return selected(params, option)

    client.handlers["session/request_permission"] = decide
    return asked


def shown_calls(client: RawAcpClient) -> list[tuple[str, str]]:
    """Title and status of each call as they stand at the end."""
    calls: dict[str, dict[str, Any]] = {}
    for params in client.updates:
        update = params["update"]
        if "toolCallId" in update:
            calls.setdefault(update["toolCallId"], {}).update(update)
    return [(call["title"], call["status"]) for call in calls.values()]


async def reload(client: RawAcpClient, world: World, session: str) -> None:
    await client.request("session/close", {"sessionId": session})
    client.updates.clear()
    await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})


async def test_a_file_is_streamed_reviewed_and_written(world: World, server: ModelServer) -> None:
    text = f"Here it comes.\n{block(WHOLE)}That was it."
    server.script(answer(Say(text, chunks=40)), answer(Say("You are welcome.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write a big file") == "end_turn"
        assert (world.project / "new/big.txt").read_text() == WHOLE
        (question,) = asked
        assert question["toolCall"]["content"][0]["newText"] == WHOLE
        live = texts(client), shown_calls(client)
        assert live == ("Here it comes.\nThat was it.", [("Writing big.txt (+80/-0)", "completed")])
        assert await prompt(client, session, "Thanks") == "end_turn"
        await reload(client, world, session)
        assert (texts(client), shown_calls(client)) == (live[0] + "You are welcome.", live[1])
    # The model is told what became of it, with its next request.
    role, told = sent(server)[-1][-2]
    assert role == "user"
    assert told.startswith('[North] The file new/big.txt: {"ok":true,"data":{"applied":true')


async def test_a_rejected_file_leaves_what_was_there(world: World, server: ModelServer) -> None:
    old = world.project / "old.txt"
    old.write_text("what was there\n")
    server.script(
        answer(call("read_file", path="old.txt")),
        answer(Say(block(WHOLE, "old.txt"))),
        answer(Say("As you like.")),
    )
    async with conversation(world) as (client, session):
        deciding(client, "reject")
        assert await prompt(client, session, "Rewrite it") == "end_turn"
        assert old.read_text() == "what was there\n"
        assert texts(client) == "As you like."
    assert '"reason":"rejected"' in sent(server)[-1][-1][1]


BROKEN = {
    "length": answer(Say(block("\n".join(LINES[:50]) + "\nline 5", end=False), chunks=9), Stop("max_tokens")),
    "cut": answer(Say(block(WHOLE), chunks=20), Cut()),
    "no closing tag": answer(Say(block("\n".join(LINES[:50]), end=False))),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
async def test_a_file_that_broke_off_is_continued(world: World, server: ModelServer, broken: Answer) -> None:
    configure(world)
    rest = "".join(f"{line}\n" for line in LINES[30:])  # the model repeats some lines
    server.script(broken, answer(Say(block(rest, mode=' mode="append"'))), answer(Say("Bye.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        assert (world.project / "new/big.txt").read_text() == WHOLE
        assert len(asked) == 1
        calls = shown_calls(client)
        files = [row for row in calls if not row[0].startswith("Tried again")]
        assert files == [("Writing big.txt (+80/-0)", "completed")]
        assert texts(client) == ""
        await reload(client, world, session)
        assert shown_calls(client) == calls
        assert texts(client) == ""
        # Continuing is the model's affair: the user does not see what it was asked.
        kinds = [params["update"]["sessionUpdate"] for params in client.updates]
        assert kinds.count("user_message_chunk") == 1
        assert await prompt(client, session, "Bye") == "end_turn"
    assert "cut off inside the file new/big.txt" in sent(server)[1][-1][1]
    first, second, third = (request.body["messages"] for request in server.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second


async def test_a_file_that_never_ends_is_shown_as_incomplete(world: World, server: ModelServer) -> None:
    configure(world)
    pieces = [block(f"part {number}\n", end=False, mode=' mode="append"' if number else "") for number in range(4)]
    server.script(*(answer(Say(piece), Stop("max_tokens")) for piece in pieces), answer(Say("I give up.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        (question,) = asked
        assert question["toolCall"]["title"] == "Create new/big.txt (4 lines) (incomplete)"
        assert (world.project / "new/big.txt").read_text() == "part 0\npart 1\npart 2\npart 3\n"


async def test_a_cancel_keeps_what_had_arrived(world: World, server: ModelServer) -> None:
    server.script(answer(Say(block(WHOLE, end=False)), Gate("never")))
    async with conversation(world) as (client, session):
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("never")
        await client.wait_update(lambda update: "80 lines" in json.dumps(update))
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(request))["stopReason"] == "cancelled"
        assert not (world.project / "new").exists()
        (kept,) = world.data.glob("conversations/*/staging/*")
        assert kept.read_text() == WHOLE
        live = texts(client), shown_calls(client)
        assert live == ("", [("Writing big.txt", "failed")])
        assert str(kept) in json.dumps(client.updates)
        await reload(client, world, session)
        assert (texts(client), shown_calls(client)) == live


async def test_a_killed_server_leaves_what_had_arrived(world: World, server: ModelServer) -> None:
    server.script(answer(Say(block(WHOLE, end=False)), Gate("never")))
    async with conversation(world) as (client, session):
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await server.reached("never")
        await client.wait_update(lambda update: "80 lines" in json.dumps(update))
        client.process.kill()
        await client.wait_exit()
    assert not (world.project / "new").exists()
    (kept,) = world.data.glob("conversations/*/staging/*")
    assert kept.read_text() == WHOLE


@pytest.mark.parametrize(
    ("path", "reason"), [("../out.txt", "OUTSIDE_WORKSPACE"), ("", "names no path"), ("json", "is a folder")]
)
async def test_a_file_that_cannot_be_written_is_text(world: World, server: ModelServer, path: str, reason: str) -> None:
    text = f"Look:\n{block(WHOLE, path)}Done."
    server.script(answer(Say(text, chunks=11)), answer(Say(" I see.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Write it") == "end_turn"
        assert texts(client) == text + " I see."
        assert shown_calls(client) == []
        await reload(client, world, session)
        assert texts(client) == text + " I see."
        assert shown_calls(client) == []
    assert reason in sent(server)[-1][-1][1]
    assert not (world.folder / "out.txt").exists()


async def test_no_file_is_written_in_ask_mode(world: World, server: ModelServer) -> None:
    server.script(answer(Say(block(WHOLE))), answer(Say("Right.")))
    async with conversation(world, "--mode", "ask") as (client, session):
        assert await prompt(client, session, "Write it") == "end_turn"
        assert not (world.project / "new").exists()
    assert "MODE_FORBIDDEN" in sent(server)[-1][-1][1]


async def test_files_and_calls_in_one_answer(world: World, server: ModelServer) -> None:
    server.script(
        answer(Say(block("one\n", "one.txt") + block("two\n", "two.txt")), call("read_file", path="json/decoder.py")),
        answer(Say("All three.")),
    )
    async with conversation(world) as (client, session):
        deciding(client, "accept")
        assert await prompt(client, session, "Write both") == "end_turn"
        assert texts(client) == "All three."
        assert [status for _, status in shown_calls(client)] == ["completed"] * 3
    last = server.requests[-1].body["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "user", "user"]
    assert last[2]["content"][0]["type"] == "tool_result"
    assert (world.project / "two.txt").read_text() == "two\n"


async def test_a_generated_file_is_written_only_when_the_user_says_so(world: World, server: ModelServer) -> None:
    """The guard of the edit tools, which the user may lift for a whole file that he sees."""
    made = world.project / "made.py"
    made.write_text("# @generated by x\n")
    written = [answer(Say(block("new\n", "made.py")))] * 2
    server.script(answer(call("read_file", path="made.py")), *written, answer(Say("Done.")))
    async with conversation(world) as (client, session):
        await client.request("session/set_config_option", {"sessionId": session, "configId": "_edits", "value": "auto"})
        asked = deciding(client, "accept")
        await prompt(client, session, "Write it")
    (question,) = asked
    assert "made.py is generated (@generated)" in json.dumps(question["toolCall"]["content"])
    assert [option["optionId"] for option in question["options"]] == ["allow_once", "reject_once"]
    assert made.read_text() == "new\n"


async def test_the_users_settings_hold_for_files_in_the_text_as_for_edits(world: World, server: ModelServer) -> None:
    configure(world, **{"edits.protected": ["closed/**"], "edits.allowGenerated": ["made.py"]})
    (world.project / "made.py").write_text("# @generated by x\n")
    (world.project / "beside.txt").write_bytes(b"one\r\ntwo\r\n")
    text = (
        block("x\n", "closed/a.txt") + block("new\n", "made.py") + block("a\nb", "new.txt", end=False) + "</NORTH_FILE>"
    )
    server.script(answer(call("read_file", path="made.py")), answer(Say(text)), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        await prompt(client, session, "Write them")
    assert not (world.project / "closed").exists()
    assert "is protected by the user" in str(sent(server)[-1])
    assert "is generated" not in json.dumps([question["toolCall"]["content"] for question in asked])
    assert (world.project / "made.py").read_text() == "new\n"
    assert (world.project / "new.txt").read_bytes() == b"a\r\nb\r\n"


async def test_files_of_an_answer_that_is_asked_for_again_are_not_written(world: World, server: ModelServer) -> None:
    configure(world)
    server.script(
        answer(Say(block("first\n", "one.txt") + "And then, " * 50, chunks=9), Cut()),
        answer(Say(block("second\n", "two.txt"))),
    )
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        assert [question["toolCall"]["content"][0]["newText"] for question in asked] == ["second\n"]
        assert not (world.project / "one.txt").exists()
        assert (world.project / "two.txt").read_text() == "second\n"
        live = shown_calls(client)
        assert ("Writing one.txt", "failed") in live
        await reload(client, world, session)
        assert shown_calls(client) == live


async def test_a_continuation_that_is_asked_for_again_counts_once(world: World, server: ModelServer) -> None:
    configure(world)
    half = answer(Say(block("\n".join(LINES[:40]), end=False)), Stop("max_tokens"))
    rest = block("".join(f"{line}\n" for line in LINES[30:]), mode=' mode="append"')
    server.script(half, answer(Say(rest + "And then, " * 50, chunks=9), Cut()), answer(Say(rest)))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        assert len(asked) == 1
        assert (world.project / "new/big.txt").read_text() == WHOLE
        (kept,) = world.data.glob("conversations/*/staging/*")
        assert kept.read_text() == WHOLE


async def test_what_was_written_when_the_user_stopped_is_told_as_written(world: World, server: ModelServer) -> None:
    server.script(answer(Say(block("x = 1\n", "new.py"))), answer(Say("Bye.")))
    checking = asyncio.Event()

    async def check(params: dict[str, Any]) -> Any:
        if (world.project / "new.py").exists():
            checking.set()
            await asyncio.Event().wait()
        return {"diagnostics": [], "known": []}

    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        deciding(client, "accept")
        client.handlers["_north/languageFeature"] = check
        capabilities = {"_meta": {"north": {"languageFeatures": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        session = str(new["sessionId"])
        request = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Go")})
        await asyncio.wait_for(checking.wait(), PATIENCE)
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(request))["stopReason"] == "cancelled"
        assert shown_calls(client)[-1][1] == "completed"
        assert "Not written" not in json.dumps(client.updates)
        assert await prompt(client, session, "Bye") == "end_turn"
    assert '"applied":true' in sent(server)[-1][-2][1]


async def test_what_a_model_had_written_before_it_declined_is_decided(world: World, server: ModelServer) -> None:
    said = Say(block("whole\n", "one.txt") + "More I cannot do.")
    server.script(answer(said, call("list_root", "left"), Stop("refusal")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "refusal"
        assert len(asked) == 1
        assert (world.project / "one.txt").read_text() == "whole\n"
    messages = [row["message"] for row in entries(world) if row.get("message", {}).get("toolCallId") == "left"]
    assert "the model declined" in json.dumps(messages)


async def test_a_file_that_is_not_continued_is_decided_as_it_is(world: World, server: ModelServer) -> None:
    configure(world)
    half = answer(Say(block("first\n", "one.txt", end=False)), Stop("max_tokens"))
    server.script(half, answer(Say(block("second\n", "two.txt"))), answer(Say("Well.")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        assert [question["toolCall"]["title"].endswith("(incomplete)") for question in asked] == [True, False]
        assert [(world.project / name).read_text() for name in ("one.txt", "two.txt")] == ["first\n", "second\n"]


async def test_a_file_that_is_begun_again_is_asked_about_once(world: World, server: ModelServer) -> None:
    configure(world)
    half = answer(Say(block("first\n", "one.txt", end=False)), Stop("max_tokens"))
    server.script(half, answer(Say(block("whole\n", "one.txt"))))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        assert await prompt(client, session, "Write it") == "end_turn"
        assert len(asked) == 1
        assert (world.project / "one.txt").read_text() == "whole\n"
        live = shown_calls(client)
        assert [status for _, status in live] == ["failed", "completed"]
        await reload(client, world, session)
        assert shown_calls(client) == live


async def test_a_whole_file_of_an_answer_that_failed_is_decided_once(world: World, server: ModelServer) -> None:
    configure(world)
    said = Say(block("whole\n", "one.txt") + "And then, " * 50, chunks=9)
    server.script(answer(said, StreamError("invalid_request_error", "no more")))
    async with conversation(world) as (client, session):
        asked = deciding(client, "accept")
        await prompt(client, session, "Write it")
        assert len(asked) == 1
        assert (world.project / "one.txt").read_text() == "whole\n"
        live = shown_calls(client)
        await reload(client, world, session)
        assert shown_calls(client) == live
