"""The agent's loop in an editor with the file open: what an edit changes is on the disk when the next command runs, or
everybody is told that it is not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editors import opted_in_editor, plain_editor
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say

Opening = Callable[..., Any]
EDITORS = pytest.mark.parametrize("opening", [opted_in_editor, plain_editor])
OLD = "one\ntwo\nthree\n"


def script(server: ModelServer, *more: str) -> None:
    """A turn: an edit of a.txt (and of others), then a command that reads it."""
    server.script(answer(*(call("read_file", path=name) for name in ("a.txt", *more))))
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "two", "new": "2"}} for name in ("a.txt", *more)
    ]
    server.script(answer(call("edit_apply_batch", edits=edits)))
    server.script(answer(call("shell_run", command="cat a.txt | tr '\\n' ' '")), answer(say("done")))


def told(server: ModelServer) -> list[str]:
    """The results that the model got."""
    found = []
    for message in server.requests[-1].body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        found += [json.dumps(block["content"]) for block in blocks if block["type"] == "tool_result"]
    return found


async def opened(editor: Any, world: World) -> Path:
    path = world.project / "a.txt"
    path.write_text(OLD)
    editor.open(path)
    editor.choices = ["accept", "accept"]
    return path


@EDITORS
async def test_what_was_saved_before_an_edit_is_saved_after_it(
    world: World, server: ModelServer, opening: Opening
) -> None:
    script(server)
    async with opening(world, saves=True) as editor:
        path = await opened(editor, world)
        await editor.prompt("Go")
        assert editor.saves == [[{"uri": path.as_uri(), "version": 2}]]
        assert path.read_text() == editor.texts[path] == "one\n2\nthree\n"
        assert "one 2 three" in told(server)[-1]
        assert "not saved" not in json.dumps(told(server))
        assert "not saved" not in editor.questions[-1].text


@EDITORS
async def test_what_has_unsaved_changes_of_the_users_is_not_saved_unasked_but_told(
    world: World, server: ModelServer, opening: Opening
) -> None:
    script(server)
    async with opening(world, saves=True) as editor:
        path = await opened(editor, world)
        editor.open(path, OLD + "typed\n")
        await editor.prompt("Go")
        assert editor.saves == []
        assert path.read_text() == OLD
        *_, edit, ran = told(server)
        assert "a.txt was changed in the editor but is not saved yet" in edit
        assert "1 open file is not saved in the editor: a.txt" in ran
        assert "one two three" in ran
        assert "1 open file is not saved in the editor: a.txt" in editor.questions[-1].text


@EDITORS
@pytest.mark.parametrize("why", ["announces nothing", "the setting", "cannot", "an error"])
async def test_where_nothing_is_saved_the_user_and_the_model_are_told(
    world: World, server: ModelServer, opening: Opening, why: str
) -> None:
    script(server)
    if why == "the setting":
        (world.folder / "config" / "config.json").write_text('{"edits.saveAfterApply": false}')
    async with opening(world, saves=why != "announces nothing") as editor:
        path = await opened(editor, world)
        if why == "cannot":
            editor.on_save = lambda text: None
        elif why == "an error":
            editor.on_save = failing
        await editor.prompt("Go")
        assert path.read_text() == OLD
        assert editor.texts[path] == "one\n2\nthree\n"
        *_, edit, ran = told(server)
        assert "a.txt was changed in the editor but is not saved yet" in edit
        assert "1 open file is not saved in the editor: a.txt" in ran
        assert "1 open file is not saved in the editor: a.txt" in editor.questions[-1].text


def failing(text: str) -> str:
    raise RuntimeError("the disk is full")


@EDITORS
async def test_formatting_on_save_is_the_result(world: World, server: ModelServer, opening: Opening) -> None:
    script(server)
    async with opening(world, saves=True) as editor:
        path = await opened(editor, world)
        editor.on_save = lambda text: text.replace("three", "three  #")
        await editor.prompt("Go")
        assert path.read_text() == "one\n2\nthree  #\n"
        *_, edit, ran = told(server)
        assert "changedByEditor" in edit
        assert "three  #" in edit
        assert "one 2 three  #" in ran
        server.script(answer(call("undo_edit")), answer(say("done")))
        editor.choices = ["accept"]
        editor.on_save = lambda text: text
        await editor.prompt("Back")
        assert path.read_text() == editor.texts[path] == OLD


@EDITORS
async def test_a_batch_is_saved_with_one_request_and_closed_files_are_not_in_it(
    world: World, server: ModelServer, opening: Opening
) -> None:
    (world.project / "b.txt").write_text(OLD)
    (world.project / "closed.txt").write_text(OLD)
    script(server, "b.txt", "closed.txt")
    async with opening(world, saves=True) as editor:
        path = await opened(editor, world)
        editor.open(world.project / "b.txt")
        await editor.prompt("Go")
        ((one, two),) = editor.saves
        assert {one["uri"], two["uri"]} == {path.as_uri(), (world.project / "b.txt").as_uri()}
        assert {(world.project / name).read_text() for name in ("a.txt", "b.txt", "closed.txt")} == {"one\n2\nthree\n"}


@EDITORS
async def test_a_command_that_runs_unasked_says_so_too(world: World, server: ModelServer, opening: Opening) -> None:
    """Of files of the project, as far as they are not closed to the model."""
    async with opening(world) as editor:
        await opened(editor, world)
        command = answer(call("shell_run", command="wc -c a.txt"))
        server.script(command, command, answer(say("done")))
        editor.choices = ["always"]
        await editor.prompt("Go")
        assert "not saved" not in told(server)[-1]
        editor.open(world.project / "a.txt", OLD + "typed\n")
        editor.open(world.folder / "outside.txt", "typed\n")
        (world.project / ".northignore").write_text("closed.txt\n")
        editor.open(world.project / "closed.txt", "typed\n")
        server.script(command, answer(say("done")))
        await editor.prompt("Again")
        assert len(editor.questions) == 1
        assert "1 open file is not saved in the editor: a.txt" in told(server)[-1]


@EDITORS
async def test_the_user_s_own_command_says_so_too(world: World, server: ModelServer, opening: Opening) -> None:
    async with opening(world) as editor:
        await opened(editor, world)
        await editor.prompt("!wc -c a.txt")
        editor.open(world.project / "a.txt", OLD + "typed\n")
        await editor.prompt("!cat a.txt")
        server.script(answer(say("done")))
        await editor.prompt("Go on")
        sent = json.dumps(server.requests[-1].body["messages"])
        assert sent.count("1 open file is not saved in the editor: a.txt") == 1
        assert sent.index("cat a.txt") < sent.index("1 open file is not saved")
