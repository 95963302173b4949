"""Undo, redo, named points and differences, as the user is told of them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from north_lsp.agent import restoring
from north_lsp.agent.overview import Totals, totals
from north_lsp.agent.recovery import interrupted_edits
from north_lsp.agent.undoing import Plan, Undoing
from north_lsp.errors import ToolError
from tests.support.edits import World, commit

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


class Talk:
    """The world's conversation, as a session is one."""

    def __init__(self, world: World) -> None:
        self.undoing: Undoing = world.undoing

    async def take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan:
        return await self.undoing.apply(*await prepare())


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
    assert "`a.txt`: **not restored** (later changes stand in the way at line 3; restoring would destroy them)" in told
    assert "`overwrite` loses" in told
    assert "conflict marks" in await restoring.undo(talk, conflicts="merge")
    with pytest.raises(ToolError, match="no change"):
        await restoring.undo(talk)


async def test_a_named_point_is_listed_and_restored(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    point = world.undoing.name_point("before the\nbig change")
    assert await restoring.restore(talk, point) == "Nothing has been changed since."
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
            world.undoing.name_point(name)


async def test_the_whole_difference_is_against_the_first_contents(world: World) -> None:
    talk = Talk(world)
    await third(world, "a.txt")
    point = world.undoing.name_point("point")
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
    with pytest.raises(ToolError, match="no repository"):
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
