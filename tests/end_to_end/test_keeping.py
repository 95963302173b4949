"""What is kept, in a running server: damaged logs, old ones, what is cleared away, the log."""

import json
from typing import Any

import pytest

from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_sessions import another, there
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Say, Tokens, answer, call
from tests.support.selecting import selected


async def damaged(world: World, server: ModelServer) -> str:
    """The id of a conversation of which most lines cannot be read."""
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    log.write_bytes(log.read_bytes() + b"{ torn\n" * 40)
    return session


async def test_a_damaged_conversation_offers_a_copy_of_what_can_be_read(world: World, server: ModelServer) -> None:
    session = await damaged(world, server)
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    before = log.read_bytes()
    async with another(world) as client:
        await client.request("session/load", there(session, world.project))
        await client.wait_update(lambda update: "`/salvage` copies what can be read" in str(update))
        refused = await prompt(client, session, "go on")
        assert "40 of its" in refused
        assert "`/salvage` copies" in refused
        assert "cannot be continued" in await prompt(client, session, "/undo")
        assert await prompt(client, session, "/export read.md") == "end_turn"
        assert "One." in (world.project / "read.md").read_text()
        for command in ("/tree", "/stats", "/conversations", "/fork"):
            assert await prompt(client, session, command) == "end_turn", command
        assert "cannot be copied: 40 of its" in texts(client)
        assert await prompt(client, session, "/salvage") == "end_turn"
        assert "2 messages; 40 lines could not be read" in texts(client)
        listed = await client.request("session/list", {"cwd": str(world.project)})
        ids = [row["sessionId"] for row in listed["sessions"]]
        (copy,) = [id for id in ids if id != session]
        server.script(answer(Say("Two.")))
        await client.request("session/load", there(copy, world.project))
        assert await prompt(client, copy, "/salvage") == "end_turn"
        assert "there is nothing to salvage" in texts(client)
        assert await prompt(client, copy, "go on") == "end_turn"
        assert texts(client).endswith("Two.")
    assert log.read_bytes() == before


async def test_one_of_a_newer_north_can_be_read_and_exported(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    log.write_bytes(log.read_bytes().replace(b'"version":4', b'"version":5', 1))
    async with another(world) as client:
        await client.request("session/load", there(session, world.project))
        refused = await prompt(client, session, "go on")
        assert "a newer North wrote it" in refused
        assert refused.endswith("; that one continues it, and `/export` writes what is in it to a file")
        assert await prompt(client, session, "/export read.md") == "end_turn"
        assert "One." in (world.project / "read.md").read_text()
        assert "salvage" not in texts(client)


async def test_a_client_can_have_it_copied(world: World, server: ModelServer) -> None:
    session = await damaged(world, server)
    async with another(world) as client:
        params: dict[str, Any] = {"sessionId": session, "cwd": str(world.project)}
        got = await client.request("_north/sessions/salvage", params)
        assert (got["messages"], got["leftOut"]) == (2, 40)
        loaded = await client.request("session/load", there(got["sessionId"], world.project))
        assert "One." in texts(client)
        assert loaded["modes"]
        with pytest.raises(RpcFailure, match="there is no session"):
            await client.request("_north/sessions/salvage", params | {"sessionId": "ffffff"})
        await client.request("session/prompt", {"sessionId": got["sessionId"], "prompt": text_blocks("/stats")})
    rows = [json.loads(line) for line in world.log_entries() if line.startswith("{") and line != "{ torn"]
    assert [row["data"]["leftOut"] for row in rows if row.get("customType") == "import"] == [40]


async def test_a_state_folder_that_cannot_be_made_is_said_once(world: World, server: ModelServer) -> None:
    (world.folder / "state").write_text("not a folder")
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "first") == "end_turn"
        assert await prompt(client, session, "second") == "end_turn"
        assert await prompt(client, session, "/costs") == "end_turn"
    assert texts(client).count("set NORTH_STATE_DIR") == 1
    assert "The costs of 2 requests could not be stored (Not a directory): they are not in these sums" in texts(client)
    assert texts(client).count("The costs could not be stored") == 1
    assert f"Nothing can be kept in {world.folder / 'state'} (Not a directory)" in texts(client)


def logged(world: World) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.folder / "state" / "north.log").read_text().splitlines()]


async def test_the_log_has_what_happened_without_contents(world: World, server: ModelServer) -> None:
    edit = call("edit_create_file", path="new.txt", content="private text\n")
    server.script(
        answer(call("read_file", path="json/decoder.py"), call("read_file", path="missing.py")),
        answer(edit, call("shell_run", command="echo private output")),
        answer(Say("A private answer."), Tokens(20, 5)),
    )

    async def allow(params: dict[str, Any]) -> dict[str, Any]:
        kinds = {option["kind"]: option["optionId"] for option in params["options"]}
        return {"outcome": {"outcome": "selected", "optionId": kinds["allow_once"]}}

    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = allow
        assert await prompt(client, session, "A private question") == "end_turn"
        await client.close_stdin()
        await client.wait_exit()
    rows = logged(world)
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_name.setdefault(row["event"], []).append(row["data"])
    expected = {
        "app_start": {"version", "cwd", "client", "protocol", "python", "os"},
        "session_created": {"entries"},
        "user_prompt": {"length", "attachments", "mode", "queued"},
        "model_request_start": {"requestId", "provider", "model", "estimatedTokens", "tools"},
        "model_request_complete": {"requestId", "durationMs", "firstTokenMs", "usage", "stopReason"},
        "tool_call_start": {"toolName", "callId", "argsSummary"},
        "tool_call_complete": {"toolName", "callId", "durationMs", "ok"},
        "write_review_shown": {"reviewId", "files", "added", "removed"},
        "write_review_decision": {"reviewId", "decision", "waitedMs"},
        "write_apply_start": {"reviewId", "files"},
        "write_apply_complete": {"reviewId", "durationMs", "ok", "via"},
        "shell_review_shown": {"reviewId"},
        "shell_review_decision": {"reviewId", "decision", "waitedMs"},
        "shell_run_start": {"callId", "cwd", "background"},
        "shell_run_complete": {"callId", "durationMs", "exitCode", "bytes", "timedOut"},
        "turn_end": {"durationMs"},
        "app_exit": {"reason", "durationMs"},
    }
    for name, keys in expected.items():
        assert keys <= by_name[name][0].keys(), name
    assert by_name["user_prompt"][0] == {"length": 18, "attachments": 0, "mode": "agent", "queued": False}
    assert by_name["tool_call_start"][2]["argsSummary"] == {"path": "new.txt", "content": "<13 chars>"}
    failed = [row for row in by_name["tool_call_complete"] if not row["ok"]]
    assert [row["errorCode"] for row in failed] == ["NOT_FOUND"]
    assert {row.get("turn") for row in rows if row["event"].startswith(("tool_", "model_request"))} == {1}
    assert "private" not in (world.folder / "state" / "north.log").read_text()


async def test_the_log_and_the_storage_are_shown(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        client.updates.clear()
        await prompt(client, session, "/log 3 --event user_")
        (row,) = [line for line in texts(client).splitlines() if "user_prompt" in line]
        assert f"sessionId={session}" in row
        client.updates.clear()
        await prompt(client, session, "/log --level loud")
        assert "the levels are debug, info, warn, error" in texts(client)
        got = await client.request("_north/log/get", {"lines": 2, "level": "info", "event": "model_"})
        assert got["path"] == str(world.folder / "state" / "north.log")
        assert ["model_request_start" in got["lines"][0], "model_request_complete" in got["lines"][1]] == [True] * 2
        for wrong in ({"lines": 0}, {"lines": "1"}, {"level": "loud"}):
            with pytest.raises(RpcFailure):
                await client.request("_north/log/get", wrong)
        client.updates.clear()
        await prompt(client, session, "/storage")
        assert "| conversations |" in texts(client)
        kept = await client.request("_north/storage/get")
        sizes = {row["id"]: row["size"] for row in kept["areas"]}
        assert sizes["conversations"] > 0
        assert {"title", "count", "freedBy"} <= kept["areas"][0].keys()


@pytest.mark.parametrize("says", ["yes", "no"])
async def test_what_can_be_spared_is_removed_after_a_question(world: World, server: ModelServer, says: str) -> None:
    trash = world.data / "conversations" / "trash" / "a1b2c3-20990101T000000Z"
    trash.mkdir(parents=True)
    (trash / "a1b2c3.jsonl").write_text("x" * 1000)

    async def choose(params: dict[str, Any]) -> dict[str, Any]:
        assert "Remove the trash" in params["toolCall"]["title"]
        return selected(params, "allow_once" if says == "yes" else "reject_once")

    async with conversation(world) as (client, session):
        client.handlers["session/request_permission"] = choose
        await prompt(client, session, "/storage clean")
        assert ("Removed" if says == "yes" else "Nothing was removed.") in texts(client)
    assert trash.exists() == (says == "no")


async def test_timing_is_logged_if_it_is_wanted(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    environ = world.environ | {"NORTH_TIMING": "1"}
    async with raw_client([*SERVER, "acp"], environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await prompt(client, str(made["sessionId"]), "first")
    stages = [row["data"]["stage"] for row in logged(world) if row["event"] == "timing"]
    assert stages[:2] == ["settings", "connection"]
    assert all(isinstance(row["data"]["ms"], int) for row in logged(world) if row["event"] == "timing")


async def test_variables_stand_in_for_settings(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    environ = world.environ | {"NORTH_CACHE_RETENTION": "long", "NORTH_NOTIFICATIONS": "off"}
    async with raw_client([*SERVER, "acp"], environ, world.project) as client:
        capabilities = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await prompt(client, str(made["sessionId"]), "first")
        told = {
            message["params"]["event"] for _, message in client.transcript if message.get("method") == "_north/event"
        }
    assert "turn_end" in told
    assert "attention" not in told
    assert server.requests[-1].body["cache_control"]["ttl"] == "1h"


async def test_a_home_that_cannot_be_written_does_not_matter(world: World, server: ModelServer) -> None:
    """With all three folders elsewhere; nobody can write there, not even root."""
    server.script(answer(Say("One.")))
    environ = world.environ | {"HOME": "/proc/1/nothing"}
    async with raw_client([*SERVER, "acp"], environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert await prompt(client, str(made["sessionId"]), "first") == "end_turn"
        assert await prompt(client, str(made["sessionId"]), "!pwd") == "end_turn"
        shown = texts(client)
    assert "One." in shown
    assert "cannot" not in shown


async def test_approvals_that_cannot_be_read_are_kept_aside_and_that_is_said(world: World, server: ModelServer) -> None:
    own = world.data / "projects" / project_hash(world.project)
    own.mkdir(parents=True)
    (own / "approvals.json").write_text("{torn")
    async with conversation(world) as (client, session):
        await prompt(client, session, "/autoaccept edits on")
        told = await client.wait_update(lambda update: "could not be read and were kept as" in str(update))
    (aside,) = own.glob("approvals.json.bad-*")
    assert str(aside) in str(told)
    assert aside.read_text() == "{torn"
