"""Files that are small and ask for much: each is read in part or refused in words, within memory and time, and North
itself stays as it was."""

import gzip
import io
import json
import os
import resource
import sqlite3
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.formats import parsing_child
from tests.tools.conftest import Desk

MB = 1024 * 1024


def zipped(path: Path, **parts: str | bytes) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name.replace("__", "/"), content)


def tar_of_zeros(path: Path) -> None:
    """An entry that says that it has eight gigabytes, of which there are few."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = tarfile.TarInfo("a")
    head.size = 8 * 1024 * MB
    with path.open("wb") as file:
        file.write(squeeze.compress(head.tobuf()))
        for _ in range(64):
            file.write(squeeze.compress(bytes(MB)))
        file.write(squeeze.flush())


def tar_of_long_names(path: Path) -> None:
    """A header that says that the name of the next entry has two gigabytes."""
    squeeze = zlib.compressobj(1, zlib.DEFLATED, 31)
    head = tarfile.TarInfo("././@LongLink")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, 2000 * MB
    with path.open("wb") as file:
        file.write(squeeze.compress(head.tobuf()))
        for _ in range(300):
            file.write(squeeze.compress(b"a" * MB))
        file.write(squeeze.flush())


def tar_of_many(path: Path) -> None:
    entry = tarfile.TarInfo("x").tobuf()
    with gzip.open(path, "wb", 1) as file:
        for _ in range(50):
            file.write(entry * 1000)


def xml_of_many(path: Path) -> None:
    """Sixteen megabytes of the smallest elements become some gigabytes of objects."""
    zipped(path, **{"content.xml": "<x>" + "<p/>" * (4 * MB - 10) + "</x>"})


def sheet_of_many(path: Path) -> None:
    zipped(path, **{"xl/worksheets/sheet1.xml": "<x>" + "<row><c/></row>" * (MB - 10) + "</x>"})


def many_sheets(path: Path) -> None:
    body = "<x>" + "<row><c r='ZZZ1'><v>1</v></c></row>" * 5000 + "</x>"
    zipped(path, **{f"xl/worksheets/sheet{number}.xml": body for number in range(500)})


def repeated_strings(path: Path) -> None:
    strings = f"<sst><si><t>{'x' * 8 * MB}</t></si></sst>"
    rows = "<x>" + "<row><c t='s'><v>0</v></c></row>" * 5000 + "</x>"
    zipped(path, **{"xl/sharedStrings.xml": strings, "xl/worksheets/sheet1.xml": rows})


def deep_xml(path: Path) -> None:
    zipped(path, **{"content.xml": "<p>" * 200_000 + "</p>" * 200_000})


def entities(path: Path) -> None:
    zipped(path, **{"content.xml": '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><x><p>&a;</p></x>'})


def external_entity(path: Path) -> None:
    zipped(path, **{"content.xml": '<!DOCTYPE x SYSTEM "file:///etc/passwd"><x><p>y</p></x>'})


def database_of(*statements: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.execute("BEGIN")
            for statement in statements:
                database.execute(statement)
            database.commit()

    return make


def lying_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def large_database(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0")
    os.truncate(path, 3 * 1024 * MB)


def deep_notebook(path: Path) -> None:
    path.write_text('{"cells": ' + "[" * 100_000 + "]" * 100_000 + "}")


def wide_notebook(path: Path) -> None:
    path.write_text(json.dumps({"cells": [{"source": [["x"] * 1000] * 1000, "outputs": [{}] * 1000}]}))


def zip_bomb(path: Path) -> None:
    zipped(path, a=bytes(60 * MB))


def overlapping_zip(path: Path) -> None:
    """All entries of the directory show to the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(MB))
    data = buffer.getvalue()
    start = data.index(b"PK\x01\x02")
    directory, end = data[start : data.index(b"PK\x05\x06")], data[data.index(b"PK\x05\x06") :]
    count = 60_000
    end = end[:8] + struct.pack("<HHI", count, count, len(directory) * count) + end[16:]
    path.write_bytes(data[:start] + directory * count + end)


def picture(form: str, sides: tuple[int, int]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        from PIL import Image

        Image.new("1" if form == "PNG" else "L", sides).save(path, form)

    return make


def bytes_of(data: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(data)

    return make


_LOOP = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
_BOMBS: list[tuple[str, str, Callable[[Path], None]]] = [
    ("a.tgz", "", tar_of_zeros),
    ("a.tgz", ":a", tar_of_zeros),
    ("a.tar.gz", "", tar_of_long_names),
    ("a.tgz", "", tar_of_many),
    ("a.tgz", ":nothing", tar_of_many),
    ("a.odt", "", xml_of_many),
    ("a.docx", "", lambda path: zipped(path, **{"word/document.xml": "<x>" + "<p/>" * (4 * MB - 10) + "</x>"})),
    ("a.xlsx", "", sheet_of_many),
    ("a.xlsx", "", many_sheets),
    ("a.xlsx", "", repeated_strings),
    ("a.odt", "", deep_xml),
    ("a.odt", "", entities),
    ("a.odt", "", external_entity),
    ("a.db", "", database_of(f"CREATE VIEW v AS {_LOOP}")),
    ("a.db", ":v", database_of(f"CREATE VIEW v AS {_LOOP}")),
    ("a.db", ":v", database_of("CREATE VIEW v AS SELECT zeroblob(900000000) AS x")),
    ("a.db", ":v", database_of(f"CREATE VIEW v AS SELECT group_concat(hex(zeroblob(1000000))) AS x FROM ({_LOOP})")),
    ("a.db", ":v", database_of("CREATE VIEW v AS SELECT printf('%.900000000c', 'x') AS x")),
    ("a.db", ":v", database_of("CREATE VIEW v AS SELECT load_extension('/nowhere') AS x")),
    ("a.db", ":v", database_of("CREATE VIEW v AS SELECT readfile('/etc/passwd') AS x")),
    ("a.db", ":t:1' OR 1", database_of("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")),
    ("a.db", "", database_of(*[f'CREATE TABLE "t{number}" (a)' for number in range(2000)])),
    ("a.db", "", lying_database),
    ("a.sqlite3", "", large_database),
    ("a.ipynb", "", deep_notebook),
    ("a.ipynb", "", wide_notebook),
    ("a.zip", "", zip_bomb),
    ("a.zip", ":a", zip_bomb),
    ("a.zip", "", overlapping_zip),
    ("a.zip", ":a", overlapping_zip),
    ("a.png", "", picture("PNG", (8900, 8900))),
    ("a.jpg", "", picture("JPEG", (8900, 8900))),
    ("a.gif", "", picture("GIF", (8900, 8900))),
    ("a.zip", "", bytes_of(b"PK\5\6" + b"\xff" * 18)),
    ("a.tar", "", bytes_of(b"\xff" * 5120)),
    ("a.docx", "", bytes_of(b"")),
]


@pytest.mark.parametrize(
    ("name", "inner", "make"),
    _BOMBS,
    ids=[f"{row[2].__qualname__.partition('.')[0]}-{at}" for at, row in enumerate(_BOMBS)],
)
async def test_a_small_file_that_asks_for_much(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, inner: str, make: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(parsing_child, "SECONDS", 2)
    make(desk.root / name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error: ToolError | None = None
    shown = ""
    try:
        shown = json.dumps((await desk.output("read_file", path=f"{name}{inner}")).data)
    except ToolError as caught:
        error = caught
    assert len(shown) < 2 * MB
    if error is not None:
        assert error.code in ("TOO_LARGE", "TIMEOUT", "IO_ERROR", "NOT_FOUND", "BINARY_FILE", "INVALID_INPUT")
        assert any(word in str(error) for word in (name, "inside", "a ", "no row", "in it"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 * 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert children < parsing_child.MEMORY_BYTES // 1024


async def test_what_is_killed_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing_child, "SECONDS", 0)
    zipped(desk.root / "a.zip", a="x")
    assert (await desk.error("read_file", path="a.zip")).code == "TIMEOUT"


async def test_a_database_with_a_journal_beside_it_is_read_and_left_alone(desk: Desk) -> None:
    path = desk.root / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE t (a)")
        database.execute("INSERT INTO t VALUES ('one')")
        database.commit()
    names = sorted(os.listdir(desk.root))
    assert "t\t1" in (await desk.call("read_file", path="a.db"))["content"]
    assert sorted(os.listdir(desk.root)) == names
