"""Opens North's SQLite databases, all in the same way: readable by this user only, with a write-ahead log, foreign keys
and three seconds of patience, brought to the current version step by step. Knows nothing of what is in them.

Everything here blocks: call it on a thread. SQLite is imported only when a database is opened.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from north_lsp import systems
from north_lsp.storage.files import private_directory, set_aside
from north_lsp.storage.noting import warn

if TYPE_CHECKING:
    import sqlite3

_T = TypeVar("_T")
PATIENCE_SECONDS = 3.0
_SHRINKING_PATIENCE = 0.5  # there is another day
_WORTH_BYTES = 1024 * 1024
_INCREMENTAL = 2  # `auto_vacuum`: free pages go when they are asked to
_AT_ONCE = 256  # pages: others can write in between
_STEPS = 10_000  # of SQLite's machine between two looks at the clock

Migrations = Sequence[Sequence[str]]
"""The statements of each step; the first one makes a database of version 1, the n-th one brings n - 1 to n."""


class NewerDatabase(OSError):
    """A newer North wrote the database: it is left as it is, and what it is for is off."""


class DamagedDatabase(OSError):
    """The file is not a database, or a damaged one. `kept` is where it was moved, so that the next opening makes a new
    one; None if it was left."""

    kept: Path | None = None


@contextmanager
def transaction(path: Path, migrations: Migrations, *, keep_damaged: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a database for one transaction, which is committed at the end and rolled back by an exception.

    A damaged file is moved aside (`<name>.bad-<time>`) unless `keep_damaged` is set. Raises NewerDatabase,
    DamagedDatabase, other OSErrors, and sqlite3.Error.
    """
    with _damage_seen(path, keep_damaged=keep_damaged), closing(_connected(path, migrations)) as database, database:
        yield database


def connect(path: Path, migrations: Migrations, *, keep_damaged: bool = False) -> sqlite3.Connection:
    """Open a database for longer; the caller closes it, and uses it from one thread at a time.

    Raises what `transaction` does. Damage that shows later raises sqlite3.DatabaseError: `is_damage` tells it apart.
    """
    with _damage_seen(path, keep_damaged=keep_damaged):
        return _connected(path, migrations)


def use(path: Path, migrations: Migrations, action: Callable[[sqlite3.Connection], _T]) -> _T:
    """Run an action on a database whose content may be lost: from a damaged one, or one without its tables, which is
    moved aside, it is run again on a new one. It begins its own transactions, with `written`. Raises OSError."""
    import sqlite3

    for is_new in (False, True):
        try:
            with closing(connect(path, migrations)) as database:
                database.isolation_level = None
                return action(database)
        except DamagedDatabase:
            if is_new:
                raise
        except sqlite3.Error as error:
            if is_new or not (is_damage(error) or str(error).startswith("no such table")):
                raise OSError(errno.EIO, str(error), str(path)) from error
            put_aside(path)
    raise AssertionError("unreachable")


@contextmanager
def written(database: sqlite3.Connection) -> Iterator[None]:
    """Begin a transaction that writes at once, on a connection of `use`, so that it waits for other writers before it
    reads; what was done is undone if it raises."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def shrink(path: Path, deadline: float, least: int = _WORTH_BYTES) -> int:
    """Give the space that is free inside a database back to the disk if it is at least so many bytes; what is in the
    database stays. Ends at the `deadline`, of `time.monotonic`, with as much as was possible by then; returns how many
    bytes that was. Raises OSError and sqlite3.Error, also while another process is in it."""
    import sqlite3

    before = path.stat().st_size
    with closing(sqlite3.connect(path, timeout=_SHRINKING_PATIENCE, isolation_level=None)) as database:
        free = _number(database, "freelist_count") * _number(database, "page_size")
        if free < least or time.monotonic() > deadline:
            return 0
        if _number(database, "auto_vacuum") != _INCREMENTAL:
            # An older North made it: it is written anew, at once, from then on in portions.
            database.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
            database.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")
            database.execute("VACUUM")
            database.set_progress_handler(None, 0)
        while time.monotonic() < deadline and _number(database, "freelist_count"):
            database.execute(f"PRAGMA incremental_vacuum({_AT_ONCE})").fetchall()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return max(0, before - path.stat().st_size)


def has_no_module(error: sqlite3.Error) -> bool:
    """Tell whether SQLite was built without what a virtual table needs."""
    return "no such module" in str(error)


def is_damage(error: sqlite3.Error) -> bool:
    """Tell whether SQLite says that the file is damaged or no database at all."""
    import sqlite3

    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def put_aside(path: Path) -> Path:
    """Move a database aside and forget its write-ahead log. Returns its new path. Raises OSError."""
    kept = set_aside(path)
    for ending in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + ending).unlink()
    return kept


@contextmanager
def _damage_seen(path: Path, *, keep_damaged: bool) -> Iterator[None]:
    import sqlite3

    try:
        yield
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        damaged = DamagedDatabase(errno.EINVAL, f"not a usable database: {error}", str(path))
        if not keep_damaged:
            with suppress(OSError):
                damaged.kept = put_aside(path)
        raise damaged from None


def _connected(path: Path, migrations: Migrations) -> sqlite3.Connection:
    import sqlite3

    private_directory(path.parent)
    # Created before SQLite creates it, so that it is never readable by others; the log beside it gets the same mode.
    fd = systems.open_file(path, os.O_RDWR | os.O_CREAT | systems.CLOEXEC, 0o600)
    try:
        if systems.HAS_MODES and (mode := os.fstat(fd).st_mode & 0o777) & 0o077:
            systems.change_mode(fd, 0o600)
            warn("mode_narrowed", path=path, mode=f"{mode:o}")
    finally:
        os.close(fd)
    database = sqlite3.connect(path, timeout=PATIENCE_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False)
    try:
        _prepare(database, path, migrations)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path, migrations: Migrations) -> None:
    import sqlite3

    version = _version(database)
    if not version:
        database.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}")  # has an effect before the first table alone
    if version > len(migrations):
        raise NewerDatabase(errno.EPROTONOSUPPORT, "a newer version of North wrote it", str(path))
    with suppress(sqlite3.OperationalError):  # another process is in it, or the file system cannot: it works without
        database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA foreign_keys = ON")
    if version == len(migrations):
        return
    with database:
        database.execute("BEGIN IMMEDIATE")
        # Asked again: another process may have done it meanwhile.
        for number, statements in enumerate(migrations[_version(database) :], start=_version(database) + 1):
            for statement in statements:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {number}")


def _version(database: sqlite3.Connection) -> int:
    return _number(database, "user_version")


def _number(database: sqlite3.Connection, pragma: str) -> int:
    return int(database.execute(f"PRAGMA {pragma}").fetchone()[0])
