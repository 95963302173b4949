"""The events that a running server logs: those of what happens seldom, each with the data that the page says."""

import json
from typing import Any

from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_file_blocks import LINES, block, deciding
from tests.end_to_end.test_sessions import there
from tests.end_to_end.world import SERVER, World
from tests.support.client import raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Say, Stop, answer, call, fail
from tests.test_log_events import documented


def logged(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.folder / "state" / "north.log").read_text().splitlines()]


def has_what_the_page_says(rows: list[dict[str, Any]]) -> bool:
    known = documented()
    return all(row["data"].keys() <= known[row["event"]] for row in rows)


async def test_what_happens_seldom_is_logged(world: World, server: ModelServer) -> None:
    config = world.folder / "config"
    (config / "config.json").write_text('{"retry": {"baseDelayMs": 8}, "mode.defualt": "ask"}')
    (config / "extensions").mkdir()
    (config / "extensions" / "broken.py").write_text("1 / 0\n")
    (world.project / "json" / ".northignore").mkdir()
    start, end = ("".join(f"{line}\n" for line in part) for part in (LINES[:40], LINES[40:]))
    server.script(
        answer(fail(529, "overloaded_error", "overloaded")),
        answer(Say(block(start, "new.txt", end=False)), Stop("max_tokens")),
        answer(Say(block(end, "new.txt", mode=' mode="append"'))),
        answer(call("list_root")),
        answer(Say("Done.")),
    )
    window = {"_meta": {"north": {"windowId": "one"}}}
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        deciding(client, "accept")
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        where = {"cwd": str(world.project), "mcpServers": [], **window}
        first = (await client.request("session/new", where))["sessionId"]
        assert await prompt(client, first, "Write it") == "end_turn"
        forked = (await client.request("session/fork", there(first, world.project)))["sessionId"]
        second = (await client.request("session/new", where))["sessionId"]
        server.script(answer(Say("Hello.")))
        assert await prompt(client, second, "Hello") == "end_turn"
        await client.close_stdin()
        assert await client.wait_exit() == 0
    rows = logged(world)
    found = {row["event"]: row["data"] for row in rows}
    assert found["api_retry_attempt"]["kind"] == "overloaded"
    files = [row["data"] for row in rows if row["event"].startswith("file_block_")]
    assert [(row["path"], row["lines"], row.get("ok")) for row in files] == [
        ("new.txt", 0, None),
        ("new.txt", 40, False),
        ("new.txt", 40, None),
        ("new.txt", 80, True),
    ]
    assert found["config_error"]["key"] == "mode.defualt"
    assert found["config_error"]["path"].endswith("config.json")
    assert found["extension_error"]["path"].endswith("broken.py")
    assert found["capability_warning"]["path"].endswith("json/.northignore")
    assert found["write_apply_complete"]["via"] == "disk"
    forks = [row for row in rows if row["event"] == "session_forked"]
    assert [(row["sessionId"], row["data"]["to"], row["data"]["relation"]) for row in forks] == [
        (first, forked, "fork")
    ]
    switched = [row for row in rows if row["event"] == "session_switched"]
    assert [(row["sessionId"], row["data"]["former"]) for row in switched] == [(second, first)]
    assert found["app_exit"]["reason"] == "client gone"
    assert has_what_the_page_says(rows)


async def test_an_answer_in_the_conversation_names_its_request(world: World, server: ModelServer) -> None:
    server.script(answer(call("list_root")), answer(Say("Done.")))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert await prompt(client, str(made["sessionId"]), "Look") == "end_turn"
        await client.close_stdin()
        assert await client.wait_exit() == 0
    told = [row["data"]["requestId"] for row in logged(world) if row["event"] == "model_request_complete"]
    messages = [row["message"] for row in map(json.loads, world.log_entries()) if row["type"] == "message"]
    assert [one["requestId"] for one in messages if one["role"] == "assistant"] == told
    assert len(set(told)) == 2


async def test_whole_requests_are_logged_at_the_level_trace_alone_and_without_secrets(
    world: World, server: ModelServer
) -> None:
    secret = "sk-ant-api03-" + "q" * 40
    for level in ("debug", "trace"):
        server.script(answer(Say("I see.")))
        async with raw_client([*SERVER, "acp"], world.environ | {"NORTH_LOG_LEVEL": level}, world.project) as client:
            await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            session = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
            assert await prompt(client, session, f"the key {secret} of quokkas") == "end_turn"
            await client.close_stdin()
            assert await client.wait_exit() == 0
        rows = [row for row in logged(world) if row["event"] == "model_request_text"]
        assert len(rows) == (level == "trace")
    (row,) = rows
    assert row["level"] == "trace"
    assert "of quokkas" in row["data"]["messages"]
    assert row["data"]["system"]
    assert "read_file" in json.loads(row["data"]["tools"])
    assert secret not in json.dumps(row)
