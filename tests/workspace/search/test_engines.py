"""The two engines of the search, on the same trees: with ripgrep and without, everything found is the same."""

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search import search as searching
from north_lsp.workspace.search.bytes_pattern import translate
from north_lsp.workspace.search.ripgrep import TELLS_SEARCHED, count_lines, find_ripgrep
from north_lsp.workspace.search.search import SearchResult
from tests.support.searching import search

_PIECES = st.sampled_from(
    [
        "foo",
        "Foo",
        "FOO",
        " ",
        "\n",
        "\n",
        "\r\n",
        "\r",
        "bar_1",
        "é",
        "É",
        "ſ",
        "K",
        "ki",
        "İ",
        "-x",
        "\t",
        "${a}",
        "(",
        "漢字",
        "\x1c",
        "1234",
        "\xa0",
        "a.b",
        "\u2028",
        "_",
        "kıs",
        "\x0c",
    ]
)
_TEXTS = st.lists(_PIECES, max_size=12).map("".join)
_CONTENTS = st.one_of(
    _TEXTS.map(lambda text: text.encode()),
    _TEXTS.map(lambda text: text.encode("latin-1", "replace")),
    _TEXTS.map(lambda text: b"\xef\xbb\xbf" + text.encode()),
    _TEXTS.map(lambda text: b"\xff\xfe" + text.encode("utf-16-le")),
    _TEXTS.map(lambda text: text.encode() + b"\0"),
    st.binary(max_size=12),
)
_NAMES = st.sampled_from(["a", "-b", "c.py", "d/e.py", "d/-", "-", "new\nline", "dé", "d/x y", ".h", "out/z", "k.key"])
_LITERALS = st.sampled_from(
    ["foo", "Foo", "é", "É", "ki", "-x", "--", "${a}", "(", "漢", "k", "s", "1", "x\ty", "_", "."]
)
_ATOMS = st.sampled_from(
    [
        "foo",
        "k",
        "i",
        "S",
        "é",
        "É",
        ".",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        "^",
        "$",
        "[a-f]",
        "[^a-f]",
        "[é-ü]",
        "[^é]",
        r"[\w.]",
        "[^\\s]",
        r"\A",
        r"\Z",
        "(?=o)",
        "(?!o)",
        "(f)(o)\\2",
        "(?:foo|bar)",
        "(?i:K)",
        "[İk]",
        r"\n",
        "[k-s]",
        "(?>o+)",
        "o++",
        "ſ",
        r"\x20",
        r"[\n]",
        "(?s:.)",
    ]
)
_REPEATS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "*?"])
_PATTERNS = st.lists(
    st.builds(lambda atom, repeat: f"(?:{atom}){repeat}", _ATOMS, _REPEATS) | _ATOMS, min_size=1, max_size=4
)


@pytest.fixture(scope="module")
def ripgrep() -> Path:
    found = find_ripgrep()
    assert found is not None, "the wheel has to bring the binary"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(os.path.realpath(tmp_path_factory.mktemp("engines")))


def make(folder: Path, files: dict[str, bytes]) -> Roots:
    root = folder / "repo"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    for name, content in {**files, ".gitignore": b"out\n", ".northignore": b"*.key\n"}.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return Roots.of(root)


def same(roots: Roots, query: str, ripgrep: Path, **options: object) -> SearchResult:
    options["patient"] = True  # texts are short here, and both are to say what there is
    plain = search(roots, query, **options)
    quick = search(roots, query, ripgrep=ripgrep, **options)
    assert quick == plain
    return plain


_TREES = st.dictionaries(_NAMES, _CONTENTS, min_size=2, max_size=6)
_QUIET = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@_QUIET
@given(_TREES, _LITERALS, st.booleans(), st.integers(0, 3), st.integers(1, 4))
def test_literals(
    folder: Path, ripgrep: Path, files: dict[str, bytes], query: str, sensitive: bool, offset: int, limit: int
) -> None:
    same(make(folder, files), query, ripgrep, case_sensitive=sensitive, offset=offset, limit=limit, context_lines=1)


@_QUIET
@given(_TREES, _PATTERNS.map("".join), st.booleans(), st.booleans())
@example({"a": "kıs".encode(), "b": b"x"}, "K.S", False, False)
@example({"a": b"caf\xe9 x", "b": b"x"}, r"f.\b", False, False)
def test_patterns(
    folder: Path, ripgrep: Path, files: dict[str, bytes], query: str, sensitive: bool, multiline: bool
) -> None:
    same(make(folder, files), query, ripgrep, regex=True, case_sensitive=sensitive, multiline=multiline)


_GLOBS = st.sampled_from(
    [
        None,
        "*.py",
        "d/*",
        "**/e.py",
        "{a,c.py}",
        "[a-d]*",
        "*",
        "out/**",
        "D/E.PY",
        "d/",
        ".h",
        "[!a]*",
        "x",
        "{a",
        "-*",
    ]
)
_PLACES = st.sampled_from([None, None, "d", "out", "a", ".h", "d/e.py", "k.key", "nowhere", "."])


@_QUIET
@given(_TREES, st.data())
def test_all_options_together(folder: Path, ripgrep: Path, files: dict[str, bytes], data: st.DataObject) -> None:
    regex = data.draw(st.booleans(), "regex")
    options: dict[str, object] = {
        "regex": regex,
        "path": data.draw(_PLACES, "path"),
        "glob": data.draw(_GLOBS, "glob"),
        "suffixes": data.draw(st.sampled_from([None, (".py",)]), "suffixes"),
        "case_sensitive": data.draw(st.booleans(), "case"),
        "multiline": data.draw(st.booleans(), "multiline"),
        "lines": data.draw(st.sampled_from([None, (1, 1), (2, 5)]), "lines"),
        "context_lines": data.draw(st.integers(0, 2), "context"),
        "limit": data.draw(st.integers(0, 3), "limit"),
        "offset": data.draw(st.integers(0, 2), "offset"),
    }
    query = data.draw(_PATTERNS.map("".join) if regex else _LITERALS, "query")
    few = data.draw(st.booleans(), "few")
    roots = make(folder, files)
    before = searching._FEW_FILES
    searching._FEW_FILES = before if few else 0
    try:
        assert outcome(roots, query, **options, ripgrep=ripgrep) == outcome(roots, query, **options)
    finally:
        searching._FEW_FILES = before


def outcome(roots: Roots, query: str, **options: object) -> object:
    """What a search finds, or how it fails."""
    try:
        return search(roots, query, patient=True, **options)
    except ToolError as error:
        return error.code, error.message


@_QUIET
@given(_TREES, _PATTERNS.map("".join) | _LITERALS.map(re.escape))
def test_many_files_are_told_apart_by_ripgrep_too(
    folder: Path, ripgrep: Path, files: dict[str, bytes], query: str
) -> None:
    """The way for many files, taken with few."""
    before = searching._FEW_FILES
    searching._FEW_FILES = 0
    try:
        same(make(folder, files), query, ripgrep, regex=True, limit=1)
    finally:
        searching._FEW_FILES = before


def test_unsaved_texts_are_searched_in_place_of_the_files(folder: Path, ripgrep: Path) -> None:
    roots = make(folder, {"a": b"old", "b": b"old", "c": b"\0new", "d": b"new"})
    texts = {roots.main / "a": "new", roots.main / "c": "x\nnew", roots.main / "d": "old"}
    found = same(roots, "new", ripgrep, read=texts.get, unsaved=texts.keys())
    assert [(match.path, match.line) for match in found.matches] == [("a", 1), ("c", 2)]


def test_links_that_leave_are_not_followed(folder: Path, ripgrep: Path) -> None:
    roots = make(folder, {"a": b"needle", "b": b""})
    (folder / "outside").write_bytes(b"needle")
    (roots.main / "link").symlink_to(folder / "outside")
    os.mkfifo(roots.main / "pipe")
    assert [match.path for match in same(roots, "needle", ripgrep).matches] == ["a"]


def test_large_files_are_searched_in_their_first_part(
    folder: Path, ripgrep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "MAX_FILE", 1000)
    roots = make(folder, {"a": b"needle\n" + b"x" * 1000 + b"\nneedle\n", "b": b"x" * 1001 + b"needle"})
    found = same(roots, "needle", ripgrep)
    assert found.total_matches == 1


def test_a_stop_kills_the_counting(folder: Path, ripgrep: Path) -> None:
    roots = make(folder, {"a": b"x", "b": b"x"})
    found = search(roots, "x", ripgrep=ripgrep, should_stop=lambda: True)
    assert (found.truncated, found.notices) == (True, ["the search was stopped"])


def test_more_names_than_a_command_line_holds(folder: Path, ripgrep: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from north_lsp.workspace.search import ripgrep as counting

    monkeypatch.setattr(counting, "_MAX_ARGUMENT_BYTES", 40)
    files = {f"file-{number:02}": b"x\nx\n" for number in range(20)}
    roots = make(folder, files)
    assert count_lines(ripgrep, roots.main, list(files), "x") == (dict.fromkeys(files, 2), None)
    counted = count_lines(ripgrep, roots.main, list(files), "y", options=[TELLS_SEARCHED])
    assert counted == ({}, 20)


@pytest.mark.parametrize(("query", "asks"), [("needle", False), ("nee", True)])
def test_all_files_are_asked_for_their_sizes_only_if_ripgrep_may_have_left_one_out(
    folder: Path, ripgrep: Path, monkeypatch: pytest.MonkeyPatch, query: str, asks: bool
) -> None:
    roots = make(folder, {"a": b"needle", "b": b"", "c/d": b"\0needle"})
    sizes, asked = searching._huge, set[str]()

    def huge(root: Path, files: Iterable[str]) -> set[str]:
        asked.update(files)
        return sizes(root, files)

    monkeypatch.setattr(searching, "_huge", huge)
    search(roots, query, ripgrep=ripgrep)
    assert asked == {"./", *([".gitignore", ".northignore", "a", "b", "c/d"] if asks else [])}
    asked.clear()
    unsaved = {roots.main / "a": "needle"}
    found = search(roots, query, ripgrep=ripgrep, read=unsaved.get, unsaved=tuple(unsaved))
    assert asked == {"./", *([".gitignore", ".northignore", "b", "c/d"] if asks else [])}
    assert (found.files_searched, found.total_matches) == (5, 1)


def test_a_file_that_appears_does_not_count_for_one_that_ripgrep_leaves_out(
    folder: Path, ripgrep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a build makes them while a project with a large log is searched."""
    roots = make(folder, {"a": b"needle", "b": b"needle", "large": b"needle" + b"x" * 100_000})

    def late(*args: Any, **options: Any) -> Any:
        (roots.main / "fresh").write_text("y")
        return count_lines(*args, **options)

    monkeypatch.setattr(searching, "_MAX_COUNTED", 50_000)
    monkeypatch.setattr(searching, "count_lines", late)
    found = search(roots, "needle", ripgrep=ripgrep)
    assert [match.path for match in found.matches] == ["a", "b", "large"]


def test_what_ripgrep_cannot_spell_is_searched_without_it() -> None:
    assert translate(re.compile(r"(a)?(?(1)b|c)")) is None
    exact = translate(re.compile(r"\bdef \w+\("))
    assert exact is not None
    assert exact.exact
