"""The life of a session: begun here and gone on with there, moved, open twice, and asked for things while it ends."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import prompt, sent, texts
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.storage.test_old_formats import LOGS
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer
from tests.support.selecting import selected


@asynccontextmanager
async def another(world: World) -> AsyncIterator[RawAcpClient]:
    """Another process."""
    async with raw_client([*SERVER, "acp"], world.environ, world.folder) as client:
        await client.request("initialize", {"protocolVersion": 1})
        yield client


def answering(option: str) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    """Answer every question with this option, or the first of this kind."""

    async def permit(params: dict[str, Any]) -> dict[str, Any]:
        answer = selected(params, option)
        assert answer["outcome"]["optionId"] in [row["optionId"] for row in params["options"]]
        return answer

    return permit


def there(session: str, folder: Path) -> dict[str, Any]:
    return {"sessionId": session, "cwd": str(folder), "mcpServers": []}


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_without_a_prompt_goes_on_in_another_process(
    world: World, server: ModelServer, method: str
) -> None:
    async with conversation(world) as (client, session):
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        chosen = {"sessionId": session, "configId": "model", "value": "anthropic/claude-haiku-4-5-20251001"}
        await client.request("session/set_config_option", chosen)
    server.script(answer(Say("Hello.")))
    async with another(world) as client:
        opened = await client.request(method, there(session, world.project))
        assert opened["modes"]["currentModeId"] == "ask"
        (model,) = [row["currentValue"] for row in opened["configOptions"] if row["id"] == "model"]
        assert model == chosen["value"]
        assert (await client.request("session/list"))["sessions"] == []
        assert await prompt(client, session, "Hello") == "end_turn"
        assert [row["sessionId"] for row in (await client.request("session/list"))["sessions"]] == [session]
    assert server.requests[0].body["model"] == "claude-haiku-4-5-20251001"


async def test_a_title_that_the_user_has_chosen_stays(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        named = await client.request(
            "_north/sessions/rename", {"sessionId": session, "title": " The parser's\nrewrite "}
        )
        assert named == {"title": "The parser's rewrite"}
        told = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "session_info_update"]
        assert [row["title"] for row in told] == ["first", "The parser's rewrite"]
        with pytest.raises(RpcFailure) as refused:
            await client.request("_north/sessions/rename", {"sessionId": session, "title": " \n "})
        assert refused.value.code == -32602
    async with another(world) as client:
        assert [row["title"] for row in (await client.request("session/list"))["sessions"]] == ["The parser's rewrite"]
        await client.request("session/resume", there(session, world.project))
        assert (await client.request("_north/state/get", {"sessionId": session}))["name"] == "The parser's rewrite"


async def test_a_conversation_moves_with_its_folder(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    moved, other = world.folder / "moved", world.folder / "other"
    shutil.copytree(world.project, other)
    async with another(world) as client:
        with pytest.raises(RpcFailure, match="is not the project of this conversation") as refused:
            await client.request("session/load", there(session, other))
        assert refused.value.code == -32602
    world.project.rename(moved)
    for folder in (moved, other):  # found where it went, and opened wherever the user wants it
        async with another(world) as client:
            listed = (await client.request("session/list", {"cwd": str(folder)}))["sessions"]
            assert [row["sessionId"] for row in listed] == ([session] if folder == moved else [])
            client.handlers["session/request_permission"] = answering("allow_once")
            await client.request("session/load", there(session, folder))
            was = world.project if folder == moved else moved
            text = f"This conversation belonged to {was}; it continues in {folder}"
            await client.wait_update(lambda update, text=text: text in str(update))  # type: ignore[misc]
            listed = (await client.request("session/list", {"cwd": str(folder)}))["sessions"]
            assert [row["sessionId"] for row in listed] == [session]
            if folder == moved:
                assert await prompt(client, session, "second") == "end_turn"
        if folder == moved:
            moved.rename(world.folder / "gone")


async def test_a_conversation_that_is_open_elsewhere_is_read_and_then_taken_over(
    world: World, server: ModelServer
) -> None:
    server.script(*(answer(Say(f"{word}.")) for word in ("One", "Two", "Three")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        async with another(world) as second:
            await second.request("session/load", there(session, world.project))
            assert "One." in texts(second)
            await second.wait_update(lambda update: "is open in another editor or chat (process" in str(update))
            refused = await prompt(second, session, "mine")
            assert "close it there to continue it here" in refused
            await prompt(client, session, "second")
            await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
            await client.request("session/close", {"sessionId": session})
            assert await prompt(second, session, "mine") == "end_turn"
            assert texts(second).endswith("Two.Three.")
            state = await second.request("_north/state/get", {"sessionId": session})
            assert state["mode"] == "ask"
    assert [text for role, text in sent(server)[-1] if role == "user"] == ["first", "second", "mine"]


REQUESTS: dict[str, dict[str, Any]] = {
    "session/prompt": {"prompt": text_blocks("again")},
    "session/set_mode": {"modeId": "ask"},
    "session/set_config_option": {"configId": "model", "value": "anthropic/claude-haiku-4-5-20251001"},
    "_north/followUp": {"prompt": text_blocks("later")},
    "_north/steer": {"prompt": text_blocks("now")},
    "_north/state/get": {},
    "_north/abort": {},
    "_north/queue/list": {},
    "_north/sessions/rename": {"title": "Mine"},
    "_north/permissions/list": {},
    "_north/artifacts/list": {},
    "_north/checkpoints/list": {},
    "_north/checkpoints/name": {"name": "here"},
    "session/load": {},
    "session/resume": {},
    "session/close": {},
    "session/delete": {},
}


async def code_of(client: RawAcpClient, request: int) -> int:
    try:
        await client.answer(request)
    except RpcFailure as failure:
        return failure.code
    return 0


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("end", ["session/close", "session/delete"])
async def test_what_comes_while_a_session_ends_gets_an_answer_that_says_so(
    world: World, server: ModelServer, end: str, running: bool
) -> None:
    async with conversation(world) as (client, _):
        for index, (method, more) in enumerate(REQUESTS.items()):
            new = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
            session = new["sessionId"]
            where = there(session, world.project)
            server.script(answer(Say("One."), *([Gate(f"{end} {index}")] if running else [])))
            first = await start(client, session, "first")
            if running:
                await server.reached(f"{end} {index}")
            else:
                await client.answer(first)
            if method == "session/prompt":
                server.script(answer(Say("Two.")))
            ending = await client.start_request(end, {"sessionId": session})
            others = [await client.start_request(method, {**where, **more}) for _ in range(2)]
            assert await client.answer(ending) == {}
            for other in others:
                code = await code_of(client, other)
                assert code in (0, -32002, -32600), method
            if running:
                assert (await client.answer(first))["stopReason"] == "cancelled"
            await client.request("session/delete", {"sessionId": session})
            server._answers.clear()
            server.unexpected.clear()
    left = [path.name for path in (world.data / "conversations").iterdir() if path.suffix in (".lock", ".jsonl")]
    assert len(left) == 1, left  # the session that nothing was asked of


async def test_two_loads_at_once_each_get_the_whole_conversation(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    async with another(world) as client:
        where = there(session, world.project)
        loads = [await client.start_request("session/load", where) for _ in range(3)]
        await asyncio.gather(*map(client.answer, loads))
        assert texts(client) == "One." * 3
        kinds = [row["update"]["sessionUpdate"] for row in client.updates if "_chunk" in row["update"]["sessionUpdate"]]
        assert kinds == ["user_message_chunk", "agent_message_chunk"] * 3


@pytest.mark.parametrize("name", LOGS)
async def test_a_log_of_another_format_goes_on(world: World, server: ModelServer, name: str) -> None:
    lines = [{**line, "repoRoot": str(world.project), "repoHash": None} for line in LOGS[name][:1]] + LOGS[name][1:]
    log = world.data / "conversations" / "a1b2c3.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    server.script(answer(Say("More.")))
    async with another(world) as client:
        (listed,) = (await client.request("session/list"))["sessions"]
        assert listed["title"] == "rename it"
        await client.request("session/load", there(listed["sessionId"], world.project))
        assert "I will look" in texts(client)
        assert await prompt(client, "a1b2c3", "more") == "end_turn"
        (listed,) = (await client.request("session/list"))["sessions"]
        assert listed["title"] == "rename it"
    said = [text for role, text in sent(server)[0] if role == "user"]
    # What a former version has summarized is told as the summary.
    summarized = any(line["type"] in ("compaction", "rolling_summary_set") for line in LOGS[name])
    assert said[0].startswith("<summary>") if summarized else said[0] == "rename it"
    assert said[-1].split("\n\n")[-1] == "more"  # after the day, if that has changed since
    assert summarized or any("x = 1" in text for _, text in sent(server)[0])


async def test_a_log_that_cannot_be_read_is_said(world: World) -> None:
    (world.data / "conversations" / "a1b2c3.jsonl").mkdir(parents=True)
    async with another(world) as client:
        with pytest.raises(RpcFailure, match="cannot be read: Is a directory") as refused:
            await client.request("session/load", there("a1b2c3", world.project))
        assert refused.value.code == -32600
