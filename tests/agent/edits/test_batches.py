"""Batches of any edits on files of any kind, with their encodings and modes: what is undone and redone is exact."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.storage.edit_settings import EditSettings
from tests.support.edits import World

NAMES = ("a.txt", "b.txt", "d/c.txt", "d/e.bin")
CONTENTS = (
    b"one\ntwo\nthree\n",
    b"one\r\ntwo\r\nthree",
    "one\ntwo\n".encode("utf-16"),
    b"\xef\xbb\xbfone\ntwo\n",
    b"one\nMa\xdf\ntwo\n",
    b"",
    b"bin\0ary one two",
    b"one two\r\nx\nthree",
)
Item = dict[str, Any]
Look = dict[str, tuple[bytes, int]]

name = st.sampled_from(NAMES)
move = st.builds(
    lambda a, b, over: {"tool": "edit_move_file", "args": {"from": a, "to": b, "overwrite": over}},
    name,
    name,
    st.booleans(),
)
create = st.builds(
    lambda a, content, over: {
        "tool": "edit_create_file",
        "args": {"path": a, "content": content, "overwrite": over},
    },
    name,
    st.sampled_from(["#!/x\nnew", "one\nnew\n", "", "é one"]),
    st.booleans(),
)
delete = name.map(lambda a: {"tool": "edit_delete_file", "args": {"path": a}})
replace = name.map(lambda a: {"tool": "edit_replace_exact", "args": {"path": a, "old": "one", "new": "1"}})
folder = st.sampled_from(["d", "e", "e/f", "g"])
delete_folder = folder.map(lambda a: {"tool": "edit_delete_file", "args": {"path": a}})
move_folder = st.builds(lambda a, b: {"tool": "edit_move_file", "args": {"from": a, "to": b}}, folder, folder)
item = st.one_of(move, move, create, delete, replace, delete_folder, move_folder)
kept = st.tuples(st.sampled_from(CONTENTS), st.sampled_from([0o644, 0o755, 0o600]))


def look(world: World) -> Look:
    """Files, and folders by a name that ends in a slash, with their modes."""
    found: Look = {}
    for path in world.root.rglob("*"):
        name, mode = path.relative_to(world.root).as_posix(), path.stat().st_mode & 0o777
        found[name if path.is_file() else f"{name}/"] = (path.read_bytes() if path.is_file() else b"", mode)
    return found


def files_of(state: Look) -> Look:
    return {name: row for name, row in state.items() if not name.endswith("/")}


def moved(state: Look, items: list[Item]) -> Look:
    state = dict(state)
    for one in items:
        state[one["args"]["to"]] = state.pop(one["args"]["from"])
    return state


async def walk(folder: Path, files: dict[str, tuple[bytes, int]], batches: list[list[Item]]) -> None:
    world = World(folder)
    for one, (content, mode) in files.items():
        world.write(one, content, shown=False).chmod(mode)
    for one in ("d", "e"):
        (world.root / one).mkdir(exist_ok=True)
        (world.root / one).chmod(0o750)
    states = [look(world)]
    for batch in batches:
        for one in files_of(states[-1]):
            if b"\0a" not in states[-1][one][0]:
                world.show(one)
        try:
            changes = await world.prepare("edit_apply_batch", edits=batch)
        except ToolError:
            assert look(world) == states[-1]
            continue
        if not changes:
            continue
        await world.apply(changes)
        if all(one["tool"] == "edit_move_file" and one["args"]["from"] in NAMES for one in batch):
            assert files_of(look(world)) == moved(files_of(states[-1]), batch)
        states.append(look(world))
    for state in reversed(states[:-1]):
        await world.undo()
        assert look(world) == state
    for state in states[1:]:
        await world.redo()
        assert look(world) == state
    assert not list(world.root.rglob(".*"))
    world.conversation.close()


def over(source: str, target: str) -> Item:
    return {"tool": "edit_move_file", "args": {"from": source, "to": target, "overwrite": True}}


@settings(max_examples=40)
@given(st.dictionaries(name, kept, min_size=1), st.lists(st.lists(item, min_size=1, max_size=4), max_size=3))
@example({"a.txt": (CONTENTS[2], 0o644), "b.txt": (CONTENTS[0], 0o644)}, [[over("a.txt", "b.txt")]])
@example({"a.txt": (CONTENTS[6], 0o644), "b.txt": (CONTENTS[0], 0o644)}, [[over("a.txt", "b.txt")]])
@example({"a.txt": (CONTENTS[0], 0o644), "d/e.bin": (CONTENTS[6], 0o644)}, [[over("a.txt", "d/e.bin")]])
@example({"a.txt": (CONTENTS[0], 0o755), "b.txt": (CONTENTS[0], 0o600)}, [[over("a.txt", "b.txt")]])
@example(
    {"a.txt": (CONTENTS[0], 0o755), "b.txt": (CONTENTS[1], 0o644)},
    [[over("a.txt", "x"), over("b.txt", "a.txt"), over("x", "b.txt")]],
)
@example(
    {"d/c.txt": (CONTENTS[0], 0o644)},
    [[over("d/c.txt", "e/f"), over("d", "g")], [over("e/f", "a.txt"), over("e", "d")]],
)
def test_batches_are_undone_and_redone_exactly(files: dict[str, tuple[bytes, int]], batches: list[list[Item]]) -> None:
    with TemporaryDirectory() as folder:
        anyio.run(walk, Path(folder), files, batches)


async def test_a_mode_that_was_changed_since_is_left_by_an_undo(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.sh", "a\n").chmod(0o755)
    world.write("b.sh", "b\n").chmod(0o644)
    await world.edit("edit_move_file", **{"from": "a.sh", "to": "b.sh", "overwrite": True})
    assert look(world) == {"b.sh": (b"a\n", 0o755)}
    (world.root / "b.sh").chmod(0o700)
    await world.undo()
    assert look(world) == {"a.sh": (b"a\n", 0o755), "b.sh": (b"b\n", 0o700)}


async def test_a_link_is_neither_deleted_nor_moved_in_the_place_of_its_file(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.write("a.txt", "a\n")
    (world.root / "link").symlink_to("a.txt")
    for tool, arguments in (
        ("edit_delete_file", {"path": "link"}),
        ("edit_move_file", {"from": "link", "to": "b.txt"}),
        ("edit_delete_file", {"path": str(world.root / "link")}),
    ):
        with pytest.raises(ToolError, match=r"is a link to a\.txt"):
            await world.prepare(tool, **arguments)
    (change,) = await world.prepare("edit_replace_exact", path="link", old="a", new="b")
    await world.apply([change])
    assert (world.root / "link").is_symlink()
    assert world.read("a.txt") == b"b\n"


@pytest.mark.parametrize("path", ["secret/x", "SECRET/X", "open/../secret/x", "alias/x", "shown/x"])
async def test_the_users_protected_names_hold_however_they_are_spelled(tmp_path: Path, path: str) -> None:
    world = World(tmp_path, EditSettings(protected=("Secret/*", "shown/*")))
    for folder in ("secret", "SECRET", "open"):
        world.write(f"{folder}/y", "y\n")
    (world.root / "alias").symlink_to("secret")
    (world.root / "shown").symlink_to("open")
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_create_file", path=path, content="x")
    assert caught.value.code == "DENIED"


@pytest.mark.parametrize("path", ["closed/x", "open/../closed/x", "alias/x"])
async def test_closed_files_are_not_written_through_links_either(tmp_path: Path, path: str) -> None:
    world = World(tmp_path)
    world.write("open/y", "y\n")
    world.write("hidden/y", "y\n", shown=False)
    world.write(".northignore", "closed\nhidden\n", shown=False)
    (world.root / "closed").symlink_to("open")
    (world.root / "alias").symlink_to("hidden")
    with pytest.raises(ToolError) as caught:
        await world.prepare("edit_create_file", path=path, content="x")
    assert caught.value.code == "IGNORED"
