"""Applying proposals: merged with what happened meanwhile, to editor and disk alike, or not at all."""

import errno
import os
from pathlib import Path

import pytest

from north_lsp.agent.edits.recovery import recover_project
from north_lsp.errors import ToolError
from north_lsp.workspace.apply.apply import write
from north_lsp.workspace.edit.diff import make_change, make_deletion
from north_lsp.workspace.edit.merge import merge
from north_lsp.workspace.proposal import TextEncoding
from tests.support.edits import World

TEXT = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("a.txt", TEXT)
    world.write("b.txt", TEXT)
    return world


async def stale(world: World, changes: object) -> ToolError:
    before, texts = world.files(), dict(world.editor.texts)
    with pytest.raises(ToolError) as caught:
        await world.apply(changes)  # type: ignore[arg-type]  # what `prepare` gave
    assert (world.files(), world.editor.texts) == (before, texts)
    return caught.value


# -- what changed meanwhile --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["disk", "editor"])
async def test_a_change_elsewhere_is_merged(world: World, where: str) -> None:
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="line 3\n", new="third\n")
    theirs = TEXT.replace("line 20\n", "mine\n")
    if where == "disk":
        world.write("a.txt", theirs, shown=False)
    else:
        world.editor.texts[world.root / "a.txt"] = theirs
    applied = await world.apply(changes)
    assert "merged" in applied.notices[0]
    now = world.read("a.txt").decode() if where == "disk" else world.editor.texts[world.root / "a.txt"]
    assert now == theirs.replace("line 3\n", "third\n")


@pytest.mark.parametrize("mine", ["line 3 \n", "", "third\nmore\n"])
async def test_a_change_at_the_same_place_is_refused_with_the_place(world: World, mine: str) -> None:
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="line 3\n", new="third\n")
    world.write("a.txt", TEXT.replace("line 3\n", mine), shown=False)
    error = await stale(world, changes)
    assert error.code == "STALE"
    assert "same place (line" in error.message


async def test_the_same_change_made_meanwhile_is_no_conflict(world: World) -> None:
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="line 3\n", new="third\n")
    world.write("a.txt", TEXT.replace("line 3\n", "third\n"), shown=False)
    applied = await world.apply(changes)
    assert (applied.files, applied.notices) == ((), ("a.txt needed no change",))


async def test_one_stale_file_keeps_a_whole_batch_from_being_written(world: World) -> None:
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ] + [{"tool": "edit_create_file", "args": {"path": "new.txt", "content": "new"}}]
    changes = await world.prepare("edit_apply_batch", edits=edits)
    world.write("b.txt", "something else\n", shown=False)
    assert "b.txt" in (await stale(world, changes)).message


async def test_files_made_or_removed_meanwhile_are_stale(world: World) -> None:
    created = await world.prepare("edit_create_file", path="new.txt", content="new")
    deleted = await world.prepare("edit_delete_file", path="a.txt")
    moved = await world.prepare("edit_move_file", **{"from": "b.txt", "to": "c.txt"})
    updated = await world.prepare("edit_replace_exact", path="b.txt", old="line 3\n", new="")
    world.write("new.txt", "theirs\n", shown=False)
    world.write("a.txt", TEXT + "more\n", shown=False)
    world.write("c.txt", "theirs\n", shown=False)
    assert "was created" in (await stale(world, created)).message
    assert "has changed" in (await stale(world, deleted)).message
    assert "was created" in (await stale(world, moved)).message
    (world.root / "b.txt").unlink()
    assert "was deleted" in (await stale(world, updated)).message
    assert "was deleted" in (await stale(world, moved)).message


async def test_a_renamed_file_that_changed_meanwhile_is_renamed_as_it_is(world: World) -> None:
    changes = await world.prepare("edit_move_file", **{"from": "a.txt", "to": "c.txt"})
    world.write("a.txt", TEXT + "more\n", shown=False)
    await world.apply(changes)
    assert world.files() == {"b.txt": TEXT.encode(), "c.txt": (TEXT + "more\n").encode()}


async def test_a_link_put_in_place_meanwhile_is_not_followed(world: World, tmp_path: Path) -> None:
    changes = await world.prepare("edit_create_file", path="sub/new.txt", content="x")
    (tmp_path / "outside").mkdir()
    (world.root / "sub").symlink_to(tmp_path / "outside")
    assert (await stale(world, changes)).code in ("STALE", "OUTSIDE_WORKSPACE")
    assert list((tmp_path / "outside").iterdir()) == []


def test_merging_keeps_both_sides_or_says_where_they_clash() -> None:
    base = "a\nb\nc\nd\n"
    assert merge(base, "A\nb\nc\nd\n", "a\nb\nc\nD\n").text == "A\nb\nc\nD\n"
    clash = merge(base, "a\nx\nc\nd\n", "a\ny\nc\nd\n")
    assert clash.text == "a\nx\nc\nd\n"
    assert clash.marked == "a\n<<<<<<< yours\nx\n=======\ny\n>>>>>>> theirs\nc\nd\n"
    assert [(one.start, one.end) for one in clash.conflicts] == [(2, 2)]
    assert merge(base, "x\n" + base, "y\n" + base).conflicts
    assert merge(base, base + "x\n", base + "x\n").text == base + "x\n"
    assert merge("a", "a\nmore", "new\na").conflicts


async def test_what_cannot_be_put_back_at_once_is_put_back_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    changes = [make_change(world.root / name, name, TEXT, new, TextEncoding()) for name in ("a.txt", "b.txt")]
    changes.append(make_deletion(world.write("c.txt", TEXT), "c.txt", TEXT, TextEncoding()))
    written = write(changes, world.workspace.roots, world.checkpoints.journals)

    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", broken)
        with pytest.raises(ToolError, match="restoring these files failed"):
            written.take_back()
    assert len(list(world.checkpoints.journals.iterdir())) == 1
    assert (await recover_project(world.checkpoints.journals, world.workspace, world.editor))[0].endswith("c.txt")
    assert world.files() == {name: TEXT.encode() for name in ("a.txt", "b.txt", "c.txt")}
    assert list(world.checkpoints.journals.iterdir()) == []


# -- editor and disk ---------------------------------------------------------------------------------------------------


async def both(world: World) -> object:
    world.editor.texts[world.root / "a.txt"] = TEXT
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ]
    return await world.prepare("edit_apply_batch", edits=edits)


async def test_open_files_go_to_the_editor_and_the_others_to_the_disk(world: World) -> None:
    await world.apply(await both(world))  # type: ignore[arg-type]  # what `prepare` gave
    new = TEXT.replace("line 3\n", "third\n")
    assert world.editor.texts == {world.root / "a.txt": new}
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": new.encode()}


async def test_when_the_editor_refuses_the_disk_is_put_back(world: World) -> None:
    changes = await both(world)
    world.editor.refuses = "always"
    assert (await stale(world, changes)).message == "the editor refused"
    assert [one.status for one in world.checkpoints.all()] == []


async def test_when_the_disk_refuses_the_editor_is_not_touched(world: World) -> None:
    changes = await both(world)
    os.unlink(world.root / "b.txt")
    (world.root / "b.txt").symlink_to("a.txt")
    await stale(world, changes)
    assert world.editor.applied == []


async def test_an_editor_that_cannot_write_leaves_saved_files_to_the_disk(world: World) -> None:
    changes = await both(world)
    world.editor.refuses, world.editor.code = "always", "UNAVAILABLE"
    await world.apply(changes)  # type: ignore[arg-type]  # what `prepare` gave
    new = TEXT.replace("line 3\n", "third\n").encode()
    assert world.files() == {"a.txt": new, "b.txt": new}
    world.editor.texts[world.root / "a.txt"] = "unsaved\n" + new.decode()
    changes = await world.prepare("edit_after_anchor", path="a.txt", anchor="unsaved", content="x")
    assert (await stale(world, changes)).code == "UNAVAILABLE"


@pytest.mark.parametrize("editor_is_done", [False, True])
async def test_what_was_cut_off_between_disk_and_editor_is_made_whole(world: World, editor_is_done: bool) -> None:
    """As after a kill: the journal is there, its lock is free, and only one half may be done."""
    new = TEXT.replace("line 3\n", "third\n")
    a, b = (make_change(world.root / name, name, TEXT, new, TextEncoding()) for name in ("a.txt", "b.txt"))
    world.editor.texts[world.root / "a.txt"] = new if editor_is_done else TEXT
    written = write([b], world.workspace.roots, world.checkpoints.journals, [a])
    assert written._note is not None
    os.close(written._note._descriptor)  # the kernel frees the lock of a dead process
    told = await recover_project(world.checkpoints.journals, world.workspace, world.editor)
    assert world.read("b.txt").decode() == world.editor.texts[world.root / "a.txt"] == (new if editor_is_done else TEXT)
    assert bool(told) != editor_is_done
    assert [name for name in os.listdir(world.root) if name.startswith(".")] == []
    assert await recover_project(world.checkpoints.journals, world.workspace, world.editor) == []


async def test_an_editor_whose_disk_half_was_put_back_gets_its_text_back(world: World) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    a, b = (make_change(world.root / name, name, TEXT, new, TextEncoding()) for name in ("a.txt", "b.txt"))
    written = write([b], world.workspace.roots, world.checkpoints.journals, [a])
    assert written._note is not None
    os.close(written._note._descriptor)
    world.write("b.txt", TEXT, shown=False)
    world.editor.texts[world.root / "a.txt"] = new
    told = await recover_project(world.checkpoints.journals, world.workspace, world.editor)
    assert world.editor.texts[world.root / "a.txt"] == TEXT
    assert "was undone" in told[0]


@pytest.mark.parametrize("made", ["{}\n\n", "# formatted\n{}"])
async def test_an_editor_that_formats_gets_its_text_back_after_a_crash(world: World, made: str) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    a, b = (make_change(world.root / name, name, TEXT, new, TextEncoding()) for name in ("a.txt", "b.txt"))
    written = write([b], world.workspace.roots, world.checkpoints.journals, [a])
    assert written._note is not None
    os.close(written._note._descriptor)
    world.editor.texts[world.root / "a.txt"] = made.format(new)
    await recover_project(world.checkpoints.journals, world.workspace, world.editor)
    assert world.editor.texts[world.root / "a.txt"] == made.format(TEXT)
    assert world.read("b.txt").decode() == TEXT


@pytest.mark.parametrize("created", ["", TEXT, TEXT[:20], "the user's own\n"])
async def test_a_new_file_of_the_editors_goes_after_a_crash_unless_it_has_changed(world: World, created: str) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    changed = make_change(world.root / "b.txt", "b.txt", TEXT, new, TextEncoding())
    made = make_change(world.root / "c.txt", "c.txt", None, TEXT, TextEncoding())
    written = write([changed], world.workspace.roots, world.checkpoints.journals, [made])
    assert written._note is not None
    os.close(written._note._descriptor)
    if created:
        (world.root / "c.txt").write_text(created)
    if created == TEXT:
        world.write("b.txt", "the user's own\n", shown=False)  # else all of it is done
    told = await recover_project(world.checkpoints.journals, world.workspace, world.editor)
    assert (world.root / "c.txt").exists() == created.startswith("the user")
    named = "left as they are" in told[-1] and "c.txt" in told[-1]
    assert named == created.startswith("the user")


async def test_a_file_with_other_names_is_never_left_to_the_editor(world: World) -> None:
    os.link(world.root / "a.txt", world.root.parent / "outside.txt")
    world.editor.texts[world.root / "a.txt"] = TEXT
    await world.edit("edit_replace_exact", path="a.txt", old="line 3\n", new="third\n")
    assert world.editor.applied == []
    assert (world.root.parent / "outside.txt").read_text() == TEXT
    assert "third" in world.read("a.txt").decode()
    os.link(world.root / "b.txt", world.root.parent / "other.txt")
    world.editor.texts[world.root / "b.txt"] = "unsaved\n" + TEXT
    changes = await world.prepare("edit_after_anchor", path="b.txt", anchor="unsaved", content="x")
    assert "hard links" in (await stale(world, changes)).message


async def test_a_live_application_is_left_alone(world: World) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    written = write(
        [make_change(world.root / "b.txt", "b.txt", TEXT, new, TextEncoding())],
        world.workspace.roots,
        world.checkpoints.journals,
    )
    assert await recover_project(world.checkpoints.journals, world.workspace, world.editor) == []
    written.keep()
    assert world.read("b.txt").decode() == new
    assert list(world.checkpoints.journals.iterdir()) == []


async def test_files_changed_after_the_crash_are_left_and_named(world: World) -> None:
    new = TEXT.replace("line 3\n", "third\n")
    changes = [make_change(world.root / name, name, TEXT, new, TextEncoding()) for name in ("a.txt", "b.txt")]
    written = write(changes, world.workspace.roots, world.checkpoints.journals)
    assert written._note is not None
    os.close(written._note._descriptor)
    world.write("a.txt", "the user's own\n", shown=False)
    told = await recover_project(world.checkpoints.journals, world.workspace, world.editor)
    assert world.files() == {"a.txt": b"the user's own\n", "b.txt": TEXT.encode()}
    assert "a.txt" in told[-1]


async def test_without_a_place_for_checkpoints_nothing_is_written(world: World) -> None:
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="line 3\n", new="")
    world.locations.data.mkdir(exist_ok=True)
    world.locations.blobs.write_text("in the way")
    error = await stale(world, changes)
    assert (error.code, "undo" in error.message) == ("IO_ERROR", True)
