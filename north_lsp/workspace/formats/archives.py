"""Shows what is inside files that are not text: archives, databases, notebooks, images, documents; read-only, never in
full."""

from __future__ import annotations

import json
import lzma
import sqlite3
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.formats.endings import ARCHIVES, DATABASES
from north_lsp.workspace.formats.office import read_document
from north_lsp.workspace.text import decode, is_binary

_MAX_ENTRIES = 1000
_MAX_MEMBER = 4 * 1024 * 1024
_MAX_DATABASE = 256 * 1024 * 1024
_MAX_NAMES = 100_000
_MAX_NOTEBOOK = 20 * 1024 * 1024
_MAX_OUTPUT_LINES = 20
_MAX_ROWS = 20
_MAX_CELL = 500


def parse(path: Path, name: str, archive_path: str) -> str | None:
    """Return what is to be shown of a file of this name as text; None if it is to be read as plain text after all. To
    be run in a process with resource limits (`parsing_child.py`): a file of a few bytes can demand any amount of memory
    and time.

    Raises ToolError: NOT_FOUND for a missing part, UNAVAILABLE naming what would be needed, INVALID_INPUT, IO_ERROR.
    """
    kind = name.lower()
    try:
        if kind.endswith(ARCHIVES):
            return _zip(path, name, archive_path) if kind.endswith(".zip") else _tar(path, name, archive_path)
        if kind.endswith(DATABASES):
            return _database(path, name, archive_path)
        if kind.endswith(".ipynb"):
            return _notebook(path)
        return read_document(path, name)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, RuntimeError, NotImplementedError) as error:
        raise ToolError("IO_ERROR", f"{name} cannot be read: {error}") from error
    except (zlib.error, lzma.LZMAError, ValueError) as error:
        raise ToolError("IO_ERROR", f"{name} is damaged: {error}") from error
    except sqlite3.Error as error:
        raise ToolError("IO_ERROR", f"{name} is not a readable database: {error}") from error


def _zip(path: Path, own: str, archive_path: str) -> str:
    with zipfile.ZipFile(path) as archive:
        if not archive_path:
            infos = archive.infolist()
            return _entries([(info.filename, info.file_size) for info in infos], len(infos))
        try:
            info = archive.getinfo(archive_path)
        except KeyError:
            raise _no_member(own, archive_path, archive.namelist()) from None
        if info.is_dir():
            raise ToolError("INVALID_INPUT", f"{archive_path} is a folder in {own}")
        with archive.open(info) as file:
            return _member(file.read(_MAX_MEMBER + 1), archive_path)


def _tar(path: Path, own: str, archive_path: str) -> str:
    with tarfile.open(path) as archive:
        if not archive_path:
            found: list[tuple[str, int]] = []
            total = 0
            for member in archive:
                total += 1
                if total <= _MAX_ENTRIES:
                    found.append((member.name + ("/" if member.isdir() else ""), member.size))
            return _entries(found, total)
        names: list[str] = []
        for member in archive:
            if member.name.removeprefix("./") == archive_path.removeprefix("./") and member.isfile():
                file = archive.extractfile(member)
                if file is not None:
                    return _member(file.read(_MAX_MEMBER + 1), archive_path)
            if len(names) < _MAX_NAMES:
                names.append(member.name)
        raise _no_member(own, archive_path, names)


def _member(data: bytes, name: str) -> str:
    if is_binary(data):
        raise ToolError("BINARY_FILE", f"{name} is not text ({len(data)} bytes)", details={"size": len(data)})
    text = decode(data[:_MAX_MEMBER])[0]
    return f"{text}\n… cut: longer than {_MAX_MEMBER} bytes …\n" if len(data) > _MAX_MEMBER else text


def _entries(found: list[tuple[str, int]], total: int) -> str:
    lines = [f"{name}\t{size}" for name, size in found[:_MAX_ENTRIES]]
    if total > _MAX_ENTRIES:
        lines.append(f"… {total - _MAX_ENTRIES} more entries …")
    return "\n".join(lines) + "\n"


def _no_member(own: str, archive_path: str, names: list[str]) -> ToolError:
    last = archive_path.rsplit("/", 1)[-1].casefold()
    similar = [name for name in names if last and last in name.casefold()][:5]
    return ToolError("NOT_FOUND", f"{own} has no entry {archive_path!r}", f"similar: {', '.join(similar) or 'none'}")


def _database(path: Path, own: str, archive_path: str) -> str | None:
    with path.open("rb") as file:
        if file.read(16) != b"SQLite format 3\x00":
            return None
        file.seek(0)
        data = bytearray(file.read(_MAX_DATABASE + 1))
    if len(data) > _MAX_DATABASE:
        hint = "query it with the program sqlite3, if it is installed"
        raise ToolError("TOO_LARGE", f"{own} is larger than {_MAX_DATABASE // 1024 // 1024} MB", hint)
    table, _, key = archive_path.partition(":")
    data[18:20] = b"\x01\x01"  # not in write-ahead mode: a copy in memory has no log beside it
    # A copy in memory: no lock or journal of the file is touched, and nothing else is opened.
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(bytes(data))
        del data
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_MEMBER)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.set_progress_handler(_Deadline(), 10_000)
        kinds = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
        tables = [str(row[0]) for row in database.execute(kinds)]
        if not table:
            counted = (
                f"{name}\t{database.execute(f'SELECT count(*) FROM {_quoted(name)}').fetchone()[0]}" for name in tables
            )
            return "\n".join(["table\trows", *counted]) + "\n"
        if table not in tables:
            raise ToolError("NOT_FOUND", f"{own} has no table {table!r}", f"tables: {', '.join(tables) or 'none'}")
        columns = [(str(row[1]), str(row[2])) for row in database.execute(f"PRAGMA table_info({_quoted(table)})")]
        if key:
            column = next(
                (str(row[1]) for row in database.execute(f"PRAGMA table_info({_quoted(table)})") if row[5]), "rowid"
            )
            query = (
                f"SELECT * FROM {_quoted(table)} WHERE {_quoted(column) if column != 'rowid' else column} = ? LIMIT 1"
            )
            # A column without a type does not compare text as the number that it represents.
            spellings = (key, *_numbers(key))
            matching = (database.execute(query, (spelled,)).fetchone() for spelled in spellings)
            row = next((row for row in matching if row is not None), None)
            if row is None:
                raise ToolError("NOT_FOUND", f"{table} has no row {key!r}")
            return "".join(f"{name}\t{_cell(value)}\n" for (name, _), value in zip(columns, row, strict=False))
        rows = database.execute(f"SELECT * FROM {_quoted(table)} LIMIT {_MAX_ROWS}").fetchall()
        head = "\t".join(f"{name} {kind}".strip() for name, kind in columns)
        return "\n".join([head, *("\t".join(map(_cell, row)) for row in rows)]) + "\n"


def _numbers(key: str) -> Iterator[int | float]:
    with suppress(ValueError):
        yield from (number for number in (int(key),) if abs(number) < 1 << 63)
    with suppress(ValueError):
        yield float(key)


class _Deadline:
    """Aborts a statement that takes too long."""

    def __init__(self) -> None:
        self._left = 20_000

    def __call__(self) -> int:
        self._left -= 1
        return int(self._left < 0)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cell(value: object) -> str:
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    text = str(value).replace("\n", "\\n").replace("\t", "\\t")
    return text if len(text) <= _MAX_CELL else f"{text[:_MAX_CELL]}…"


def _notebook(path: Path) -> str | None:
    if path.stat().st_size > _MAX_NOTEBOOK:
        return None
    try:
        notebook = json.loads(path.read_bytes())
        cells = notebook["cells"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(cells, list):
        return None
    parts: list[str] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        parts.append(f"[{number}] {cell.get('cell_type', 'raw')}")
        parts.append(_joined(cell.get("source")))
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            shown = _output(output) if isinstance(output, dict) else ""
            if shown:
                lines = shown.rstrip("\n").split("\n")
                more = [f"… {len(lines) - _MAX_OUTPUT_LINES} more lines"] if len(lines) > _MAX_OUTPUT_LINES else []
                parts += [f"→ {line[:_MAX_CELL]}" for line in [*lines[:_MAX_OUTPUT_LINES], *more]]
    return "\n".join(parts) + "\n"


def _output(output: dict[str, object]) -> str:
    if "text" in output:
        return _joined(output["text"])
    if "ename" in output:
        return f"{output.get('ename')}: {output.get('evalue')}"
    data = output.get("data")
    if isinstance(data, dict):
        return _joined(data["text/plain"]) if "text/plain" in data else f"<{', '.join(map(str, data))}>"
    return ""


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
