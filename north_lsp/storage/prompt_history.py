"""What the user has sent, in all conversations: `<data>/history.db`, to be found and sent again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import timestamp
from north_lsp.storage.locations import Locations
from north_lsp.storage.masking import masked
from north_lsp.storage.query import is_indexed, like, prefix, words_of
from north_lsp.storage.sqlite import has_no_module, use, written

if TYPE_CHECKING:
    import sqlite3

LIMIT = 100
MOST_ROWS = 10_000
MOST_CHARACTERS = 100_000
"""Longer prompts are pasted files: they are not kept."""

_SCHEMA = (
    (
        "CREATE TABLE history"
        " (id INTEGER PRIMARY KEY, prompt TEXT NOT NULL, created_at TEXT NOT NULL, cwd TEXT NOT NULL)",
        "CREATE INDEX by_folder ON history (cwd, id)",
    ),
)
_WORDS = (
    "CREATE VIRTUAL TABLE history_fts USING fts5(prompt, content = 'history', content_rowid = 'id')",
    """
    CREATE TRIGGER added AFTER INSERT ON history
    BEGIN INSERT INTO history_fts (rowid, prompt) VALUES (new.id, new.prompt); END
    """,
    """
    CREATE TRIGGER removed AFTER DELETE ON history
    BEGIN INSERT INTO history_fts (history_fts, rowid, prompt) VALUES ('delete', old.id, old.prompt); END
    """,
    "INSERT INTO history_fts (history_fts) VALUES ('rebuild')",
)


@dataclass(frozen=True, slots=True)
class OldPrompt:
    id: int
    prompt: str
    created_at: str
    cwd: str


class PromptHistory:
    """The history in one store. Methods block: call them on a thread. Each raises OSError."""

    def __init__(self, store: Locations) -> None:
        self._path = store.data / "history.db"

    def add(self, prompt: str, folder: Path) -> None:
        """Add a prompt without the secrets in it, unless it is the one before once more. The oldest ones beyond the
        limit are dropped."""
        text = prompt.encode("utf-8", "replace").decode().strip()
        if text and len(text) <= MOST_CHARACTERS:
            text = masked(text)
            use(self._path, _SCHEMA, lambda connection: _add(connection, text, str(folder)))

    def listed(self, query: str = "", folder: Path | None = None, limit: int = LIMIT) -> list[OldPrompt]:
        """List the prompts, the newest first, each text once: of one folder if given, and with every word of the
        query."""
        if not self._path.exists():
            return []
        return use(self._path, _SCHEMA, lambda connection: _listed(connection, query, folder, limit))


def _add(connection: sqlite3.Connection, prompt: str, folder: str) -> None:
    _find_words(connection)
    with written(connection):
        last = connection.execute(
            "SELECT prompt FROM history WHERE cwd = ? ORDER BY id DESC LIMIT 1", [folder]
        ).fetchone()
        if last is not None and last[0] == prompt:
            return
        values = (prompt, timestamp(), folder)
        connection.execute("INSERT INTO history (prompt, created_at, cwd) VALUES (?, ?, ?)", values)
        oldest = "SELECT id FROM history ORDER BY id DESC LIMIT -1 OFFSET ?"
        connection.execute(f"DELETE FROM history WHERE id IN ({oldest})", [MOST_ROWS])


def _listed(connection: sqlite3.Connection, query: str, folder: Path | None, limit: int) -> list[OldPrompt]:
    parts, values = ["1"], list[object]()
    if folder is not None:
        parts.append("cwd = ?")
        values.append(str(folder))
    words = words_of(query)
    indexed = [word for word in words if is_indexed(word)] if _find_words(connection) else []
    if indexed:
        parts.append("id IN (SELECT rowid FROM history_fts WHERE history_fts MATCH ?)")
        values.append(prefix(*indexed))
    for word in (word for word in words if word not in indexed):
        parts.append("prompt LIKE ? ESCAPE '\\'")
        values.append(like(word))
    newest = f"SELECT max(id) AS id FROM history WHERE {' AND '.join(parts)} GROUP BY prompt ORDER BY id DESC LIMIT ?"
    rows = connection.execute(
        f"SELECT id, prompt, created_at, cwd FROM history WHERE id IN ({newest}) ORDER BY id DESC", [*values, limit]
    )
    return [OldPrompt(*row) for row in rows]


def _find_words(connection: sqlite3.Connection) -> bool:
    """Make the index of words, if SQLite can and there is none; return whether there is one."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'history_fts'").fetchone() is not None:
        return True
    import sqlite3

    try:
        with written(connection):
            for statement in _WORDS:
                connection.execute(statement)
    except sqlite3.OperationalError as error:
        if has_no_module(error):
            return False
        raise
    return True
