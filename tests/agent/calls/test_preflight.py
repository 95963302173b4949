"""An edit that cannot apply is found while its call arrives, unless a call before it may change that."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from north_lsp.agent.calls.preflight import StreamingCall, cannot_apply
from north_lsp.providers.base import ToolCall
from tests.support.edits import World
from tests.tools.support.test_discovery import OfServer


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    world.write("a.txt", "one\n")
    world.tools = world.tools.joined([OfServer("mcp__db__write")])
    yield world
    world.conversation.close()


async def verdict(world: World, tool: str, arguments: dict[str, object], *earlier: ToolCall) -> str | None:
    call = StreamingCall("c", world.tools.find(tool))
    call.take(json.dumps(arguments)[:-1] + ', "new": "')
    error = await cannot_apply(call, earlier, world.tools, world.workspace)
    return None if error is None else error.code


async def test_it_is_found_as_soon_as_the_decisive_arguments_are_there(world: World) -> None:
    assert await verdict(world, "edit_replace_exact", {"path": "a.txt", "old": "two"}) == "NO_MATCH"
    assert await verdict(world, "edit_replace_exact", {"path": "a.txt"}) is None
    assert await verdict(world, "edit_replace_exact", {"path": "a.txt", "old": "one"}) is None


@pytest.mark.parametrize(
    ("name", "arguments", "waits"),
    [
        ("edit_create_file", {"path": "a.txt"}, True),
        ("edit_create_file", {"path": "b.txt"}, False),
        ("undo_edit", {}, True),
        ("shell_run", {"command": "make"}, True),
        ("mcp__db__write", {"path": "b.txt"}, True),
        ("read_file", {"path": "a.txt"}, False),
        ("todo", {}, False),
        ("no_such_tool", {}, False),
    ],
)
async def test_a_call_before_it_that_may_change_the_file_is_waited_for(
    world: World, name: str, arguments: dict[str, object], waits: bool
) -> None:
    found = await verdict(world, "edit_replace_exact", {"path": "a.txt", "old": "two"}, ToolCall("e", name, arguments))
    assert found == (None if waits else "NO_MATCH")


async def test_an_anchor_between_two_needs_both(world: World) -> None:
    about: dict[str, object] = {"path": "a.txt", "mode": "replace_between", "anchor": "two"}
    assert await verdict(world, "edit_by_anchor", about) is None
    assert await verdict(world, "edit_by_anchor", about | {"anchorEnd": "three"}) == "NO_MATCH"
