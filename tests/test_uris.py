from pathlib import Path

import pytest

from north_lsp.uris import local_path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///work/a.py", "/work/a.py"),
        ("file://localhost/work/a.py", "/work/a.py"),
        ("file:///work/a%20b%23.py", "/work/a b#.py"),
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
        "/work/a.py",
        "file:///a%00b",
        "file://[/a",
    ],
)
def test_anything_else_names_none(uri: object) -> None:
    assert local_path(uri) is None
