"""Deleted conversations: listed with their date, and put back whole."""

import os
import shutil
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.agent.session.library.trash import Trash
from north_lsp.storage.conversation import Conversation, ConversationBusy, UnknownConversation
from north_lsp.storage.disk_log import DiskLog
from north_lsp.storage.janitor import clear
from north_lsp.storage.listing import delete_conversation, list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.trash import NotRestored, deleted_at, restore, trashed
from tests.storage.conftest import New
from tests.storage.test_copying import state, user
from tests.support.patience import PATIENCE


def stored(new: New, text: str = "hello") -> Conversation:
    conversation = new()
    conversation.append("message", message=user(text))
    conversation.folder.mkdir()
    (conversation.folder / "1.shell_run.log").write_text("all of it")
    conversation.path.with_name(f"{conversation.id}.jsonl.bak-3").write_text("the original")
    conversation.close()
    return conversation


def everything(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_it_comes_back_with_all_that_belongs_to_it(store: Locations, new: New) -> None:
    one, other = stored(new, "first"), stored(new, "second")
    before, was = everything(store.conversations), state(Conversation.open(store, one.id))
    delete_conversation(store, one.id)
    (row,) = trashed(store)
    assert (row.id, row.summary.first_prompt) == (one.id, "first")
    assert row.deleted_at[:4].isdecimal()
    assert [summary.id for summary in list_conversations(store)] == [other.id]
    assert restore(store, one.id).id == one.id
    assert everything(store.conversations) == before
    assert state(Conversation.open(store, one.id)) == was
    assert not list(trashed(store))
    assert {summary.id for summary in list_conversations(store)} == {one.id, other.id}
    assert list((store.conversations / "trash").iterdir()) == []


def test_what_cannot_be_restored_stays_in_the_trash(store: Locations, new: New) -> None:
    one = stored(new)
    with pytest.raises(UnknownConversation):
        restore(store, one.id)
    delete_conversation(store, one.id)
    taken = store.conversations / f"{one.id}.jsonl"
    taken.write_text("another one")
    with pytest.raises(NotRestored, match=f"there is another conversation {one.id}"):
        restore(store, one.id)
    assert taken.read_text() == "another one"
    taken.unlink()
    holder = new()
    holder.append("message", message=user())
    os.link(holder.path.with_suffix(".lock"), taken.with_suffix(".lock"))  # as if it were open
    with pytest.raises(ConversationBusy):
        restore(store, one.id)
    holder.close()
    assert len(list(trashed(store))) == 1
    assert restore(store, one.id).id == one.id


def test_the_last_one_that_was_deleted_is_restored(store: Locations, new: New) -> None:
    one = stored(new, "older")
    delete_conversation(store, one.id)
    (folder,) = (store.conversations / "trash").iterdir()
    older = folder.rename(folder.with_name(f"{one.id}-20250102T030405Z"))
    later = Conversation.create(
        store,
        repo_root=store.data,
        repo_hash="0",
        cwd=store.data,
        model="m",
        client=None,
        north_version="0",
        storage=DiskLog.new(store.conversations, one.id),
    )
    later.append("message", message=user("later"))
    later.close()
    delete_conversation(store, one.id)
    assert [row.summary.first_prompt for row in trashed(store)] == ["later", "older"]
    assert deleted_at(older) == "2025-01-02T03:04:05.000Z"
    assert restore(store, one.id).summary.first_prompt == "later"


async def test_a_list_of_the_trash_reads_what_it_shows(store: Locations, new: New) -> None:
    """However many there are: all of them at once were megabytes."""
    for text in ("older", "later"):
        delete_conversation(store, stored(new, text).id)
    rows = trashed(store)
    next(rows)
    for folder in (store.conversations / "trash").iterdir():
        shutil.rmtree(folder)
    assert not list(rows)
    for number in range(400):
        folder = store.conversations / "trash" / f"{number:06x}-20250102T030405Z"
        folder.mkdir()
        (folder / f"{number:06x}.jsonl").write_text("")
    (of_all, all_rows), (of_five, five_rows) = await peak(store, 400), await peak(store, 5)
    assert (all_rows, five_rows) == (400, 5)
    assert of_five < of_all / 2


async def peak(store: Locations, limit: int) -> tuple[int, int]:
    """How much memory a list of the trash takes meanwhile, and how long the list is."""
    tracemalloc.start()
    try:
        rows = await Trash(store).listed(limit=limit)
        return tracemalloc.get_traced_memory()[1], len(rows)
    finally:
        tracemalloc.stop()


def test_what_is_not_norths_is_not_listed(store: Locations, tmp_path: Path) -> None:
    folder = store.conversations / "trash"
    for name in ("aa11", "aa11-yesterday", "aa11-20259999T030405Z", "bb22-20250102T030405Z"):
        (folder / name).mkdir(parents=True)
    (folder / "cc33-20250102T030405Z").symlink_to(tmp_path)
    (folder / "bb22-20250102T030405Z" / "bb22.jsonl").symlink_to("/etc/passwd")
    assert not list(trashed(store))
    assert deleted_at(folder / "aa11-20259999T030405Z") == ""


def test_what_was_restored_is_not_cleared_away_for_its_age(store: Locations, new: New) -> None:
    one, _ = stored(new), stored(new)
    list_conversations(store)
    delete_conversation(store, one.id)
    (folder,) = (store.conversations / "trash").iterdir()
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    restore(store, one.id)
    (store.conversations / f"{one.id}.jsonl").rename(store.data / "aside")  # as at the moment before it is there
    clear(store, max_age_days=1, seconds=PATIENCE)
    (store.data / "aside").rename(store.conversations / f"{one.id}.jsonl")
    assert (one.folder / "1.shell_run.log").read_text() == "all of it"
    clear(store, max_age_days=1, seconds=PATIENCE)
    assert one.path.exists()


@settings(max_examples=30)
@given(st.integers(0, 8), st.sampled_from(["rename", "utime"]))
def test_a_restoring_that_fails_anywhere_loses_nothing_and_the_next_one_finishes_it(
    tmp_path_factory: pytest.TempPathFactory, failing: int, call: str
) -> None:
    base = tmp_path_factory.mktemp("trash")
    store = Locations(base, base, base)

    def new() -> Conversation:
        return Conversation.create(
            store, repo_root=base, repo_hash="0", cwd=base, model="m", client=None, north_version="0"
        )

    one = stored(new)
    before = everything(store.conversations)
    delete_conversation(store, one.id)
    real, count = getattr(os, call), 0

    def fail(*arguments: object, **more: object) -> None:
        nonlocal count
        count += 1
        if count == failing:
            raise OSError(5, "Input/output error")
        real(*arguments, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, call, fail)
        try:
            restore(store, one.id)
        except OSError:
            assert not one.path.exists()
    if not one.path.exists():
        restore(store, one.id)
    assert everything(store.conversations) == before
