"""An edit of many files costs what each of them costs."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from north_lsp.errors import ToolError, UnsavedUnknown
from north_lsp.tools.support.texts import TextsAhead
from north_lsp.workspace.seen import Seen
from tests.support.edits import MemoryEditor, World
from tests.support.workspaces import make_workspace

FILES = 20


def update(*names: str, old: str = "x = 1", new: str = "x = 3") -> str:
    files = "".join(f"*** Update File: {name}\n@@\n-{old}\n+{new}\n" for name in names)
    return f"*** Begin Patch\n{files}*** End Patch\n"


async def changes_of_threads(folder: Path, files: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how often threads change while so many files are changed, and changed back."""
    world, count = World(folder), 0
    names = [f"f{number}.py" for number in range(files)]
    for name in names:
        world.write(name, "x = 1\ny = 2\n")
    real = anyio.to_thread.run_sync

    async def counted(*args: Any, **named: Any) -> Any:
        nonlocal count
        count += 1
        return await real(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", counted)
        await world.edit("edit_patch", patch=update(*names))
        assert {world.read(name) for name in names} == {b"x = 3\ny = 2\n"}
        assert set((await world.undo()).values()) == {"restored"}
    return count


async def test_many_files_change_threads_as_often_as_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = await changes_of_threads(tmp_path / "few", 2, monkeypatch)
    assert await changes_of_threads(tmp_path / "many", FILES, monkeypatch) == few


@pytest.mark.parametrize(
    ("third", "told"),
    [
        ("*** Update File: missing.py\n@@\n-x = 1\n+x = 3\n", "second.py"),  # the one before it fails, too
        ("*** Delete File: missing.py\n", "second.py"),
    ],
)
async def test_the_first_file_that_cannot_be_changed_is_the_one_that_is_told_of(
    tmp_path: Path, third: str, told: str
) -> None:
    world = World(tmp_path)
    world.write("first.py", "x = 1\n")
    world.write("second.py", "x = 2\n")
    patch = update("first.py", "second.py").replace("*** End Patch\n", f"{third}*** End Patch\n")
    with pytest.raises(ToolError, match=told) as caught:
        await world.prepare("edit_patch", patch=patch)
    assert caught.value.code == "NO_MATCH"


async def test_hunks_for_a_file_that_is_named_again_are_for_what_the_first_ones_made(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.py", "x = 1\n")
    world.write("b.py", "x = 1\n")
    again = update("./a.py", old="x = 3", new="x = 4").partition("\n")[2]
    patch = update("a.py", "b.py").replace("*** End Patch\n", again)
    changes = await world.prepare("edit_patch", patch=patch)
    assert {change.relative: change.new_text for change in changes} == {"a.py": "x = 4\n", "b.py": "x = 3\n"}


async def test_files_that_are_open_or_closed_are_treated_as_if_they_were_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("a.py", "b.py", "secret/c.py"):
        world.write(name, "x = 1\n")
    world.editor.texts[world.root / "b.py"] = "x = 1\nunsaved\n"
    changes = await world.prepare("edit_patch", patch=update("a.py", "b.py"))
    assert [change.new_text for change in changes] == ["x = 3\n", "x = 3\nunsaved\n"]
    world.write(".northignore", "secret/\n")
    with pytest.raises(ToolError, match="closed") as caught:
        await world.prepare("edit_patch", patch=update("a.py", "secret/c.py"))
    assert caught.value.code == "IGNORED"


class SilentEditor(MemoryEditor):
    """Does not say whether a file is open; `asked` are those that it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def read_unsaved(self, path: Path) -> str | None:
        self.asked.append(path.name)
        raise UnsavedUnknown(path, "it is silent")


async def test_an_editor_that_does_not_answer_is_not_asked_about_every_file_in_advance(tmp_path: Path) -> None:
    editor = SilentEditor()
    texts = TextsAhead(make_workspace(tmp_path, editor))
    await texts.read([tmp_path / "a", tmp_path / "b", tmp_path / "c"])
    assert editor.asked == ["a"]
    for name in ("a", "b"):
        with pytest.raises(UnsavedUnknown):
            await texts.take(tmp_path / name)
    assert editor.asked == ["a", "b"]


async def test_no_more_is_held_at_once_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("north_lsp.tools.support.texts._MOST_AHEAD", 5)
    files = [tmp_path / name for name in ("a", "b")]
    for file in files:
        file.write_text("earlier")
    texts = TextsAhead(make_workspace(tmp_path, MemoryEditor()))
    await texts.read(files)
    for file in files:
        file.write_text("later")
    assert [(await texts.take(file))[0].text for file in files] == ["earlier", "later"]


async def test_the_names_of_what_was_read_are_not_spelled_for_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, spelled = World(tmp_path), 0
    paths = Seen.paths

    def counted(self: Seen) -> Collection[Path]:
        nonlocal spelled
        spelled += 1
        return paths(self)

    for number in range(FILES):
        world.write(f"f{number}.py", "x = 1\ny = 2\n")
    monkeypatch.setattr(Seen, "paths", counted)
    files = "".join(f"*** Update File: f{number}.py\n@@\n-x = 1\n+x = 3\n" for number in range(FILES))
    changes = await world.prepare("edit_patch", patch=f"*** Begin Patch\n{files}*** End Patch\n")
    assert len(changes) == FILES
    assert spelled == 0
