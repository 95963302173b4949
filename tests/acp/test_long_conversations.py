"""Long conversations: their beginning is shown before the rest is read, and all of it is what it always was."""

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from benchmarks.loading import ID, write_log
from north_lsp.agent.session.keeping.exporting import read_log
from north_lsp.agent.session.replay.early_replay import show_beginning
from north_lsp.agent.session.replay.replay import show_path
from north_lsp.storage.locations import Locations
from north_lsp.tools.builtin import builtin_tools
from tests.end_to_end.world import World, make_world
from tests.support.client import RpcFailure
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer
from tests.support.shown import shown

ENTRIES = 600


@pytest.fixture
def world(tmp_path: Path, server: ModelServer) -> World:
    world = make_world(tmp_path / "world", server.url)
    write_log(file_of(world), world.project, ENTRIES)
    assert file_of(world).stat().st_size > 1_500_000
    return world


def file_of(world: World) -> Path:
    return world.data / "conversations" / f"{ID}.jsonl"


async def early(world: World) -> tuple[list[str], list[Any]]:
    """What is shown before the log is read as a whole, with the ids of its entries."""
    events: list[Any] = []

    async def show(event: Any) -> None:
        events.append(event)

    locations = Locations(world.folder / "config", world.data, world.folder / "state")
    process = SimpleNamespace(load_tools=builtin_tools)
    environment = cast(Any, SimpleNamespace(locations=locations, process=process))
    return list(await show_beginning(environment, ID, world.project, show)), events


async def loads(world: World, times: int = 2) -> list[list[dict[str, Any]]]:
    """The updates of loads of one process: only the first of them reads the log."""
    found = []
    async with inside(world.environ, north={"hunks": True}) as client:
        for _ in range(times):
            client.updates.clear()
            await client.request("session/load", {"sessionId": ID, "cwd": str(world.project), "mcpServers": []})
            found.append(
                [params for params in client.updates if params["update"]["sessionUpdate"] != "session_info_update"]
            )
    return found


async def test_the_whole_turns_at_its_beginning_are_shown_early_and_once(world: World) -> None:
    ids, events = await early(world)
    assert 50 < len(ids) <= 100
    assert events
    first, second = await loads(world)
    assert shown(first) == shown(second)
    prompts = [params["update"] for params in first if params["update"]["sessionUpdate"] == "user_message_chunk"]
    messages = [line for line in map(json.loads, file_of(world).read_text().splitlines()) if line["type"] == "message"]
    said = [line["message"]["content"][0]["text"] for line in messages if line["message"]["role"] == "user"]
    assert [prompt["content"]["text"] for prompt in prompts] == said


async def test_others_have_their_turn_after_every_part_of_a_replay(world: World) -> None:
    turns = 0
    seen: list[int] = []

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async def show(event: Any) -> None:  # a client that takes everything at once
        seen.append(turns)

    path = read_log(file_of(world)).path()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(others)
        await show_path(path, builtin_tools(), lambda name: None, show, ())
        tasks.cancel_scope.cancel()
    assert len(path) >= ENTRIES
    assert len(seen) > len(path) / 2
    assert max(Counter(seen).values()) <= 200


async def test_a_decision_that_came_later_counts_early(world: World) -> None:
    lines = file_of(world).read_text().splitlines(keepends=True)
    review = next(line for line in map(json.loads, lines) if line["type"] == "review")
    rejected = {"status": "reject", "decision": {"kind": "reject"}}
    late = {"type": "entry_updated", "id": "ffffffff", "timestamp": review["timestamp"], "targetId": review["id"]}
    file_of(world).write_text("".join([*lines, json.dumps(late | {"patch": rejected}, separators=(",", ":")) + "\n"]))
    _, events = await early(world)
    ended = [event for event in events if getattr(event, "call_id", "") == review["toolCallId"]]
    assert ended
    first, second = await loads(world)
    assert shown(first) == shown(second)


def moved(lines: list[str]) -> list[str]:
    leaf = json.loads(lines[50])["id"]
    note = {"type": "leaf_moved", "id": "ffffffff", "timestamp": "2026-01-02T03:04:05.678Z", "leafId": leaf}
    return [*lines, json.dumps(note, separators=(",", ":")) + "\n"]


@pytest.mark.parametrize(
    "change",
    [
        moved,
        lambda lines: [*lines[:-1], lines[-1][:-20]],
        lambda lines: [*lines[:300], lines[300][:40] + "\n", *lines[301:]],
        lambda lines: [lines[0].replace('"version":4', '"version":5'), *lines[1:]],
        lambda lines: [*lines[:9], *lines[10:]],
    ],
    ids=["moved", "torn", "damaged", "newer", "edited"],
)
async def test_where_the_beginning_is_not_certain_nothing_is_shown_early(world: World, change: Any) -> None:
    file_of(world).write_text("".join(change(file_of(world).read_text().splitlines(keepends=True))))
    assert await early(world) == ([], [])
    first, second = await loads(world)
    assert shown(first) == shown(second)


async def test_a_line_that_is_damaged_inside_is_noticed_and_what_can_be_reached_is_shown(world: World) -> None:
    lines = file_of(world).read_text().splitlines(keepends=True)
    at = next(index for index in range(300, 400) if json.loads(lines[index])["type"] == "message")
    lines[at] = lines[at][:120] + "\\u12" + lines[at][126:]
    file_of(world).write_text("".join(lines))
    ids, _ = await early(world)
    assert ids
    first, second = await loads(world)
    assert len(second) < len(first)
    assert shown(first)[-len(shown(second)) :] == shown(second)


async def test_another_project_s_conversation_shows_nothing(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with inside(world.environ, north={"hunks": True}) as client:
        with pytest.raises(RpcFailure, match="is not the project of this conversation"):
            await client.request("session/load", {"sessionId": ID, "cwd": str(other), "mcpServers": []})
        assert client.updates == []


async def test_after_a_turn_a_conversation_with_branches_begins_at_once_too(world: World, server: ModelServer) -> None:
    """What the next process needs for it is kept beside the log, and found again there."""
    where = {"sessionId": ID, "cwd": str(world.project), "mcpServers": []}
    server.script(answer(Say("On another branch.")))
    async with inside(world.environ, north={"hunks": True}) as client:
        await client.request("session/load", where)
        nodes = (await client.request("_north/sessions/tree", {"sessionId": ID, "filter": "user-only"}))["nodes"]
        await client.request("_north/sessions/rewind", {"sessionId": ID, "entryId": nodes[-2]["id"]})
        assert await early(world) == ([], [])
        option = {"sessionId": ID, "configId": "model", "value": "anthropic/claude-haiku-4-5-20251001"}
        await client.request("session/set_config_option", option)
        await client.request("session/prompt", {"sessionId": ID, "prompt": [{"type": "text", "text": "Another way"}]})
    ids, events = await early(world)
    assert len(ids) > 50
    assert events
    first, second = await loads(world)
    assert shown(first) == shown(second)
    assert "On another branch." in json.dumps(first)
