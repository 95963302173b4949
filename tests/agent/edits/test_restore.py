"""Undo, redo, named points and differences, as the user is told of them."""

import errno
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from north_lsp.agent.edits import restore as restoring
from north_lsp.agent.edits.recovery import finish_interrupted, interrupted_edits
from north_lsp.agent.edits.totals import Totals, totals
from north_lsp.agent.edits.undo import Plan, UndoHistory
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import Blobs
from tests.support.edits import World, commit

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


class Talk:
    """The world's conversation, as a session is one."""

    def __init__(self, world: World) -> None:
        self.undo_history: UndoHistory = world.undo_history

    async def take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan:
        return await self.undo_history.apply(*await prepare())


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.write("a.txt", TEXT)
    world.write("b.txt", TEXT)
    return world


async def third(world: World, name: str) -> None:
    await world.edit("edit_replace_exact", path=name, old="line 3\n", new="third\n")


async def test_what_an_undo_did_is_said_of_every_file(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    assert await restoring.undo(talk) == "- `a.txt`: restored"
    assert await restoring.redo(talk) == "- `a.txt`: restored"
    world.write("a.txt", TEXT.replace("line 3\n", "third, by me\n"))
    told = await restoring.undo(talk)
    assert "`a.txt`: **not restored** (it was changed since, at line 3; restoring would discard that)" in told
    assert "`overwrite` discards" in told
    assert "conflict markers" in await restoring.undo(talk, conflicts="merge")
    with pytest.raises(ToolError, match="no change"):
        await restoring.undo(talk)


async def test_a_named_point_is_listed_and_restored(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    point = world.undo_history.name_point("before the\nbig change")
    assert await restoring.restore(talk, point) == "Nothing has changed since."
    await third(world, "b.txt")
    await world.edit("edit_create_file", path="c.txt", content="c")
    listed = restoring.points(talk).splitlines()
    assert [("c.txt" in line, "(+1/-1)" in line, "**" in line) for line in listed] == [
        (True, False, False),
        (False, True, False),
        (False, False, True),
        (False, True, False),
    ]
    await restoring.restore(talk, point)
    assert world.files() == {"a.txt": TEXT.replace("line 3\n", "third\n").encode(), "b.txt": TEXT.encode()}
    await restoring.undo(talk)
    assert world.read("a.txt").decode() == TEXT
    for name in ("", " \n", "x" * 61):
        with pytest.raises(ToolError, match="1 to 60"):
            world.undo_history.name_point(name)


async def test_a_restored_point_brings_back_what_was_undone_after_it(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    point = world.undo_history.name_point("v1")
    at_point = world.files()
    await world.undo()
    assert await restoring.restore(talk, point) == "- `a.txt`: restored"
    assert world.files() == at_point
    assert await restoring.restore(talk, point) == "Nothing has changed since."
    await third(world, "b.txt")
    await world.undo(2)  # one from after the point, one from before it
    assert world.files() == {"a.txt": TEXT.encode(), "b.txt": TEXT.encode()}
    await restoring.restore(talk, point)
    assert world.files() == at_point
    await world.undo()
    await world.redo()
    await restoring.restore(talk, point)
    assert world.files() == at_point


async def test_an_undo_of_what_was_not_changed_names_what_was(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    with pytest.raises(ToolError, match=r"^b.txt was not changed in this conversation; changed files: a.txt$"):
        await restoring.undo(talk, path=world.root / "b.txt")
    await restoring.undo(talk)
    with pytest.raises(ToolError, match=r"^there is no change of a.txt left to undo$"):
        await restoring.undo(talk, path=world.root / "a.txt")


@pytest.mark.parametrize("stands", [False, True])
async def test_an_edit_that_a_crash_cut_off_is_settled(world: World, stands: bool) -> None:
    await third(world, "b.txt")
    changes = await world.prepare("edit_replace_exact", path="a.txt", old="line 3\n", new="third\n")
    await world.checkpoints.record("call", "an edit", changes)
    if stands:
        world.write("a.txt", changes[0].new_text)
    await finish_interrupted(world.checkpoints, world.workspace)
    assert [one.status for one in world.checkpoints.all()] == (["applied"] * 2 if stands else ["applied"])
    assert await world.undo() == {"a.txt" if stands else "b.txt": "restored"}


async def test_contents_that_cannot_be_read_now_end_the_undo_and_change_nothing(world: World) -> None:
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ]
    await world.edit("edit_apply_batch", edits=edits)
    after = world.files()
    real = Blobs.find

    def find(blobs: Blobs, digest: str) -> bytes | None:
        raise OSError(errno.EIO, "Input/output error")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Blobs, "find", find)
        with pytest.raises(ToolError, match=r"cannot be read from North's data folder now \(Input/output error\)"):
            await restoring.undo(Talk(world))
    assert (world.files(), Blobs.find) == (after, real)
    assert "restored" in await restoring.undo(Talk(world))


@pytest.mark.parametrize("by_link", [False, True])
async def test_what_was_closed_since_is_neither_restored_nor_shown(world: World, by_link: bool) -> None:
    talk = Talk(world)
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "line 3\n", "new": "third\n"}}
        for name in ("a.txt", "b.txt")
    ]
    await world.edit("edit_apply_batch", edits=edits)
    if by_link:
        (world.root / "secret.txt").symlink_to("a.txt")
    (world.root / ".northignore").write_text("secret.txt\n" if by_link else "a.txt\n")
    assert "closed" in await restoring.differences(talk)
    assert "-line 3" not in (await restoring.differences(talk)).split("b.txt")[0]
    changes = await world.undo_history.revert(None, 1)
    assert [change.relative for change in changes] == ["b.txt"]
    assert "northignore" in changes[0].notices[0]
    told = await restoring.undo(talk)
    assert "`a.txt`: **not restored** " in told
    assert world.read("a.txt").decode() == TEXT.replace("line 3\n", "third\n")
    with pytest.raises(ToolError, match="northignore"):
        await world.undo_history.revert(None, 1)


async def test_the_whole_difference_is_against_the_first_contents(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    point = world.undo_history.name_point("point")
    await world.edit("edit_replace_exact", path="a.txt", old="line 9\n", new="ninth\n")
    await world.edit("edit_move_file", **{"from": "b.txt", "to": "c.txt"})
    await world.edit("edit_create_file", path="d.txt", content="d")
    await world.edit("edit_delete_file", path="d.txt")
    whole, since = await restoring.differences(talk), await restoring.differences(talk, point)
    assert [text in whole for text in ("+third\n", "+ninth\n", "--- a/b.txt\n+++ /dev/null", "d.txt")] == [
        True,
        True,
        True,
        False,
    ]
    assert [text in since for text in ("+third\n", "+ninth\n")] == [False, True]
    assert whole.startswith("+3/-3 in 3 files\n")
    assert totals(world.checkpoints.all()) == Totals(3, 3, 1, 1, 1, 1)
    turn = world.say("another turn")
    await world.edit("edit_replace_exact", path="a.txt", old="line 15\n", new="")
    assert totals(world.checkpoints.all(), turn) == Totals(0, 1, 0, 1, 0, 0)
    await world.undo()
    assert totals(world.checkpoints.all(), turn) == Totals()


async def test_the_difference_from_git_is_git_s(world: World) -> None:
    with pytest.raises(ToolError, match="not a repository"):
        await restoring.differences_from_git(world.root)
    commit(world.root)
    await third(world, "a.txt")
    assert "+third\n" in await restoring.differences_from_git(world.root)


async def test_an_undo_of_which_the_model_does_not_know_is_in_the_log(world: World) -> None:
    await third(world, "a.txt")
    assert world.checkpoints.unsaid() == []
    await world.undo()
    assert world.checkpoints.unsaid() == ["a.txt"]
    world.say("go on")
    assert world.checkpoints.unsaid() == []


async def test_the_model_hears_whether_an_edit_stands_that_north_did_not_survive(world: World) -> None:
    """As after a kill behind the writing and before the result: the checkpoint is there, the result is not."""
    await third(world, "a.txt")
    (told,) = interrupted_edits(world.checkpoints)
    assert "a.txt; it was applied" in told
    world.write("a.txt", TEXT)
    assert "it was not applied" in interrupted_edits(world.checkpoints)[0]
    world.write("a.txt", "else\n")
    assert "read the files" in interrupted_edits(world.checkpoints)[0]
    message = {"role": "toolResult", "toolCallId": "call", "content": []}
    world.conversation.append("message", message=message)
    assert interrupted_edits(world.checkpoints) == []


async def test_what_was_interrupted_is_said_once(world: World) -> None:
    await third(world, "a.txt")
    world.say("go on")
    assert interrupted_edits(world.checkpoints) == []
