"""Sees to it that one process a day clears away, and remembers what logs name: `<state>/housekeeping.db`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.locations import Locations
from north_lsp.storage.sqlite import transaction

_DAY = 24 * 60 * 60.0
_LEASE_SECONDS = 60.0
_CHUNK = 4 * 1024 * 1024
_LONGEST = 64
_DIGEST = lazy_pattern(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_MIGRATIONS = (
    (
        "CREATE TABLE leases (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL, done REAL NOT NULL)",
        "CREATE TABLE scanned (file TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL)",
        "CREATE TABLE named (file TEXT NOT NULL REFERENCES scanned (file) ON DELETE CASCADE, digest TEXT NOT NULL)",
        "CREATE INDEX named_by_file ON named (file)",
    ),
)


class Housekeeping:
    """The shared state of all processes. Everything blocks; each method raises OSError and sqlite3.Error."""

    def __init__(self, locations: Locations) -> None:
        self._path = locations.state / "housekeeping.db"
        self._holder = f"{systems.machine_name()}:{os.getpid()}"

    def begin(self, name: str, every: float = _DAY) -> bool:
        """Take the lease of a kind of work, unless another process has it or it was done within `every` seconds."""
        now = time.time()
        with transaction(self._path, _MIGRATIONS) as database:
            database.execute("BEGIN IMMEDIATE")
            row = database.execute("SELECT until, done FROM leases WHERE name = ?", (name,)).fetchone()
            until, done = row or (0.0, 0.0)
            # A time in the future is the work of a clock that was wrong.
            if now - every < done <= now or now < until <= now + _LEASE_SECONDS:
                return False
            row = (name, self._holder, now + _LEASE_SECONDS, done)
            database.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?)", row)
        return True

    def done(self, name: str) -> None:
        """Give the lease back: the work is done for now."""
        with transaction(self._path, _MIGRATIONS) as database:
            values = (time.time(), name, self._holder)
            database.execute("UPDATE leases SET done = ?, until = 0 WHERE name = ? AND holder = ?", values)

    def last(self, name: str) -> float | None:
        """Return when the work was done last, in seconds since 1970."""
        if not self._path.exists():
            return None
        with transaction(self._path, _MIGRATIONS) as database:
            row = database.execute("SELECT done FROM leases WHERE name = ?", (name,)).fetchone()
        return float(row[0]) if row and row[0] else None

    def digests(self, files: Iterable[Path], deadline: float) -> set[str] | None:
        """Return every digest that the files name; None if there was no time to read them all, so that nothing is
        known. What was read is remembered, and the next call continues."""
        with transaction(self._path, _MIGRATIONS) as database:
            known = {row[0]: row[1:] for row in database.execute("SELECT file, size, mtime FROM scanned")}
            seen: set[str] = set()
            for path in files:
                name = os.fsencode(path).hex()  # any bytes can be a file's name
                seen.add(name)
                status = path.stat()
                if known.get(name) == (status.st_size, status.st_mtime_ns):
                    continue
                found = _digests_in(path, deadline)
                if found is None:
                    return None
                database.execute("DELETE FROM scanned WHERE file = ?", (name,))
                database.execute("INSERT INTO scanned VALUES (?, ?, ?)", (name, status.st_size, status.st_mtime_ns))
                database.executemany("INSERT INTO named VALUES (?, ?)", [(name, digest) for digest in found])
            database.executemany("DELETE FROM scanned WHERE file = ?", [(name,) for name in known.keys() - seen])
            return {row[0] for row in database.execute("SELECT DISTINCT digest FROM named")}


def _digests_in(path: Path, deadline: float) -> set[str] | None:
    found: set[str] = set()
    with path.open("rb") as file:
        rest = b""
        while chunk := file.read(_CHUNK):
            if time.monotonic() > deadline:
                return None
            text = rest + chunk
            found.update(match.decode() for match in _DIGEST.findall(text))
            rest = text[-_LONGEST - 1 :]
    return found


def files_that_name_blobs(locations: Locations) -> Iterator[Path]:
    """Yield every file in which a blob may be named: logs, also in the trash and of former formats, and journals."""
    for folder in (locations.conversations, locations.data / "projects"):
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not (Path(place) / name).is_symlink()]
            for name in names:
                path = Path(place) / name
                with suppress(OSError):
                    if path.is_file() and not path.is_symlink() and not name.endswith(".log"):
                        yield path
