"""Edits that the editor itself has the user confirm, as LSP's annotated changes."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.support.lsp_client import FULL, LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call

ANNOTATED = {"documentChanges": True, "changeAnnotationSupport": {"groupsOnLabel": True}}
ANNOTATING = FULL | {"workspace": FULL["workspace"] | {"workspaceEdit": ANNOTATED}}
FILES = {"a.py": "ITEM = 1\n" + "#\n" * 12 + "ITEM = 2\n", "b.py": "from a import ITEM\n"}
CHANGED = {name: text.replace("ITEM", "ENTRY") for name, text in FILES.items()}
ONLY_FIRST = {"a.py": FILES["a.py"].replace("ITEM = 1", "ENTRY = 1"), "b.py": FILES["b.py"]}


def is_first_file(one: dict[str, Any]) -> bool:
    return bool(one["annotationId"] == "0")


def is_first_line(one: dict[str, Any]) -> bool:
    return is_first_file(one) and one["range"]["start"]["line"] == 0


@pytest.fixture
def chosen(world: World) -> World:
    settings = world.folder / "config" / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"edits.confirmInEditor": True}))
    return world


def script(server: ModelServer) -> None:
    server.script(answer(*(call("read_file", path=name) for name in FILES)))
    edits = [
        {
            "tool": "edit_replace_exact",
            "args": {"path": name, "old": "ITEM", "new": "ENTRY", "expectedOccurrences": text.count("ITEM")},
        }
        for name, text in FILES.items()
    ]
    server.script(answer(call("edit_apply_batch", edits=edits)), answer(Say("So be it.")))


def opened(client: LspClient, world: World) -> None:
    for name, text in FILES.items():
        (world.project / name).write_text(text)
        client.open((world.project / name).as_uri())


def texts(client: LspClient, world: World) -> dict[str, str]:
    return {name: client.text((world.project / name).as_uri()) for name in FILES}


def told(server: ModelServer) -> str:
    return json.dumps(server.requests[-1].body["messages"][-1])


async def test_the_editor_asks_and_what_is_confirmed_is_applied_and_undone(chosen: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        await client.command("north.ask", "Change it")
        assert texts(client, chosen) == CHANGED
        (edit,) = client.edits
        assert [one["needsConfirmation"] for one in edit["changeAnnotations"].values()] == [True, True]
        assert {one["annotationId"] for change in edit["documentChanges"] for one in change["edits"]} == {"0", "1"}
        assert "a.py (+2/-2)" in edit["changeAnnotations"]["0"]["description"]
        assert client.questions == []
        await client.command("north.ask", "/undo")
        assert texts(client, chosen) == FILES
    assert '\\"applied\\": true' in told(server) or '\\"applied\\":true' in told(server)


@pytest.mark.parametrize(
    ("takes", "left"),
    [(is_first_file, {"a.py": CHANGED["a.py"], "b.py": FILES["b.py"]}), (is_first_line, ONLY_FIRST)],
)
async def test_what_the_user_leaves_out_there_is_told_to_the_model(
    chosen: World, server: ModelServer, takes: Callable[[dict[str, Any]], bool], left: dict[str, str]
) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        client.takes = takes
        await client.command("north.ask", "Change it")
        assert texts(client, chosen) == left
        await client.command("north.ask", "/undo")
        assert texts(client, chosen) == FILES
    assert "rejected" in told(server) or "userChanges" in told(server)


async def test_what_the_editor_has_written_is_undone_after_a_cancelled_turn(chosen: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        client.holds_changes = True
        asked = asyncio.create_task(client.command("north.ask", "Change it"))
        await client.until(lambda: texts(client, chosen) == CHANGED)
        await client.command("north.cancel")
        client.tell_changes()
        assert (await asked)["stopReason"] == "cancelled"
        await client.command("north.ask", "/undo")
        assert texts(client, chosen) == FILES


@pytest.mark.parametrize("takes", [None, is_first_file])
async def test_what_is_confirmed_after_the_turn_was_cancelled_can_be_undone(
    chosen: World, server: ModelServer, takes: Callable[[dict[str, Any]], bool] | None
) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        client.holds_edits = True
        client.takes = takes or client.takes
        asked = asyncio.create_task(client.command("north.ask", "Change it"))
        await client.until(lambda: client.held_edits)
        await client.command("north.cancel")
        assert (await asked)["stopReason"] == "cancelled"
        assert texts(client, chosen) == FILES
        client.confirm()
        await client.until(lambda: any("use `/undo`" in message for message in client.messages))
        assert texts(client, chosen) == (CHANGED if takes is None else CHANGED | {"b.py": FILES["b.py"]})
        assert ("b.py" in client.messages[-1]) == (takes is None)
        await client.command("north.ask", "/undo")
        assert texts(client, chosen) == FILES


async def test_what_is_refused_after_the_turn_was_cancelled_leaves_nothing(chosen: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        client.holds_edits = True
        asked = asyncio.create_task(client.command("north.ask", "Change it"))
        await client.until(lambda: client.held_edits)
        await client.command("north.cancel")
        assert (await asked)["stopReason"] == "cancelled"
        client.refuses_edits = True
        client.confirm()
        assert "no change left to undo" in (await client.command("north.ask", "/undo"))["text"].lower()
        assert texts(client, chosen) == FILES


@pytest.mark.parametrize("refuses", [True, False])
async def test_what_is_not_confirmed_is_rejected(chosen: World, server: ModelServer, refuses: bool) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        client.refuses_edits = refuses
        client.takes = lambda one: False
        await client.command("north.ask", "Change it")
        assert texts(client, chosen) == FILES
        assert client.questions == []
    assert "rejected" in told(server)


async def test_a_text_that_changes_meanwhile_is_asked_about_by_north(chosen: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(chosen, ANNOTATING) as client:
        opened(client, chosen)
        uri = (chosen.project / "a.py").as_uri()
        middle = len("ITEM = 1\n" + "#\n" * 6)
        client.before_edit = lambda: client.insert(uri, middle, "mine = 1\n")
        client.answers = ["Accept"]
        await client.command("north.ask", "Change it")
        mine = CHANGED["a.py"].replace("#\n" * 12, "#\n" * 6 + "mine = 1\n" + "#\n" * 6)
        assert texts(client, chosen) == CHANGED | {"a.py": mine}
        assert len(client.questions) == 1


@pytest.mark.parametrize("why", ["not chosen", "not supported", "a closed file"])
async def test_north_asks_where_the_editor_does_not(world: World, chosen: World, server: ModelServer, why: str) -> None:
    script(server)
    if why == "not chosen":
        settings = world.folder / "config" / "config.json"
        settings.write_text(json.dumps(json.loads(settings.read_text()) | {"edits.confirmInEditor": False}))
    async with lsp_client(world, FULL if why == "not supported" else ANNOTATING) as client:
        opened(client, world)
        if why == "a closed file":
            client.close((world.project / "b.py").as_uri())
        client.answers = ["Reject"]
        await client.command("north.ask", "Change it")
        assert len(client.questions) == 1
        assert client.edits == []


PLAIN = FULL["workspace"]
UNABLE = {
    "no annotations": (FULL, "an editor", "changeAnnotationSupport"),
    "no versions": (FULL | {"workspace": PLAIN | {"workspaceEdit": {"changeAnnotationSupport": {}}}}, "vi", "versions"),
    "without showing it": (ANNOTATING, "Neovim", "without showing"),
}


@pytest.mark.parametrize(("capabilities", "name", "why"), UNABLE.values(), ids=list(UNABLE))
async def test_where_the_editor_cannot_ask_the_user_is_told_once_and_north_asks(
    chosen: World, server: ModelServer, capabilities: dict[str, Any], name: str, why: str
) -> None:
    script(server)
    script(server)
    async with lsp_client(chosen, capabilities, name=name) as client:
        opened(client, chosen)
        client.answers = ["Reject", "Reject"]
        await client.command("north.ask", "Change it")
        await client.command("north.ask", "Change it again")
        assert texts(client, chosen) == FILES
        assert client.edits == []
        assert len(client.questions) == 2
        (told,) = [message for message in client.messages if "edits.confirmInEditor" in message]
        assert why in told
        assert "North asks about edits itself" in told
