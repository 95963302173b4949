"""The index of all conversations, `<data>/search.db`: their summaries, and the words in them (`search.py`).

It is made from the logs: each row says which state of its log it shows, what has changed is read again, and the whole
may be lost at any time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.files import inode_of
from north_lsp.storage.locations import Locations
from north_lsp.storage.room import leave_room
from north_lsp.storage.sqlite import use, written
from north_lsp.storage.summaries import Reading, Summary, summarize

if TYPE_CHECKING:
    import sqlite3

_T = TypeVar("_T")
Archived = Literal["hidden", "shown", "only"]

UNREAD = "size >= 0 AND NOT is_empty AND (words_size IS NOT size OR words_mtime_ns IS NOT mtime_ns)"
"""The condition on conversations whose words are not known as they are now."""
_ALL_WORDS_ANEW = (
    "INSERT OR IGNORE INTO forgotten SELECT number FROM conversations WHERE words_size IS NOT NULL",
    "UPDATE conversations SET words_size = NULL, words_mtime_ns = NULL, words_tail = NULL, words_next = NULL",
)
SCHEMA = (
    (
        """
        CREATE TABLE conversations (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            title TEXT,
            repo_root TEXT NOT NULL,
            cwd TEXT NOT NULL,
            created_at TEXT NOT NULL,
            updated_at TEXT NOT NULL,
            model TEXT,
            message_count INTEGER NOT NULL,
            first_prompt TEXT,
            archived INTEGER NOT NULL,
            repo_hash TEXT,
            root_inode INTEGER,
            is_empty INTEGER NOT NULL,
            title_source TEXT,
            last_prompt TEXT,
            cost_usd REAL NOT NULL,
            parent TEXT,
            ended INTEGER NOT NULL,
            size INTEGER NOT NULL,
            mtime_ns INTEGER NOT NULL,
            tail INTEGER,
            words_size INTEGER,
            words_mtime_ns INTEGER,
            words_tail INTEGER,
            words_next INTEGER
        )
        """,
        "CREATE INDEX by_time ON conversations (updated_at, id)",
        "CREATE TABLE forgotten (number INTEGER PRIMARY KEY)",
        """
        CREATE TRIGGER forget AFTER DELETE ON conversations
        BEGIN INSERT INTO forgotten VALUES (old.number); END
        """,
    ),
    ("ALTER TABLE conversations ADD COLUMN further_roots TEXT NOT NULL DEFAULT '[]'",),
    (  # the words are stored under other numbers
        *_ALL_WORDS_ANEW,
        # What every search asks of all conversations is in an index alone.
        "DROP INDEX by_time",
        "CREATE INDEX by_time ON conversations (updated_at, id, archived, is_empty, size)",
        f"CREATE INDEX unread ON conversations (updated_at, id) WHERE {UNREAD}",
    ),
    (  # the words are stored in pages
        *_ALL_WORDS_ANEW,
        "CREATE INDEX by_file ON conversations (id, size, mtime_ns)",
    ),
)
_SUMMARY = tuple(field.name for field in fields(Summary))
_COLUMNS = ", ".join(_SUMMARY)
_PATHS = ("repo_root", "cwd")
_FLAGS = ("archived", "is_empty", "ended")
_AT_ONCE = 100  # logs read in one transaction: others can write in between


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations: of one project (by its hash), about one folder, or all of them; newest first. Those in which
    nothing was said are left out, unless they are wanted `with_empty`."""

    repo_hash: str | None = None
    folder: Path | None = None
    archived: Archived = "shown"
    limit: int = -1
    start: int = 0
    with_empty: bool = False


class ConversationIndex:
    """The index of a store. Methods read files: call them on a thread. Without a usable database it is made in memory
    each time."""

    def __init__(self, store: Locations) -> None:
        self._store = store
        self._path = store.index

    def listed(self, wanted: Wanted) -> list[Summary]:
        """List the conversations in which something was said, and those whose logs cannot be read."""
        if not self._store.conversations.is_dir():
            return []
        return self.use(partial(_listed, wanted=wanted))

    def find(self, id: str) -> Summary | None:
        """Return the summary of one conversation, None if there is none with this id."""
        rows = self.use(lambda connection: rows_of(connection, "id = ?", [id], ""))
        return rows[0] if rows else None

    def children(self, id: str) -> list[str]:
        """Return the ids of the conversations that were made from this one, the newest first."""
        if not self._store.conversations.is_dir():
            return []
        return [one.id for one in self.use(lambda connection: rows_of(connection, "parent = ?", [id]))]

    def refresh(self) -> None:
        """Bring all summaries up to date."""
        if self._store.conversations.is_dir():
            self.use(lambda connection: None)

    def note(self, id: str) -> None:
        """Bring the summary of one conversation up to date, at the end of a turn. Raises OSError."""
        leave_room(self._store.data)
        path = self._store.conversations / f"{id}.jsonl"
        use(self._path, SCHEMA, lambda connection: _update(connection, [path]))

    def use(self, action: Callable[[sqlite3.Connection], _T]) -> _T:
        """Run an action on the index as it must be now."""

        import sqlite3

        def updated(connection: sqlite3.Connection) -> _T:
            _catch_up(connection, self._store.conversations)
            return action(connection)

        try:
            return use(self._path, SCHEMA, updated)
        except OSError:
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
                for step in SCHEMA:
                    for statement in step:
                        connection.execute(statement)
                return updated(connection)


def rows_of(
    connection: sqlite3.Connection,
    where: str,
    values: Sequence[object],
    rest: str = "ORDER BY updated_at DESC, id DESC",
) -> list[Summary]:
    """Return the summaries that a condition picks."""
    return [
        _summary(row)
        for row in connection.execute(f"SELECT {_COLUMNS} FROM conversations WHERE {where} {rest}", values)
    ]


def _summary(row: Sequence[Any]) -> Summary:
    values = dict(zip(_SUMMARY, row, strict=True))
    values |= {name: Path(values[name]) for name in _PATHS} | {name: bool(values[name]) for name in _FLAGS}
    values["further_roots"] = tuple(map(Path, json.loads(values["further_roots"])))
    return Summary(**values)


def condition(connection: sqlite3.Connection, wanted: Wanted) -> tuple[str, list[object]]:
    """Return the condition on rows for what is wanted, and its values."""
    parts, values = ["1" if wanted.with_empty else "(NOT is_empty OR size < 0)"], list[object]()
    if wanted.archived != "shown":
        parts.append("archived" if wanted.archived == "only" else "NOT archived")
    if wanted.repo_hash is not None:
        parts.append("repo_hash = ?")
        values.append(wanted.repo_hash)
    if wanted.folder is not None:
        places = _places_about(connection, wanted.folder)
        parts.append(f"({' OR '.join(['(cwd = ? AND root_inode IS ?)'] * len(places))})" if places else "0")
        values += [value for place in places for value in place]
    return " AND ".join(parts), values


def _places_about(connection: sqlite3.Connection, folder: Path) -> list[tuple[str, int | None]]:
    """Return the folders that are this one, under another name too, or that it was before it was moved."""
    real, inode = os.path.realpath(folder), inode_of(folder)
    places = connection.execute("SELECT DISTINCT cwd, root_inode FROM conversations").fetchall()
    return [place for place in places if _is_about(*place, folder=str(folder), real=real, inode=inode)]


def _is_about(cwd: str, root_inode: int | None, *, folder: str, real: str, inode: int | None) -> bool:
    if cwd == folder or os.path.realpath(cwd) == real:
        return True
    return inode is not None and root_inode == inode and not os.path.isdir(cwd)


def _listed(connection: sqlite3.Connection, wanted: Wanted) -> list[Summary]:
    where, values = condition(connection, wanted)
    rest = "ORDER BY updated_at DESC, id DESC LIMIT ? OFFSET ?"
    return rows_of(connection, where, [*values, wanted.limit, wanted.start], rest)


def _catch_up(connection: sqlite3.Connection, folder: Path) -> None:
    known = {id: (size, time) for id, size, time in connection.execute("SELECT id, size, mtime_ns FROM conversations")}
    stale = []
    with suppress(FileNotFoundError), _opened(folder) as descriptor, systems.scan(descriptor) as entries:
        for entry in entries:  # thousands of them, at each list
            name = entry.name
            if not name.endswith(".jsonl"):
                continue
            before = known.pop(name[:-6], None)
            try:
                status = entry.stat()
            except OSError:
                continue
            if before == (status.st_size, status.st_mtime_ns):
                continue
            if before is not None or (status.st_size and valid_conversation_id(name[:-6])):
                stale.append((status.st_mtime_ns, folder / name))
    if known:
        with written(connection):
            _forget(connection, known)
    newest_first = [path for _, path in sorted(stale, reverse=True)]
    for start in range(0, len(newest_first), _AT_ONCE):
        _update(connection, newest_first[start : start + _AT_ONCE])


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    """Open a folder: from its descriptor, the kernel finds each file in it sooner than by the whole path."""
    descriptor = systems.open_file(folder, os.O_RDONLY | systems.DIRECTORY | systems.CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _update(connection: sqlite3.Connection, paths: Iterable[Path]) -> None:
    """Read what has changed in these logs."""
    read = [(path.stem, _reading(connection, path)) for path in paths]
    with written(connection):
        _forget(connection, [id for id, reading in read if reading is None])
        for _, reading in read:
            if reading is not None:
                _store(connection, reading)


def _reading(connection: sqlite3.Connection, path: Path) -> Reading | None:
    """Read a log; None for one that is gone or empty."""
    row = connection.execute(f"SELECT size, mtime_ns, tail, {_COLUMNS} FROM conversations WHERE id = ?", [path.stem])
    found = row.fetchone()
    known = Reading(_summary(found[3:]), *found[:3]) if found is not None else None
    try:
        reading = summarize(path, known)
        return reading if reading.size else None
    except FileNotFoundError:
        return None
    except OSError:
        return Reading(Summary(path.stem, None, Path("/"), Path("/"), "", "", None, 0, None, False), -1, -1, None)


def _store(connection: sqlite3.Connection, reading: Reading) -> None:
    values = {name: getattr(reading.summary, name) for name in _SUMMARY}
    values |= {name: str(values[name]) for name in _PATHS}
    values["further_roots"] = json.dumps([str(root) for root in reading.summary.further_roots])
    values |= {"size": reading.size, "mtime_ns": reading.mtime_ns, "tail": reading.tail}
    changes = ", ".join(f"{name} = excluded.{name}" for name in values if name != "id")
    connection.execute(
        f"INSERT INTO conversations ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
        f" ON CONFLICT (id) DO UPDATE SET {changes}",
        [*values.values()],
    )


def _forget(connection: sqlite3.Connection, ids: Iterable[str]) -> None:
    connection.executemany("DELETE FROM conversations WHERE id = ?", [[id] for id in ids])
