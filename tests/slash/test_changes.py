"""The commands about changes, in a session with real files."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from north_lsp.agent.edits.undo import Plan
from north_lsp.agent.session.commands.slash_host import SessionHost
from north_lsp.agent.session.keeping.exporting import Exports
from north_lsp.slash.base import CommandError
from north_lsp.slash.parsing import find_command
from north_lsp.slash.registry import Commands
from tests.support.edits import World, commit

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


class Talk:
    """A session with a world's files and nothing else; what is typed there is run."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.commands = Commands()
        nothing = cast(Any, None)
        environment = cast(Any, SimpleNamespace(locations=self.world.locations))
        session = SimpleNamespace(
            undo_history=self.world.undo_history,
            roots=(self.world.root,),
            take_back=self._take_back,
            exports=Exports(self.world.log, self.world.root, environment),
        )
        self.host = SessionHost(cast(Any, session), *[nothing] * 3)
        for name in ("a.txt", "b.txt"):
            self.world.write(name, TEXT)

    async def _take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan:
        return await self.world.undo_history.apply(*await prepare())

    async def edit(self, name: str, line: int) -> None:
        await self.world.edit("edit_replace_exact", path=name, old=f"line {line}\n", new=f"new {line}\n")

    async def type(self, text: str) -> str:
        invocation = find_command(text, self.commands).command
        assert invocation is not None
        return (await self.commands.run(invocation, self.host)).text

    def has(self, name: str, *lines: int) -> bool:
        """Whether exactly these lines are new."""
        wanted = TEXT
        for line in lines:
            wanted = wanted.replace(f"line {line}\n", f"new {line}\n")
        return (self.world.root / name).read_text() == wanted


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


async def test_undo_takes_a_number_a_file_and_a_way(talk: Talk) -> None:
    for name, line in (("a.txt", 3), ("b.txt", 5), ("b.txt", 15)):
        await talk.edit(name, line)
    assert await talk.type("/undo a.txt") == "- `a.txt`: restored"
    assert talk.has("a.txt")
    assert talk.has("b.txt", 5, 15)
    assert await talk.type("/undo 2") == "- `b.txt`: restored"
    assert await talk.type("/redo 1 b.txt") == "- `b.txt`: restored"
    assert talk.has("b.txt", 5, 15)  # an undo of two changes is one
    assert await talk.type("/undo") == "- `b.txt`: restored"
    path = talk.world.root / "b.txt"
    path.write_text(path.read_text().replace("new 5\n", "mine\n"))
    assert "**not restored**" in await talk.type("/undo")
    assert "mine\n" in path.read_text()
    assert "later changes are lost" in await talk.type("/undo overwrite")
    assert talk.has("b.txt")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/undo 0", "The number must be between 1 and 1000"),
        ("/undo 1001", "The number must be between 1 and 1000"),
        ("/undo 1 2", "The number must be between 1 and 1000"),
        ("/undo -1", "The number must be between 1 and 1000"),
        ("/redo -- -2", "The number must be between 1 and 1000"),
        ("/undo nosuch.py", r"nosuch.py \(there is no such file\) was not changed in this conversation"),
        ("/redo nosuch.py", r"nosuch.py \(there is no such file\) was not changed in this conversation"),
        ("/undo a.txt b.txt", "The number must be between 1 and 1000"),
        ("/undo", "no change"),
        ("/redo", "no undone change"),
        ("/undo ../../outside", "outside"),
        ("/checkpoints restore", "Usage: `/checkpoints"),
        ("/checkpoints restore nowhere", "there is no checkpoint 'nowhere'"),
        ("/diff head", r"Usage: `/diff \[git\]`\."),
        ("/diff git", "git has no diff"),
        (f"/checkpoint {'x' * 61}", "1 to 60 characters"),
    ],
)
async def test_what_cannot_be_done_is_said(talk: Talk, typed: str, said: str) -> None:
    with pytest.raises(CommandError, match=said):
        await talk.type(typed)


async def test_a_mark_is_made_listed_compared_with_and_restored(talk: Talk) -> None:
    await talk.edit("a.txt", 3)
    assert "**by hand**" in await talk.type("/checkpoint by hand")
    await talk.edit("a.txt", 15)
    listed = await talk.type("/checkpoints")
    assert [row.count("**by hand**") for row in listed.split("\n")] == [0, 1, 0]
    diff = await talk.type("/checkpoints diff by hand")
    assert diff.startswith("```diff\n")
    assert "+new 15" in diff
    assert "+new 3" not in diff
    assert await talk.type("/checkpoints restore by hand") == "- `a.txt`: restored"
    assert talk.has("a.txt", 3)
    await talk.type("/undo")
    assert talk.has("a.txt")


async def test_differences_are_code_that_their_own_text_cannot_end(talk: Talk) -> None:
    assert await talk.type("/diff") == "No differences."
    nothing_yet, numbers = (await talk.type("/stats")).split("\n\n")
    assert nothing_yet == "- this conversation: nothing"
    assert numbers.startswith("- 1 prompt, 0 answers\n")
    commit(talk.world.root)
    assert "No file that git tracks differs from the last commit" in await talk.type("/diff git")
    await talk.world.edit("edit_create_file", path="n.md", content="````\nx\x1b[31m\n````\n")
    told = await talk.type("/diff")
    head, _, block, *_, end = told.split("\n")
    assert (head, block, end) == ("+3/-0 in 1 file", "`````diff", "`````")
    assert "\x1b" not in told
    assert (await talk.type("/stats")).split("\n\n")[0] == "\n".join(
        [
            "- this conversation: +3/-0 lines, files: 1 created",
            "- the last turn with changes: +3/-0 lines, files: 1 created",
        ]
    )
    await talk.edit("a.txt", 1)
    assert "+new 1" in await talk.type("/diff git")
    await talk.world.edit("edit_create_file", path="long.txt", content="x\n" * 3000)
    told = await talk.type("/diff")
    assert told.endswith("more lines")
    assert told.count("\n") < 2010
