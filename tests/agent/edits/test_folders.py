"""Empty folders: deleted, moved, undone and recovered like files; those with contents are refused, with the reason."""

import os
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.edits.model_report import rejected_for_model
from north_lsp.agent.edits.recovery import interrupted_edits
from north_lsp.agent.log.accepted import accepted_part
from north_lsp.agent.log.reviews import ProposedFile
from north_lsp.agent.ports.editor import EditDecision
from north_lsp.errors import ToolError
from north_lsp.workspace.edit.diff import unified
from north_lsp.workspace.proposal import EditProposal
from tests.support.edits import World

Item = dict[str, Any]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("d/a.txt", "a\n")
    (world.root / "empty").mkdir(mode=0o750)
    (world.root / "empty").chmod(0o750)
    return world


def folders(world: World) -> set[str]:
    return {path.relative_to(world.root).as_posix() for path in world.root.rglob("*") if path.is_dir()}


def delete(path: str) -> Item:
    return {"tool": "edit_delete_file", "args": {"path": path}}


def move(source: str, to: str) -> Item:
    return {"tool": "edit_move_file", "args": {"from": source, "to": to}}


def create(path: str) -> Item:
    return {"tool": "edit_create_file", "args": {"path": path, "content": "new\n"}}


async def refused(world: World, *items: Item) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_apply_batch", edits=list(items))
    return caught.value


@pytest.mark.parametrize("path", ["empty", "empty/", "./empty", "d/../empty"])
async def test_an_empty_folder_is_deleted_undone_and_redone(world: World, path: str) -> None:
    (change,) = await world.edit("edit_delete_file", path=path)
    assert (change.action, change.folder, change.relative) == ("delete", True, "empty")
    assert unified(change) == "Deletes the empty folder empty\n"
    assert folders(world) == {"d"}
    assert await world.undo() == {"empty": "restored"}
    assert folders(world) == {"d", "empty"}
    assert (world.root / "empty").stat().st_mode & 0o777 == 0o750
    assert await world.redo() == {"empty": "restored"}
    assert folders(world) == {"d"}


async def test_an_empty_folder_is_moved_undone_and_redone(world: World) -> None:
    (change,) = await world.edit("edit_move_file", **{"from": "empty", "to": "x/y/moved/"})
    assert (change.action, change.shown) == ("rename", "x/y/moved")
    assert folders(world) == {"d", "x", "x/y", "x/y/moved"}
    assert (world.root / "x/y/moved").stat().st_mode & 0o777 == 0o750
    assert await world.undo() == {"empty": "restored", "x/y/moved": "restored"}
    assert folders(world) == {"d", "empty"}
    assert (world.root / "empty").stat().st_mode & 0o777 == 0o750
    await world.redo()
    assert folders(world) == {"d", "x", "x/y", "x/y/moved"}
    await world.undo()
    assert folders(world) == {"d", "empty"}


async def test_a_folder_goes_with_its_files_in_one_batch(world: World) -> None:
    (world.root / "d/inner").mkdir()
    await world.edit("edit_apply_batch", edits=[delete("d/inner"), move("d/a.txt", "e/b.txt"), delete("d")])
    assert (folders(world), world.files()) == ({"e", "empty"}, {"e/b.txt": b"a\n"})
    await world.undo()
    assert (folders(world), world.files()) == ({"d", "d/inner", "empty"}, {"d/a.txt": b"a\n"})
    await world.redo()
    assert (folders(world), world.files()) == ({"e", "empty"}, {"e/b.txt": b"a\n"})


async def test_the_net_effect_counts(world: World) -> None:
    assert await world.prepare("edit_apply_batch", edits=[delete("empty"), create("empty/new.txt")]) != ()
    await world.edit("edit_apply_batch", edits=[move("empty", "b"), move("b", "c"), create("c/new.txt")])
    assert (folders(world), world.files()) == ({"c", "d"}, {"c/new.txt": b"new\n", "d/a.txt": b"a\n"})
    await world.undo()
    assert folders(world) == {"d", "empty"}
    changes = await world.prepare("edit_apply_batch", edits=[move("empty", "b"), create("empty/new.txt")])
    assert [(change.relative, change.action) for change in changes] == [("empty/new.txt", "create"), ("b", "create")]
    await world.apply(changes)
    assert folders(world) == {"b", "d", "empty"}
    await world.undo()
    assert (folders(world), world.files()) == ({"d", "empty"}, {"d/a.txt": b"a\n"})


async def test_what_keeps_a_folder_from_going_is_said(world: World) -> None:
    for number in range(9):
        world.write(f"d/f{number}.txt", "x")
    error = await refused(world, delete("d"))
    assert error.code == "CONFLICT"
    assert "d is a folder that is not empty, so it is not deleted; in it: a.txt, f0.txt" in error.message
    assert "and 5 more" in error.message
    assert "edit_apply_batch" in str(error.hint)
    assert (await refused(world, move("d", "e"))).code == "CONFLICT"
    assert (await refused(world, create("empty/x"), delete("empty"))).code == "CONFLICT"
    assert (await refused(world, delete("empty"), delete("empty"))).code == "NOT_FOUND"
    assert (await refused(world, move("empty", "d"))).code == "CONFLICT"
    assert (await refused(world, move("empty", "d/a.txt"))).code == "CONFLICT"
    assert (await refused(world, move("empty", "d/a.txt/x"))).code == "INVALID_INPUT"
    assert (await refused(world, move("empty", "empty/inner"))).code == "INVALID_INPUT"
    assert (await refused(world, move("empty", "empty"))).code == "INVALID_INPUT"
    assert (await refused(world, move("empty", "b"), create("b"))).code == "CONFLICT"
    assert (await refused(world, delete("."))).code == "CONFLICT"
    assert (await refused(world, delete(".."))).code == "OUTSIDE_WORKSPACE"
    assert (await refused(world, move("empty", "../out"))).code == "OUTSIDE_WORKSPACE"


async def test_an_unsaved_text_in_it_keeps_a_folder(world: World) -> None:
    world.editor.texts[world.root / "empty/new.txt"] = "mine"
    assert "in it: new.txt" in (await refused(world, delete("empty"))).message


async def test_closed_names_are_not_told(world: World) -> None:
    world.write(".northignore", "secret*\n")
    world.write("empty/secret.txt", "s")
    error = await refused(World(world.root.parent), delete("empty"))
    assert "secret" not in error.message
    assert "1 that are closed to tools" in error.message


async def test_links_to_folders_are_left_to_the_user(world: World, tmp_path: Path) -> None:
    (world.root / "link").symlink_to("empty")
    (world.root / "out").symlink_to(tmp_path)
    for name in ("link", "link/"):
        error = await refused(world, delete(name))
        assert (error.code, "is a link to the folder empty" in error.message) == ("CONFLICT", True)
        assert (await refused(world, move(name, "x"))).code == "CONFLICT"
    assert (await refused(world, delete("out"))).code == "OUTSIDE_WORKSPACE"
    assert (await refused(world, move("empty", "out/x"))).code == "OUTSIDE_WORKSPACE"


@pytest.mark.parametrize("swapped", ["filled", "link", "file", "parent"])
async def test_what_came_meanwhile_keeps_everything_as_it_was(world: World, tmp_path: Path, swapped: str) -> None:
    (world.root / "p/empty").mkdir(parents=True)
    edits = [create("new.txt"), move("p/empty", "x/y"), delete("empty")]
    changes = await world.prepare("edit_apply_batch", edits=edits)
    match swapped:
        case "filled":
            world.write("p/empty/mine", "mine")
        case "link" | "file":
            (world.root / "empty").rmdir()
            if swapped == "link":
                (world.root / "empty").symlink_to(tmp_path, target_is_directory=True)
            else:
                world.write("empty", "mine", shown=False)
        case _:
            (tmp_path / "elsewhere").mkdir()
            (tmp_path / "elsewhere/empty").mkdir()
            os.rename(world.root / "p", tmp_path / "p")
            (world.root / "p").symlink_to(tmp_path / "elsewhere")
    before = (folders(world), world.files())
    with pytest.raises(ToolError) as caught:
        await world.apply(changes)
    assert caught.value.code in ("STALE", "OUTSIDE_WORKSPACE")
    assert (folders(world), world.files()) == before
    assert not list(world.checkpoints.journals.iterdir()) if world.checkpoints.journals.exists() else True


async def test_a_folder_that_went_already_is_no_failure(world: World) -> None:
    changes = await world.prepare("edit_delete_file", path="empty")
    (world.root / "empty").rmdir()
    applied = await world.apply(changes)
    assert (applied.files, applied.notices) == ((), ("empty needed no change",))


async def test_an_undo_never_takes_what_the_user_put_into_a_folder(world: World) -> None:
    await world.edit("edit_move_file", **{"from": "empty", "to": "moved"})
    world.write("moved/mine", "mine")
    assert await world.undo() == {"empty": "restored", "moved": "unchanged"}
    assert folders(world) == {"d", "empty", "moved"}
    await world.edit("edit_delete_file", path="empty")
    world.write("empty", "mine", shown=False)
    assert await world.undo() == {"empty": "conflict"}
    assert world.files() == {"d/a.txt": b"a\n", "moved/mine": b"mine", "empty": b"mine"}


async def test_a_deletion_that_was_redone_already_is_settled(world: World) -> None:
    await world.edit("edit_delete_file", path="empty")
    (world.root / "empty").mkdir()
    assert await world.undo() == {"empty": "unchanged"}
    assert await world.undo() == {}


async def test_a_folder_stays_when_the_user_keeps_a_file_in_it(world: World) -> None:
    changes = await world.prepare("edit_apply_batch", edits=[delete("d/a.txt"), delete("d"), delete("empty")])
    proposal = EditProposal("p", "call", tuple(changes), "s")
    both = {world.root / "d": frozenset[str](), world.root / "empty": frozenset[str]()}
    decision = EditDecision("accept", hunks=both)
    assert [change.relative for change in accepted_part(proposal, decision).files] == ["empty"]
    told = rejected_for_model(proposal, decision)
    assert "delete d" in str(told["rejectedHunks"])
    assert "delete empty" not in str(told["rejectedHunks"])
    await world.apply(accepted_part(proposal, decision).files)
    assert folders(world) == {"d"}


async def test_what_is_logged_is_shown_again(world: World) -> None:
    changes = await world.prepare("edit_apply_batch", edits=[move("empty", "e")])
    stored = [ProposedFile.from_json(ProposedFile.of(change).to_json()) for change in changes]
    assert [one.change() for one in stored if one is not None] == list(changes)


async def test_the_differences_of_the_conversation_leave_folders_out(world: World) -> None:
    await world.edit("edit_apply_batch", edits=[delete("d/a.txt"), delete("d"), delete("empty")])
    (checkpoint,) = world.undo_history.all()
    shown = [text for _, text in await world.undo_history.diffs(checkpoint.id, now=True)]
    assert "Deletes the empty folder d\n" in shown
    assert [one.relative for one, _ in await world.undo_history.differences()] == ["d/a.txt"]


async def test_after_a_crash_the_model_hears_whether_a_folder_went(world: World) -> None:
    changes = await world.prepare("edit_apply_batch", edits=[delete("empty"), move("d/a.txt", "x.txt"), delete("d")])
    await world.checkpoints.record("call", "an edit", changes)
    assert "it was not applied" in interrupted_edits(world.checkpoints)[0]
    (world.root / "empty").rmdir()
    assert "read the files" in interrupted_edits(world.checkpoints)[0]
    (world.root / "d/a.txt").rename(world.root / "x.txt")
    (world.root / "d").rmdir()
    assert "it was applied" in interrupted_edits(world.checkpoints)[0]
