"""Folders of which the kernel tells are not looked at again, and nothing that happens in them is missed."""

import gc
import os
import random
import shutil
import threading
import weakref
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.files import change_notices, tree
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from tests.support.patience import PATIENCE

OPS = ("file", "folder", "list", "link", "remove", "move", "swap")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    place = Path(os.path.realpath(tmp_path)) / "above" / "repo"
    for name in ("a/x/one", "a/y/two", "b/three", "c/d/e/four"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("text")
    return place


@pytest.fixture
def told(root: Path) -> None:
    trees = Trees.of(Roots.of(root))
    trees.tree(root).listing()
    if trees.tree(root)._unwatched:
        pytest.skip("this system does not tell of changes here")


def is_open(trees: Trees, name: str) -> bool:
    try:
        trees.resolve(name)
    except ToolError as error:
        if error.code != "IGNORED":
            raise
        return False
    return True


@pytest.mark.usefixtures("told")
def test_a_read_that_follows_another_looks_at_no_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trees = Trees.of(Roots.of(root))
    assert is_open(trees, "a/x/one")
    looked: list[str] = []
    monkeypatch.setattr(tree, "folder_state", looked.append)
    monkeypatch.setattr(tree, "read_folder", lambda *_: looked.append(""))
    assert is_open(trees, "b/three")
    assert trees.tree(root).listing().files == ("a/x/one", "a/y/two", "b/three", "c/d/e/four")
    assert looked == []


def do(root: Path, chance: random.Random, operation: str, number: int) -> None:
    folders = sorted(path for path in root.rglob("*") if path.is_dir() and not path.is_symlink())
    entries = sorted(path for path in root.rglob("*"))
    folder = chance.choice([root, *folders])
    match operation:
        case "file":
            (folder / f"file{number}").write_text("text")
        case "folder":
            (folder / f"folder{number}" / "deep").mkdir(parents=True)
            (folder / f"folder{number}" / "deep" / "file").write_text("text")
        case "list":
            (folder / ".northignore").write_text(chance.choice(["one\n", "link*\n", "x/\n", "deep\n"]))
        case "link":
            (folder / f"link{number}").symlink_to(chance.choice(entries) if entries else root)
        case "remove" if entries:
            gone = chance.choice(entries)
            shutil.rmtree(gone) if gone.is_dir() and not gone.is_symlink() else gone.unlink()
        case "move" if entries:
            moved = chance.choice(entries)
            if not folder.is_relative_to(moved):
                moved.rename(folder / f"moved{number}")
        case "swap" if len(folders) > 1:
            one, other = chance.sample(folders, 2)
            if not one.is_relative_to(other) and not other.is_relative_to(one):
                one.rename(root / "aside")
                other.rename(one)
                (root / "aside").rename(other)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("noticed", ["at once", "later", "never"])
def test_whatever_happens_the_next_look_sees_it(
    root: Path, seed: int, noticed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if noticed == "never":
        monkeypatch.setattr(change_notices, "_source", lambda: None)
    if noticed == "later":  # here and not on a thread, so that every order of things is tried
        monkeypatch.setattr(tree, "_WATCHED_AT_ONCE", 2)
        monkeypatch.setattr(tree, "_watch_in_portions", lambda _: None)
    chance, trees = random.Random(seed), Trees.of(Roots.of(root))
    for number in range(25):
        trees.tree(root).watch_some(chance.randrange(4))
        do(root, chance, chance.choice(OPS), number)
        trees.tree(root).watch_some(chance.randrange(4))
        fresh = Trees.of(Roots.of(root))
        assert trees.tree(root).listing() == fresh.tree(root).listing()
        for file in ("a/x/one", "b/three", *fresh.tree(root).last()[0].files[:5]):
            assert is_open(trees, file) == is_open(fresh, file)


@pytest.fixture
def old(root: Path) -> None:
    """Folders whose times tell whether they have changed since."""
    for path in (root, *(path for path in root.rglob("*") if path.is_dir())):
        os.utime(path, (1_000_000_000.5, 1_000_000_000.5))


@pytest.mark.usefixtures("told", "old")
def test_of_many_folders_the_rest_is_watched_after_the_first_list(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_WATCHED_AT_ONCE", 2)
    monkeypatch.setattr(tree, "_watch_in_portions", lambda _: None)
    trees = Trees.of(Roots.of(root))
    one = trees.tree(root)
    assert len(one.listing().files) == 4
    assert len(one._unwatched) == 6
    while one.watch_some(2):
        pass
    assert one._unwatched == set()
    (root / "c" / "d" / "e" / "new").write_text("text")
    assert "c/d/e/new" in one.listing().files


@pytest.mark.usefixtures("told", "old")
def test_the_rest_is_watched_on_a_thread(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    watch = tree._watch_in_portions
    monkeypatch.setattr(tree, "_WATCHED_AT_ONCE", 2)

    def watching(one: "weakref.ref[tree.FileTree]") -> None:
        watch(one)
        ended.set()

    monkeypatch.setattr(tree, "_watch_in_portions", watching)
    trees = Trees.of(Roots.of(root))
    trees.tree(root).listing()
    assert ended.wait(PATIENCE)
    assert trees.tree(root)._unwatched == set()


@pytest.mark.parametrize("above", [False, True])
def test_another_folder_in_the_place_of_the_root_is_seen(root: Path, above: bool) -> None:
    trees = Trees.of(Roots.of(root))
    assert is_open(trees, "b/three")
    gone = root.parent if above else root
    gone.rename(gone.with_name("gone"))
    (root / "b").mkdir(parents=True)
    (root / "b" / ".northignore").write_text("l\n")
    (root / "b" / "three").write_text("text")
    (root / "b" / "l").symlink_to("three")
    assert not is_open(trees, "b/three")
    assert set(trees.tree(root).listing().files) <= {"b/.northignore"}


@pytest.mark.usefixtures("told")
def test_lost_notices_make_everything_be_looked_at(root: Path) -> None:
    trees = Trees.of(Roots.of(root))
    assert is_open(trees, "b/three")
    (root / "a" / ".northignore").write_text("l\n")
    (root / "a" / "l").symlink_to("../b/three")
    source = change_notices._source()
    assert source is not None
    with source._lock:
        list(source._notices())  # as if there had been too many of them
        source._lose()
    assert not is_open(trees, "b/three")


@pytest.mark.usefixtures("told")
def test_trees_that_share_folders_are_each_told(root: Path) -> None:
    one, other = Trees.of(Roots.of(root)), Trees.of(Roots.of(root / "a", root))
    assert is_open(one, "b/three")
    assert is_open(other, "x/one")
    (root / "new").write_text("text")
    assert "new" in one.tree(root).listing().files
    assert "new" in other.tree(root).listing().files
    del other
    gc.collect()
    (root / "a" / "newer").write_text("text")
    assert "a/newer" in one.tree(root).listing().files
    (root / "a" / "x" / "newest").write_text("text")
    assert "a/x/newest" in one.tree(root).listing().files


@pytest.mark.usefixtures("told")
def test_what_is_too_much_to_be_told_of_is_looked_at(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = change_notices._source()
    assert source is not None
    gc.collect()
    change_notices._release_ended()
    monkeypatch.setattr(source, "_most", len(source._listeners) + 2)
    trees = Trees.of(Roots.of(root))
    trees.tree(root).listing()
    assert len(trees.tree(root)._unwatched) == 6
    (root / "c" / "d" / "e" / "new").write_text("text")
    assert "c/d/e/new" in trees.tree(root).listing().files
