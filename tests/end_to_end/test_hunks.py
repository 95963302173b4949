"""Deciding on single hunks of an edit, and on what the user made of it: North's extension of the permission request."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import prompt
from tests.end_to_end.world import SERVER, World
from tests.support.client import raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call
from tests.support.selecting import selected

GAP = "#\n" * 10
OLD = f"ITEM = 1\n{GAP}ITEM = 2\n{GAP}ITEM = 3\n"
NEW = OLD.replace("ITEM", "ENTRY")
CAPABLE = {"_meta": {"north": {"hunks": True}}}


async def decide(
    world: World,
    server: ModelServer,
    extra: Any,
    *,
    option: str = "accept",
    old: str = OLD,
    capabilities: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Propose the edit of three places and answer with `extra` (a function of the path); what was asked, the file's
    text after it, and what the model was told."""
    path = world.project / "many.py"
    path.write_bytes(old.encode())
    edit = call("edit_replace_exact", path="many.py", old="ITEM", new="ENTRY", expectedOccurrences=3)
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Good.")))
    asked: dict[str, Any] = {}

    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        asked.update(params)
        more = extra(str(path)) if callable(extra) else extra
        return {**selected(params, option), "_meta": {"north": more}}

    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["session/request_permission"] = handler
        announced = CAPABLE if capabilities is None else capabilities
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": announced})
        session = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert await prompt(client, str(session["sessionId"]), "Rename it") == "end_turn"
    told = json.loads(server.requests[-1].body["messages"][-1]["content"][0]["content"])
    return asked, path.read_bytes().decode(), told["data"]


async def test_the_hunks_are_offered_to_clients_that_decide_on_each(world: World, server: ModelServer) -> None:
    asked, text, told = await decide(world, server, {})
    (file,) = asked["_meta"]["north"]["files"]
    assert file["path"] == str(world.project / "many.py")
    assert [(hunk["id"], hunk["oldStart"], hunk["newStart"]) for hunk in file["hunks"]] == [
        ("h1", 1, 1),
        ("h2", 9, 9),
        ("h3", 20, 20),
    ]
    assert text == NEW
    assert "partial" not in told


async def test_other_clients_are_not_bothered(world: World, server: ModelServer) -> None:
    asked, text, _ = await decide(world, server, {}, capabilities={})
    assert "_meta" not in asked
    assert text == NEW


@pytest.mark.parametrize("option", ["accept", "always"])
async def test_only_the_accepted_hunks_are_written(world: World, server: ModelServer, option: str) -> None:
    _, text, told = await decide(world, server, lambda path: {"hunks": {path: ["h1", "h3"]}}, option=option)
    assert text == NEW.replace("ENTRY = 2", "ITEM = 2")
    assert told["partial"] is True
    assert [place.split(" @@")[0] for place in told["acceptedHunks"]] == ["many.py", "many.py"]
    (rejected,) = told["rejectedHunks"]
    assert "-ITEM = 2\n+ENTRY = 2\n" in rejected["text"]
    assert (told["files"][0]["linesAdded"], told["files"][0]["linesRemoved"]) == (2, 2)


@pytest.mark.parametrize("named", [True, False], ids=["no hunk", "no file"])
async def test_no_hunk_is_a_rejection(world: World, server: ModelServer, named: bool) -> None:
    def extra(path: str) -> dict[str, Any]:
        return {"hunks": {path: []} if named else {}, "comment": "none of it"}

    _, text, told = await decide(world, server, extra)
    assert text == OLD
    assert told == {"applied": False, "reason": "rejected", "comment": "none of it"}


async def test_what_the_user_made_of_it_is_written_and_told(world: World, server: ModelServer) -> None:
    mine = NEW.replace("ENTRY = 3", "ENTRY = 3  # mine")
    _, text, told = await decide(world, server, lambda path: {"texts": {path: mine}, "comment": "as discussed"})
    assert text == mine
    assert told["comment"] == "as discussed"
    (changed,) = told["changedByUser"]
    assert changed["path"] == "many.py"
    assert "-ENTRY = 3\n+ENTRY = 3  # mine\n" in changed["diff"]


async def test_an_editor_that_spells_line_ends_its_own_way_changes_nothing_else(
    world: World, server: ModelServer
) -> None:
    old = OLD.replace("\n", "\r\n")
    mine = NEW.replace("ENTRY = 1", "FIRST = 1")
    _, text, _ = await decide(world, server, lambda path: {"texts": {path: mine}}, old=old)
    assert text == mine.replace("\n", "\r\n")


@pytest.mark.parametrize(
    "extra",
    [
        {"hunks": ["h1"]},
        {"hunks": {"/etc/passwd": ["h1"]}},
        lambda path: {"hunks": {path: ["h9"]}},
        lambda path: {"hunks": {path: "h1"}},
        lambda path: {"hunks": {path: [1]}},
        lambda path: {"texts": {path: 5}},
        {"texts": {"/etc/passwd": "root"}},
        {"texts": "all"},
    ],
)
async def test_an_answer_that_makes_no_sense_writes_nothing(world: World, server: ModelServer, extra: Any) -> None:
    _, text, told = await decide(world, server, extra)
    assert text == OLD
    assert told["applied"] is False


async def test_a_rejection_can_say_why(world: World, server: ModelServer) -> None:
    _, text, told = await decide(world, server, {"comment": "  use another name  "}, option="reject")
    assert text == OLD
    assert told == {"applied": False, "reason": "rejected", "comment": "use another name"}


async def test_nothing_but_the_files_of_the_proposal_can_be_written(world: World, server: ModelServer) -> None:
    other = Path(world.project / "json/decoder.py")
    before = other.read_text()
    _, text, _ = await decide(world, server, lambda path: {"texts": {path: NEW, str(other): "gone"}})
    assert text == OLD
    assert other.read_text() == before
