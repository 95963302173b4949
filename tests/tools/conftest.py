"""A workspace for tools, without a session around it."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from north_lsp.errors import ToolError
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.limits import Limits
from north_lsp.tools.base import Output, ReadTool
from north_lsp.tools.builtin import builtin_tools
from north_lsp.workspace.workspace import Addresses
from tests.support.workspaces import make_workspace


@dataclass
class Desk:
    """Files of a repository, and tools to look at them; `unsaved` are texts open in the editor."""

    root: Path
    unsaved: dict[Path, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.artifacts = Artifacts(self.root.parent / "artifacts")
        known = Addresses(self.artifacts)
        self.workspace = make_workspace(self.root, self, private=(self.root / "private",), addresses=known)
        self.tools = builtin_tools()

    def write(self, files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content.encode() if isinstance(content, str) else content)

    def limit(self, **limits: int) -> None:
        """Set limits, by their names in `Limits`."""
        self.read_with(limits=Limits(**limits))

    def read_with(self, **settings: Any) -> None:
        """Change settings, by their names in `ReadSettings`."""
        now = self.workspace.settings
        self.workspace = self.workspace.under(replace(now, reading=replace(now.reading, **settings)))

    async def output(self, name: str, /, **arguments: Any) -> Output:
        tool, args = self.tools.check(name, arguments, "ask")
        assert isinstance(tool, ReadTool)
        return await tool.run(args, self.workspace)

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        data = (await self.output(name, **arguments)).data
        assert isinstance(data, dict)
        return data

    async def error(self, name: str, /, **arguments: Any) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await self.call(name, **arguments)
        return caught.value

    async def read_unsaved(self, path: Path) -> str | None:
        return self.unsaved.get(path)

    async def unsaved_texts(self) -> dict[Path, str]:
        return self.unsaved


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    root = Path(os.path.realpath(tmp_path)) / "repo"
    root.mkdir()
    return Desk(root)


# What each tool does on a thread: module, function, tool, arguments.
CANCELLABLE: list[tuple[str, str, str, dict[str, Any]]] = [
    ("tools.read.list_root", "list_root", "list_root", {}),
    ("tools.read.find_files", "find_files", "find_files", {"pattern": "*"}),
    ("tools.read.search_text", "search", "search_text", {"query": "x"}),
    ("tools.read.search_text", "shown_of", "search_text", {"query": "x"}),
    ("tools.support.texts", "read_text", "read_file", {"path": "a.py"}),
    ("tools.read.read_file", "_window", "read_file", {"path": "a.py"}),
    ("tools.read.read_file", "describe_picture", "read_file", {"path": "a.png"}),
    ("workspace.formats.parsing_child", "open_regular", "read_file", {"path": "a.zip"}),
    ("tools.read.read_file", "load_picture", "read_file", {"path": "a.png"}),
    ("tools.read.read_file", "stream_part", "read_file", {"path": "large.txt", "startLine": 1}),
    ("tools.read.read_around", "_around", "read_around", {"path": "a.py", "anchor": "f"}),
    ("tools.read.get_line_count", "stream_part", "get_line_count", {"path": "large.txt"}),
    ("tools.support.texts", "suggest", "read_file", {"path": "b.py"}),
    ("workspace.files.tree", "read_folder", "read_readme", {}),
    ("tools.read.detect_languages", "count_languages", "detect_languages", {}),
    ("tools.read.hotfiles", "hot_files", "hotfiles", {}),
    ("tools.code.structures", "structure_of", "get_file_symbols", {"path": "a.py"}),
    ("tools.code.structures", "structure_of", "get_file_outline", {"path": "a.py"}),
    ("tools.code.get_file_outline", "_outlined", "get_file_outline", {"path": "a.py"}),
    ("tools.code.find_code_block", "code_blocks", "find_code_block", {"path": "a.py", "query": "f"}),
    ("tools.code.find_blocks", "blocks", "find_blocks", {"path": "a.py"}),
    ("tools.code.ast_search", "_search", "ast_search", {"pat": "f($$$)", "paths": ["."]}),
    ("tools.read.expand_output", "_page", "expand_output", {"outputId": "1"}),
]
