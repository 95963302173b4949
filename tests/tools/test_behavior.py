"""What holds for all tools that look: they run off the loop, can be cancelled, and are in the descriptions."""

import re
import subprocess
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from north_lsp.tools.base import ReadTool
from north_lsp.tools.read import search_text
from north_lsp.workspace.files.fuzzy import FuzzyIndex
from north_lsp.workspace.search.ripgrep import find_ripgrep
from north_lsp.workspace.structure import parsing
from tests.support.patience import PATIENCE
from tests.tools.conftest import Desk

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_root", {}),
    ("find_files", {"pattern": "*"}),
    ("search_text", {"query": "x"}),
    ("read_file", {"path": "a.py"}),
    ("read_around", {"path": "a.py", "anchor": "unique"}),
    ("get_line_count", {"path": "a.py"}),
    ("read_readme", {}),
    ("detect_languages", {}),
    ("hotfiles", {}),
    ("get_file_symbols", {"path": "a.py"}),
    ("get_file_outline", {"path": "a.py"}),
    ("find_code_block", {"path": "a.py", "query": "f"}),
    ("find_blocks", {"path": "a.py"}),
    ("ast_search", {"pat": "f($$$)", "paths": ["."]}),
    ("expand_output", {"outputId": "1"}),
    ("calc", {"expression": "1 + 1"}),
]
PLANNING = {"todo", "ask", "goal", "enter_plan_mode"}
"""Offered where nothing may be changed, too, but they keep something: one after the other."""
ASKING = {"web_fetch"}
"""Read only, but ask the user: one after the other."""


async def test_all_run_side_by_side(desk: Desk) -> None:
    desk.write({"a.py": "def f(): pass\nunique\n", "README.md": "x"})
    desk.artifacts.add("t", "text")
    assert {name for name, _ in CALLS} == {spec.name for spec in desk.tools.specs("ask")} - PLANNING - ASKING
    async with anyio.create_task_group() as tasks:
        for name, arguments in CALLS:
            tool = desk.tools.find(name)
            assert isinstance(tool, ReadTool)
            assert tool.parallel
            tasks.start_soon(lambda name, arguments: desk.output(name, **arguments), name, arguments)


@pytest.mark.parametrize(
    ("tool", "more"),
    [("get_file_symbols", {}), ("get_file_outline", {}), ("find_blocks", {}), ("find_code_block", {"query": "f"})],
)
async def test_parsing_a_large_file_leaves_the_loop_its_turns(desk: Desk, tool: str, more: dict[str, Any]) -> None:
    parsing.forget()
    desk.write({"a.py": "def f(a):\n    return [a, (a + 1) * 2, {'x': a}]\n" * 20_000})
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        data = await desk.call(tool, path="a.py", **more)
        tasks.cancel_scope.cancel()
    assert data["truncated"]
    assert turns > 100


async def test_an_expression_that_takes_for_ever_can_be_cancelled(desk: Desk) -> None:
    desk.write({"a": "a" * 40 + "!\n", "b": "x\n"})
    with anyio.move_on_after(1) as scope:
        await desk.call("search_text", query="(a+)+(?=$)", regex=True)
    assert scope.cancelled_caught


async def test_and_ends_by_itself(desk: Desk) -> None:
    desk.limit(search_seconds=1)
    desk.write({"a": "a" * 40 + "!\n", "b": "x\n"})
    data = await desk.call("search_text", query="(a+)+(?=$)", regex=True)
    assert data["truncated"]
    assert "longer than" in data["meta"]["notices"][0]


async def test_such_an_expression_finds_what_it_would(desk: Desk) -> None:
    desk.write({"a": "one, two, three:\n", ".northignore": "closed\n", "closed": "one, two:\n", "private/x": "a, b:\n"})
    desk.unsaved[desk.root / "b"] = "four, five:\n"
    desk.write({"b": "old\n"})
    data = await desk.call("search_text", query=r"(\w+,? ?)+:", regex=True)
    assert [match["path"] for match in data["matches"]] == ["a", "b"]
    assert (await desk.error("search_text", query="(a+)+", regex=True, glob="[a")).code == "INVALID_INPUT"


def _runs(pid: str) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:3]
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_cancelled_search_kills_ripgrep(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write({"a": "x", "b": "x"})
    started = tmp_path / "started"
    slow = tmp_path / "rg"
    slow.write_text(f"#!/bin/sh\necho $$ > {started}.new; mv {started}.new {started}\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(search_text, "find_ripgrep", lambda: slow)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: desk.call("search_text", query="x"))
        while not started.exists():
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    pid = started.read_text().strip()
    with anyio.fail_after(PATIENCE):
        while _runs(pid):
            await anyio.sleep(0.01)


async def test_without_ripgrep_the_search_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_text, "find_ripgrep", lambda: None)
    desk.write({"a": "x", "b": "y"})
    assert (await desk.call("search_text", query="x"))["totalMatches"] == 1


def test_ripgrep_comes_with_north() -> None:
    binary = find_ripgrep()
    assert binary is not None
    shown = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True).stdout
    assert re.match(r"ripgrep \d+\.\d+", shown)


def test_files_are_found_by_a_few_letters() -> None:
    files = ["src/app.py", "src/app_test.py", "lib/my_app.py", "docs/application.md", "a/p/p.txt", "src/zap/pp.py"]
    index = FuzzyIndex.of(files, ["src", "src/zap"])
    assert index.find("app.py")[:2] == ["src/app.py", "lib/my_app.py"]
    assert index.find("APPTEST") == ["src/app_test.py"]
    assert index.find("src/")[0] == "src"
    assert index.find("szpp")[0] == "src/zap/pp.py"
    assert index.find("qqq") == []
    assert len(index.find("", limit=3)) == 3
