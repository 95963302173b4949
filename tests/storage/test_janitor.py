"""What is cleared away: only what belongs to nobody alive, and what is old."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from north_lsp.mcp.stdio import empty_folder
from north_lsp.shell import factory as making
from north_lsp.storage import janitor
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.housekeeping import Housekeeping
from north_lsp.storage.janitor import EMPTY_DAYS, Removed, clear_project
from north_lsp.storage.listing import delete_conversation, is_open, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_log import MemoryLog
from north_lsp.storage.prompt_history import PromptHistory
from north_lsp.storage.trash import restore
from tests.support.patience import PATIENCE

New = Callable[..., Conversation]
Child = Callable[..., Any]
DAY = 24 * 60 * 60
USER = {"role": "user", "content": [{"type": "text", "text": "hello"}]}
clear = partial(janitor.clear, seconds=PATIENCE)
clear_daily = partial(janitor.clear_daily, seconds=PATIENCE)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test see what other processes have left in the temporary folder that all of them share."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def aged(path: Path, seconds: float) -> Path:
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def names(removed: list[Removed]) -> list[str]:
    return [one.name for one in removed]


def temporary(folder: Path, pid: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".costs.json.{pid}.0123abcd.tmp"
    path.write_text("half")
    return path


def test_temporaries_of_dead_processes_go_and_those_of_living_ones_stay(store: Locations, tmp_path: Path) -> None:
    folders = [store.data, store.conversations, store.blobs, store.data / "projects" / "00", tmp_path / "p" / ".north"]
    dead = [temporary(folder, dead_pid()) for folder in folders]
    alive = [temporary(folder, os.getpid()) for folder in folders]
    other = folders[-1] / ".notes.tmp"
    other.write_text("the user's own")
    clear(store)
    clear_project(tmp_path / "p")
    assert not any(path.exists() for path in dead)
    assert all(path.exists() for path in (*alive, other))
    for path in alive:
        aged(path, 2 * 60 * 60)  # another process has the number now
    clear(store)
    clear_project(tmp_path / "p")
    assert not any(path.exists() for path in alive)


async def test_the_folder_of_a_tool_server_goes_unless_the_server_runs(store: Locations) -> None:
    left = store.server_folders / "mcp-left"
    left.mkdir(parents=True)
    (left / "written by the server").write_text("")
    async with empty_folder(store.server_folders) as used:
        for folder in (left, used):
            aged(folder, 2 * 60 * 60)
        assert names(clear(store)) == ["mcp-left"]
        assert used.is_dir()
    assert list(store.server_folders.iterdir()) == []


def test_a_lock_goes_when_its_owner_is_dead(store: Locations, child: Child) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
print(conversation.id, flush=True)
sys.stdin.read()
""")
    lock = store.conversations / f"{process.stdout.readline().strip()}.lock"
    clear(store)
    assert lock.exists()
    process.kill()
    process.wait()
    clear(store)
    assert not lock.exists()
    assert lock.with_suffix(".jsonl").exists()


def test_old_conversations_without_a_word_go(store: Locations, new: New) -> None:
    empty, young, spoken, held = (new() for _ in range(4))
    for conversation in (empty, young, spoken, held):
        conversation.keep()
    spoken.append("message", message=USER)
    spoken.close()
    held.append("mode_change", mode="ask")
    for conversation in (empty, spoken, held):
        aged(conversation.path, (EMPTY_DAYS + 1) * DAY)
    assert names(clear(store)) == [empty.path.name]
    held.close()
    left = {path.name for path in store.conversations.iterdir()}
    assert left == {conversation.path.name for conversation in (young, spoken, held)}


def test_nobody_can_begin_in_an_empty_conversation_while_it_goes(
    store: Locations, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = new()
    empty.keep()
    aged(empty.path, (EMPTY_DAYS + 1) * DAY)
    held: list[bool] = []
    monkeypatch.setattr(janitor, "_remove", lambda path: held.append(is_open(store, path.stem)))
    clear(store)
    assert held == [True]
    assert not is_open(store, empty.id)


def test_the_trash_is_emptied_after_a_month(store: Locations) -> None:
    old, young = (store.conversations / "trash" / name for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_text("x")
    aged(old, 31 * DAY)
    assert names(clear(store)) == ["old"]
    assert young.exists()


def test_shells_folders_go_when_nobody_holds_them(
    store: Locations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    own, left, fresh = (making.private_folder() for _ in range(3))
    for folder in (left, fresh):
        os.close(making._held.pop(folder))  # as the kernel does for a dead process
    for folder in (own, left):
        aged(folder, DAY)
    jobs = store.data / "projects" / "00" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "one.json").write_text("{}")
    assert clear(store) == []
    (jobs / "one.json").unlink()
    assert names(clear(store)) == [left.name]
    assert own.exists()
    assert fresh.exists()
    os.close(making._held.pop(own))


def test_folders_of_unsaved_conversations_go_when_nobody_holds_them(store: Locations) -> None:
    live, left, fresh = (MemoryLog(store.temporary) for _ in range(3))
    for log in (left, fresh):
        assert log._held is not None
        os.close(log._held)  # as the kernel does for a dead process
        log._held = None
    aged(live.path.parent, 2 * DAY)
    aged(left.path.parent, DAY / 2)
    assert names(clear(store)) == [left.path.parent.name]
    assert live.path.parent.exists()
    assert fresh.path.parent.exists()
    live.forget()
    assert not live.path.parent.exists()


def test_documents_of_reviews_that_nobody_will_decide_go(
    store: Locations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, fresh, other = (tmp_path / name for name in ("north-review-a", "north-review-b", "review-c"))
    for folder in (left, fresh, other):
        folder.mkdir()
        (folder / "command.sh").write_text("ls")
    for folder in (left, other):
        aged(folder, 2 * DAY)
    assert names(clear(store)) == [left.name]
    assert fresh.exists()
    assert other.exists()


def test_a_call_ends_when_its_time_is_over(store: Locations) -> None:
    for number in range(3):
        temporary(store.data / "projects" / str(number), dead_pid())
    assert clear(store, seconds=-1) == []


# -- what is too old ---------------------------------------------------------------------------------------------------


def aged_conversation(store: Locations, new: New, days: int, *, archived: bool = False) -> Conversation:
    """One whose last entry, and file, are so old."""
    conversation = new()
    conversation.append("message", message=USER)
    if archived:
        conversation.annotate("archived", archived=True)
    conversation.close()
    then = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - days * DAY))
    rows = [json.loads(line) | {"timestamp": then} for line in conversation.path.read_text().splitlines()]
    conversation.path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    aged(conversation.path, days * DAY)
    return conversation


def test_old_conversations_go_to_the_trash_if_the_user_wants_that(store: Locations, new: New) -> None:
    old, young, opened, held = (aged_conversation(store, new, days) for days in (40, 5, 40, 40))
    aged_conversation(store, new, 40, archived=True)
    os.utime(opened.path)
    unreadable = store.conversations / "ffffff.jsonl"
    unreadable.write_text("not a log")
    aged(unreadable, 40 * DAY)
    assert held.lock() is None
    list_conversations(store)
    everything = {path.name for path in store.conversations.glob("*.jsonl")}
    assert clear(store) == []
    assert {path.name for path in store.conversations.glob("*.jsonl")} == everything
    (removed,) = clear(store, 30)
    assert (removed.kind, removed.name) == ("old conversation, to the trash", old.id)
    assert {path.name for path in store.conversations.glob("*.jsonl")} == everything - {old.path.name}
    (trash,) = (store.conversations / "trash").iterdir()
    assert (trash / old.path.name).exists()
    assert young.path.exists()
    held.close()


def test_nothing_is_removed_for_its_age_while_there_is_no_index(store: Locations, new: New) -> None:
    conversation = aged_conversation(store, new, 40)
    store.blobs.mkdir()
    blob = aged(_blob(store, b"old"), 8 * DAY)
    assert clear(store, 30) == []
    list_conversations(store)
    assert names(clear(store, 30)) == [conversation.id, blob.name]


def test_the_trash_goes_by_the_date_in_its_name(store: Locations) -> None:
    old = store.conversations / "trash" / "a1b2c3-20200101T000000Z"
    odd = store.conversations / "trash" / "a1b2c3-20209901T000000Z"
    for folder in (old, odd):
        folder.mkdir(parents=True)
    assert names(clear(store)) == [old.name]
    assert odd.exists()


def test_what_belonged_to_a_conversation_that_is_gone_goes(store: Locations, new: New) -> None:
    kept = new()
    kept.append("message", message=USER)
    kept.folder.mkdir()
    left = [store.conversations / name for name in ("abcdef", "abcdef.partial.jsonl", "abcdef.snapshot.json")]
    left[0].mkdir()
    (left[0] / "1.shell_run.log").write_text("all of it")
    left[1].write_text("half")
    left[2].write_text("{}")
    others = [store.conversations / name for name in ("abcdef.jsonl.bak-flat", "notes.txt", "123456")]
    others[2].mkdir()
    for path in (*left, *others[:2], kept.folder):
        path.write_text("x") if not path.exists() else None
        aged(path, 8 * DAY)
    assert sorted(names(clear(store))) == sorted(path.name for path in left)
    assert all(path.exists() for path in (*others, kept.folder))


def test_outputs_that_did_not_follow_their_conversation_to_the_trash_wait_for_it(store: Locations, new: New) -> None:
    deleted = new()
    deleted.append("message", message=USER)
    deleted.close()
    delete_conversation(store, deleted.id)
    deleted.folder.mkdir()  # the process was killed after it had moved the log
    aged(deleted.folder, 8 * DAY)
    assert names(clear(store)) == []
    restore(store, deleted.id)
    assert deleted.folder.exists()


def _blob(store: Locations, data: bytes) -> Path:
    Blobs(store.blobs).keep({hashlib.sha256(data).hexdigest(): data})
    return store.blobs / hashlib.sha256(data).hexdigest()


def test_contents_that_no_log_names_go(store: Locations, new: New) -> None:
    store.conversations.mkdir(parents=True)
    blobs = {name: aged(_blob(store, name.encode()), 8 * DAY) for name in ("log", "trash", "former", "none", "again")}
    young = _blob(store, b"young")
    conversation = new()
    conversation.append("message", message=USER, before=f"blob:sha256:{blobs['log'].name}")
    conversation.close()
    trash = store.conversations / "trash" / "a-20990101T000000Z"
    trash.mkdir(parents=True)
    (trash / "a.jsonl").write_text(f'"{blobs["trash"].name}"')
    (store.conversations / "b.jsonl.bak-flat").write_text("x" * (4 * 1024 * 1024 - 30) + f'"{blobs["former"].name}"')
    list_conversations(store)
    _blob(store, b"again")  # needed again, in an entry that comes next
    assert names(clear(store)) == [blobs["none"].name]
    assert young.exists()
    (trash / "a.jsonl").unlink()
    conversation.append("message", message=USER, before=blobs["none"].name)
    conversation.close()
    assert names(clear(store)) == [blobs["trash"].name]
    assert clear(store) == []


def test_without_time_to_read_all_logs_no_content_is_removed(store: Locations, new: New) -> None:
    blob = aged(_blob(store, b"none"), 8 * DAY)
    conversation = new()
    conversation.append("message", message=USER)
    conversation.close()
    assert Housekeeping(store).digests([conversation.path], time.monotonic() - 1) is None
    assert Housekeeping(store).digests([conversation.path], time.monotonic() + 60) == set()
    assert blob.exists()


def test_databases_give_back_what_is_free_in_them(store: Locations) -> None:
    history = PromptHistory(store)
    for number in range(60):
        history.add(f"{number} " + "x" * 20_000, store.data)
    with closing(sqlite3.connect(store.data / "history.db")) as database, database:
        database.execute("DELETE FROM history")
    before = (store.data / "history.db").stat().st_size
    keys = store.data / "agent.db"
    shutil.copy(store.data / "history.db", keys)
    (one,) = clear(store)
    assert (one.kind, one.name) == ("free space in a database", "history.db")
    assert one.size == before - (store.data / "history.db").stat().st_size > 1_000_000
    assert keys.stat().st_size == before
    assert clear(store) == []


def test_one_process_a_day_clears_away(store: Locations) -> None:
    (store.conversations / "trash" / "a1b2c3-20200101T000000Z").mkdir(parents=True)
    assert Housekeeping(store).begin("clean-up")  # another process does it now
    assert clear_daily(store, 0) == []
    Housekeeping(store).done("clean-up")
    assert clear_daily(store, 0) == []
    with closing(sqlite3.connect(store.state / "housekeeping.db")) as database, database:
        database.execute("UPDATE leases SET done = done - 90000")
    assert len(clear_daily(store, 0)) == 1
    done = Housekeeping(store).last("clean-up")
    assert done is not None
    (store.conversations / "trash" / "a1b2c3-20200101T000000Z").mkdir(parents=True)
    assert clear_daily(store, 0) == []


def test_a_process_that_died_while_it_cleared_away_does_not_keep_the_lease(store: Locations) -> None:
    assert Housekeeping(store).begin("clean-up")
    with closing(sqlite3.connect(store.state / "housekeeping.db")) as database, database:
        database.execute("UPDATE leases SET until = until - 61")
    assert Housekeeping(store).begin("clean-up")
    with closing(sqlite3.connect(store.state / "housekeeping.db")) as database, database:
        database.execute("UPDATE leases SET done = done + 1e12, until = until + 1e12")  # by a clock that was wrong
    assert Housekeeping(store).begin("clean-up")
