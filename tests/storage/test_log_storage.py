"""What holds of a conversation wherever it is stored: on a disk, in memory, or on a disk that takes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage import copying
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.copying import NotCopied
from north_lsp.storage.disk_log import DiskLog
from north_lsp.storage.errors import ConversationClosed
from north_lsp.storage.keeping_settings import Fsync
from north_lsp.storage.locations import Locations
from north_lsp.storage.log_storage import LogStorage
from north_lsp.storage.memory_log import MemoryLog

Place = Callable[[Path], LogStorage]


def on_disk(folder: Path) -> LogStorage:
    return DiskLog.new(folder / "conversations")


def in_memory(folder: Path) -> LogStorage:
    return MemoryLog(folder / "tmp")


def on_a_broken_disk(folder: Path) -> LogStorage:
    (folder / "conversations").write_text("where a folder should be")
    return on_disk(folder)


PLACES: dict[str, Place] = {"disk": on_disk, "memory": in_memory, "broken disk": on_a_broken_disk}


def create(folder: Path, place: Place) -> Conversation:
    return Conversation.create(
        Locations(folder, folder, folder),
        repo_root=folder,
        repo_hash="0",
        cwd=folder,
        model="m",
        client=None,
        north_version="0",
        storage=place(folder),
    )


@pytest.fixture(params=["disk", "memory", "broken disk", "deleted"])
def conversation(tmp_path: Path, request: pytest.FixtureRequest) -> Conversation:
    """A conversation in which nothing has been said; a `deleted` one goes on in memory."""
    made = create(tmp_path, PLACES.get(request.param, on_disk))
    made.keep()
    if request.param == "deleted":
        made.path.unlink()
        made.disown("it was deleted")
    return made


def user(text: str = "hello") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def ids(records: list[dict[str, Any]]) -> list[str]:
    return [record["id"] for record in records]


def test_what_is_said_is_there(conversation: Conversation) -> None:
    one = conversation.append("message", message=user("one"))
    two = conversation.append("mode_change", mode="ask")
    assert conversation.entries == conversation.active_path() == [one, two]
    assert (one["parentId"], two["parentId"]) == (None, one["id"])
    assert conversation.leaf == two["id"]
    assert conversation.path_to(one["id"]) == [one]
    assert conversation.header["id"] == conversation.id


def test_what_is_noted_takes_effect(conversation: Conversation) -> None:
    one = conversation.append("message", message=user())
    row = {"id": "w1", "kind": "follow_up", "mode": "agent", "text": "then this"}
    conversation.annotate("label", targetId=one["id"], label="here")
    conversation.annotate("title_changed", title="Mine", titleSource="user")
    conversation.annotate("title_changed", title="North's", titleSource="auto")
    conversation.annotate("archived", archived=True)
    conversation.annotate("queue_changed", words=[row])
    conversation.annotate("entry_updated", targetId=one["id"], patch={"excludeFromContext": True})
    assert conversation.labels == {one["id"]: "here"}
    assert (conversation.title, conversation.archived, conversation.queue) == ("Mine", True, [row])
    assert conversation.entries[0]["message"]["excludeFromContext"] is True


def test_the_leaf_moves_and_what_is_left_stays(conversation: Conversation) -> None:
    one = conversation.append("message", message=user("one"))
    two = conversation.append("message", message=user("two"))
    conversation.move_leaf(one["id"], "rewind")
    three = conversation.append("message", message=user("three"))
    assert ids(conversation.active_path()) == [one["id"], three["id"]]
    conversation.move_leaf(None, "rewind")
    assert (conversation.leaf, conversation.active_path()) == (None, [])
    assert ids(conversation.entries) == [one["id"], two["id"], three["id"]]


def test_a_reader_gets_what_is_new(conversation: Conversation) -> None:
    one = conversation.append("message", message=user("one"))
    first = conversation.growth(None)
    two = conversation.append("message", message=user("two"))
    later = conversation.growth(first.known)
    assert (ids(first.entries), first.on_path, ids(later.entries), later.on_path) == (
        [one["id"]],
        {one["id"]},
        [two["id"]],
        None,
    )
    revision, path = conversation.look(-1, 0)
    assert (path, conversation.look(revision, 1)[1]) == ([one, two], [two])


def test_what_is_wrong_is_refused_and_changes_nothing(conversation: Conversation) -> None:
    one = conversation.append("message", message=user())
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("label is an annotation", lambda: conversation.append("label")),
        ("message is not an annotation", lambda: conversation.annotate("message", parentId=None)),
        ("there is no entry 'no'", lambda: conversation.move_leaf("no", "rewind")),
        ("there is no entry 'no'", lambda: conversation.path_to("no")),
        ("there is no entry 'no'", lambda: conversation.annotate("entry_updated", targetId="no", patch={})),
        ("is taken", lambda: conversation.append("custom", entry_id=one["id"])),
    ]
    for why, action in wrong:
        with pytest.raises(ValueError, match=why):
            action()
    assert (conversation.entries, conversation.leaf) == ([one], one["id"])


def test_an_answer_arrives(conversation: Conversation) -> None:
    conversation.append("message", message=user())
    id = conversation.reserve_id()
    message = {"role": "assistant", "model": "m", "content": []}
    conversation.answer.begin(message, id)
    conversation.answer.add("text", 0, "Hello ")
    conversation.answer.add("text", 0, "you.")
    conversation.answer.flush()
    assert len(conversation.entries) == 1
    conversation.append(
        "message", entry_id=id, message={**message, "content": [{"type": "text", "text": "Hello you."}]}
    )
    conversation.answer.clear()
    assert (conversation.answer.arriving(), conversation.answer.recover()) == (None, False)
    assert len(conversation.entries) == 2
    assert conversation.leaf == id


def test_questions_that_nobody_will_answer_are_refused(conversation: Conversation) -> None:
    conversation.append("message", message=user())
    for kind in ("write", "shell"):
        conversation.append("review", reviewId=kind, kind=kind, request={}, status="pending")
    assert conversation.resolve_pending() == 2
    assert [one.get("status") for one in conversation.entries] == [None, "rejected", "denied"]
    assert conversation.resolve_pending() == 0


@pytest.mark.parametrize("durability", ["always", "turn", "never"])
def test_it_ends_goes_on_and_is_closed_for_good(conversation: Conversation, durability: Fsync) -> None:
    conversation.durability = durability
    one = conversation.append("message", message=user())
    conversation.sync()
    conversation.end("exit")
    conversation.close()
    assert not conversation.is_writer
    two = conversation.append("message", message=user("more"))
    conversation.sync()
    assert conversation.entries == [one, two]
    conversation.retire()
    conversation.forget()
    with pytest.raises(ConversationClosed):
        conversation.append("message", message=user())
    assert conversation.entries == [one, two]


def test_nobody_else_writes_it(conversation: Conversation) -> None:
    conversation.append("message", message=user())
    assert (conversation.lock(), conversation.holder(), conversation.ownership.wanted()) == (None, None, None)
    assert not conversation.refresh()
    conversation.close()
    with conversation.borrowed() as is_mine:
        assert is_mine


STEPS = st.lists(
    st.one_of(
        st.sampled_from(["user", "custom", "answer", "review", "resolve", "title", "close", "sync", "end"]),
        st.tuples(st.sampled_from(["move", "label", "exclude"]), st.integers(0, 20)),
    ),
    max_size=15,
)


def do(conversation: Conversation, step: str | tuple[str, int], number: int) -> None:
    known = [None, *ids(conversation.entries)]
    match step:
        case "user":
            conversation.append("message", message=user(f"{number}"))
        case "custom":
            conversation.append("custom", customType="x", data=number)
        case "answer":
            message, id = {"role": "assistant", "content": []}, conversation.reserve_id()
            conversation.answer.begin(message, id)
            conversation.answer.add("text", 0, "Hello")
            conversation.answer.flush()
            conversation.append("message", entry_id=id, message=message)
            conversation.answer.clear()
        case "review":
            conversation.append("review", reviewId=f"{number}", kind="write", request={}, status="pending")
        case "resolve":
            conversation.resolve_pending()
        case "title":
            conversation.annotate("title_changed", title=f"{number}", titleSource="user")
        case "close":
            conversation.close()
        case "sync":
            conversation.sync()
        case "end":
            conversation.end("exit")
        case ("move", index):
            conversation.move_leaf(known[index % len(known)], "rewind")
        case ("label", index) if target := known[index % len(known)]:
            conversation.annotate("label", targetId=target, label=f"label {number}")
        case ("exclude", index) if target := known[index % len(known)]:
            if conversation.entries[ids(conversation.entries).index(target)]["type"] == "message":
                conversation.annotate("entry_updated", targetId=target, patch={"excludeFromContext": True})


def state(conversation: Conversation) -> object:
    """All that can be read of it, with places for ids, and without times."""
    places = {id: place for place, id in enumerate(ids(conversation.entries))} | {None: None}
    rows = [
        {**record, "id": places[record["id"]], "parentId": places[record["parentId"]], "timestamp": None}
        for record in conversation.entries
    ]
    labels = {places[id]: label for id, label in conversation.labels.items()}
    path = [places[id] for id in ids(conversation.active_path())]
    return rows, path, labels, conversation.title, conversation.queue, conversation.warnings


@settings(max_examples=40)
@given(STEPS)
def test_whatever_is_done_it_is_the_same_everywhere(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str | tuple[str, int]]
) -> None:
    states = []
    for name, place in PLACES.items():
        conversation = create(tmp_path_factory.mktemp(name), place)
        conversation.keep()
        for number, step in enumerate(steps):
            do(conversation, step, number)
        states.append(state(conversation))
        conversation.retire()
        conversation.forget()
    assert states[1:] == states[:-1]


@pytest.mark.parametrize(
    ("place", "saved", "fails"), [("disk", 1, False), ("memory", 0, False), ("broken disk", 0, True)]
)
def test_what_is_stored_differs(tmp_path: Path, place: str, saved: int, fails: bool) -> None:
    conversation = create(tmp_path, PLACES[place])
    conversation.keep()
    conversation.append("message", message=user())
    conversation.answer.begin({"role": "assistant", "content": []}, conversation.reserve_id())
    conversation.answer.add("text", 0, "Hello")
    conversation.answer.flush()
    assert conversation.is_saved is (place != "memory")
    assert conversation.is_writer is not fails
    assert (conversation.write_error is not None) is fails
    names = [path.suffix for path in tmp_path.rglob("*") if path.is_file() and path.name != "conversations"]
    assert sorted(names) == [".jsonl", ".jsonl", ".lock"] * saved
    conversation.retire()
    if not saved:
        with pytest.raises(OSError, match="not saved" if place == "memory" else "Not a directory|File exists"):
            conversation.lines()
    else:
        assert conversation.lines().count(b"\n") == 1


def test_one_in_memory_is_not_copied_and_leaves_nothing(tmp_path: Path) -> None:
    conversation = create(tmp_path, in_memory)
    entry = conversation.append("message", message=user())
    store = Locations(tmp_path, tmp_path, tmp_path)
    with pytest.raises(NotCopied, match="this conversation is not saved"):
        copying.fork(conversation, store)
    with pytest.raises(NotCopied, match="this conversation is not saved"):
        copying.branch(conversation, store, entry["id"])
    conversation.folder.mkdir()
    (conversation.folder / "1.shell_run.log").write_text("a full output")
    conversation.retire()
    conversation.forget()
    assert list((tmp_path / "tmp").iterdir()) == []
