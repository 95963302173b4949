"""What is known of the work on memories: `<data>/memories/memory.db`. Which conversations were read, and what came of
it; who works on a project's memory now; and the texts as North wrote them, so that a user's changes are seen.

Methods block: call them on a thread. Each raises OSError.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.locations import Locations
from north_lsp.storage.sqlite import use, written

if TYPE_CHECKING:
    import sqlite3

LEASE_SECONDS = 600
_SCHEMA = (
    (
        """
        CREATE TABLE jobs (
            project TEXT PRIMARY KEY,
            owner TEXT NOT NULL DEFAULT '',
            lease_until REAL NOT NULL DEFAULT 0,
            finished_at REAL NOT NULL DEFAULT 0,
            forced INTEGER NOT NULL DEFAULT 0
        )
        """,
        """
        CREATE TABLE threads (
            project TEXT NOT NULL,
            conversation TEXT NOT NULL,
            size INTEGER NOT NULL,
            digest TEXT NOT NULL,
            memory TEXT NOT NULL,
            synopsis TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (project, conversation)
        )
        """,
        """
        CREATE TABLE texts (project TEXT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (project, name))
        """,
    ),
)


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation that was read, in the state that its log had then; an empty `memory` says that nothing in it was
    worth keeping."""

    conversation: str
    size: int
    digest: str
    memory: str = ""
    synopsis: str = ""
    at: float = 0.0


class MemoryJobs:
    """The work on one project's memory."""

    def __init__(self, locations: Locations, project: str) -> None:
        self._path = locations.data / "memories" / "memory.db"
        self._project = project

    def lease(self, owner: str, now: float | None = None) -> bool:
        """Take the lease, which lasts ten minutes; False while another owner has it. Each run, and whoever removes a
        memory, is an owner of its own."""
        at = time.time() if now is None else now

        def action(database: sqlite3.Connection) -> bool:
            with written(database):
                row = database.execute(
                    "SELECT owner, lease_until FROM jobs WHERE project = ?", (self._project,)
                ).fetchone()
                if row is not None and row[0] not in ("", owner) and row[1] >= at:
                    return False
                database.execute(
                    "INSERT INTO jobs (project, owner, lease_until) VALUES (?, ?, ?) ON CONFLICT (project) "
                    "DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until",
                    (self._project, owner, at + LEASE_SECONDS),
                )
                return True

        return use(self._path, _SCHEMA, action)

    def renew(self, owner: str, now: float | None = None) -> bool:
        """Have ten minutes more; False once the lease is another's, or has been forgotten."""
        at = time.time() if now is None else now

        def action(database: sqlite3.Connection) -> bool:
            with written(database):
                statement = "UPDATE jobs SET lease_until = ? WHERE project = ? AND owner = ?"
                return database.execute(statement, (at + LEASE_SECONDS, self._project, owner)).rowcount == 1

        return use(self._path, _SCHEMA, action)

    def release(self, owner: str, *, finished: bool) -> None:
        """Give the lease back; a run that has `finished` is not wanted any more."""
        ended = ", finished_at = ?, forced = 0" if finished else ""
        values = [*([time.time()] if finished else []), self._project, owner]
        self._do(f"UPDATE jobs SET owner = '', lease_until = 0{ended} WHERE project = ? AND owner = ?", values)

    def force(self) -> None:
        """Have the next run do its work whatever has changed."""
        self._do(
            "INSERT INTO jobs (project, forced) VALUES (?, 1) ON CONFLICT (project) DO UPDATE SET forced = 1",
            [self._project],
        )

    def is_forced(self) -> bool:
        """Tell whether the next run is to do its work whatever has changed."""
        rows = self._rows("SELECT forced FROM jobs WHERE project = ?")
        return bool(rows and rows[0][0])

    def threads(self) -> Mapping[str, Thread]:
        """Return the conversations that were read, by id, the oldest first."""
        rows = self._rows(
            "SELECT conversation, size, digest, memory, synopsis, at FROM threads WHERE project = ? ORDER BY at"
        )
        return {str(row[0]): Thread(*row) for row in rows}

    def keep(self, thread: Thread) -> None:
        """Keep what came of reading a conversation."""
        values = (thread.conversation, thread.size, thread.digest, thread.memory, thread.synopsis, time.time())
        self._do("INSERT OR REPLACE INTO threads VALUES (?, ?, ?, ?, ?, ?, ?)", [self._project, *values])

    def texts(self) -> Mapping[str, str]:
        """Return the files' texts as North wrote them, by name."""
        return {str(name): str(text) for name, text in self._rows("SELECT name, text FROM texts WHERE project = ?")}

    def keep_texts(self, texts: Mapping[str, str]) -> None:
        """Keep the files' texts as they were written, in place of those before."""

        def action(database: sqlite3.Connection) -> None:
            with written(database):
                database.execute("DELETE FROM texts WHERE project = ?", (self._project,))
                rows = [(self._project, name, text) for name, text in texts.items()]
                database.executemany("INSERT INTO texts VALUES (?, ?, ?)", rows)

        use(self._path, _SCHEMA, action)

    def forget(self, tables: Iterable[str] = ("jobs", "threads", "texts")) -> None:
        """Forget all of the project, or what came of reading its conversations (`threads`)."""
        for table in tables:
            self._do(f"DELETE FROM {table} WHERE project = ?", [self._project])

    def _do(self, statement: str, values: Iterable[object]) -> None:
        def action(database: sqlite3.Connection) -> None:
            with written(database):
                database.execute(statement, tuple(values))

        use(self._path, _SCHEMA, action)

    def _rows(self, statement: str) -> list[tuple[Any, ...]]:
        if not self._path.exists():
            return []
        return use(self._path, _SCHEMA, lambda database: database.execute(statement, (self._project,)).fetchall())
