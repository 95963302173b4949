"""A disk that is nearly full: what can be made again stops first, and the logs of conversations are written on."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from north_lsp.storage import log_snapshot, room
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.conversation_index import ConversationIndex, Wanted
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_snapshot import keep_snapshot, snapshot_path
from north_lsp.storage.search import Search
from tests.storage.test_conversation import user
from tests.storage.test_listing import header, put, said


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """No disk has as much left as is kept for logs."""
    monkeypatch.setattr(room, "RESERVED_BYTES", 1 << 70)


def test_outputs_are_kept_in_memory(tmp_path: Path, narrow: None) -> None:
    artifacts = Artifacts(tmp_path / "a1b2c3")
    assert artifacts.read(artifacts.add("shell_run", "all of it")) == "all of it"
    stream = artifacts.stream("shell_run")
    stream.write("piece")
    stream.close()
    assert stream.number is None
    assert list(tmp_path.iterdir()) == []


def test_a_stream_ends_where_room_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Artifacts(tmp_path / "a1b2c3").stream("shell_run")
    stream.write("piece")
    assert stream.number == 1
    monkeypatch.setattr(room, "RESERVED_BYTES", 1 << 70)
    stream.write("piece")
    assert stream.number is None
    assert list((tmp_path / "a1b2c3").iterdir()) == []  # a part is not the output


def test_what_is_made_of_logs_is_not_written(store: Locations, monkeypatch: pytest.MonkeyPatch, narrow: None) -> None:
    path = put(store, "a1b2c3", header(1), said(2, "where is the needle"))
    for make in (lambda: ConversationIndex(store).note("a1b2c3"), Search(store).fill, lambda: keep_snapshot(path)):
        monkeypatch.setattr(log_snapshot, "LEAST_BYTES", 1)
        with pytest.raises(OSError, match="No space left"):
            make()
    assert not store.index.exists()
    assert not snapshot_path(path).exists()
    assert [one.id for one in ConversationIndex(store).listed(Wanted())] == ["a1b2c3"]
    assert Search(store).search("needle", Wanted()).truncated  # it is said that there may be more


def test_a_conversation_is_written_on(store: Locations, new: Callable[..., Conversation], narrow: None) -> None:
    conversation = new()
    conversation.append("message", message=user("still here"))
    conversation.sync()
    assert conversation.write_error is None
    assert "still here" in conversation.path.read_text()


def test_what_a_disk_has_left_need_not_be_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert room.has_room(tmp_path / "not" / "made" / "yet")

    def unknown(folder: Path) -> object:
        raise OSError("not supported here")

    monkeypatch.setattr(shutil, "disk_usage", unknown)
    assert room.has_room(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(0, 0, 0))
    assert room.has_room(tmp_path)
