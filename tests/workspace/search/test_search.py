import os
from pathlib import Path
from typing import Any

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search import search as searching
from north_lsp.workspace.search import search_child
from north_lsp.workspace.search.matching import Match, NeedsChildProcess
from north_lsp.workspace.search.request import Expression, Selection, Within
from north_lsp.workspace.search.ripgrep import find_ripgrep
from tests.support.searching import search, search_in_text


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "repo"
    root.mkdir()
    return root


def roots(root: Path, files: dict[str, str | bytes]) -> Roots:
    for name, content in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
    return Roots.of(root)


def places(matches: list[Match]) -> list[tuple[str, int, int]]:
    return [(match.path, match.line, match.column) for match in matches]


def test_matches_come_in_path_order_with_line_and_column(repo: Path) -> None:
    where = roots(repo, {"b/x.py": "é foo foo\r\n", "a.py": "x\n\nfoo\n", "b.py": "Foo", ".hid": "foo", "c": "fo"})
    found = search(where, "foo")
    assert places(found.matches) == [(".hid", 1, 1), ("a.py", 3, 1), ("b/x.py", 1, 3), ("b.py", 1, 1)]
    assert found.matches[2].text == "é foo foo"
    assert (found.total_matches, found.files_searched, found.truncated, found.notices) == (4, 5, False, [])


@pytest.mark.parametrize(
    ("query", "regex", "sensitive", "lines"),
    [
        ("foo", False, False, [1, 2]),
        ("foo", False, True, [1]),
        ("Foo", False, False, [2]),
        (r"fo\S", True, False, [1, 2]),
        (r"^f.o$", True, False, [1, 2]),
        ("f.o", False, False, [5]),
        ("ü", False, False, [3, 4]),
        ("Ü", False, False, [4]),
        ("${name}", True, False, [6]),
        ("x{2}", True, False, [7]),
        ("[", True, False, [8]),
        ("[[{]", True, False, [6, 8]),
        (r"\{", True, False, [6]),
        ("a++b", False, False, []),
    ],
)
def test_queries(repo: Path, query: str, regex: bool, sensitive: bool, lines: list[int]) -> None:
    where = roots(repo, {"a": "foo\nFoo\nü\nÜ\nf.o!\n${name}\naxxb\n[\n"})
    found = search(where, query, regex=regex, case_sensitive=sensitive)
    assert [match.line for match in found.matches] == lines


def test_a_broken_pattern_is_searched_as_text(repo: Path) -> None:
    found = search(roots(repo, {"a": "call(x\n"}), "call(", regex=True)
    assert places(found.matches) == [("a", 1, 1)]
    assert found.notices[0].startswith("searched as plain text: ")


def test_an_empty_query_and_a_broken_glob_are_refused(repo: Path) -> None:
    for query, glob in (("", None), ("x", "[a"), ("x", "{a,}"), ("x", "{a,b}" * 9)):
        with pytest.raises(ToolError) as caught:
            search(roots(repo, {}), query, glob=glob)
        assert caught.value.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/c.PY"]),
        ("*.{py,ts}", ["a.py", "src/b.py", "src/d.ts", "src/deep/c.PY"]),
        ("*.{py,ts", ["a.py", "src/b.py", "src/d.ts", "src/deep/c.PY"]),
        ("src/*.py", ["src/b.py"]),
        ("src\\**\\*.py", ["src/b.py", "src/deep/c.PY"]),
        ("src/", ["src/b.py", "src/d.ts", "src/deep/c.PY"]),
        ("./a.py", ["a.py"]),
        ("{src/b,a}.py", ["a.py", "src/b.py"]),
    ],
)
def test_globs(repo: Path, glob: str, expected: list[str]) -> None:
    where = roots(repo, dict.fromkeys(("a.py", "src/b.py", "src/deep/c.PY", "src/d.ts"), "x"))
    assert [match.path for match in search(where, "x", glob=glob).matches] == expected


def test_a_path_narrows_the_search_and_opens_what_git_ignores(repo: Path) -> None:
    where = roots(repo, {"a": "x", "src/b.py": "x", "src/c.ts": "x", "out/d": "x", ".gitignore": "out\n"})
    assert [match.path for match in search(where, "x", path="src").matches] == ["src/b.py", "src/c.ts"]
    assert [match.path for match in search(where, "x", path="src", glob="/*.ts").matches] == ["src/c.ts"]
    assert [match.path for match in search(where, "x", path="src/b.py").matches] == ["src/b.py"]
    assert [match.path for match in search(where, "x", path="out").matches] == ["out/d"]
    assert [match.path for match in search(where, "x").matches] == ["a", "src/b.py", "src/c.ts"]
    with pytest.raises(ToolError) as caught:
        search(where, "x", path="missing")
    assert caught.value.code == "NOT_FOUND"
    with pytest.raises(ToolError) as caught:
        search(where, "x", path="../repo-evil")
    assert caught.value.code == "OUTSIDE_WORKSPACE"


def test_what_the_user_closed_is_never_searched(repo: Path) -> None:
    where = roots(repo, {".northignore": "secret/\n*.key\n", "secret/a": "x", "b.key": "x", "c": "x"})
    (repo / "link").symlink_to("secret/a")
    (repo / "folder").symlink_to("secret")
    assert [match.path for match in search(where, "x").matches] == ["c"]
    for path in ("secret", "secret/a", "b.key", "link", "folder/a", "B.KEY"):
        with pytest.raises(ToolError) as caught:
            search(where, "x", path=path)
        assert caught.value.code == "IGNORED"


def test_binary_and_special_files_are_skipped_and_links_not_followed(repo: Path) -> None:
    utf16 = b"\xff\xfe" + "x\n".encode("utf-16-le")
    where = roots(repo, {"bin": b"\0x", "a": "x", "utf16": utf16, "latin": b"\xe9x\n"})
    os.mkfifo(repo / "pipe")
    (repo / "link").symlink_to("/etc/passwd")
    found = search(where, "x")
    assert places(found.matches) == [("a", 1, 1), ("latin", 1, 2), ("utf16", 1, 1)]
    assert [match.path for match in search(where, "é").matches] == ["latin"]


def test_limit_offset_and_context(repo: Path) -> None:
    where = roots(repo, {"a": "".join(f"hit {at}\n" for at in range(10)), "b": "1\n2\nhit\n4\n"})
    found = search(where, "hit", limit=2, offset=9, context_lines=1)
    assert places(found.matches) == [("a", 10, 1), ("b", 3, 1)]
    assert found.matches[0].before == ("hit 8",)
    assert found.matches[0].after == ()
    assert (found.matches[1].before, found.matches[1].after) == (("2",), ("4",))
    assert (found.total_matches, found.truncated) == (11, False)
    assert search(where, "hit", limit=5).truncated


def test_long_lines_are_cut_around_the_match(repo: Path) -> None:
    where = roots(
        repo, {"a": "a" * 2000 + "needle" + "b" * 2000 + "\nneedle" + "c" * 2000 + "\n" + "d" * 2000 + "needle"}
    )
    first, second, third = search(where, "needle", context_lines=1).matches
    assert (first.column, len(first.text)) == (2001, 506)
    assert "needle" in first.text
    assert second.text.startswith("needle")
    assert second.text.endswith("c...")
    assert third.text.startswith("...d")
    assert third.text.endswith("needle")
    assert len(third.before[0]) == 503


def test_unsaved_text_wins(repo: Path) -> None:
    where = roots(repo, {"a": "old", "b": "old", "c": b"\0"})
    unsaved = {repo / "a": "new", repo / "c": "x\nnew"}
    assert places(search(where, "new", read=unsaved.get).matches) == [("a", 1, 1), ("c", 2, 1)]
    assert [match.path for match in search(where, "old", read=unsaved.get).matches] == ["b"]


def test_large_files_are_searched_in_their_first_part(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MAX_FILE", 1000)
    where = roots(repo, {"a": "needle é\n" + "x" * 988 + "\né needle\n", "b": "needle" + "é" * 600})
    found = search(where, "needle")
    assert places(found.matches) == [("a", 1, 1), ("b", 1, 1)]
    assert "searched: a, b" in found.notices[0]
    assert found.matches[1].text.startswith("needleéé")


def test_a_stop_is_prompt_and_said(repo: Path) -> None:
    where = roots(repo, {f"{at:02}": "x" for at in range(10)})
    asked = iter([False, False, False])
    found = search(where, "x", should_stop=lambda: next(asked, True))
    assert found.files_searched == 3
    assert found.truncated
    assert found.notices == ["the search was stopped"]


def test_the_time_limit_gives_a_part(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "MAX_SECONDS", -1.0)
    found = search(roots(repo, {"a": "x"}), "x")
    assert (found.matches, found.truncated) == ([], True)
    assert "longer than" in found.notices[0]


def test_further_roots_are_searched_under_their_name(repo: Path) -> None:
    roots(repo, {"a": "x", "inner/b": "x"})
    other = repo.parent / "lib"
    roots(other, {"c": "x"})
    where = Roots.of(repo, other, repo / "inner")
    found = search(where, "x")
    assert [match.path for match in found.matches] == ["a", "./inner/b", "lib/c"]
    assert all(where.resolve(match.path).exists for match in found.matches)
    assert [match.path for match in search(where, "x", path="lib").matches] == ["lib/c"]


@pytest.mark.parametrize("ripgrep", [None, find_ripgrep()], ids=["python", "ripgrep"])
@pytest.mark.parametrize("query", ["needle", r"n\w{4}e"])
def test_a_huge_file_does_not_hide_the_others(repo: Path, ripgrep: Path | None, query: str) -> None:
    where = roots(repo, {"a.txt": "needle\n", "z/b.txt": "needle\n"})
    with (repo / "huge.log").open("wb") as file:
        file.write(b"needle\n" + b"nothing\n" * 4000)
        file.truncate(10 * 1024**3)
    found = search(where, query, regex=query != "needle", ripgrep=ripgrep)
    assert [match.path for match in found.matches] == ["a.txt", "huge.log", "z/b.txt"]
    assert not found.truncated
    assert found.notices == ["only the first 4 MiB of these files were searched: huge.log"]


def test_a_long_line_without_what_every_match_holds_is_passed_over(repo: Path) -> None:
    where = roots(repo, {"a": "x" * 100_000 + "\nFoo1bar\n"})
    found = search(where, r"foo\d+bar", regex=True)
    assert places(found.matches) == [("a", 2, 1)]


@pytest.mark.parametrize(("expression", "multiline"), [("x*x*x*y", False), ("(x+)+y", False), (r"x.*\n.*y", True)])
def test_what_may_take_long_is_left_to_a_process_that_can_be_killed(
    repo: Path, expression: str, multiline: bool
) -> None:
    where = roots(repo, {"a": "y" + "x" * 100_000 + "\n" + "x" * 100_000})
    with pytest.raises(NeedsChildProcess):
        search(where, expression, regex=True, multiline=multiline)
    with pytest.raises(NeedsChildProcess):
        search_in_text("a", "y" + "x" * 100_000, expression, regex=True, multiline=multiline)


def test_a_process_of_its_own_searches_with_the_same_means(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(search_child, "search", lambda *arguments: given.append(arguments[-1]))
    texts, ripgrep = {repo / "a": "text"}, Path("/usr/bin/rg")
    asked = search_child.InFiles(roots(repo, {}), Expression("x"), Within(), Selection(), texts, ripgrep, 60.0)
    asked.search()
    (means,) = given
    assert (means.ripgrep, means.seconds, means.patient) == (ripgrep, 60.0, True)
    assert (means.read(repo / "a"), [*means.unsaved]) == ("text", [repo / "a"])
