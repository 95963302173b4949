"""An edit of many files costs what each of them costs."""

from collections.abc import Collection
from pathlib import Path

import pytest

from north_lsp.workspace.seen import Seen
from tests.support.edits import World

FILES = 20


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
