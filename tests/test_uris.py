from pathlib import Path

import pytest

from north_lsp.uris import local_path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///repo/a.py", "/repo/a.py"),
        ("file://localhost/repo/a.py", "/repo/a.py"),
        ("file:///repo/a%20b%23.py", "/repo/a b#.py"),
    ],
)
def test_a_file_uri_names_an_absolute_path(uri: str, path: str) -> None:
    assert local_path(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        None,
        7,
        "",
        "file:",
        "file:a.py",
        "file://host/a.py",
        "untitled:a.py",
        "/repo/a.py",
        "file:///a%00b",
        "file://[/a",
    ],
)
def test_anything_else_names_none(uri: object) -> None:
    assert local_path(uri) is None
