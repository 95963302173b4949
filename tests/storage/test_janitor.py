"""What is cleared away: only what belongs to nobody alive, and what is old."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.shell import factory as making
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.janitor import EMPTY_DAYS, clear, clear_project
from north_lsp.storage.locations import Locations

New = Callable[..., Conversation]
Child = Callable[..., Any]
DAY = 24 * 60 * 60
USER = {"role": "user", "content": [{"type": "text", "text": "hello"}]}


def aged(path: Path, seconds: float) -> Path:
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


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
    assert clear(store) == [empty.path.name]
    held.close()
    left = {path.name for path in store.conversations.iterdir()}
    assert left == {conversation.path.name for conversation in (young, spoken, held)}


def test_the_trash_is_emptied_after_a_month(store: Locations) -> None:
    old, young = (store.conversations / "trash" / name for name in ("old", "young"))
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "a.jsonl").write_text("x")
    aged(old, 31 * DAY)
    assert clear(store) == ["old"]
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
    assert clear(store) == [left.name]
    assert own.exists()
    assert fresh.exists()
    os.close(making._held.pop(own))


def test_a_call_ends_when_its_time_is_over(store: Locations) -> None:
    for number in range(3):
        temporary(store.data / "projects" / str(number), dead_pid())
    assert clear(store, seconds=-1) == []
