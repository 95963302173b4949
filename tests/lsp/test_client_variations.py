"""One conversation with an edit, its undo, a command and a stop, in clients that lack one part of LSP or another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.lsp.test_chat import DYNAMIC, NO_LENSES, NO_SHOWING, UNVERSIONED, UTF8
from tests.support.lsp_client import FULL, LspClient, lsp_client, without
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

UTF32 = FULL | {"general": {"positionEncodings": ["utf-32"]}}
NO_EDITS = without(FULL, "workspace.applyEdit", "workspace.workspaceEdit")
NO_PROGRESS = without(FULL, "window.workDoneProgress")
NO_DIAGNOSTICS = without(FULL, "textDocument.publishDiagnostics")
LEAST: dict[str, Any] = {"general": {"positionEncodings": ["utf-16"]}, "window": {}, "workspace": {"applyEdit": True}}
VARIATIONS = {
    "all": FULL,
    "utf-8": UTF8,
    "utf-32": UTF32,
    "no lenses": NO_LENSES,
    "dynamic": DYNAMIC,
    "no versions": UNVERSIONED,
    "no showing": NO_SHOWING,
    "no progress": NO_PROGRESS,
    "no diagnostics": NO_DIAGNOSTICS,
    "no edits": NO_EDITS,
    "least": LEAST,
}
OLD, NEW = "grüße = '😀'  # ITEM\nrest\n", "grüße = '😀'  # ENTRY\nrest\n"
EDIT = call("edit_replace_exact", path="many.py", old="ITEM", new="ENTRY")


def text_of(client: LspClient, path: Path) -> str:
    """A file as it is after an edit. For an editor that compares no versions, or takes no edits, a saved one is changed
    on the disk, and it reads that again."""
    if "workspaceEdit" not in client.capabilities["workspace"]:
        client.set(path.as_uri(), path.read_text())
    return client.text(path.as_uri())


@pytest.mark.parametrize("capabilities", VARIATIONS.values(), ids=list(VARIATIONS))
async def test_an_edit_its_undo_a_command_and_a_stop(
    world: World, server: ModelServer, capabilities: dict[str, Any]
) -> None:
    path = world.project / "many.py"
    path.write_text(OLD)
    server.script(answer(call("read_file", path="many.py")), answer(EDIT), answer(Say("Changed.")))
    server.script(answer(call("shell_run", command="echo ran")), answer(Say("It ran.")))
    server.script(answer(Say("I "), Gate("never")))
    async with lsp_client(world, capabilities) as client:
        uri = path.as_uri()
        client.open(uri)
        client.answers = ["Accept"]
        changed = await client.command("north.ask", "Change it")
        assert (changed["stopReason"], changed["text"].endswith("Changed.")) == ("end_turn", True)
        assert text_of(client, path) == NEW
        await client.command("north.ask", "/undo")
        assert text_of(client, path) == OLD
        client.answers = ["Run"]
        assert (await client.command("north.ask", "Run it"))["text"].endswith("It ran.")
        asked = asyncio.create_task(client.command("north.ask", "Wait"))
        await server.reached("never")
        await client.command("north.cancel")
        assert (await asked)["stopReason"] == "cancelled"
    assert "echo ran" in client.questions[-1]["message"]


@pytest.mark.parametrize("capabilities", VARIATIONS.values(), ids=list(VARIATIONS))
async def test_a_hunk_is_decided_by_an_action_or_a_command_where_the_editor_has_them(
    world: World, server: ModelServer, capabilities: dict[str, Any]
) -> None:
    gap = "#\n" * 12
    text = f"ITEM = 1\n{gap}ITEM = 2\n"
    path = world.project / "many.py"
    path.write_text(text)
    edit = call("edit_replace_exact", path="many.py", old="ITEM", new="ENTRY", expectedOccurrences=2)
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Changed.")))
    async with lsp_client(world, capabilities) as client:
        uri = path.as_uri()
        client.open(uri)
        asked = asyncio.create_task(client.command("north.ask", "Change it"))
        await client.until(lambda: client.questions)
        pending = await client.command("north.review")
        (file,) = pending["files"]
        first, second = (part["hunk"] for part in file["parts"])
        about = {"reviewId": pending["reviewId"], "path": file["path"]}
        assert not (await client.command("north.review.reject", about | {"hunk": first}))["decided"]
        assert (await client.command("north.review.accept", about | {"hunk": second}))["decided"]
        await asked
        assert text_of(client, path) == text.replace("ITEM = 2", "ENTRY = 2")


async def test_an_editor_that_does_not_tell_that_it_has_read_a_file_again(world: World, server: ModelServer) -> None:
    """One that compares no versions has its saved files changed on the disk, and may never say that it saw that."""
    path = world.project / "many.py"
    path.write_text(OLD)
    server.script(answer(call("read_file", path="many.py")), answer(EDIT), answer(call("read_file", path="many.py")))
    server.script(answer(Say("Changed.")))
    server.script(answer(call("read_file", path="many.py")), answer(EDIT), answer(Say("Again.")))
    server.script(answer(call("read_file", path="many.py")), answer(Say("Seen.")))
    async with lsp_client(world, UNVERSIONED) as client:
        client.open(path.as_uri())
        client.answers = ["Accept", "Accept"]
        await client.command("north.ask", "Change it")
        assert "ENTRY" in str(server.requests[-1].body["messages"][-1])  # what the model reads is what it has written
        assert "not saved" not in str(server.requests[-1].body["messages"])
        await client.command("north.ask", "/undo")
        assert path.read_text() == OLD
        await client.command("north.ask", "/redo")
        assert path.read_text() == NEW
        await client.command("north.ask", "/undo")
        await client.command("north.ask", "Change it again")
        assert path.read_text() == NEW
        assert client.edits == []
        client.write(path.as_uri(), "mine")  # what the user types there counts again
        await client.command("north.ask", "Read it")
        assert "restmine" in str(server.requests[-1].body["messages"][-1])
        assert path.read_text() == NEW
