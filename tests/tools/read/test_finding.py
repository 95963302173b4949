import os
import subprocess
from pathlib import Path

import pytest

from north_lsp.tools.support.sightings import shown_of
from north_lsp.vocabulary import Location
from north_lsp.workspace.text import as_text, read_text
from tests.tools.conftest import Desk

FILES = ("a.py", "b.TS", "src/c.py", "src/deep/d.py", ".hidden/e.py", "node_modules/foo/f.js", "out/g.py")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"pattern": "*.py"}, ["a.py", "src/c.py", "src/deep/d.py"]),
        ({"pattern": "*.{py,ts"}, ["a.py", "b.TS", "src/c.py", "src/deep/d.py"]),
        ({"pattern": "src/*.py"}, ["src/c.py"]),
        ({"pattern": "SRC\\**\\*.PY"}, ["src/c.py", "src/deep/d.py"]),
        ({"pattern": "*.py", "hidden": True}, [".hidden/e.py", "a.py", "src/c.py", "src/deep/d.py"]),
        ({"pattern": "node_modules/foo/**"}, ["node_modules/foo/f.js"]),
        ({"pattern": "out/*.py"}, ["out/g.py"]),
        ({"pattern": "*.py", "path": "out"}, ["out/g.py"]),
        ({"pattern": "*.py", "path": "src/deep"}, ["src/deep/d.py"]),
        ({"pattern": "*", "type": "dir"}, ["src", "src/deep"]),
        ({"pattern": "**/deep", "type": "dir"}, ["src/deep"]),
        ({"pattern": "nothing"}, []),
    ],
)
async def test_globs(desk: Desk, arguments: dict[str, object], expected: list[str]) -> None:
    desk.write(dict.fromkeys(FILES, "x"))
    desk.write({".gitignore": "out\n"})
    assert (await desk.call("find_files", **arguments))["files"] == expected


async def test_what_a_search_shows_was_seen(desk: Desk) -> None:
    long = "x" * 2000 + " needle " + "y" * 2000
    desk.write({"a.txt": f"one\nneedle two\nthree\n{long}\n", "b.txt": "needle\n", "c.txt": "disk needle\n"})
    desk.unsaved[desk.root / "c.txt"] = "unsaved\nneedle\n"
    data = await desk.call("search_text", query="needle", contextLines=1)
    assert "..." in data["matches"][1]["text"]
    seen = desk.workspace.seen
    # A line that was cut is not seen, though its file is.
    assert seen.ranges[desk.root / "a.txt"] == ((1, 3),)
    assert seen.tags[desk.root / "a.txt"] == read_text(desk.root / "a.txt").tag
    assert seen.ranges[desk.root / "b.txt"] == ((1, 1),)
    assert seen.tags[desk.root / "c.txt"] == as_text("unsaved\nneedle\n").tag
    await desk.call("search_text", query="one", mode="files")
    assert seen.ranges[desk.root / "a.txt"] == ((1, 3),)


async def test_a_misspelled_place_is_found_or_told(desk: Desk) -> None:
    desk.write({"src/app.py": "needle\n", "lib/app.py": "needle\n"})
    data = await desk.call("search_text", query="needle", file="src/ap.py")
    assert [match["path"] for match in data["matches"]] == ["src/app.py"]
    assert "this is src/app.py" in data["meta"]["notices"][0]
    error = await desk.error("search_text", query="needle", path="app.py")
    assert (error.code, error.details["similar"]) == ("NOT_FOUND", ["lib/app.py", "src/app.py"])


async def test_matches_that_the_digest_leaves_out_were_not_seen(desk: Desk) -> None:
    desk.write({f"{number:02}.txt": "needle\n" for number in range(12)})
    assert (await desk.output("search_text", query="needle")).digest is not None
    assert [path.name for path in desk.workspace.seen.tags] == [f"{number:02}.txt" for number in range(10)]


def test_a_file_that_has_changed_since_the_search_was_not_seen(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one\ntwo\n")
    assert shown_of([(path, 2, "two")], {}) == [(path, read_text(path).tag, ((2, 2),))]
    for rows in ([(path, 2, "three")], [(path, 3, "x")], [(tmp_path / "gone", 1, "x")]):
        assert shown_of(rows, {}) == []
    assert shown_of([(path, 1, "one"), (path, 2, "two")], {})[0][2] == ((1, 2),)


async def test_limits_order_and_broken_globs(desk: Desk) -> None:
    for number, name in enumerate(("a", "b", "c")):
        desk.write({name: "x"})
        os.utime(desk.root / name, (1000 + number, 1000 + number))
    data = await desk.call("find_files", pattern="*", sort="mtime", limit=2)
    assert data == {"files": ["c", "b"], "total": 3, "truncated": True}
    data = await desk.call("find_files", pattern="*", limit=9999)
    assert data["meta"]["notices"] == ["limit is 500, its maximum, instead of 9999"]
    for arguments in ({"pattern": "[a"}, {"pattern": "*", "limit": 0}, {"pattern": "*", "sort": "x"}, {}):
        assert (await desk.error("find_files", **arguments)).code == "INVALID_INPUT"
    for pattern, at in (("[a", 1), ("src/[ab]/x[!", 11), ("./a/[", 5)):
        error = await desk.error("find_files", pattern=pattern)
        assert (error.details, f"character {at}" in error.message) == ({"position": at}, True)


async def test_changes_are_seen_at_once(desk: Desk) -> None:
    desk.write({"a/b/c.py": "x", "d.py": "x", "a/.gitignore": ""})
    names = {"files": ["a/b/c.py", "d.py"], "total": 2, "truncated": False}
    assert await desk.call("find_files", pattern="*.py") == names
    desk.write({"a/b/e.py": "x", "n/m/f.py": "x"})
    assert (await desk.call("find_files", pattern="*.py"))["files"] == ["a/b/c.py", "a/b/e.py", "d.py", "n/m/f.py"]
    (desk.root / "a/b/c.py").unlink()
    os.rename(desk.root / "n", desk.root / "o")
    assert (await desk.call("find_files", pattern="*.py"))["files"] == ["a/b/e.py", "d.py", "o/m/f.py"]
    desk.write({"a/.gitignore": "b\n"})
    assert (await desk.call("find_files", pattern="*.py"))["files"] == ["d.py", "o/m/f.py"]
    desk.write({"o/.northignore": "m\n"})
    assert (await desk.call("find_files", pattern="*.py"))["files"] == ["d.py"]


async def test_search_modes_types_and_ranges(desk: Desk) -> None:
    desk.write({"a.py": "x\nhit\nhit\n", "b.ts": "hit\n", "c.tsx": "hit hit\n", "d.md": "Hit\n"})
    data = await desk.call("search_text", query="hit", mode="count")
    assert data["counts"] == [
        {"path": path, "count": count}
        for path, count in zip(("a.py", "b.ts", "c.tsx", "d.md"), (2, 1, 1, 1), strict=True)
    ]
    assert (await desk.call("search_text", query="hit", mode="files", limit=2, offset=1))["files"] == ["b.ts", "c.tsx"]
    data = await desk.call("search_text", query="hit", type="ts")
    assert [match["path"] for match in data["matches"]] == ["b.ts", "c.tsx"]
    data = await desk.call("search_text", query="hit", file="a.py", lineRange={"start": 3, "end": 9})
    assert [match["line"] for match in data["matches"]] == [3]
    data = await desk.call("search_text", query="x\nhit", multiline=True)
    assert data["matches"] == [{"path": "a.py", "line": 1, "column": 1, "text": "x\nhit"}]
    data = await desk.call("search_text", query="hit", limit=1, contextLines=9)
    assert (data["truncated"], data["limitReached"]) == (True, True)
    assert data["meta"]["notices"] == ["contextLines is 5, its maximum, instead of 9"]
    for arguments in (
        {"lineRange": {"start": 1, "end": 2}},
        {"type": "klingon"},
        {"file": "a.py", "lineRange": {"start": 3, "end": 1}},
    ):
        assert (await desk.error("search_text", query="x", **arguments)).code == "INVALID_INPUT"


async def test_languages(desk: Desk) -> None:
    desk.write(
        {"a.py": "x" * 75, "b.js": "x" * 25, "vendor/c.js": "x" * 999, "d.min.js": "x" * 999, "package-lock.json": "{}"}
    )
    data = await desk.call("detect_languages")
    assert data == {
        "languages": [
            {"name": "Python", "files": 1, "bytes": 75, "percent": 75.0},
            {"name": "JavaScript", "files": 1, "bytes": 25, "percent": 25.0},
        ],
        "truncated": False,
    }


def git(desk: Desk, *arguments: str) -> None:
    author = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(desk.root), *author, *arguments], check=True, capture_output=True)


async def test_hot_files_follow_renames(desk: Desk) -> None:
    git(desk, "init", "-q")
    for number in range(4):
        desk.write({"old.py": f"text {number}\n" * 20, "gone.py": f"{number}"})
        desk.write({"rare.py": "x"})
        git(desk, "add", "-A")
        git(desk, "commit", "-qm", "c")
    git(desk, "mv", "old.py", "new.py")
    git(desk, "rm", "-qf", "gone.py")
    git(desk, "commit", "-qm", "renamed")
    data = await desk.call("hotfiles")
    assert data["source"] == "git"
    assert [(file["path"], file["changes"]) for file in data["files"]] == [("new.py", 5), ("rare.py", 1)]
    assert data["files"][0]["score"] == 1.0


async def test_without_git_likely_files_are_named(desk: Desk) -> None:
    desk.write({"main.py": "x", "z/deep/other.txt": "x", "pyproject.toml": "x"})
    data = await desk.call("hotfiles", limit=2)
    assert data["source"] == "fallback"
    assert {file["path"] for file in data["files"]} == {"main.py", "pyproject.toml"}


async def test_list_root_names_further_roots(desk: Desk) -> None:
    desk.write({"a/x": "x", "b": "xx"})
    data = await desk.call("list_root")
    assert data["entries"] == [{"name": "a", "type": "dir"}, {"name": "b", "type": "file", "size": 2}]
    assert (await desk.error("list_root", root="other")).code == "NOT_FOUND"


async def test_one_strange_file_name_hinders_no_search(desk: Desk) -> None:
    desk.write({"a": "needle\n", "a line\nbreak": "needle\n"})
    (desk.root / "not\udcff").write_text("needle\n")
    output = await desk.output("search_text", query="needle")
    assert isinstance(output.data, dict)
    assert [match["path"] for match in output.data["matches"]] == ["a", "a line\nbreak", "not\ufffd"]
    assert output.locations[0] == Location(desk.root / "a", 1)
    assert desk.root / "a line\nbreak" not in [place.path for place in output.locations]


async def test_an_ignored_file_is_found_by_its_whole_name_unless_it_is_closed(desk: Desk) -> None:
    desk.write({".gitignore": "*.log\n", ".northignore": "b.log\n", "a.log": "", "b.log": "", "sub/c.log": ""})
    (desk.root / "d.log").symlink_to("b.log")
    found = {}
    for pattern in ("a.log", "b.log", "d.log", "sub/c.log", "/sub/c.log", "c.log", "*.log", "../repo/a.log"):
        found[pattern] = (await desk.call("find_files", pattern=pattern))["files"]
    assert {pattern: files for pattern, files in found.items() if files} == {
        "a.log": ["a.log"],
        "sub/c.log": ["sub/c.log"],
        "/sub/c.log": ["sub/c.log"],
    }


async def test_patterns_may_begin_with_the_path_of_the_root(desk: Desk) -> None:
    desk.write({"a.py": "needle", "sub/b.py": "needle"})
    assert (await desk.call("find_files", pattern=f"{desk.root}/*.py"))["files"] == ["a.py"]
    assert (await desk.call("find_files", pattern=f"{desk.root}/**/*.py"))["files"] == ["a.py", "sub/b.py"]
    found = await desk.call("search_text", query="needle", glob=f"{desk.root}/sub/*.py")
    assert [match["path"] for match in found["matches"]] == ["sub/b.py"]


async def test_hotfiles_of_a_folder_that_is_not_there(desk: Desk) -> None:
    assert (await desk.error("hotfiles", path="nope")).code == "NOT_FOUND"
