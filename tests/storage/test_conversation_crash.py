"""Kills, torn writes, full disks and second writers: an entry may stand twice but is never lost."""

import errno
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage.conversation import Conversation, ConversationBusy
from north_lsp.storage.locations import Locations
from north_lsp.storage.locks import LockHeld

New = Callable[..., Conversation]
Child = Callable[..., Any]


def user(text: str = "hello") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def create(store: Locations) -> Conversation:
    return Conversation.create(
        store, repo_root=Path("/p"), repo_hash="0", cwd=Path("/p"), model="m", client=None, north_version="0"
    )


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in entries]


def test_cut_at_every_byte_only_the_cut_line_is_lost(store: Locations, new: New) -> None:
    original = new()
    original.append("message", message=user("é😀\\n"))
    original.append("review", kind="shell", status="pending")
    original.annotate("title_changed", title="t", titleSource="user")
    original.append("custom", customType="x", data="ü")
    original.close()
    data = original.path.read_bytes()
    places = {entry["id"]: data.index(json.dumps(entry["id"]).encode()) for entry in original.entries}
    ends = {id: data.index(b"\n", place) for id, place in places.items()}
    header_end = data.index(b"\n")
    for cut in range(len(data) + 1):
        original.path.write_bytes(data[:cut])
        conversation = Conversation.open(store, original.id)
        survivors = [id for id, end in ends.items() if end <= cut]
        assert ids(conversation.active_path()) == survivors, cut
        assert (conversation.read_only_reason is None) == (cut >= header_end), cut
        added = conversation.append("message", message=user("again"))
        conversation.close()
        written = original.path.read_bytes()
        assert written.startswith(data[:cut])
        if cut < header_end:
            assert written == data[:cut]
            continue
        again = Conversation.open(store, original.id)
        assert ids(again.active_path()) == [*survivors, added["id"]], cut
        assert again.read_only_reason is None


class Model:
    """What a log has to hold, told simply: all entries, their parents, the leaf, the reviews' states."""

    def __init__(self) -> None:
        self.parents: dict[str, str | None] = {}
        self.leaf: str | None = None
        self.statuses: dict[str, str] = {}
        self.saved = False

    def path(self) -> list[str]:
        found: list[str] = []
        at = self.leaf
        while at is not None:
            found.insert(0, at)
            at = self.parents[at]
        return found


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["user", "custom", "review", "reopen", "crash", "duplicate", "junk"]),
        st.tuples(st.just("move"), st.integers(0, 50)),
        st.tuples(st.just("decide"), st.integers(0, 50)),
        st.tuples(st.just("tear"), st.binary(min_size=1, max_size=20)),
    ),
    max_size=25,
)


@settings(max_examples=250)
@given(STEPS)
def test_any_history_is_read_back_as_it_was_made(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | tuple[str, Any]]
) -> None:
    base = tmp_path_factory.mktemp("history")
    store = Locations(base, base, base)
    conversation, model = create(store), Model()
    conversation.append("message", message=user())
    model.parents[conversation.entries[0]["id"]] = None
    model.leaf = conversation.entries[0]["id"]
    for step in steps:
        match step:
            case "user" | "custom" | "review" as type:
                payload: dict[str, Any] = {"status": "pending", "kind": "learning"} if type == "review" else {}
                payload |= {"message": user()} if type == "user" else {}
                added = conversation.append("message" if type == "user" else type, **payload)
                model.parents[added["id"]] = model.leaf
                model.leaf = added["id"]
                if type == "review":
                    model.statuses[added["id"]] = "pending"
            case ("move", number):
                model.leaf = [None, *model.parents][number % (len(model.parents) + 1)]
                conversation.annotate("leaf_moved", leafId=model.leaf, reason="rewind")
            case ("decide", number) if model.statuses:
                target = list(model.statuses)[number % len(model.statuses)]
                model.statuses[target] = f"decided {number}"
                conversation.annotate("entry_updated", targetId=target, patch={"status": model.statuses[target]})
            case "reopen" | "crash" | "duplicate" | "junk" | ("tear", _):
                conversation.close()
                last = conversation.path.read_bytes().splitlines(keepends=True)[-1]
                with conversation.path.open("ab") as log:
                    if step == "duplicate" and last.endswith(b"\n") and len(conversation.entries) > 1:
                        log.write(last)
                    elif isinstance(step, tuple):
                        log.write(b'{"type":"custom","id":"' + step[1].replace(b"\n", b""))
                conversation = Conversation.open(store, conversation.id)
        assert ids(conversation.entries) == list(model.parents)
        assert ids(conversation.active_path()) == model.path()
        assert {entry["id"]: entry["status"] for entry in conversation.entries if "status" in entry} == model.statuses
        assert conversation.read_only_reason is None or len(model.parents) < 3
        if conversation.read_only_reason is not None:
            break
    conversation.close()


@pytest.mark.parametrize("number", [1, 2, 17, 60])
def test_killed_while_appending_every_entry_that_was_told_of_is_there(
    store: Locations, child: Child, number: int
) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
print(conversation.id, flush=True)
while True:
    print(conversation.append("custom", data="x" * 3000)["id"], flush=True)
""")
    id = process.stdout.readline().strip()
    told = [process.stdout.readline().strip() for _ in range(number)]
    os.kill(process.pid, signal.SIGKILL)
    told += [line.strip() for line in process.stdout if len(line) == 9]
    process.wait()
    conversation = Conversation.open(store, id)
    found = ids(conversation.active_path())
    assert found[1 : len(told) + 1] == told
    assert len(found) <= len(told) + 2
    assert conversation.append("message", message=user("next"))["parentId"] == found[-1]
    assert ids(Conversation.open(store, id).active_path())[:-1] == found
    conversation.close()


def test_killed_while_streaming_the_partial_answer_is_there(store: Locations, child: Child) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
id = conversation.reserve_id()
conversation.answer.begin({"role": "assistant"}, id)
conversation.answer.add("text", 0, "so far")
conversation.answer.flush()
conversation.append("review", kind="shell", status="pending")
print(conversation.id, id, flush=True)
sys.stdin.read()
""")
    id, answer = process.stdout.readline().split()
    assert len(Conversation.open(store, id).entries) == 2
    process.kill()
    process.wait()
    conversation = Conversation.open(store, id)
    assert conversation.leaf == answer
    assert conversation.resolve_pending() == 1
    conversation.close()


# -- a second process -------------------------------------------------------------------------------------------------


def test_while_one_process_writes_another_may_only_read(store: Locations, child: Child) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
print(conversation.id, flush=True)
sys.stdin.readline()
conversation.append("custom", data="meanwhile")
conversation.close()
print("closed", flush=True)
sys.stdin.readline()
""")
    id = process.stdout.readline().strip()
    reader = Conversation.open(store, id)
    before = reader.path.read_bytes()
    assert isinstance(held := reader.lock(), LockHeld)
    assert held.pid == process.pid
    for _ in range(2):
        with pytest.raises(ConversationBusy, match=f"process {process.pid}") as caught:
            reader.append("message", message=user("mine"))
        assert caught.value.pid == process.pid
    assert (len(reader.entries), reader.path.read_bytes()) == (1, before)
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "closed\n"
    added = reader.append("message", message=user("mine"))
    assert [entry.get("data") for entry in reader.active_path()] == [None, "meanwhile", None]
    assert added["parentId"] == reader.entries[1]["id"]
    assert reader.lock() is None
    reader.close()
    assert ids(Conversation.open(store, id).active_path()) == ids(reader.entries)


def test_the_lock_of_a_dead_process_is_free(store: Locations, child: Child) -> None:
    process = child("""
conversation = create()
conversation.append("message", message=user("first"))
print(conversation.id, flush=True)
sys.stdin.read()
""")
    id = process.stdout.readline().strip()
    conversation = Conversation.open(store, id)
    process.kill()
    process.wait()
    assert (store.conversations / f"{id}.lock").exists()
    conversation.append("message", message=user())
    other = Conversation.open(store, id)
    with pytest.raises(ConversationBusy) as caught:
        other.append("message", message=user())
    assert caught.value.pid == os.getpid()
    conversation.close()
    other.append("message", message=user())
    other.close()
    assert len(Conversation.open(store, id).active_path()) == 3


# -- writes that fail -------------------------------------------------------------------------------------------------


def test_on_a_full_disk_entries_stay_in_memory_and_follow_later(store: Locations, child: Child) -> None:
    process = child("""
import resource
conversation = create()
conversation.append("message", message=user("first"))
size = conversation.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, resource.RLIM_INFINITY))
conversation.append("custom", data="x" * 500)
assert conversation.write_error is None
for number in range(5):
    conversation.append("custom", data="y" * 700)
    assert conversation.write_error is not None and conversation.write_error.strerror == "File too large"
assert len(conversation.active_path()) == 7
conversation.sync()
assert conversation.path.stat().st_size == size + 1000
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
conversation.append("custom", data="z")
assert conversation.write_error is None
conversation.close()
print(conversation.id)
""")
    output, _ = process.communicate()
    assert process.returncode == 0
    conversation = Conversation.open(store, output.strip())
    assert (len(conversation.active_path()), conversation.warnings) == (8, [])
    lines = conversation.path.read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)


def test_a_line_that_was_cut_by_a_full_disk_is_repeated_if_somebody_else_wrote(store: Locations, child: Child) -> None:
    process = child("""
import resource
conversation = create()
conversation.append("message", message=user("first"))
size = conversation.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
conversation.append("custom", data="y" * 700)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with conversation.path.open("ab") as log:
    log.write(b"foreign")
conversation.append("custom", data="z")
conversation.close()
print(conversation.id)
""")
    output, _ = process.communicate()
    assert process.returncode == 0
    conversation = Conversation.open(store, output.strip())
    assert [len(entry.get("data", "")) for entry in conversation.active_path()] == [0, 700, 1]


def test_a_log_that_was_deleted_is_not_started_again(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    conversation.path.unlink()
    for _ in range(2):
        conversation.append("custom")
        assert isinstance(conversation.write_error, FileNotFoundError)
    conversation.close()
    assert not conversation.path.exists()
    assert len(conversation.active_path()) == 3


def test_a_store_that_cannot_be_made_is_an_error_to_show_not_to_raise(store: Locations, new: New) -> None:
    store.data.write_text("a file where the directory should be")
    conversation = new()
    conversation.append("message", message=user())
    assert conversation.write_error is not None
    store.data.unlink()
    conversation.append("custom")
    assert conversation.write_error is None
    conversation.close()
    assert len(Conversation.open(store, conversation.id).active_path()) == 2


def test_what_the_disk_refused_once_is_brought_to_it_later(
    store: Locations, new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = new()
    conversation.append("message", message=user("one"))
    real, failing = os.fsync, [False]

    def fsync(descriptor: int) -> None:
        if failing[0]:
            os.ftruncate(descriptor, before)  # the system drops what it could not write
            raise OSError(errno.EIO, "Input/output error")
        real(descriptor)

    conversation.sync()
    before = conversation.path.stat().st_size
    monkeypatch.setattr(os, "fsync", fsync)
    conversation.append("message", message=user("two"))
    failing[0] = True
    conversation.sync()
    assert conversation.write_error is not None
    failing[0] = False
    conversation.sync()
    assert conversation.write_error is None
    conversation.close()
    again = Conversation.open(store, conversation.id)
    assert [entry["message"] for entry in again.entries] == [user("one"), user("two")]
    assert not again.warnings
