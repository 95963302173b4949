"""Undo and redo: of steps, turns and files, with later changes kept, or said to be in the way."""

import os
from pathlib import Path

import pytest

from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.undo import UndoHistory
from north_lsp.agent.log.log import Log
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from tests.support.edits import World

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("a.txt", TEXT)
    world.write("b.txt", TEXT)
    return world


async def replace(world: World, name: str, old: str, new: str) -> None:
    await world.edit("edit_replace_exact", path=name, old=f"{old}\n", new=f"{new}\n")


async def test_steps_are_undone_and_done_again(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    await replace(world, "a.txt", "line 4", "fourth")
    await world.edit("edit_create_file", path="new/c.txt", content="c")
    after = world.files()
    assert await world.undo() == {"new/c.txt": "restored"}
    assert await world.undo() == {"a.txt": "restored"}
    assert world.read("a.txt").decode() == TEXT.replace("line 3\n", "third\n")
    assert await world.undo() == {"a.txt": "restored"}
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": TEXT.encode()}
    assert await world.undo() == {}
    await world.redo(3)
    assert world.files() == after
    assert await world.redo() == {}
    await world.undo(3)
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": TEXT.encode()}


async def test_an_undo_can_itself_be_undone_also_after_a_resume(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    await world.undo()
    id = world.conversation.id
    world.conversation.sync()
    world.conversation.close()
    conversation = Conversation.open(world.locations, id)
    checkpoints = Checkpoints(Log(conversation), Blobs(world.locations.blobs), world.checkpoints.journals)
    undoing = UndoHistory(checkpoints, world.workspace, world.editor)
    assert undoing.last(9) == []
    await undoing.apply(await undoing.prepare(undoing.last_undone(1)), "Redo")
    assert world.read("a.txt").decode() == TEXT.replace("line 3\n", "third\n")
    conversation.close()


async def test_any_turn_can_be_undone_and_later_ones_stay(world: World) -> None:
    first = world.say("first")
    await replace(world, "a.txt", "line 3", "third")
    await replace(world, "b.txt", "line 3", "third")
    world.say("second")
    await replace(world, "a.txt", "line 20", "twentieth")
    plan = await world.undo_history.prepare(world.undo_history.of_turn(first))
    assert {one.relative: one.outcome for one in plan.files} == {"a.txt": "merged", "b.txt": "restored"}
    await world.undo_history.apply(plan, "Undo a turn")
    assert world.read("a.txt").decode() == TEXT.replace("line 20\n", "twentieth\n")
    assert world.read("b.txt").decode() == TEXT


async def test_one_file_of_a_change_can_be_undone(world: World) -> None:
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ]
    await world.edit("edit_apply_batch", edits=edits)
    assert await world.undo(paths=[world.root / "b.txt"]) == {"b.txt": "restored"}
    assert world.read("a.txt").decode() == TEXT.replace("line 3\n", "third\n")
    assert await world.undo() == {"a.txt": "restored"}


async def test_later_changes_in_the_way_are_said_and_left_lost_or_marked(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    mine = TEXT.replace("line 3\n", "third, by me\n")
    world.write("a.txt", mine)
    plan = await world.undo_history.prepare(world.undo_history.last(1))
    assert [(one.outcome, "line 3" in one.detail, "discard" in one.detail) for one in plan.files] == [
        ("conflict", True, True)
    ]
    assert plan.changes == ()
    assert await world.undo(conflicts="merge") == {"a.txt": "marked"}
    marked = "<<<<<<< now\nthird, by me\n=======\nline 3\n>>>>>>> before the change\n"
    assert marked in world.read("a.txt").decode()
    await world.redo()
    assert world.read("a.txt").decode() == mine
    assert await world.undo(conflicts="overwrite") == {"a.txt": "overwritten"}
    assert world.read("a.txt").decode() == TEXT


async def test_deleted_and_created_files_with_later_changes(world: World) -> None:
    await world.edit("edit_create_file", path="c.txt", content="c")
    await world.edit("edit_delete_file", path="a.txt")
    world.write("c.txt", "c\nmore\n")
    world.write("a.txt", "another\n")
    assert await world.undo() == {"a.txt": "conflict"}
    assert await world.undo(2) == {"a.txt": "conflict", "c.txt": "conflict"}
    assert (world.read("a.txt"), world.read("c.txt")) == (b"another\n", b"c\nmore\n")
    assert await world.undo(2, conflicts="overwrite") == {"a.txt": "overwritten", "c.txt": "overwritten"}
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": TEXT.encode()}


async def test_a_rename_is_undone_with_what_was_written_since(world: World) -> None:
    await world.edit("edit_move_file", **{"from": "a.txt", "to": "deep/c.txt"})
    world.write("deep/c.txt", TEXT + "more\n")
    await world.undo()
    assert world.files() == {"a.txt": (TEXT + "more\n").encode(), "b.txt": TEXT.encode()}
    await world.redo()
    world.write("a.txt", "in the way\n")
    assert await world.undo() == {"a.txt": "conflict"}


async def test_what_the_user_took_back_by_hand_is_not_in_the_way(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    await replace(world, "b.txt", "line 3", "third")
    world.write("b.txt", TEXT)
    assert await world.undo() == {"b.txt": "unchanged"}
    assert await world.undo() == {"a.txt": "restored"}


async def test_open_texts_are_restored_in_the_editor(world: World) -> None:
    path = world.root / "a.txt"
    world.editor.texts[path] = TEXT
    await replace(world, "a.txt", "line 3", "third")
    world.editor.texts[path] += "typed since\n"
    assert await world.undo() == {"a.txt": "merged"}
    assert world.editor.texts[path] == TEXT + "typed since\n"
    assert world.read("a.txt").decode() == TEXT


async def test_an_encoding_that_an_edit_changed_comes_back(world: World) -> None:
    data = b"one\nMa\xdf\n"
    world.write("l.txt", data)
    await replace(world, "l.txt", "Maß", "mass")
    assert world.read("l.txt") == b"one\nmass\n"
    await world.undo()
    assert world.read("l.txt") == data
    await world.redo()
    assert world.read("l.txt") == b"one\nmass\n"


async def test_the_model_undoes_by_a_proposal(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    await replace(world, "b.txt", "line 3", "third")
    (change,) = await world.undo_history.revert("a.txt", 1)
    assert (change.shown, change.new_text) == ("a.txt", TEXT)
    assert world.read("a.txt").decode() != TEXT
    await world.apply([change])
    assert world.read("a.txt").decode() == TEXT
    with pytest.raises(ToolError, match=r"no change of a\.txt"):
        await world.undo_history.revert("a.txt", 1)
    await world.apply(await world.undo_history.revert(None, 1))
    assert world.read("b.txt").decode() == TEXT
    with pytest.raises(ToolError, match="no change"):
        await world.undo_history.revert(None, 1)


async def test_restoring_to_before_a_change_undoes_all_since(world: World) -> None:
    await replace(world, "a.txt", "line 1", "first")
    await replace(world, "a.txt", "line 2", "second")
    await replace(world, "b.txt", "line 2", "second")
    second = world.checkpoints.all()[1].id
    await world.undo_history.apply(await world.undo_history.prepare(world.undo_history.since(second)), "Restore")
    assert world.read("a.txt").decode() == TEXT.replace("line 1\n", "first\n")
    assert world.read("b.txt").decode() == TEXT


async def test_contents_that_were_not_kept_are_said_to_be_lost(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    for blob in world.locations.blobs.iterdir():
        blob.write_bytes(b"damaged")
    assert await world.undo() == {"a.txt": "irrecoverable"}


async def test_diffs_of_a_checkpoint_then_and_now(world: World) -> None:
    await replace(world, "a.txt", "line 3", "third")
    world.write("a.txt", TEXT.replace("line 3\n", "third\n") + "more\n")
    id = world.checkpoints.all()[0].id
    ((_, then),) = await world.undo_history.diffs(id)
    ((_, now),) = await world.undo_history.diffs(id, now=True)
    assert ("+third\n" in then, "+more\n" in then) == (True, False)
    assert ("+third\n" in now, "+more\n" in now) == (True, True)


# -- folders, and what is no file any more ---------------------------------------------------------------------------


def folders(world: World) -> set[str]:
    return {path.relative_to(world.root).as_posix() for path in world.root.rglob("*") if path.is_dir()}


@pytest.mark.parametrize("kind", ["create", "move", "restored by the model"])
async def test_folders_that_were_made_go_with_the_files(world: World, kind: str) -> None:
    (world.root / "mine").mkdir()
    if kind == "move":
        await world.edit("edit_move_file", **{"from": "a.txt", "to": "mine/new/deep/c.txt"})
    else:
        await world.edit("edit_create_file", path="mine/new/deep/c.txt", content="x\n")
    assert folders(world) == {"mine", "mine/new", "mine/new/deep"}
    if kind == "restored by the model":
        await world.apply(await world.undo_history.revert(None, 1))
    else:
        await world.undo()
    assert folders(world) == {"mine"}
    await world.redo()
    assert (world.root / "mine/new/deep/c.txt").is_file()
    resumed = UndoHistory(
        Checkpoints(world.log, Blobs(world.locations.blobs), world.locations.journals("0")),
        world.workspace,
        world.editor,
    )
    await resumed.apply(await resumed.prepare(resumed.last(1)), "Undo")
    assert folders(world) == {"mine"}


async def test_folders_with_anything_in_them_stay(world: World, tmp_path: Path) -> None:
    await world.edit("edit_create_file", path="new/deep/c.txt", content="x\n")
    world.write("new/users.txt", "mine\n")
    await world.undo()
    assert folders(world) == {"new"}
    outside = tmp_path / "outside"
    (outside / "empty").mkdir(parents=True)
    await world.edit("edit_create_file", path="other/empty/c.txt", content="x\n")
    (world.root / "other/empty/c.txt").unlink()
    (world.root / "other/empty").rmdir()
    (world.root / "other").rmdir()
    (world.root / "other").symlink_to(outside)
    await world.undo()
    assert (outside / "empty").is_dir()


@pytest.mark.parametrize("what", ["a folder", "a link out", "a fifo"])
async def test_what_is_no_file_any_more_keeps_no_other_from_being_restored(
    world: World, tmp_path: Path, what: str
) -> None:
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ]
    await world.edit("edit_apply_batch", edits=edits)
    outside = tmp_path / "outside.txt"
    outside.write_text("not mine\n")
    path = world.root / "a.txt"
    path.unlink()
    match what:
        case "a folder":
            path.mkdir()
        case "a link out":
            path.symlink_to(outside)
        case _:
            os.mkfifo(path)
    assert await world.undo() == {"a.txt": "conflict", "b.txt": "restored"}
    assert world.read("b.txt").decode() == TEXT
    assert outside.read_text() == "not mine\n"


async def test_two_files_that_changed_places_change_back(world: World) -> None:
    world.write("b.txt", "other\n")
    moves = [("a.txt", "t.txt"), ("b.txt", "a.txt"), ("t.txt", "b.txt")]
    edits = [{"tool": "edit_move_file", "args": {"from": one, "to": other}} for one, other in moves]
    await world.edit("edit_apply_batch", edits=edits)
    swapped = world.files()
    assert swapped == {"a.txt": b"other\n", "b.txt": TEXT.encode()}
    await world.undo()
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": b"other\n"}
    await world.redo()
    assert world.files() == swapped


async def test_a_file_that_was_closed_since_by_a_link_is_not_taken_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.txt", "one\n")
    world.write("open.txt", "one\n")
    await world.edit("edit_replace_exact", path="a.txt", old="one", new="a secret line")
    await world.edit("edit_replace_exact", path="open.txt", old="one", new="two")
    world.write("l", "x", shown=False).unlink()
    (world.root / "l").symlink_to("a.txt")
    world.write(".northignore", "l\n", shown=False)
    with pytest.raises(ToolError) as caught:
        await world.undo_history.revert("a.txt", 1)
    assert caught.value.code == "CONFLICT"
    assert "closed" in caught.value.message
    assert "secret" not in f"{caught.value.message} {caught.value.details}"
    changes = await world.undo_history.revert(None, 2)
    assert [change.relative for change in changes] == ["open.txt"]
    assert "closed" in " ".join(changes[0].notices)
    await world.undo(2)
    assert (world.read("a.txt"), world.read("open.txt")) == (b"a secret line\n", b"one\n")


async def test_what_is_closed_while_the_user_decides_is_not_written(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.txt", "one\n")
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="one", new="two")
    world.write(".northignore", "a.txt\n", shown=False)
    with pytest.raises(ToolError) as caught:
        await world.apply(changes)
    assert caught.value.code == "IGNORED"
    assert world.read("a.txt") == b"one\n"
