"""The user's extensions are told when the user goes from one conversation to another, before and after."""

from pathlib import Path

import pytest

from tests.end_to_end.test_faults import entries, prompt, texts
from tests.end_to_end.test_sessions import there
from tests.end_to_end.test_tree_events import EXTENSION, told
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer


def extension(world: World, answer: str = "pass", answer_after: str = "pass") -> None:
    folder = world.folder / "config" / "extensions"
    folder.mkdir(parents=True, exist_ok=True)
    text = EXTENSION.format(notes=str(world.folder / "notes"), answer=answer, answer_after=answer_after)
    (folder / "watch.py").write_text(text.replace("_before_tree", "_before_switch").replace("_tree", "_switch"))


async def test_an_extension_is_told_before_and_after_with_the_reason(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    extension(world)
    place = {"cwd": str(world.project), "mcpServers": []}
    async with conversation(world) as (client, first):
        await prompt(client, first, "first")
        assert told(world) == []  # it is where the client begins
        second = (await client.request("session/new", place))["sessionId"]
        await client.request("session/load", there(first, world.project))
        await prompt(client, first, "second")
        last = [one["id"] for one in entries(world) if one.get("message", {}).get("role") == "user"][-1]
        branch = (await client.request("_north/sessions/branch", {"sessionId": first, "entryId": last}))["sessionId"]
        await client.request("session/load", there(branch, world.project))
        fork = (await client.request("session/fork", {"sessionId": first, **place}))["sessionId"]
        await client.request("session/load", there(fork, world.project))  # it is there already
        await client.request("session/close", {"sessionId": fork})
    steps = [("new", None, first, second), ("resume", first, second, first)]
    steps += [("branch", branch, first, branch), ("fork", first, branch, fork)]
    expected = []
    for reason, target, previous, id in steps:
        expected.append(["before", {"reason": reason, "target": target, "sessionId": previous}])
        expected.append(["after", {"reason": reason, "sessionId": id, "previousSessionId": previous}])
    assert told(world) == expected


@pytest.mark.parametrize("what", ['return {"cancel": True, "reason": "not today"}', "raise OSError('oh')"])
async def test_one_that_cancels_or_fails_keeps_the_conversation(world: World, server: ModelServer, what: str) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    extension(world, what)
    place = {"cwd": str(world.project), "mcpServers": []}
    async with conversation(world) as (client, first):
        await prompt(client, first, "first")
        logs = sorted((world.data / "conversations").glob("*.jsonl"))
        for method, params in (("session/new", place), ("session/fork", {"sessionId": first, **place})):
            with pytest.raises(RpcFailure) as refused:
                await client.request(method, params)
            assert "the conversation is not switched: the extension" in refused.value.message
            assert ("not today" in refused.value.message) == ("today" in what)
        assert await prompt(client, first, "second") == "end_turn"
        assert sorted((world.data / "conversations").glob("*.jsonl")) == logs
    assert [event for event, _ in told(world)] == ["before"] * 2


async def test_one_that_fails_afterwards_is_named(world: World, server: ModelServer, tmp_path: Path) -> None:
    server.script(answer(Say("One.")))
    extension(world, answer_after="raise OSError('oh')")
    async with conversation(world) as (client, first):
        await prompt(client, first, "first")
        await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await client.wait_update(lambda update: "failed to handle `session_switch` (OSError: oh)" in str(update))
        assert texts(client) == "One." or "session_switch" in texts(client)
