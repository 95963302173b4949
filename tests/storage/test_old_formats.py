"""Logs of other formats open, go on in today's, and leave their original beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

from north_lsp.storage.conversation import Conversation
from north_lsp.storage.listing import delete_conversation, list_conversations
from north_lsp.storage.locations import Locations

TIME = "2025-12-10T10:20:30.000Z"
FLAT: list[dict[str, Any]] = [
    {"type": "conversation_started", "id": "a1b2c3", "repoRoot": "/p", "repoHash": "00", "model": "m-1", "at": 1},
    {"type": "entry_added", "entry": {"id": "u1", "type": "user", "content": "rename it", "mood": "calm"}},
    {
        "type": "entry_added",
        "entry": {
            "id": "a1",
            "type": "assistant",
            "content": "I will",
            "toolCalls": [{"id": "t1", "name": "read_file", "input": {"path": "a.py"}}],
        },
    },
    {"type": "entry_updated", "entryId": "a1", "updates": {"content": "I will look"}},
    {"type": "entry_added", "entry": {"id": "r1", "type": "tool", "toolCallId": "t1", "content": "x = 1"}},
    {"type": "entry_added", "entry": {"id": "d1", "type": "diff_review", "status": "pending", "files": ["a.py"]}},
    {"type": "entry_added", "entry": {"id": "c1", "type": "command_executed", "command": "/help", "output": "words"}},
    {"type": "entry_added", "entry": {"id": "l1", "type": "learning_prompt", "status": "declined"}},
    {"type": "model_changed", "model": "m-2"},
    {"type": "rolling_summary_set", "summary": {"goal": "rename"}},
    {"type": "conversation_ended", "timestamp": TIME},
]
TREE: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": "0b-1", "timestamp": TIME, "cwd": "/p", "parentSession": "older"},
    {"type": "model_change", "id": "m", "parentId": None, "timestamp": TIME, "provider": "x", "modelId": "m-1"},
    {"type": "message", "id": "1", "parentId": "m", "message": {"role": "user", "content": "rename it"}},
    {"type": "label", "id": "2", "parentId": "1", "targetId": "1", "label": "here"},
    {
        "type": "message",
        "id": "3",
        "parentId": "2",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I will look"},
                {"type": "toolCall", "id": "t1", "name": "read_file", "arguments": {"path": "a.py"}},
            ],
        },
    },
    {
        "type": "message",
        "id": "4",
        "parentId": "3",
        "message": {"role": "toolResult", "toolCallId": "t1", "toolName": "read_file", "content": "x = 1"},
    },
    {"type": "message", "id": "5", "parentId": "4", "message": {"role": "hookMessage", "content": "hi"}},
    {"type": "novelty", "id": "6", "parentId": "5", "shape": [1]},
]
FIRST = [
    {"type": "session", "id": "0b-1", "cwd": "/p"},
    *({key: row[key] for key in row if key not in ("id", "parentId")} for row in (*TREE[2:3], *TREE[4:7])),
    {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 1},
]
SECOND = [TREE[0] | {"version": 2}, *TREE[1:]]
LOGS = {"flat": FLAT, "session-3": TREE, "session-2": SECOND, "session-1": FIRST}


def put(store: Locations, lines: list[dict[str, Any]]) -> Path:
    store.conversations.mkdir(parents=True)
    path = store.conversations / "a1b2c3.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def said(conversation: Conversation) -> list[tuple[str, list[Any]]]:
    found = [entry["message"] for entry in conversation.active_path() if entry["type"] == "message"]
    return [
        (message["role"], [part.get("text") or part["name"] for part in message["content"]])
        for message in found
        if message["role"] != "custom"
    ]


@pytest.mark.parametrize("name", LOGS)
def test_it_is_listed_opened_continued_and_kept_as_it_was(
    store: Locations, name: str, notes: list[tuple[str, dict[str, Any]]]
) -> None:
    path = put(store, LOGS[name])
    original = path.read_bytes()
    (row,) = list_conversations(store)
    assert (row.first_prompt, row.message_count, row.cwd) == ("rename it", 2, Path("/p"))
    expected = [("user", ["rename it"]), ("assistant", ["I will look", "read_file"]), ("toolResult", ["x = 1"])]
    conversation = Conversation.open(store, "a1b2c3")
    assert (conversation.read_only_reason, conversation.warnings) == (None, [])
    assert said(conversation) == expected
    conversation.close()
    assert path.read_bytes() == original
    assert notes == []
    conversation.append("message", message={"role": "user", "content": [{"type": "text", "text": "more"}]})
    assert [(event, data["formerFormat"]) for event, data in notes] == [("session_migrated", name)]
    conversation.close()
    assert (store.conversations / f"a1b2c3.jsonl.bak-{name}").read_bytes() == original
    again = Conversation.open(store, "a1b2c3")
    assert said(again) == [*expected, ("user", ["more"])]
    assert (again.header["version"], again.header["formerFormat"], again.warnings) == (4, name, [])
    assert list_conversations(store)[0].message_count == 3
    assert delete_conversation(store, "a1b2c3")
    assert [path.name for path in store.conversations.iterdir() if path.name.startswith("a1b2c3")] == []


def test_what_is_unknown_is_kept(store: Locations) -> None:
    put(store, FLAT)
    conversation = Conversation.open(store, "a1b2c3")
    kinds = [entry["type"] for entry in conversation.entries]
    assert kinds == [*["message"] * 3, "review", "command_executed", "custom", "model_change", "compaction"]
    assert conversation.entries[5]["data"]["status"] == "declined"
    assert conversation.entries[3]["former"]["files"] == ["a.py"]
    assert (conversation.header["at"], conversation.entries[6]["model"]) == (1, "m-2")
    assert conversation.resolve_pending() == 1
    conversation.close()
    assert Conversation.open(store, "a1b2c3").entries[3]["status"] == "rejected"


def test_labels_are_taken_out_of_the_tree(store: Locations) -> None:
    put(store, TREE)
    conversation = Conversation.open(store, "a1b2c3")
    assert [entry["id"] for entry in conversation.active_path()] == ["m", "1", "3", "4", "5", "6"]
    assert conversation.entries[0]["model"] == "x/m-1"
    assert conversation.header["parentSession"] == {"id": "older"}
    assert conversation.entries[-1]["shape"] == [1]


def test_what_an_index_kept_is_an_id_now(store: Locations) -> None:
    put(store, FIRST)
    conversation = Conversation.open(store, "a1b2c3")
    assert conversation.entries[-1]["firstKeptEntryId"] == conversation.entries[1]["id"]


def test_a_summary_of_a_flat_log_keeps_what_comes_after_it(store: Locations) -> None:
    more = {"type": "entry_added", "entry": {"id": "u2", "type": "user", "content": "and then"}}
    put(store, [*FLAT[:-1], more])
    conversation = Conversation.open(store, "a1b2c3")
    (summary,) = (entry for entry in conversation.entries if entry["type"] == "compaction")
    assert (summary["structured"], summary["firstKeptEntryId"]) == ({"goal": "rename"}, "u2")


def test_one_that_cannot_be_written_anew_goes_on_in_memory_until_it_can(store: Locations) -> None:
    path = put(store, TREE)
    original = path.read_bytes()
    blocked = store.conversations / "a1b2c3.lock"
    conversation = Conversation.open(store, "a1b2c3")
    path.unlink()
    conversation.append("custom", data=1)
    assert conversation.write_error is not None
    path.write_bytes(original)
    conversation.append("custom", data=2)
    assert conversation.write_error is None
    conversation.close()
    again = Conversation.open(store, "a1b2c3")
    assert [entry.get("data") for entry in again.active_path()][-2:] == [1, 2]
    assert not blocked.exists()


@pytest.mark.parametrize(
    ("log", "after"),
    [(FLAT, {1: "u1", 3: "a1", 7: "l1"}), (TREE, {2: "1", 5: "4"}), ([TREE[0] | {"version": 1}, *TREE[1:]], {3: "2"})],
    ids=["flat", "tree", "oldest tree"],
)
def test_lines_that_cannot_be_read_stay_where_they_are(
    store: Locations, log: list[dict[str, Any]], after: dict[int, str]
) -> None:
    """Also those right behind the first line, and in a log that is rewritten."""
    lines = [json.dumps(line) for line in log]
    written = [lines[0], "{damaged 0"]
    for number, line in enumerate(lines[1:], start=1):
        written += [line, *([f'{{"damaged {number}\u00e9'] if number in after else [])]
    store.conversations.mkdir(parents=True)
    path = store.conversations / "a1b2c3.jsonl"
    path.write_text("".join(f"{line}\n" for line in written))
    conversation = Conversation.open(store, "a1b2c3")
    conversation.append("message", message={"role": "user", "content": []})
    conversation.close()
    found = path.read_text().splitlines()
    assert found[1] == "{damaged 0"
    for number, id in after.items():
        place = found.index(f'{{"damaged {number}\u00e9')
        assert json.loads(found[place - 1])["id"] == id
    again = Conversation.open(store, "a1b2c3")
    assert f"{len(after) + 1} lines cannot be read" in "".join(again.warnings)
    assert len(again.entries) == len(conversation.entries)
