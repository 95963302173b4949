import os
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.files.listing import list_root


def test_folders_come_first_and_ignored_entries_not_at_all(tmp_path: Path) -> None:
    for folder in (".git", "src", "node_modules", ".config"):
        (tmp_path / folder).mkdir()
    for name in ("b.txt", "A.txt", "x.log", "secret"):
        (tmp_path / name).write_bytes(b"123")
    (tmp_path / ".gitignore").write_bytes(b"*.log\n")
    (tmp_path / ".northignore").write_bytes(b"secret\n")
    (tmp_path / "link").symlink_to("src")
    (tmp_path / os.fsdecode(b"bad\xff")).touch()
    entries, truncated = list_root(tmp_path, IgnoreRules.of(tmp_path))
    assert not truncated
    assert entries == [
        {"name": ".config", "type": "dir"},
        {"name": "src", "type": "dir"},
        {"name": ".gitignore", "type": "file", "size": 6},
        {"name": ".northignore", "type": "file", "size": 7},
        {"name": "A.txt", "type": "file", "size": 3},
        {"name": "b.txt", "type": "file", "size": 3},
        {"name": "bad\ufffd", "type": "file", "size": 0},
        {"name": "link", "type": "link"},
    ]


def test_a_long_list_is_cut_and_says_so(tmp_path: Path) -> None:
    for at in range(4):
        (tmp_path / f"{at}").touch()
    entries, truncated = list_root(tmp_path, IgnoreRules.of(tmp_path), 3)
    assert [entry["name"] for entry in entries] == ["0", "1", "2"]
    assert truncated


def test_a_missing_root_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        list_root(tmp_path / "gone", IgnoreRules.of(tmp_path))
    assert caught.value.code == "IO_ERROR"
