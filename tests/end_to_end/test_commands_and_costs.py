"""Slash commands in a prompt, limits of costs, and counts where a vendor sends none."""

from typing import Any

import pytest

from tests.end_to_end.test_faults import configure, entries, prompt, sent, texts
from tests.end_to_end.test_file_blocks import deciding
from tests.end_to_end.test_queue import ask, start
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, Stop, Tokens, answer, call
from tests.support.selecting import selected

DEAR = Tokens(input=100_000, output=0)  # 0.30 US dollars


async def test_commands_are_announced_and_run_without_a_model(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hello.")))
    async with conversation(world) as (client, session):
        await client.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        update = next(
            row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "available_commands_update"
        )
        names = [command["name"] for command in update["availableCommands"]]
        assert {"costs", "help", "mode", "model", "undo", "redo", "cancel", "continue"} <= set(names)
        assert await prompt(client, session, "/mode ask") == "end_turn"
        assert await prompt(client, session, "Hello") == "end_turn"
        assert await prompt(client, session, "/costs") == "end_turn"
        assert await prompt(client, session, "/udno 3") == "end_turn"
        assert "There is no command /udno. Did you mean /undo?" in texts(client)
        assert await prompt(client, session, "/mode agent\nand this") == "end_turn"
        assert "Usage: `/mode [ask|plan|agent]`." in texts(client)
        live = texts(client)
        await client.request("session/close", {"sessionId": session})
        client.updates.clear()
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        assert texts(client) == live
        said = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "user_message_chunk"]
        assert [row["content"]["text"] for row in said] == [
            "/mode ask",
            "Hello",
            "/costs",
            "/udno",
            "/mode agent\nand this",
        ]
    assert sent(server) == [[("user", "Hello")]]
    assert "edit_replace_exact" not in {tool["name"] for tool in server.requests[0].body["tools"]}
    kept = [(entry["name"], entry["ok"]) for entry in entries(world) if entry["type"] == "command_executed"]
    assert kept == [("mode", True), ("costs", True), ("udno", False), ("mode", False)]


async def test_a_command_in_the_words_of_another_is_not_run(world: World, server: ModelServer) -> None:
    server.script(answer(call("edit_create_file", path="new.py", content="x = 1\n")), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        deciding(client, "accept")
        await prompt(client, session, "Make it")
        for text in ("/help /undo", "/costs\n/undo", "/queue /undo", "/stats /undo"):
            assert await prompt(client, session, text) == "end_turn"
        assert "Undo the last changes" in texts(client)
        assert (world.project / "new.py").exists()
    assert len(server.requests) == 2


async def test_what_is_no_prompt_does_not_reach_a_model(world: World, server: ModelServer) -> None:
    cut = answer(Say("Half of"), Stop("max_tokens"))
    server.script(answer(Say("Whole.")), cut, answer(Say(" it.")))
    async with conversation(world) as (client, session):
        for text in ("/continue", "Hello", "/continue"):
            assert await prompt(client, session, text) == "end_turn"
        assert texts(client).count("There is nothing to continue") == 2
        for text in ("!", " !! ", "!!!", "!\0"):
            assert "nothing to run" in await prompt(client, session, text)
        assert len(server.requests) == 1
        assert await prompt(client, session, "More") == "max_tokens"
        assert await prompt(client, session, "/continue") == "end_turn"
        assert texts(client).endswith(" it.")


async def test_changes_are_undone_and_redone_and_not_during_a_turn(world: World, server: ModelServer) -> None:
    path = world.project / "new.py"
    made = answer(call("edit_create_file", path="new.py", content="x = 1\n"))
    server.script(made, answer(Say("Done.")), answer(Say("Hm."), Gate("here")))
    async with conversation(world) as (client, session):
        deciding(client, "accept")
        await prompt(client, session, "Make it")
        assert path.exists()
        await prompt(client, session, "/undo")
        assert not path.exists()
        assert "`new.py`: restored" in texts(client)
        await prompt(client, session, "/redo")
        assert path.read_text() == "x = 1\n"
        running = await start(client, session, "Go on")
        await server.reached("here")
        await prompt(client, session, "/undo")
        assert "A turn is running" in texts(client)
        assert path.exists()
        await prompt(client, session, "/cancel")
        assert (await client.answer(running))["stopReason"] == "cancelled"


def choosing(client: RawAcpClient, *options: str) -> list[dict[str, Any]]:
    asked: list[dict[str, Any]] = []
    left = list(options)

    async def decide(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return selected(params, left.pop(0))

    client.handlers["session/request_permission"] = decide
    return asked


@pytest.mark.parametrize("setting", ["cost.sessionLimitUsd", "cost.dayLimitUsd"])
async def test_a_limit_is_told_of_and_asked_about(world: World, server: ModelServer, setting: str) -> None:
    configure(world, **{setting: 0.36})
    server.script(*[answer(Say(f"{number}."), DEAR) for number in range(6)])
    async with conversation(world) as (client, session):
        asked = choosing(client, "allow_once", "allow_always", "reject_once")
        for number in range(7):
            await prompt(client, session, str(number))
            assert ("$0.30 of $0.36" in texts(client)) == (number > 0)
        assert len(asked) == 3
        assert "$0.60 is spent for" in asked[0]["toolCall"]["title"]
        assert "the turn was stopped" in texts(client)
        assert "$1.80 is spent for" in asked[2]["toolCall"]["title"]  # the raised one
    assert len(server.requests) == 6


async def test_without_an_answer_nothing_is_spent(world: World, server: ModelServer) -> None:
    configure(world, **{"cost.sessionLimitUsd": 0.1})
    server.script(answer(Say("One."), DEAR))
    async with conversation(world) as (client, session):
        await prompt(client, session, "1")
        assert await prompt(client, session, "2") == "end_turn"
        assert "the limit is $0.10 (cost.sessionLimitUsd): the turn was stopped" in texts(client)
    assert len(server.requests) == 1


async def test_what_a_vendor_does_not_count_is_estimated(world: World, server: ModelServer) -> None:
    server.script(answer(Say("A long answer. " * 20), Tokens(0, 0)), answer(Say("Counted."), Tokens(900, 10)))
    async with conversation(world, knows=True) as (client, session):
        await prompt(client, session, "Hello")
        state = await ask(client, session, "state/get")
        assert state["context"]["used"] > 1000
        await prompt(client, session, "Hello")
        told = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "usage_update"]
        assert told[0]["_meta"]["north"]["estimated"] is True
        assert told[0]["cost"]["amount"] > 0
        assert "estimated" not in told[1]["_meta"]["north"]
        assert told[1]["used"] == 910
        assert told[1]["_meta"]["north"]["allTimeCostUsd"] > 0
        first, both = (row["_meta"]["north"] for row in told)
        kinds = ("input", "output", "cacheRead", "cacheWrite")
        assert sum(both[kind] for kind in kinds) == both["tokens"]
        assert [both[kind] - first[kind] for kind in kinds] == [900, 10, 0, 0]


async def test_the_costs_of_all_conversations_are_forgotten_when_the_user_says_so(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("Dear."), DEAR))
    async with inside(world.environ) as client:
        new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        session = new["sessionId"]
        await prompt(client, session, "1")
        asked = choosing(client, "keep", "reset")
        for told, left in (("The costs are kept.", 0.3), ("counted from zero now", 0.0)):
            await prompt(client, session, "/costs reset")
            assert told in texts(client)
            assert (await client.request("_north/costs/get", {}))["allTimeCostUsd"] == pytest.approx(left)
        assert len(asked) == 2
        await prompt(client, session, "/costs now")
        assert "Usage: `/costs [reset]`." in texts(client)


@pytest.mark.parametrize("choice", ["near", "text", "none"])
async def test_a_mistyped_command_is_not_sent_but_asked_about(world: World, server: ModelServer, choice: str) -> None:
    server.script(*[answer(Say("Hello.")) for _ in range(2 if choice == "text" else 1)])
    async with conversation(world) as (client, session):
        asked = deciding(client, {"near": "allow_once", "text": "allow_always", "none": "reject_once"}[choice])
        assert await prompt(client, session, "/hlep cancel") == "end_turn"
        names = [option["name"] for option in asked[0]["options"]]
        assert names == ["Use /help", "Send it to the model as text", "Do not send it"]
        assert asked[0]["toolCall"]["title"] == "There is no command /hlep. What did you mean?"
        assert ("`/cancel`: Stop what is running" in texts(client)) == (choice == "near")
        assert ("To send it as text" in texts(client)) == (choice == "none")
        assert await prompt(client, session, "Hello") == "end_turn"
    assert sent(server)[0][0] == ("user", "/hlep cancel" if choice == "text" else "Hello")
