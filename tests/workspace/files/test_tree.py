"""The kept list of files is what a fresh walk would find, whatever has happened in between."""

import gc
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.workspace.files.ignore import IgnoreChains, IgnoreRules, walk
from north_lsp.workspace.files.tree import FileTree
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots

_PATHS = st.lists(st.sampled_from(["a", "b", "out", "x.key", "node_modules", "é"]), min_size=1, max_size=3).map(
    "/".join
)
_RULES = st.sampled_from(["", "out\n", "*.key\n", "a/b\n", "/a\n", "!out\n", "b/\n"])
_CHANGES = st.one_of(
    st.tuples(st.just("write"), _PATHS, st.just("")),
    st.tuples(st.just("remove"), _PATHS, st.just("")),
    st.tuples(st.just("rules"), st.sampled_from(["", "a/", "a/b/", "out/"]), _RULES),
    st.tuples(st.just("closed"), st.sampled_from(["", "a/"]), _RULES),
    st.tuples(st.just("link"), _PATHS, st.just("")),
)


def change(root: Path, kind: str, path: str, text: str) -> None:
    place = root / path
    try:
        match kind:
            case "write" | "link":
                place.parent.mkdir(parents=True, exist_ok=True)
                if kind == "link":
                    place.symlink_to("nowhere")
                else:
                    place.write_text("x")
            case "remove":
                if place.is_dir() and not place.is_symlink():
                    shutil.rmtree(place)
                else:
                    place.unlink(missing_ok=True)
            case _:
                name = ".gitignore" if kind == "rules" else ".northignore"
                place.mkdir(parents=True, exist_ok=True)
                (place / name).write_text(text)
    except OSError:
        return  # a file stands where a folder was to be, or the other way round


def walked(root: Path, rules: IgnoreRules) -> tuple[list[str], list[str], list[str]]:
    """What a walk meets, but for what links with closed names lead to."""
    closed = {os.path.realpath(link) for link in root.rglob("*") if link.is_symlink() and is_closed(link, root, rules)}
    kinds: tuple[list[str], list[str], list[str]] = ([], [], [])
    for entry in walk(root, rules):
        if not closed.isdisjoint(map(str, (entry.path, *entry.path.parents))):
            continue
        kinds[1 if entry.is_dir else 2 if entry.path.is_symlink() else 0].append(entry.relative)
    return kinds


def is_closed(link: Path, root: Path, rules: IgnoreRules) -> bool:
    relative = link.relative_to(root).as_posix()
    return rules.closed(relative) and not (rules.ignored(relative, False) and "node_modules" in link.parts)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.path.realpath(tmp_path_factory.mktemp("tree")))


@example(
    rounds=[[("closed", "", "out\n"), ("link", "a", ""), ("link", "out", ""), ("write", "a", "")]], in_subfolder=False
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(_CHANGES, max_size=4), min_size=1, max_size=5), st.booleans())
def test_the_kept_list_is_the_walked_one(
    folder: Path, rounds: list[list[tuple[str, str, str]]], in_subfolder: bool
) -> None:
    top = folder / "repo"
    shutil.rmtree(top, ignore_errors=True)
    root = top / "sub" if in_subfolder else top
    root.mkdir(parents=True)
    (top / ".git").mkdir()
    (top / ".gitignore").write_text("sub/b\n")
    trees = Trees.of(Roots.of(root))
    tree = trees.tree(root)
    for changes in rounds:
        for kind, path, text in changes:
            change(root, kind, path, text)
        listing = tree.listing()
        files, folders, others = walked(root, IgnoreRules.of(root))
        assert (list(listing.files), list(listing.folders), list(listing.others)) == (files, folders, others)
        for path in (*files, *folders):
            assert trees.closed(root / path) is None
        if listing.whole is None:
            assert any(path.is_symlink() for path in root.rglob("*"))
        else:
            meant = [file for file in every_file(root) if any(covers(whole, file) for whole in listing.whole)]
            assert sorted(meant) == sorted(files)


def every_file(root: Path) -> list[str]:
    found = (Path(place, name) for place, _, names in os.walk(root) for name in names)
    return [path.relative_to(root).as_posix() for path in found if not path.is_symlink()]


def covers(whole: str, file: str) -> bool:
    return whole in ("./", file) or file.startswith(f"{whole}/")


def test_roots_within_roots_and_private_folders_come_once_or_never(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    for name in ("a", "inner/b", "own/c"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    trees = Trees.of(Roots.of(root / "inner", root), (root / "own",))
    assert [(place.name, listing.files) for place, listing in trees.outermost()] == [
        ("inner", ("b",)),
        (root.name, ("a",)),
    ]
    assert trees.below(root, "own").files == ()


@pytest.mark.parametrize("place", ["", "sub"])
def test_an_ignore_file_that_is_written_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    root = Path(os.path.realpath(tmp_path))
    lines = root / place / ".gitignore"
    lines.parent.mkdir(exist_ok=True)
    lines.write_text("a\n")
    for name in ("a", "b"):
        (root / place / name).write_text("x")
    rules = IgnoreRules.of(root)
    enter = rules.enter

    def written_afterwards(chains: IgnoreChains, folder: str, *names: frozenset[str]) -> IgnoreChains:
        entered = enter(chains, folder, *names)
        if folder == str(root / place):
            lines.write_text("a\nb\n")
        return entered

    tree = FileTree(rules)
    with monkeypatch.context() as patched:
        patched.setattr(rules, "enter", written_afterwards)
        tree.listing()
    assert [Path(file).name for file in tree.listing().files] == [".gitignore"]


def test_the_ignore_file_of_the_root_is_applied_once(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / ".gitignore").write_text("a\n")
    rules = IgnoreRules.of(root)
    tree = FileTree(rules)
    tree.listing()
    assert [chains.git for _, chains, _, _ in tree.folders()] == [rules.at_root().git]


@pytest.mark.parametrize("collects", [True, False])
def test_the_garbage_collector_is_as_it_was_after_a_first_list(tmp_path: Path, collects: bool) -> None:
    tree = FileTree(IgnoreRules.of(Path(os.path.realpath(tmp_path))))
    was_enabled = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        tree.listing()
        assert gc.isenabled() == collects
    finally:
        (gc.enable if was_enabled else gc.disable)()
