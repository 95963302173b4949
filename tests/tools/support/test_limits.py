"""One table of limits for all tools, and the folders outside that may be read."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.storage.limits import Limits
from north_lsp.storage.locations import Locations
from north_lsp.storage.read_settings import ReadSettings
from north_lsp.storage.setting import declared
from north_lsp.storage.user_settings import load_settings
from north_lsp.tools.support.texts import resolve_open
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots, extra_roots
from tests.tools.conftest import Desk


def store(tmp_path: Path, text: str) -> Locations:
    locations = Locations.from_environment({"NORTH_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path)})
    locations.config.mkdir(parents=True)
    (locations.config / "config.json").write_text(text)
    return locations


def test_settings_of_reading(tmp_path: Path) -> None:
    text = """{"files.extraReadRoots": ["~/x"], "digest": {"enabled": false}, "tools.discoveryThreshold": 0,
        "files.indexLimit": 200, "limits": {"readLines": 100, "artifactsMb": 7}}"""
    found = load_settings(store(tmp_path, text)).reading
    assert found == ReadSettings(("~/x",), False, 0, Limits(read_lines=100, artifacts_mb=7), 200)


@pytest.mark.parametrize("value", ["0", "19", "5001", "true", '"500"'])
def test_a_limit_that_cannot_be_is_refused(tmp_path: Path, value: str) -> None:
    found = load_settings(store(tmp_path, f'{{"limits.readLines": {value}}}'))
    assert found.reading.limits == Limits()
    assert "limits.readLines must be" in found.problems[0]


def test_every_limit_can_be_set_to_its_bounds(tmp_path: Path) -> None:
    rows = declared(Limits)
    assert {row.path[-1] for row in rows.values()} == vars(Limits()).keys()
    for bound in ("low", "high"):
        wanted = {key: getattr(row.setting, bound) for key, row in rows.items()}
        found = load_settings(store(tmp_path / bound, json.dumps(wanted)))
        assert found.problems == ()
        assert {key: row.value_in(found.reading.limits) for key, row in rows.items()} == wanted


async def test_a_limited_index_has_what_is_open_and_what_changed_last(desk: Desk) -> None:
    desk.write({"new/latest_one.txt": "x", **{f"old/file_{at:03}.txt": "x" for at in range(120)}})
    for at in range(120):
        os.utime(desk.root / f"old/file_{at:03}.txt", (at, at))
    desk.unsaved[desk.root / "old/file_000.txt"] = "x"
    desk.read_with(index_limit=100)
    for missing, expected in (
        ("ltsone", ["new/latest_one.txt"]),
        ("fl000", ["old/file_000.txt"]),
        ("fl119", ["old/file_119.txt"]),
        ("fl021", []),
        ("nw", ["new", "new/latest_one.txt"]),
    ):
        error = await desk.error("read_file", path=missing)
        assert error.details["similar"] == expected
        assert "(index limited)" in str(error.hint)
    desk.read_with(index_limit=121)
    assert "limited" not in str((await desk.error("read_file", path="fl021")).hint)


async def test_every_tool_keeps_to_the_limits_and_says_so(desk: Desk) -> None:
    code = "".join(f"def f{at}():\n    return {at}\n\n\n" for at in range(30))
    desk.write(
        {"a.py": code, "b.html": "<section></section>\n" * 30, **{f"f/{at:02}.txt": "hit\n" for at in range(30)}}
    )
    desk.write({"README.md": "long\n" * 1000})
    twenty = ("read_lines", "files", "matches", "ast_matches", "symbols", "outline_entries", "blocks")
    desk.limit(around_lines=5, window_lines=5, readme_kb=1, root_entries=2, code_blocks=1, **dict.fromkeys(twenty, 20))
    data = await desk.call("read_file", path="a.py", startLine=1)
    assert (data["ranges"], data["nextRange"]) == ([{"start": 1, "end": 20}], {"startLine": 21, "endLine": 40})
    data = await desk.call("read_file", path="a.py", startLine=900)
    assert data["ranges"] == [{"start": 101, "end": 120}]
    data = await desk.call("read_file", path="a.py", aroundMatch="return 15", windowLines=100)
    assert data["ranges"] == [{"start": 57, "end": 67}]
    assert data["meta"]["notices"] == ["windowLines is 5, its maximum, instead of 100"]
    data = await desk.call("read_around", path="a.py", anchor="return 15")
    assert data["meta"]["notices"] == [
        "before is 5, its maximum, instead of 12",
        "after is 5, its maximum, instead of 20",
    ]
    assert (await desk.call("read_readme"))["truncated"]
    assert ((data := await desk.call("list_root"))["truncated"], len(data["entries"])) == (True, 2)
    data = await desk.call("find_files", pattern="*.txt")
    assert (len(data["files"]), data["truncated"], data["total"]) == (20, True, 30)
    data = await desk.call("search_text", query="hit")
    assert (len(data["matches"]), data["truncated"], data["limitReached"]) == (20, True, True)
    assert (len((data := await desk.call("get_file_symbols", path="a.py"))["symbols"]), data["truncated"]) == (20, True)
    assert (len((data := await desk.call("get_file_outline", path="a.py"))["entries"]), data["truncated"]) == (20, True)
    assert (len((data := await desk.call("find_blocks", path="b.html"))["blocks"]), data["truncated"]) == (20, True)
    data = await desk.call("find_code_block", path="a.py", query="return 1")
    assert (len(data["matches"]), data["truncated"]) == (1, True)
    text = (await desk.output("ast_search", pat="return $X", paths=["a.py"], limit=100)).text or ""
    assert "limit is 20, its maximum, instead of 100" in text
    assert "result limit reached" in text
    number = desk.artifacts.add("t", "row\n" * 100)
    data = await desk.call("expand_output", outputId=str(number))
    assert data["nextRange"] == {"startLine": 21, "endLine": 40}


@pytest.fixture
def outside(desk: Desk, tmp_path: Path) -> Path:
    """A folder beside the workspace that may be read."""
    folder = Path(tmp_path).resolve() / "docs"
    folder.mkdir()
    (folder / "guide.md").write_text("how to find it\n")
    (folder / ".northignore").write_text("closed\n")
    (folder / "closed").write_text("find\n")
    roots = Roots(desk.workspace.roots.roots, extra_roots([str(folder), "relative", str(folder / "missing")]))
    assert roots.extra == (folder,)
    desk.workspace = replace(desk.workspace, trees=Trees.of(roots, desk.workspace.private))
    return folder


async def test_extra_folders_are_read_by_their_absolute_paths(desk: Desk, outside: Path) -> None:
    desk.write({"a.md": "find\n"})
    (desk.root / "link.md").symlink_to(outside / "guide.md")
    guide = str(outside / "guide.md")
    data = await desk.call("read_file", path=guide)
    assert (data["path"], data["content"]) == (guide, "1→how to find it\n")
    assert (await desk.call("read_file", path="link.md"))["path"] == guide
    assert [hit["path"] for hit in (await desk.call("search_text", query="find", path=str(outside)))["matches"]] == [
        guide
    ]
    assert [hit["path"] for hit in (await desk.call("search_text", query="find"))["matches"]] == ["a.md"]
    assert (await desk.call("find_files", pattern="*.md", path=str(outside)))["files"] == [guide]
    assert (await desk.call("find_files", pattern="*.md"))["files"] == ["a.md"]
    assert (await desk.call("get_file_outline", path=guide))["totalLines"] == 1
    assert (await desk.call("read_file", path=str(outside / "guide.mdx")))["path"] == guide
    assert (await desk.error("read_file", path=str(outside / "sub/guide.md"))).details["similar"] == [guide]


@pytest.mark.parametrize("path", ["closed", "../other", "../docs-too/x"])
async def test_what_is_closed_or_beside_an_extra_folder_stays_so(desk: Desk, outside: Path, path: str) -> None:
    (outside.parent / "docs-too").mkdir()
    code = "IGNORED" if path == "closed" else "OUTSIDE_WORKSPACE"
    assert (await desk.error("read_file", path=str(outside / path))).code == code
    (outside / "way-out").symlink_to("/etc/passwd")
    assert (await desk.error("read_file", path=str(outside / "way-out"))).code == "OUTSIDE_WORKSPACE"
    assert (await desk.error("read_file", path="../docs/guide.md")).code == "OUTSIDE_WORKSPACE"


async def test_nothing_in_an_extra_folder_can_be_changed(desk: Desk, outside: Path) -> None:
    with pytest.raises(ToolError) as caught:
        await resolve_open(str(outside / "guide.md"), desk.workspace)
    assert caught.value.code == "OUTSIDE_WORKSPACE"
