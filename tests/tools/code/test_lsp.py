"""The tools that ask the editor's language servers, which a test plays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.tools.edit.edit_format_file import EditFormatFile
from north_lsp.tools.edit.edit_rename_symbol import EditRenameSymbol
from north_lsp.workspace.edit.positions import digest_of
from north_lsp.workspace.language_features import (
    Formatting,
    FoundSymbol,
    Place,
    PlaceFeature,
    Position,
    Problem,
    Problems,
    Replacement,
    TextFeature,
)
from tests.tools.conftest import Desk


@dataclass
class Servers:
    """Language servers that know what they are given, and what they were asked."""

    found: list[Place] = field(default_factory=list)
    wrong: list[Problem] = field(default_factory=list)
    named: list[FoundSymbol] = field(default_factory=list)
    renamed: dict[Path, list[Replacement]] = field(default_factory=dict)
    formatted: Formatting = field(default_factory=lambda: Formatting((), ""))
    said: str = ""
    asked: list[tuple[object, ...]] = field(default_factory=list)

    async def problems(self, paths: Sequence[Path] | None, *, settled: bool = False) -> Problems:
        self.asked.append(("problems", paths, settled))
        return Problems(tuple(self.wrong))

    async def places(self, feature: PlaceFeature, path: Path, at: Position) -> Sequence[Place]:
        self.asked.append((feature, path.name, at))
        return self.found

    async def text(self, feature: TextFeature, path: Path, at: Position) -> str:
        self.asked.append((feature, path.name, at))
        return self.said

    async def symbols(self, path: Path) -> Sequence[FoundSymbol]:
        return self.named

    async def find_symbols(self, query: str) -> Sequence[FoundSymbol]:
        self.asked.append(("find", query))
        return self.named

    async def rename(self, path: Path, at: Position, new_name: str) -> Mapping[Path, Sequence[Replacement]]:
        self.asked.append(("rename", path.name, at, new_name))
        return self.renamed

    async def format(self, path: Path) -> Formatting:
        self.asked.append(("format", path.name))
        return self.formatted


@pytest.fixture
def servers(desk: Desk) -> Servers:
    made = Servers()
    desk.workspace = replace(desk.workspace, language=made)
    return made


def place(path: Path, line: int, character: int = 0) -> Place:
    return Place(path, Position(line, character), Position(line, character + 1))


async def test_a_definition_is_told_with_its_line(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "x = 1\nprint(lamp, lamps, lamp)\n", "b.py": "class lamp: pass\n"})
    servers.found = [place(desk.root / "b.py", 0, 6)]
    data = await desk.call("lsp", action="definition", path="a.py", line=2, symbol="lamp", occurrence=2)
    assert servers.asked == [("definition", "a.py", Position(1, 19))]
    assert data["locations"] == [{"path": "b.py", "line": 1, "column": 7, "text": "class lamp: pass"}]


async def test_columns_are_characters_for_the_model_and_units_for_the_server(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "f('🔥', lamp)\n"})
    servers.found = [place(desk.root / "a.py", 0, 8)]
    data = await desk.call("lsp", action="references", path="a.py", line=1, symbol="lamp")
    assert servers.asked == [("references", "a.py", Position(0, 8))]
    assert data["locations"][0]["column"] == 8


async def test_closed_files_are_left_out_and_those_outside_are_only_named(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "lamp\n", "secret.py": "lamp = 'key'\n", ".northignore": "secret.py\n"})
    outside = desk.root.parent / "library.py"
    outside.write_text("lamp = 'elsewhere'\n")
    servers.found = [place(desk.root / "secret.py", 0), place(outside, 0), place(desk.root / "a.py", 0)]
    data = await desk.call("lsp", action="references", path="a.py", line=1, symbol="lamp")
    assert [row["path"] for row in data["locations"]] == [str(outside), "a.py"]
    assert "elsewhere" not in str(data)
    assert "key" not in str(data)


async def test_problems_come_the_worst_first_and_by_severity(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "one\ntwo\n"})
    path = desk.root / "a.py"
    servers.wrong = [
        Problem(path, Position(1, 0), "hint", "unused"),
        Problem(path, Position(0, 0), "warning", "odd", "ruff", "E1"),
        Problem(path, Position(1, 0), "error", "bad", "pyright"),
    ]
    rows = (await desk.call("lsp", action="diagnostics", path="a.py", severity="warning"))["diagnostics"]
    assert [(row["line"], row["message"]) for row in rows] == [(2, "bad"), (1, "odd")]
    assert (rows[1]["source"], rows[1]["code"], rows[1]["text"]) == ("ruff", "E1", "one")
    assert servers.asked == [("problems", [path], True)]
    assert len((await desk.call("lsp", action="diagnostics"))["diagnostics"]) == 3
    assert servers.asked[-1] == ("problems", None, False)


async def test_symbols_of_a_file_and_of_the_workspace(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "class Lamp:\n    def run(self): pass\n"})
    servers.named = [FoundSymbol("run", "method", place(desk.root / "a.py", 1, 8), "Lamp")]
    row = {"path": "a.py", "line": 2, "column": 9, "name": "run", "kind": "method", "endLine": 2, "in": "Lamp"}
    for arguments in ({"path": "a.py"}, {"query": "run"}):
        data = await desk.call("lsp", action="symbols", **arguments)
        assert data["symbols"] == [row | {"text": "def run(self): pass"}]
    assert (await desk.error("lsp", action="symbols")).code == "INVALID_INPUT"


async def test_very_many_places_are_cut_and_that_is_said(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "lamp\n" * 200})
    servers.found = [place(desk.root / "a.py", line) for line in range(200)]
    data = await desk.call("lsp", action="references", path="a.py", line=1, symbol="lamp")
    assert len(data["locations"]) == 100
    assert data["meta"]["notices"] == ["the first 100 of 200"]


async def test_a_hover_is_text(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "lamp\n"})
    servers.said = "```python\nlamp: int\n```"
    assert await desk.call("lsp", action="hover", path="a.py", line=1, column=1) == {"text": servers.said}
    servers.said = ""
    assert (await desk.error("lsp", action="hover", path="a.py", line=1, column=1)).code == "NOT_FOUND"


async def test_what_does_not_point_anywhere_is_said(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "lamp\n"})
    error = await desk.error("lsp", action="definition", path="a.py", line=1, symbol="torch")
    assert (error.code, error.hint) == ("NO_MATCH", "the line is: lamp")
    assert (await desk.error("lsp", action="definition", path="a.py", line=9, symbol="lamp")).code == "INVALID_INPUT"
    assert (await desk.error("lsp", action="definition", path="a.py", line=1)).code == "INVALID_INPUT"
    assert (await desk.error("lsp", action="definition")).code == "INVALID_INPUT"
    assert servers.asked == []


async def test_without_language_servers_it_says_so(desk: Desk) -> None:
    desk.write({"a.py": "lamp\n"})
    error = await desk.error("lsp", action="definition", path="a.py", line=1, symbol="lamp")
    assert (error.code, error.hint) == ("UNAVAILABLE", "use search_text")


def test_they_are_offered_only_where_they_can_be_asked(desk: Desk) -> None:
    def offered(*names: str) -> set[str]:
        return {spec.name for spec in desk.tools.offering(*names).specs("agent")}

    all_of_them = {"lsp", "edit_rename_symbol", "edit_format_file"}
    assert offered() & all_of_them == set()
    assert offered(*all_of_them) & all_of_them == all_of_them


async def test_a_rename_changes_all_files_by_their_present_texts(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "lamp = 1\n", "b.py": "from a import lamp\n"})
    desk.unsaved[desk.root / "b.py"] = "# new\nfrom a import lamp\n"
    servers.renamed = {
        desk.root / "a.py": [Replacement(Position(0, 0), Position(0, 4), "torch")],
        desk.root / "b.py": [Replacement(Position(1, 14), Position(1, 18), "torch")],
    }
    tool, args = desk.tools.check(
        "edit_rename_symbol", {"path": "a.py", "line": 1, "symbol": "lamp", "newName": "torch"}, "agent"
    )
    assert isinstance(tool, EditRenameSymbol)
    changes = await tool.prepare(args, desk.workspace)
    assert {change.relative: change.new_text for change in changes} == {
        "a.py": "torch = 1\n",
        "b.py": "# new\nfrom a import torch\n",
    }
    servers.renamed[desk.root / "b.py"] = [Replacement(Position(7, 0), Position(7, 4), "torch")]
    with pytest.raises(ToolError, match=r"does not fit b\.py"):
        await tool.prepare(args, desk.workspace)
    servers.renamed = {desk.root.parent / "library.py": [Replacement(Position(0, 0), Position(0, 4), "torch")]}
    with pytest.raises(ToolError) as caught:
        await tool.prepare(args, desk.workspace)
    assert caught.value.code in ("OUTSIDE_WORKSPACE", "NOT_FOUND")


async def formatted(desk: Desk, path: str) -> dict[str, str | None]:
    """Return what formatting a file proposes."""
    tool, args = desk.tools.check("edit_format_file", {"path": path}, "agent")
    assert isinstance(tool, EditFormatFile)
    return {change.relative: change.new_text for change in await tool.prepare(args, desk.workspace)}


async def refused(desk: Desk, path: str) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await formatted(desk, path)
    return caught.value


def spaces(line: int, text: str) -> Formatting:
    """Put a space at either side of the `=` in a line of a text."""
    at = text.splitlines()[line].index("=")
    gaps = (Replacement(Position(line, place), Position(line, place), " ") for place in (at, at + 1))
    return Formatting(tuple(gaps), digest_of(text))


async def test_a_file_is_formatted_as_the_editor_shows_it(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "x=1\r\n"})
    servers.formatted = spaces(0, "x=1\n")
    assert await formatted(desk, "a.py") == {"a.py": "x = 1\r\n"}
    assert servers.asked == [("format", "a.py")]
    desk.unsaved[desk.root / "a.py"] = "# new\r\nx=1\r\n"
    servers.formatted = spaces(1, "# new\nx=1\n")
    assert await formatted(desk, "a.py") == {"a.py": "# new\r\nx = 1\r\n"}


async def test_formatting_another_text_than_the_present_one_is_refused(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "y=1\n"})
    servers.formatted = spaces(0, "x=1\n")
    assert (await refused(desk, "a.py")).code == "STALE"
    servers.formatted = Formatting(spaces(0, "y=1\n").replacements * 2, digest_of("y=1\n"))
    assert await formatted(desk, "a.py") == {"a.py": "y  =  1\n"}
    overlap = (Replacement(Position(0, 0), Position(0, 2), ""), Replacement(Position(0, 1), Position(0, 3), ""))
    servers.formatted = Formatting(overlap, digest_of("y=1\n"))
    assert (await refused(desk, "a.py")).code == "UNAVAILABLE"


async def test_where_the_formatter_changes_nothing_that_is_said(desk: Desk, servers: Servers) -> None:
    desk.write({"a.py": "x = 1\n"})
    servers.formatted = Formatting((), digest_of("x = 1\n"))
    error = await refused(desk, "a.py")
    assert (error.code, error.hint) == ("NOT_FOUND", "run the project's formatter with shell_run")


async def test_what_may_not_be_edited_is_not_formatted(desk: Desk, servers: Servers) -> None:
    desk.write({"secret.py": "x=1\n", ".northignore": "secret.py\n", "made.py": "# @generated\nx=1\n"})
    (desk.root.parent / "outside.py").write_text("x=1\n")
    codes = [(await refused(desk, path)).code for path in ("secret.py", "made.py", "../outside.py", "none.py")]
    assert codes == ["IGNORED", "GENERATED_FILE", "OUTSIDE_WORKSPACE", "NOT_FOUND"]
    assert servers.asked == []
