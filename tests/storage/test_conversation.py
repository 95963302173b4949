"""A conversation in memory and on disk: what is appended, what is read back, what damage does."""

import json
import os
import queue
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.conversation import Conversation, UnknownConversation
from north_lsp.storage.errors import ConversationClosed
from north_lsp.storage.keeping_settings import Fsync
from north_lsp.storage.locations import Locations
from north_lsp.storage.partial_file import NOT_COMPLETE
from tests.support.patience import PATIENCE

New = Callable[..., Conversation]

EXAMPLE = r"""
{"type":"conversation_started","version":4,"id":"a1b2c3","timestamp":"…","repoRoot":"/p","repoHash":"0f…","cwd":"/p","model":"anthropic/claude-sonnet-4-20250514"}
{"type":"message","id":"00000001","parentId":null,"timestamp":"…","message":{"role":"user","content":[{"type":"text","text":"rename foo"}],"timestamp":1}}
{"type":"message","id":"00000002","parentId":"00000001","timestamp":"…","message":{"role":"assistant","provider":"anthropic","model":"claude-sonnet-4-20250514","content":[{"type":"tool_call","id":"t1","name":"edit_replace_exact","arguments":{"path":"a.py","old":"foo","new":"bar"}}],"stopReason":"toolUse","usage":{"input":900,"output":40,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.0033}}}}
{"type":"review","id":"00000003","parentId":"00000002","timestamp":"…","reviewId":"r1","kind":"write","toolCallId":"t1","request":{"files":[{"path":"a.py","linesAdded":1,"linesRemoved":1}]},"status":"pending"}
{"type":"entry_updated","id":"00000004","timestamp":"…","targetId":"00000003","patch":{"status":"accepted","decision":{"kind":"accept"}}}
{"type":"checkpoint","id":"00000005","parentId":"00000003","timestamp":"…","checkpointId":"c1","toolCallId":"t1","files":[{"path":"a.py","action":"update","before":"blob:sha256:…","after":"9c…"}]}
{"type":"message","id":"00000006","parentId":"00000005","timestamp":"…","message":{"role":"toolResult","toolCallId":"t1","toolName":"edit_replace_exact","content":[{"type":"text","text":"{\"ok\":true,…}"}],"isError":false}}
{"type":"label","id":"00000007","timestamp":"…","targetId":"00000006","label":"renamed"}
{"type":"leaf_moved","id":"00000008","timestamp":"…","leafId":null,"reason":"rewind"}
""".strip().splitlines()  # noqa: E501

HEADER = EXAMPLE[0]


def user(text: str = "hello") -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def put(store: Locations, *lines: str | bytes, id: str = "a1b2c3") -> Path:
    """A log with these lines, as given."""
    store.conversations.mkdir(parents=True, exist_ok=True)
    path = store.conversations / f"{id}.jsonl"
    path.write_bytes(b"".join(line.encode() + b"\n" if isinstance(line, str) else line for line in lines))
    return path


def entry(id: str, parent: str | None, **more: Any) -> str:
    return json.dumps({"type": "custom", "id": id, "parentId": parent, "timestamp": "t", **more})


def ids(entries: list[dict[str, Any]]) -> list[str]:
    return [entry["id"] for entry in entries]


# -- the worked example -----------------------------------------------------------------------------------------------


def test_the_worked_example_loads(store: Locations) -> None:
    path = put(store, *EXAMPLE)
    conversation = Conversation.open(store, "a1b2c3")
    assert (conversation.id, conversation.path) == ("a1b2c3", path)
    assert conversation.header == json.loads(HEADER)
    assert ids(conversation.entries) == ["00000001", "00000002", "00000003", "00000005", "00000006"]
    assert conversation.entries[2]["status"] == "accepted"
    assert conversation.entries[2]["decision"] == {"kind": "accept"}
    assert (conversation.leaf, conversation.active_path()) == (None, [])
    assert (conversation.read_only_reason, conversation.warnings, conversation.write_error) == (None, [], None)


def test_after_the_worked_example_a_prompt_is_a_second_root(store: Locations) -> None:
    path = put(store, *EXAMPLE)
    conversation = Conversation.open(store, "a1b2c3")
    added = conversation.append("message", message=user())
    conversation.close()
    assert added["parentId"] is None
    assert path.read_text().splitlines()[:-1] == EXAMPLE
    again = Conversation.open(store, "a1b2c3")
    assert again.active_path() == [added]
    assert len(again.entries) == 6


def test_without_the_rewind_the_whole_example_is_the_active_path(store: Locations) -> None:
    put(store, *EXAMPLE[:-1])
    conversation = Conversation.open(store, "a1b2c3")
    assert ids(conversation.active_path()) == ids(conversation.entries)


# -- creating and appending -------------------------------------------------------------------------------------------


def test_nothing_is_on_disk_before_the_first_message_of_the_user(store: Locations, new: New) -> None:
    conversation = new()
    mode = conversation.append("mode_change", mode="ask")
    conversation.annotate("title_changed", title="t", titleSource="auto")
    conversation.sync()
    conversation.end("exit")
    conversation.close()
    assert not store.data.exists()
    first = conversation.append("message", message=user())
    assert first["parentId"] == mode["id"]
    written = [json.loads(line) for line in conversation.path.read_text().splitlines()]
    assert [line["type"] for line in written] == ["conversation_started", "mode_change", "title_changed", "message"]
    conversation.close()


@pytest.mark.parametrize("role", ["bashExecution", "pythonExecution"])
def test_a_command_of_the_user_creates_the_file_too(new: New, role: str) -> None:
    conversation = new()
    conversation.append("message", message={"role": role})
    assert conversation.path.exists()
    conversation.close()


def test_header_entry_and_modes_are_as_the_format_says(store: Locations, new: New, tmp_path: Path) -> None:
    conversation = new()
    added = conversation.append("message", message=user())
    header, line = [json.loads(line) for line in conversation.path.read_text().splitlines()]
    assert header == conversation.header
    assert list(header) == [
        "type",
        "version",
        "id",
        "timestamp",
        "repoRoot",
        "repoHash",
        "cwd",
        "model",
        "rootInode",
        "northVersion",
    ]
    assert (header["version"], header["id"], header["cwd"]) == (4, conversation.id, str(tmp_path))
    assert line == added
    assert list(added) == ["type", "id", "parentId", "timestamp", "message"]
    assert stat.S_IMODE(conversation.path.stat().st_mode) == 0o600
    assert [stat.S_IMODE(path.stat().st_mode) for path in (store.data, store.conversations)] == [0o700, 0o700]
    conversation.close()


def test_each_entry_hangs_on_the_one_before(store: Locations, new: New) -> None:
    conversation = new()
    one = conversation.append("message", message=user())
    note = conversation.annotate("label", targetId=one["id"], label="here")
    two = conversation.append("custom", customType="x", data=1)
    assert (one["parentId"], two["parentId"], conversation.leaf) == (None, one["id"], two["id"])
    assert "parentId" not in note
    conversation.close()
    assert Conversation.open(store, conversation.id).entries == [one, two]


def test_a_reserved_id_is_used_once(new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    id = conversation.reserve_id()
    assert conversation.append("message", entry_id=id, message={"role": "assistant"})["id"] == id
    with pytest.raises(ValueError, match="taken"):
        conversation.append("message", entry_id=id, message={"role": "assistant"})
    conversation.close()


def test_what_is_stored_is_valid_and_equal_to_what_is_in_memory(store: Locations, new: New) -> None:
    conversation = new()
    given = user("lone \udc80 surrogate\u2028\x85\r\n" + "é" * 600_000)
    added = conversation.append("message", message=given, extra={"partialJson": "x", "path": Path("/a")})
    given["role"] = "changed later"
    conversation.close()
    assert "lone \ufffd surrogate" in added["message"]["content"][0]["text"]
    assert added["extra"] == {"path": "/a"}
    assert Conversation.open(store, conversation.id).entries == [added]


def test_an_update_changes_reviews_checkpoints_and_the_exclusion_of_messages(store: Locations, new: New) -> None:
    conversation = new()
    message = conversation.append("message", message=user())
    review = conversation.append("review", reviewId="r", kind="write", status="pending", request={"a": 1})
    conversation.annotate("entry_updated", targetId=review["id"], patch={"status": "accepted", "request": {"b": 2}})
    conversation.annotate("entry_updated", targetId=message["id"], patch={"excludeFromContext": True})
    assert (review["status"], review["request"]) == ("accepted", {"b": 2})
    assert message["message"] == {**user(), "excludeFromContext": True}
    conversation.close()
    assert Conversation.open(store, conversation.id).entries == conversation.entries


@pytest.mark.parametrize("patch", [{"id": "x"}, {"parentId": None}, {"type": "message"}, "text", None])
def test_an_update_never_touches_what_holds_the_tree_together(new: New, patch: object) -> None:
    conversation = new()
    review = conversation.append("review", status="pending")
    with pytest.raises(ValueError):
        conversation.annotate("entry_updated", targetId=review["id"], patch=patch)
    custom = conversation.append("custom", data=1)
    with pytest.raises(ValueError, match="do not change"):
        conversation.annotate("entry_updated", targetId=custom["id"], patch={"data": 2})
    with pytest.raises(ValueError, match="there is no entry"):
        conversation.annotate("entry_updated", targetId="nowhere", patch={"data": 2})


def test_entries_and_annotations_are_not_mixed_up(new: New) -> None:
    conversation = new()
    with pytest.raises(ValueError, match="is an annotation"):
        conversation.append("leaf_moved", leafId=None)
    with pytest.raises(ValueError, match="is not an annotation"):
        conversation.annotate("message", message=user())


def test_a_title_of_lower_rank_does_not_replace_a_higher_one(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    for title, source in [("a", "auto"), ("b", "plan"), ("c", "auto"), ("d", "user"), ("e", "plan"), ("f", "user")]:
        conversation.annotate("title_changed", title=title, titleSource=source)
    conversation.annotate("archived", archived=True)
    assert (conversation.title, conversation.archived) == ("f", True)
    conversation.close()
    again = Conversation.open(store, conversation.id)
    assert (again.title, again.archived) == ("f", True)


def test_a_move_to_another_directory_shows_in_the_header(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    conversation.annotate("session_moved", repoRoot="/q", repoHash="1", cwd="/q/r")
    conversation.close()
    header = Conversation.open(store, conversation.id).header
    assert (header["repoRoot"], header["repoHash"], header["cwd"]) == ("/q", "1", "/q/r")


def test_the_end_is_marked_only_by_who_wrote(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    conversation.end("exit")
    conversation.close()
    before = conversation.path.read_bytes()
    assert json.loads(before.splitlines()[-1])["type"] == "conversation_ended"
    reader = Conversation.open(store, conversation.id)
    reader.end("exit")
    reader.sync()
    reader.close()
    assert conversation.path.read_bytes() == before
    assert sorted(os.listdir(store.conversations)) == [f"{conversation.id}.jsonl"]


def test_pending_reviews_are_answered_with_no(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    for kind in ("write", "shell", "command", "plan", "tool", "learning"):
        conversation.append("review", kind=kind, status="pending")
    conversation.append("review", kind="write", status="accepted")
    conversation.close()
    again = Conversation.open(store, conversation.id)
    assert again.resolve_pending() == 5
    again.close()
    statuses = [entry["status"] for entry in Conversation.open(store, conversation.id).entries[1:]]
    assert statuses == ["rejected", "denied", "cancelled", "cancelled", "cancelled", "pending", "accepted"]
    assert again.resolve_pending() == 0


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id", ["ffffff", "../a1b2c3", "", "x/y"])
def test_an_unknown_conversation_is_not_created(store: Locations, id: str) -> None:
    with pytest.raises(UnknownConversation, match="there is no conversation"):
        Conversation.open(store, id)
    assert not store.data.exists()


def test_unknown_types_and_keys_stay_and_disturb_nothing(store: Locations) -> None:
    lines = [
        HEADER[:-1] + ',"future":{"a":1}}',
        json.dumps({"type": "hologram", "id": "1", "parentId": None, "timestamp": "t", "new": [1]}),
        json.dumps({"type": "remark", "id": "2", "timestamp": "t", "about": "1"}),
    ]
    path = put(store, *lines)
    conversation = Conversation.open(store, "a1b2c3")
    assert conversation.header["future"] == {"a": 1}
    assert (conversation.leaf, conversation.entries[0]["new"], conversation.warnings) == ("1", [1], [])
    conversation.append("message", message=user())
    conversation.close()
    assert path.read_text().splitlines()[:3] == lines


def test_a_parent_that_is_a_bare_text_is_read_as_its_id(store: Locations) -> None:
    put(store, HEADER[:-1] + ',"parentSession":"9f8e7d"}')
    assert Conversation.open(store, "a1b2c3").header["parentSession"] == {"id": "9f8e7d"}


@pytest.mark.parametrize(
    "junk", ["{", "[]", "7", "{}", '{"type":"custom"}', '{"type":3,"id":"x"}', "[" * 100_000, "\0\0"]
)
def test_a_line_that_cannot_be_read_is_left_out_and_left_alone(store: Locations, junk: str) -> None:
    lines = [HEADER, entry("1", None), junk, entry("2", "1"), "", entry("3", "2")]
    path = put(store, *lines)
    conversation = Conversation.open(store, "a1b2c3")
    assert ids(conversation.active_path()) == ["1", "2", "3"]
    assert conversation.warnings == ["line 3 cannot be read and is left out"]
    assert conversation.read_only_reason is None
    conversation.append("message", message=user())
    conversation.close()
    assert path.read_text().splitlines()[:6] == lines


def test_a_foreign_message_without_a_body_keeps_its_place(store: Locations) -> None:
    put(store, HEADER, entry("1", None), entry("2", "1", type="message", message=7), entry("3", "2"))
    conversation = Conversation.open(store, "a1b2c3")
    assert ids(conversation.active_path()) == ["1", "2", "3"]
    assert conversation.entries[1]["message"] == {}


def test_lone_surrogates_of_other_programs_do_not_come_in(store: Locations) -> None:
    put(store, HEADER, r'{"type":"custom","id":"1","parentId":null,"data":"\ud800 \ud83d\ude00"}')
    assert Conversation.open(store, "a1b2c3").entries[0]["data"] == "\ufffd 😀"


def test_a_missing_parent_counts_as_a_root_and_a_circle_ends_the_path(store: Locations) -> None:
    put(store, HEADER, entry("1", None), entry("2", "lost"), entry("3", "2"))
    torn = Conversation.open(store, "a1b2c3")
    assert ids(torn.active_path()) == ["2", "3"]
    assert torn.warnings == ["the entries before 2 are missing"]
    put(store, HEADER, entry("1", "3"), entry("2", "1"), entry("3", "2"), id="c1")
    circle = Conversation.open(store, "c1")
    assert ids(circle.active_path()) == ["1", "2", "3"]
    assert circle.warnings == ["the entries before 3 form a cycle"]


def test_a_line_that_stands_twice_counts_once(store: Locations) -> None:
    put(store, HEADER, entry("1", None), entry("2", "1"), entry("1", None), entry("2", "1"))
    conversation = Conversation.open(store, "a1b2c3")
    assert ids(conversation.active_path()) == ["1", "2"]


def test_annotations_about_unknown_entries_are_reported_once(store: Locations) -> None:
    put(
        store,
        HEADER,
        entry("1", None),
        '{"type":"leaf_moved","id":"2","leafId":"lost"}',
        '{"type":"entry_updated","id":"3","targetId":"lost","patch":{}}',
        '{"type":"entry_updated","id":"4","targetId":"lost","patch":{}}',
        '{"type":"entry_updated","id":"5","targetId":"1","patch":{"data":1}}',
        '{"type":"label","id":"6","targetId":"lost","label":"x"}',
    )
    conversation = Conversation.open(store, "a1b2c3")
    assert conversation.leaf == "1"
    assert "data" not in conversation.entries[0]
    assert len(conversation.warnings) == 4


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (HEADER.replace('"version":4', '"version":5'), "a newer North wrote it (format 5; this one supports 4)"),
        (HEADER.replace('"version":4', '"version":3'), "its format is unknown to this North"),
        ('{"type":"session","version":4,"id":"x"}', "its format is unknown to this North"),
        ('{"type":"custom","id":"0","parentId":null}', "line 1 of the log is not a conversation_started line"),
        ("torn{", "line 1 of the log is not a conversation_started line"),
        ("", "line 1 of the log is not a conversation_started line"),
    ],
)
def test_what_cannot_be_continued_is_read_and_never_written(store: Locations, first: str, reason: str) -> None:
    path = put(store, first, entry("1", None, kind="write", status="pending", type="review"))
    before = path.read_bytes()
    conversation = Conversation.open(store, "a1b2c3")
    assert conversation.read_only_reason == reason
    assert ids(conversation.entries) == ["1"]
    conversation.append("mode_change", mode="ask")
    conversation.append("message", message=user())
    assert len(conversation.active_path()) == 3
    assert conversation.write_error is not None
    assert conversation.write_error.strerror == reason
    conversation.resolve_pending()
    conversation.end("exit")
    conversation.sync()
    conversation.close()
    assert path.read_bytes() == before
    assert os.listdir(store.conversations) == [path.name]


def test_a_log_of_which_most_cannot_be_read_is_not_written(store: Locations) -> None:
    put(store, HEADER, "{", entry("1", None), "{", "{")
    assert Conversation.open(store, "a1b2c3").read_only_reason == "3 of its 5 lines cannot be read, from line 2 on"
    put(store, HEADER, "{", entry("1", None), "{")
    assert Conversation.open(store, "a1b2c3").read_only_reason is None


def test_an_empty_log_is_not_written(store: Locations) -> None:
    path = put(store)
    conversation = Conversation.open(store, "a1b2c3")
    conversation.append("message", message=user())
    assert path.read_bytes() == b""


def test_a_byte_order_mark_is_no_damage(store: Locations) -> None:
    put(store, b"\xef\xbb\xbf", HEADER, entry("1", None))
    conversation = Conversation.open(store, "a1b2c3")
    assert (conversation.read_only_reason, conversation.leaf) == (None, "1")


# -- the partial answer -----------------------------------------------------------------------------------------------

ANSWER = {"role": "assistant", "content": [{"type": "text", "text": "half an ans"}]}
BASE = {"role": "assistant", "model": "m", "content": []}


def stream(conversation: Conversation, id: str, *pieces: tuple[Any, int, Any]) -> None:
    """Bring the pieces of an answer up to the moment before they are shown."""
    conversation.answer.begin(BASE, id)
    for kind, index, value in pieces:
        conversation.answer.add(kind, index, value)
        conversation.answer.flush()


def partial_of(conversation: Conversation) -> Path:
    return conversation.path.with_suffix(".partial.jsonl")


HALF = ("text", 0, "half an ans")


def test_an_interrupted_answer_is_recovered_under_its_id(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    id = conversation.reserve_id()
    stream(conversation, id, HALF)
    conversation.append("mode_change", mode="ask")  # while the answer streams
    conversation.append("message", message={"role": "bashExecution", "command": "ls", "output": ""})
    conversation.close()
    for _ in range(2):
        again = Conversation.open(store, conversation.id)
        assert again.entries[-1]["id"] == again.leaf == id
        assert again.entries[-1]["message"] == {**BASE, **ANSWER, "stopReason": "aborted"}
        assert len(again.active_path()) == 4
    assert os.listdir(store.conversations) == [conversation.path.name]


def test_a_stored_answer_leaves_no_partial_and_a_stale_one_is_ignored(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    id = conversation.reserve_id()
    stream(conversation, id, HALF)
    partial = partial_of(conversation)
    stale = partial.read_bytes()
    conversation.append("message", entry_id=id, message=ANSWER)
    conversation.answer.clear()
    stream(conversation, id, HALF)
    assert not partial.exists()
    conversation.append("message", message=user("next"))
    conversation.close()
    for content in (stale, stale.replace(id.encode(), b"other"), b"{torn", b"[]", b'{"id":1}', b"", b"\xff\n[1]\n"):
        partial.write_bytes(content)
        again = Conversation.open(store, conversation.id)
        assert len(again.entries) == 3
        assert not partial.exists()


def test_every_kind_of_piece_is_put_together_again(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    signed = {"type": "thinking", "thinking": "Hmm, so.", "signature": "s"}
    done = {"type": "tool_call", "id": "c1", "name": "read_file", "arguments": {"path": "a"}}
    stream(
        conversation,
        "p1",
        ("thinking", 0, "Hmm"),
        ("thinking", 0, ", so."),
        ("block", 0, signed),
        ("text", 1, "I will"),
        ("text", 1, " look é\u2028"),
        ("call", 2, {"id": "c1", "name": "read_file"}),
        ("arguments", 2, '{"path": '),
        ("block", 2, done),
        ("text", 3, ""),
        ("call", 4, {"id": "c2", "name": "list_root"}),
        ("arguments", 4, '{"path": "b", "depth'),
    )
    conversation.close()
    with partial_of(conversation).open("ab") as file:
        file.write(b'{"piece":["text",5,"torn')
    again = Conversation.open(store, conversation.id)
    cut = {"type": "tool_call", "id": "c2", "name": "list_root", "arguments": {}, "problem": NOT_COMPLETE}
    assert again.entries[-1]["message"]["content"] == [
        signed,
        {"type": "text", "text": "I will look é\u2028"},
        done,
        {**cut, "cut": '{"path": "b", "depth'},
    ]


def test_what_could_not_be_written_of_an_answer_is_written_with_what_comes_next(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    partial = partial_of(conversation)
    partial.mkdir()
    stream(conversation, "p1", HALF)
    partial.rmdir()
    conversation.answer.add("text", 0, "wer")
    conversation.answer.flush()
    conversation.close()
    again = Conversation.open(store, conversation.id)
    assert again.entries[-1]["message"]["content"] == [{"type": "text", "text": "half an answer"}]


class Waited:
    """A mutex that another thread has first, which does something."""

    def __init__(self, mutex: Any, other: Callable[[], object]) -> None:
        self._mutex = mutex
        self._others = [other]

    def __enter__(self) -> None:
        while self._others:
            self._others.pop()()
        self._mutex.acquire()

    def __exit__(self, *_: object) -> None:
        self._mutex.release()


def test_nothing_is_written_of_an_answer_whose_conversation_is_closed_at_that_moment(
    new: New, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = new()
    conversation.append("message", message=user())
    stream(conversation, "p1", HALF)
    log, written = conversation._stored, list[int]()
    monkeypatch.setattr(log, "record_numbers", lambda: written.append(1))
    monkeypatch.setattr(log, "mutex", Waited(log.mutex, conversation.close))
    conversation.answer.flush()
    assert not conversation.is_writer
    assert written == []


@pytest.mark.parametrize(("written", "recovered"), [("2999-01-01T00:00:00.000Z", True), ("1999", False)])
def test_a_partial_without_a_place_counts_if_it_is_newer(
    store: Locations, new: New, written: str, recovered: bool
) -> None:
    conversation = new()
    conversation.append("message", message=user())
    conversation.close()
    partial = store.conversations / f"{conversation.id}.partial.json"  # as an older North named and wrote it
    partial.write_text(json.dumps({"id": "p1", "timestamp": written, "message": ANSWER}))
    again = Conversation.open(store, conversation.id)
    assert (again.leaf == "p1") is recovered
    assert ("an interrupted answer was recovered" in again.warnings) is recovered


def test_the_partial_of_a_living_writer_is_left_alone(store: Locations, new: New) -> None:
    conversation = new()
    conversation.append("message", message=user())
    stream(conversation, "p1", HALF)
    reader = Conversation.open(store, conversation.id)
    assert len(reader.entries) == 1
    assert partial_of(conversation).exists()
    conversation.close()


@pytest.mark.parametrize("durability", ["always", "turn", "never"])
def test_the_user_says_when_lines_are_brought_to_the_disk(
    new: New, monkeypatch: pytest.MonkeyPatch, durability: Fsync
) -> None:
    synced: queue.Queue[str] = queue.Queue()
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.readlink(f"/proc/self/fd/{descriptor}").endswith(".jsonl"):
            synced.put(threading.current_thread().name)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    conversation = new()
    conversation.durability = durability
    for number in range(3):
        conversation.append("message", message=user(str(number)))
        if durability == "always":
            assert synced.get(timeout=PATIENCE) == "north-fsync"
    assert synced.empty()
    conversation.sync()
    assert synced.qsize() == (0 if durability == "never" else 1)
    conversation.close()


def test_nobody_takes_the_lock_of_a_conversation_that_was_closed_for_good(store: Locations, new: New) -> None:
    """Nobody would let go of it, and no other process could continue the conversation."""
    conversation = new()
    conversation.append("message", message=user())
    conversation.retire()
    with pytest.raises(ConversationClosed):
        conversation.lock()
    with conversation.borrowed() as is_mine:
        assert not is_mine
    assert Conversation.open(store, conversation.id).lock() is None


def test_what_was_asked_of_an_earlier_writer_is_not_asked_of_the_next(store: Locations, new: New) -> None:
    former = new()
    former.append("message", message=user())
    conversation = Conversation.open(store, former.id)
    conversation.ownership.want(stop=True)
    former.close()  # before it has looked
    conversation.append("message", message=user())
    assert conversation.ownership.wanted() is None
    Conversation.open(store, former.id).ownership.want()
    assert conversation.ownership.wanted() == "let_go"
    conversation.close()
