"""The opener of all databases: modes, migrations, what is newer, what is damaged, several processes."""

import os
import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from north_lsp.storage import sqlite
from north_lsp.storage.locations import Locations
from north_lsp.storage.sqlite import DamagedDatabase, NewerDatabase, connect, is_damage, shrink, transaction
from tests.storage.conftest import Child, Notes

FIRST = ("CREATE TABLE words (id INTEGER PRIMARY KEY, text TEXT)",)
LARGE = "x" * 1_000_000
SECOND = (
    "ALTER TABLE words ADD COLUMN language TEXT DEFAULT 'en'",
    "CREATE TABLE sounds (word INTEGER NOT NULL REFERENCES words (id))",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "words.db"


def test_it_is_opened_as_all_are(path: Path, notes: Notes) -> None:
    before = os.umask(0)
    try:
        with transaction(path, [FIRST]) as database:
            database.execute("INSERT INTO words (text) VALUES ('a')")
            modes = {name.name: stat.S_IMODE(name.stat().st_mode) for name in path.parent.iterdir()}
            pragmas = [
                database.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "foreign_keys", "busy_timeout", "user_version")
            ]
    finally:
        os.umask(before)
    assert pragmas == ["wal", 1, 3000, 1]
    assert modes == {"words.db": 0o600, "words.db-wal": 0o600, "words.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [name.name for name in path.parent.iterdir()] == ["words.db"]
    path.chmod(0o644)
    assert notes == []
    with closing(connect(path, [FIRST])) as database:
        assert database.execute("SELECT text FROM words").fetchall() == [("a",)]
    assert notes == [("mode_narrowed", {"path": path, "mode": "644"})]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_exception_takes_everything_back(path: Path) -> None:
    def fail() -> None:
        with transaction(path, [FIRST]) as database:
            database.execute("INSERT INTO words (text) VALUES ('a')")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with transaction(path, [FIRST]) as database:
        assert database.execute("SELECT * FROM words").fetchall() == []


def test_a_former_version_is_brought_up_step_by_step(path: Path) -> None:
    with transaction(path, [FIRST]) as database:
        database.execute("INSERT INTO words (text) VALUES ('a')")
    with transaction(path, [FIRST, SECOND]) as database:
        assert database.execute("SELECT text, language FROM words").fetchall() == [("a", "en")]
    with pytest.raises(sqlite3.IntegrityError), transaction(path, [FIRST, SECOND]) as database:
        database.execute("INSERT INTO sounds VALUES (99)")


def test_a_step_that_fails_changes_nothing(path: Path) -> None:
    with transaction(path, [FIRST]) as database:
        database.execute("INSERT INTO words (text) VALUES ('a')")
    broken = ("ALTER TABLE words ADD COLUMN more TEXT", "no statement")
    with pytest.raises(sqlite3.OperationalError), transaction(path, [FIRST, broken]):
        pass
    with transaction(path, [FIRST, SECOND]) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info (words)")]
    assert columns == ["id", "text", "language"]


def test_a_newer_one_is_left_alone(path: Path) -> None:
    with transaction(path, [FIRST, SECOND]):
        pass
    before = path.read_bytes()
    with pytest.raises(NewerDatabase, match="newer version"), transaction(path, [FIRST]):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"this is no database, but a text of some length", b"SQLite format 3\0" * 400])
def test_a_damaged_one_is_moved_aside_and_made_anew(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(DamagedDatabase) as caught, transaction(path, [FIRST]):
        pass
    assert caught.value.kept is not None
    assert caught.value.kept.name.startswith("words.db.bad-")
    assert caught.value.kept.read_bytes() == content
    with transaction(path, [FIRST]) as database:
        database.execute("INSERT INTO words (text) VALUES ('a')")


def test_a_damaged_one_may_be_kept(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"this is no database, but a text of some length")
    with pytest.raises(DamagedDatabase) as caught, transaction(path, [FIRST], keep_damaged=True):
        pass
    assert caught.value.kept is None
    assert path.read_bytes().startswith(b"this is no database")


def test_damage_that_shows_later_is_told_from_mistakes(path: Path) -> None:
    with transaction(path, [FIRST]) as database:
        database.executemany("INSERT INTO words (text) VALUES (?)", [("x" * 500,)] * 100)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * len(content[4096:])
    path.write_bytes(content)
    with closing(connect(path, [FIRST])) as database:
        with pytest.raises(sqlite3.DatabaseError) as caught:
            database.execute("SELECT text FROM words").fetchall()
        assert is_damage(caught.value)
        with pytest.raises(sqlite3.DatabaseError) as mistake:
            database.execute("SELECT nothing FROM words")
        assert not is_damage(mistake.value)
    with pytest.raises(DamagedDatabase), transaction(path, [FIRST]) as database:
        database.execute("SELECT text FROM words").fetchall()
    assert not path.exists()


def test_two_processes_make_one_at_once(store: Locations, child: Child) -> None:
    program = """
from north_lsp.storage.sqlite import transaction
first = ("CREATE TABLE words (id INTEGER PRIMARY KEY, text TEXT)",)
print("ready", flush=True)
sys.stdin.readline()
for number in range(30):
    with transaction(store.data / "words.db", [first]) as database:
        database.execute("INSERT INTO words (text) VALUES (?)", (str(number),))
print("done", flush=True)
"""
    children = [child(program) for _ in range(3)]
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in children:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    for one in children:
        assert one.stdout is not None
        assert one.stdout.readline() == "done\n"
    with transaction(store.data / "words.db", [FIRST]) as database:
        assert database.execute("SELECT count(*) FROM words").fetchone() == (90,)


def emptied(path: Path) -> int:
    """Write much into a database and remove it again; return the size of the file."""
    with closing(connect(path, [FIRST])) as database, database:
        database.executemany("INSERT INTO words (text) VALUES (?)", [["kept"], *([LARGE] for _ in range(4))])
        database.commit()
        database.execute("DELETE FROM words WHERE text <> 'kept'")
    return path.stat().st_size


def an_hour() -> float:
    return time.monotonic() + 3600


def kept(path: Path) -> list[tuple[str]]:
    with closing(connect(path, [FIRST])) as database:
        return database.execute("SELECT text FROM words").fetchall()


def test_what_is_free_inside_is_given_back(path: Path) -> None:
    before = emptied(path)
    assert before > 4_000_000
    assert shrink(path, an_hour()) == before - path.stat().st_size > 3_900_000
    assert kept(path) == [("kept",)]
    assert shrink(path, an_hour()) == 0


def test_one_of_an_older_north_is_shrunk_too_and_from_then_on_in_portions(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        for statement in (*FIRST, "PRAGMA user_version = 1"):
            database.execute(statement)
    before = emptied(path)
    assert shrink(path, time.monotonic() - 1) == 0  # there was no time for it
    assert kept(path) == [("kept",)]
    assert shrink(path, an_hour()) == before - path.stat().st_size > 3_900_000
    assert kept(path) == [("kept",)]
    with closing(connect(path, [FIRST])) as database:
        assert database.execute("PRAGMA auto_vacuum").fetchone() == (2,)


def test_writing_one_anew_ends_when_its_time_is_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as database:
        for statement in (*FIRST, "PRAGMA user_version = 1"):
            database.execute(statement)
        database.executemany("INSERT INTO words (text) VALUES (?)", [["kept"]] * 20_000)
        database.commit()
    before = emptied(path)
    times = iter([0.0])
    monkeypatch.setattr(sqlite, "time", SimpleNamespace(monotonic=lambda: next(times, 99.0)))
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        shrink(path, 1.0)
    assert path.stat().st_size == before
    assert len(kept(path)) == 20_001


def test_little_is_left_and_so_is_all_while_somebody_writes(path: Path) -> None:
    before = emptied(path)
    assert shrink(path, an_hour(), least=before) == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            shrink(path, an_hour())
        database.execute("ROLLBACK")
    assert path.stat().st_size == before
    assert kept(path) == [("kept",)]
