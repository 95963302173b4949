import os
import stat
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.storage.files import LockTimeout, json_bytes, read_json, set_aside, short_lock, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError, parse, plain

Child = Callable[..., Any]
Notes = list[tuple[str, dict[str, Any]]]


def test_write_atomic_replaces_the_content_with_private_mode(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text("old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["f.json"]


def test_write_atomic_replaces_a_link_instead_of_following_it(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "link").symlink_to("target")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()


def test_a_failed_replace_leaves_the_old_file_and_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.mkdir()
    (path / "inside").touch()
    with pytest.raises(OSError):
        write_atomic(path, b"new")
    assert os.listdir(tmp_path) == ["f"]


@pytest.mark.parametrize("victim", ["write", "fsync", "close", "replace"])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_at_any_step_of_a_replace_the_file_is_old_or_new(
    child: Child, tmp_path: Path, victim: str, moment: str
) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old" * 1000)
    process = child(f"""
import signal
from north_lsp.storage.files import write_atomic
real = os.{victim}
def deadly(*arguments):
    if {moment!r} == "after":
        real(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
os.{victim} = deadly
write_atomic(Path({str(path)!r}), b"new" * 1000)
""")
    assert process.wait() == -9
    assert path.read_bytes() == (b"new" * 1000 if (victim, moment) == ("replace", "after") else b"old" * 1000)


def test_read_json_reads_over_marks_comments_and_trailing_commas(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text('\ufeff{ // one\n "a": [1, 2, /* , */ ], "url": "http://x/*y*/,]", \n}', encoding="utf-8")
    assert read_json(path) == {"a": [1, 2], "url": "http://x/*y*/,]"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda c: st.lists(c) | st.dictionaries(st.text(), c)
    )
)
def test_ordinary_json_is_read_as_it_stands(value: object) -> None:
    data = json_bytes(value)
    assert parse(data) == value
    assert plain(data.decode()) == data.decode()


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b"", 1, 1),
        (b'{"a": 1,\n  "b": }', 2, 8),
        (b'{"a": 1 /* never\nclosed', 1, 9),
        (b'{"a":\n "\xff"}', 2, 3),
        (b"[" * 100_000, 1, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(data: bytes, line: int, column: int) -> None:
    with pytest.raises(JsonError) as caught:
        parse(data)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_read_json_refuses_pipes_and_giants(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "giant").write_bytes(b"1" * 100)
    with pytest.raises(OSError, match="not a regular file"):
        read_json(tmp_path / "pipe")
    with pytest.raises(OSError, match="larger than 99 bytes"):
        read_json(tmp_path / "giant", limit=99)


def test_set_aside_never_overwrites_an_earlier_one(tmp_path: Path) -> None:
    targets = set()
    for number in range(3):
        (tmp_path / "f").write_text(str(number))
        targets.add(set_aside(tmp_path / "f"))
    assert sorted(path.read_text() for path in targets) == ["0", "1", "2"]
    assert all(path.name.startswith("f.bad-") for path in targets)


def test_json_with_lone_surrogates_is_still_utf_8() -> None:
    assert json_bytes("a\udc00é😀") == '"a\ufffdé😀"\n'.encode()


def test_a_short_lock_of_another_process_is_waited_for_and_named(store: Locations, child: Child, notes: Notes) -> None:
    process = child("""
from north_lsp.storage.files import short_lock
with short_lock(store, "costs"):
    print("held", flush=True)
    sys.stdin.read()
""")
    assert process.stdout.readline() == "held\n"
    with (
        pytest.raises(LockTimeout, match=f"costs is locked by process {process.pid}"),
        short_lock(store, "costs", 0.05),
    ):
        pass
    ((event, data),) = notes
    assert event == "lock_wait"
    assert data | {"waitedMs": 0} == {"name": "costs", "waitedMs": 0, "owner": process.pid, "ok": False}
    with short_lock(store, "index", 0):
        pass
    process.kill()
    process.wait()
    notes.clear()
    with short_lock(store, "costs", 0):
        assert stat.S_IMODE(store.locks.stat().st_mode) == 0o700
    assert notes == [("lock_stale_taken", {"name": "costs.lock", "owner": process.pid})]


def test_a_short_lock_that_becomes_free_says_how_long_that_took(
    store: Locations, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = ExitStack()
    held.enter_context(short_lock(store, "costs"))
    monkeypatch.setattr(time, "sleep", lambda seconds: held.close())
    with short_lock(store, "costs"):
        ((event, data),) = notes
    assert event == "lock_wait"
    assert data | {"waitedMs": 0} == {"name": "costs", "waitedMs": 0, "owner": os.getpid(), "ok": True}


def test_a_lock_that_was_freed_is_not_taken_for_one_of_the_dead(store: Locations, child: Child, notes: Notes) -> None:
    process = child("""
from north_lsp.storage.files import short_lock
with short_lock(store, "costs"):
    pass
""")
    assert process.wait() == 0
    with short_lock(store, "costs"):
        assert notes == []


@pytest.mark.parametrize("name", ["", "a/b", "\0"])
def test_a_lock_stays_in_its_directory(store: Locations, name: str) -> None:
    with pytest.raises(ValueError), short_lock(store, name):
        pass
