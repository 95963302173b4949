"""A file is closed by each of its names: its own, those that links give it, and those that nobody can know."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.files import closed_names
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from tests.support.searching import search


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    root = Path(os.path.realpath(tmp_path)) / "repo"
    root.mkdir()
    return root


def write(root: Path, files: dict[str, str]) -> None:
    """Contents, or `-> target` for a link."""
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if content.startswith("-> "):
            place.symlink_to(content[3:])
        else:
            place.write_text(content)


def is_open(trees: Trees, raw_path: str) -> bool:
    try:
        trees.resolve(raw_path)
    except ToolError as error:
        if error.code != "IGNORED":
            raise
        return False
    return True


def listed(trees: Trees) -> set[str]:
    return {str(root / path) for root, listing in trees.outermost() for path in listing.files}


CASES: list[tuple[str, dict[str, str], set[str], set[str]]] = [
    (
        "a path through a folder that is a link",
        {".northignore": "pub/secret.txt\n"},
        {"real/secret.txt"},
        {"real/open"},
    ),
    ("all below a link", {".northignore": "pub/**\n"}, {"real/secret.txt", "real/open", "real/in/x"}, {"other/x"}),
    ("some below a link", {".northignore": "/pub/in/\n"}, {"real/in/x"}, {"real/open"}),
    ("a name below a link", {".northignore": "pub/*.txt\n"}, {"real/secret.txt"}, {"real/open"}),
    (
        "taken back again by its other name, which does not open it",
        {".northignore": "real/secret.txt\n!pub/secret.txt\n"},
        {"real/secret.txt"},
        {"real/open"},
    ),
    (
        "a closed folder with a link in it",
        {".northignore": "private/\n", "private/deep/l": "-> ../../other/x", "private/d": "-> ../real/in"},
        {"other/x", "real/in/x", "private/deep/l"},
        {"real/open"},
    ),
    ("a link to a link", {".northignore": "one\n", "one": "-> two", "two": "-> other/x"}, {"other/x"}, {"real/open"}),
    (
        "links in linked folders",
        {".northignore": "a/way/in/x\n", "a": "-> other", "other/way": "-> ../real"},
        {"real/in/x"},
        {"other/x"},
    ),
    ("a list in a folder below", {"sub/.northignore": "l\n", "sub/l": "-> ../other/x"}, {"other/x"}, {"real/open"}),
    (
        "a list in a linked folder",
        {"real/.northignore": "/in\n", ".northignore": "nothing\n"},
        {"real/in/x", "pub/in/x"},
        {"real/open"},
    ),
    (
        "a link to what is around it",
        {".northignore": "around\nself/other/x\n", "around": "-> .", "self": "-> ."},
        {"other/x"},
        {"real/open"},
    ),
    (
        "links in circles",
        {".northignore": "one/two/x\n", "m/two": "-> ../n", "n/one": "-> ../m", "one": "-> m", "n/x": "x"},
        {"n/x"},
        {"other/x", "real/open"},
    ),
    ("another case and composition", {".northignore": "PUB/Se*.TXT\n"}, {"real/secret.txt"}, {"real/open"}),
    ("a name as an absolute path", {".northignore": "/other\n"}, {"other/x"}, {"real/open"}),
]


@pytest.mark.parametrize(("files", "closed", "opened"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_name_counts(repo: Path, files: dict[str, str], closed: set[str], opened: set[str]) -> None:
    write(repo, {"real/secret.txt": "x", "real/open": "x", "real/in/x": "x", "other/x": "x", "pub": "-> real"})
    warm = Trees.of(Roots.of(repo))
    assert is_open(warm, "other/x")
    write(repo, files)
    for trees in (warm, Trees.of(Roots.of(repo)), Trees.of(Roots.of(repo))):
        for name in closed:
            assert not is_open(trees, name), name
            assert not is_open(trees, f"file://{repo}/{name}"), name
        for name in opened:
            assert is_open(trees, name), name
        found = listed(trees)
        assert found.isdisjoint(str(repo / name) for name in closed)
        assert found >= {str(repo / name) for name in opened}


def test_a_target_that_comes_later_is_closed_by_then(repo: Path) -> None:
    write(repo, {".northignore": "l\n", "l": "-> data/later", "data/x": "x"})
    trees = Trees.of(Roots.of(repo))
    assert listed(trees) == {str(repo / ".northignore"), str(repo / "data/x")}
    assert not is_open(trees, "data/later")
    write(repo, {"data/later": "x"})
    assert not is_open(trees, "data/later")
    assert str(repo / "data/later") not in listed(trees)


def test_a_link_on_the_way_closes_also_where_nothing_is_looked_through(repo: Path) -> None:
    write(repo, {".gitignore": "out/\n", ".northignore": "mine\n", "data/x": "x", "out/l": "-> mine"})
    write(repo, {"out/mine": "-> ../data/x"})
    trees = Trees.of(Roots.of(repo))
    assert not is_open(trees, "out/mine")
    assert not is_open(trees, "out/l")


def test_lists_of_all_roots_and_above_count(repo: Path) -> None:
    write(repo, {".git/HEAD": "x", ".northignore": "sub/secret\nkeys/\n", "sub/secret": "x", "sub/x": "x"})
    write(repo, {"sub/keys/a": "x", "sub/deep/l": "-> ../../other/x", "other/x": "x"})
    for roots in (Roots.of(repo / "sub"), Roots.of(repo / "sub", repo), Roots.of(repo, repo / "sub")):
        trees = Trees.of(roots)
        for name in ("sub/secret", "sub/keys/a"):
            assert not is_open(trees, str(repo / name))
            assert str(repo / name) not in listed(trees)
        assert is_open(trees, str(repo / "sub/x"))
        assert str(repo / "sub/x") in listed(trees)
    trees = Trees.of(Roots.of(repo / "sub", repo / "other"))
    assert is_open(trees, str(repo / "other/x"))
    write(repo, {"sub/.northignore": "deep/l\n"})
    assert not is_open(trees, str(repo / "other/x"))
    assert str(repo / "other/x") not in listed(trees)


def test_a_folder_that_is_only_read_has_lists_too(repo: Path) -> None:
    write(repo, {"main/x": "x", "extra/.northignore": "secret\nl\n", "extra/secret": "x", "extra/l": "-> ../main/x"})
    roots = replace(Roots.of(repo / "main"), extra=(repo / "extra",))
    trees = Trees.of(roots)
    for name in ("extra/secret", "extra/l", "main/x"):
        with pytest.raises(ToolError) as caught:
            trees.resolve_readable(str(repo / name))
        assert caught.value.code == "IGNORED"


UNKNOWN = {
    "too long": lambda place: place.write_text("# nothing\n" * 200_000),
    "too many": lambda place: place.write_text("\n".join(map(str, range(10_002)))),
    "UTF-16": lambda place: place.write_text("nothing\n", encoding="utf-16"),
    "carriage returns": lambda place: place.write_bytes(b"one\rtwo\r"),
    "a long line": lambda place: place.write_text("a" * 9000),
    "a loop": lambda place: place.symlink_to(".northignore"),
    "to nowhere": lambda place: place.symlink_to("missing"),
    "a folder": lambda place: place.mkdir(),
    "a pipe": os.mkfifo,
    "a device": lambda place: place.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("make", UNKNOWN.values(), ids=UNKNOWN)
def test_a_list_that_nobody_can_know_closes_its_folder_and_that_is_said(repo: Path, make: object) -> None:
    write(repo, {"sub/deep/x": "needle", "a": "needle"})
    assert callable(make)
    trees = Trees.of(Roots.of(repo))
    assert is_open(trees, "sub/deep/x")
    make(repo / "sub" / ".northignore")
    for looking in (trees, Trees.of(Roots.of(repo))):
        with pytest.raises(ToolError, match=r"sub/\.northignore") as caught:
            looking.resolve("sub/deep/x")
        assert caught.value.code == "IGNORED"
        assert is_open(looking, "a")
        assert listed(looking) == {str(repo / "a")}
        assert "sub/.northignore" in " ".join(looking.problems())
        found = search(Roots.of(repo), "needle", trees=looking)
        assert [match.path for match in found.matches] == ["a"]
        assert "sub/.northignore" in " ".join(found.notices)


def test_a_hard_link_to_a_closed_file_is_closed(repo: Path) -> None:
    write(repo, {".northignore": "keys/\nsecret\n", "keys/in/a": "needle", "secret": "needle", "x": "needle"})
    trees = Trees.of(Roots.of(repo))
    assert is_open(trees, "x")
    os.link(repo / "keys/in/a", repo / "one")
    os.link(repo / "secret", repo / "two")
    os.link(repo / "x", repo / "y")
    for looking in (trees, Trees.of(Roots.of(repo))):
        assert [is_open(looking, name) for name in ("one", "two", "x", "y")] == [False, False, True, True]
        assert listed(looking) == {str(repo / name) for name in (".northignore", "x", "y")}


@pytest.mark.parametrize(("name", "link"), [("l", "-> data/in/s"), ("l/", "-> data"), ("l/in", "-> data")])
def test_a_hard_link_to_what_a_link_closes_is_closed(repo: Path, name: str, link: str) -> None:
    write(repo, {".northignore": f"{name}\n", "data/in/s": "needle", "l": link})
    trees = Trees.of(Roots.of(repo))
    assert not is_open(trees, "data/in/s")
    os.link(repo / "data/in/s", repo / "h")
    for looking in (trees, Trees.of(Roots.of(repo))):
        assert not is_open(looking, "h")
        assert search(Roots.of(repo), "needle", trees=looking).counts == {}


def test_the_list_of_an_outer_root_counts_in_the_inner_one_without_git_too(repo: Path) -> None:
    write(repo, {".northignore": "in/s\nin/d/\n", "in/s": "needle", "in/d/x": "needle", "in/y": "y"})
    for roots in (Roots.of(repo / "in", repo), Roots.of(repo, repo / "in")):
        trees = Trees.of(roots)
        assert not is_open(trees, str(repo / "in/s"))
        assert listed(trees) == {str(repo / "in/y"), str(repo / ".northignore")}
        assert search(roots, "needle", trees=trees).counts == {}


def test_links_that_cannot_all_be_followed_close_rather_than_open(repo: Path) -> None:
    """Twelve folders with a link to each other one: more names than anyone could look at."""
    names = [f"d{number}" for number in range(12)]
    write(repo, {"data/x": "x", ".northignore": "d0/nothing\n", "free/x": "x"})
    for one in names:
        write(repo, {f"{one}/{other}": f"-> ../{other}" for other in names if other != one})
    write(repo, {"d3/data": "-> ../data"})
    trees = Trees.of(Roots.of(repo))
    with pytest.raises(ToolError, match="more links") as caught:
        trees.resolve("data/x")
    assert caught.value.code == "IGNORED"
    assert listed(trees) == {str(repo / name) for name in (".northignore", "free/x")}


_FOLDERS = ["", "a/", "b/", "a/c/"]
_STEPS = st.one_of(
    st.tuples(
        st.just("list"), st.sampled_from(_FOLDERS), st.sampled_from(["l", "l/f", "/l/*", "c/", "f", "a/l/**", "m/f"])
    ),
    st.tuples(
        st.just("link"),
        st.sampled_from(["l", "a/l", "b/m", "a/c/l", "m"]),
        st.sampled_from(["a", "b", "a/c", "b/f", "l", "."]),
    ),
    st.tuples(st.just("drop"), st.sampled_from(["l", "a/l", "b/m", "a/c/l", "m"]), st.just("")),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.path.realpath(tmp_path_factory.mktemp("closing")))


@example(steps=[("list", "", "l/f"), ("link", "l", "a/c")])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEPS, min_size=1, max_size=7))
def test_the_gate_and_the_list_agree_and_no_name_of_a_closed_file_is_open(
    place: Path, steps: list[tuple[str, str, str]]
) -> None:
    root = place / "repo"
    shutil.rmtree(root, ignore_errors=True)
    write(root, {f"{folder}{name}": "x" for folder in _FOLDERS for name in ("f", "g")})
    trees = Trees.of(Roots.of(root))
    for kind, at, what in steps:
        if kind == "list":
            (root / at / ".northignore").write_text(f"{what}\n")
        elif kind == "drop":
            (root / at).unlink(missing_ok=True)
        elif not os.path.lexists(root / at):
            (root / at).symlink_to(root / what)
        found = listed(trees)
        rules = IgnoreRules.of(root)
        for file in (path for path in root.rglob("*") if path.is_file() and not path.is_symlink()):
            assert is_open(trees, str(file)) == (str(file) in found)
        for name in spellings(root):
            real = os.path.realpath(root / name)
            if rules.closed(name) and not is_around(root, name, rules):
                assert not is_open(trees, real), (name, real)
                assert real not in found


def spellings(root: Path, prefix: str = "", depth: int = 0) -> list[str]:
    """Every name of every file, through four folders and links at most."""
    names: list[str] = []
    for entry in os.scandir(root / prefix):
        name = f"{prefix}{entry.name}"
        if os.path.isdir(entry.path) and depth < 4:
            names += spellings(root, f"{name}/", depth + 1)
        elif os.path.isfile(entry.path):
            names.append(name)
    return names


def is_around(root: Path, name: str, rules: IgnoreRules) -> bool:
    """Whether a name is closed at a link that leads to a folder around itself."""
    parts = name.split("/")
    first = next(at for at in range(1, len(parts) + 1) if rules.closed("/".join(parts[:at])))
    link = root.joinpath(*parts[:first])
    return link.is_symlink() and link.parent.resolve().joinpath(link.name).is_relative_to(link.resolve())


def test_the_first_closed_of_many_paths_is_found_by_all_names_also_of_what_is_gone(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "pub").symlink_to("real")
    (tmp_path / "one").symlink_to("real/target")
    trees = Trees.of(Roots.of(tmp_path))
    root = trees.roots.main
    paths = [root / name for name in ("a", "deep/b", "real/c", "real/target")]
    assert not trees.has_lists()
    assert trees.first_closed(paths) is None
    for line, found in (
        ("b", "deep/b"),
        ("pub/c", "real/c"),
        ("/deep/", "deep/b"),
        ("one", "real/target"),
        ("x", None),
    ):
        (root / ".northignore").write_text(f"{line}\n")
        assert trees.has_lists()
        assert trees.first_closed(paths) == (root / found if found else None), line
    (root / ".northignore").unlink()
    (root / "deep").mkdir()
    (root / "deep" / ".northignore").write_text("b\n")
    assert trees.first_closed(paths) == root / "deep/b"


@pytest.mark.parametrize("name", ["node_modules", "build", "target", "private/dist"])
def test_another_name_of_a_file_in_a_closed_folder_that_walks_skip_is_closed(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / name / "deep").mkdir(parents=True)
    (root / name / "deep" / "secret.txt").write_text("secret")
    (root / "other.txt").write_text("text")
    os.link(root / name / "deep" / "secret.txt", root / "visible.txt")
    os.link(root / "other.txt", root / "another.txt")
    trees = Trees.of(Roots.of(root))
    assert is_open(trees, "visible.txt")
    (root / ".northignore").write_text(f"{name.partition('/')[0]}/\n")
    for looking in (trees, Trees.of(Roots.of(root))):
        assert not is_open(looking, "visible.txt")
        assert is_open(looking, "another.txt")
        assert not any(path.endswith("visible.txt") for path in listed(looking))
        assert any(path.endswith("another.txt") for path in listed(looking))
    monkeypatch.setattr(closed_names, "_MAX_UNSEEN", 0)
    assert not is_open(trees, "another.txt")


def test_a_line_takes_back_its_own_spelling_only(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path))
    (root / "sub").mkdir()
    (root / ".northignore").write_text("*.key\n!PUBLIC.key\n!Über.key\n")
    (root / "sub" / ".northignore").write_text("!Inner.key\n")
    opened = ("PUBLIC.key", "Über.key", "sub/Inner.key", "sub/PUBLIC.key")
    shut = ("public.key", "PUBLIC.KEY", "Public.key", "über.key", "ÜBER.KEY", "sub/INNER.KEY", "sub/inner.key", "a.Key")
    for name in (*opened, *shut):
        (root / name).write_text("text")
    trees = Trees.of(Roots.of(root))
    assert [name for name in (*opened, *shut) if is_open(trees, name)] == list(opened)
    found = {name.removeprefix(f"{root}/") for name in listed(trees)}
    assert {name for name in found if name.lower().endswith(".key")} == set(opened)
