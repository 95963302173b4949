"""Whatever stands in a log, it can be opened, shown, counted and sent: other programs write logs, and disks err."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.agent.costs.totals import spent_by_model, usage_of
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.entries import entry_from_json
from north_lsp.agent.log.export import as_markdown
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import PromptEntry, Words
from north_lsp.agent.log.projection import events_of
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.log.transcript import broke_off, messages_of
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.tools.builtin import builtin_tools
from tests.storage.test_old_formats import FLAT, TREE

TIME = "2025-12-10T10:20:30.000Z"
FILE = {"path": "/p/a.py", "relative": "a.py", "action": "update", "oldText": "x\n", "newText": "y\n"}
SEEN = [["/p/a.py", "tag", [[1, 2]]]]
USAGE = {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "cost": {"total": 0.5}}
LOG: list[dict[str, Any]] = [
    {"type": "conversation_started", "version": 4, "id": "a1b2c3", "timestamp": TIME, "repoRoot": "/p", "cwd": "/p"},
    {
        "type": "message",
        "id": "1",
        "parentId": None,
        "message": {
            "role": "user",
            "content": [
                {"type": "text", "text": "do it"},
                {
                    "type": "file_mention",
                    "path": "a.py",
                    "preview": "x",
                    "range": "1-2",
                    "seen": {"a.py": ["t", [[1, 2]]]},
                },
            ],
        },
    },
    {
        "type": "message",
        "id": "2",
        "parentId": "1",
        "message": {
            "role": "assistant",
            "provider": "anthropic",
            "model": "claude-sonnet-4-5",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I will"},
                {"type": "tool_call", "id": "t1", "name": "read_file", "arguments": {"path": "a.py"}, "cut": "{"},
            ],
            "usage": USAGE,
            "stopReason": "toolUse",
            "durationMs": 5,
        },
    },
    {"type": "review", "id": "3", "parentId": "2", "kind": "write", "toolCallId": "t1", "request": {"files": [FILE]}},
    {"type": "checkpoint", "id": "4", "parentId": "3", "checkpointId": "c1", "toolCallId": "t1", "files": [FILE]},
    {
        "type": "message",
        "id": "5",
        "parentId": "4",
        "message": {
            "role": "toolResult",
            "toolCallId": "t1",
            "toolName": "read_file",
            "content": [{"type": "text", "text": "x"}, {"type": "image", "mimeType": "image/png", "data": "AA"}],
            "details": {
                "title": "Read",
                "ok": True,
                "locations": [["/p/a.py", 1]],
                "seen": {"/p/a.py": ["t", [[1, 2]]]},
            },
        },
    },
    {
        "type": "message",
        "id": "6",
        "parentId": "5",
        "message": {"role": "bashExecution", "command": "ls", "output": "a"},
    },
    {"type": "command_executed", "id": "7", "parentId": "6", "input": "/help", "output": "words"},
    {"type": "mode_change", "id": "8", "parentId": "7", "mode": "ask"},
    {
        "type": "branch_summary",
        "id": "8a",
        "parentId": "8",
        "fromId": "5",
        "summary": "What was tried",
        "details": {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]},
    },
    {"type": "queue_changed", "id": "9", "words": [{"id": "w", "kind": "steer", "mode": "ask", "text": "later"}]},
    {"type": "title_changed", "id": "10", "title": "t", "titleSource": "auto"},
    {"type": "entry_updated", "id": "11", "targetId": "3", "patch": {"status": "accepted"}},
    {"type": "usage_recorded", "id": "12", "purpose": "title", "usage": USAGE},
    {"type": "session_moved", "id": "13", "repoRoot": "/q", "repoHash": "00", "cwd": "/q"},
]
MODEL = next(model for model in load_catalog(Path("/nowhere"), {}).models if model.provider.id == "anthropic")
TOOLS = builtin_tools()
ODDITIES: list[Any] = [None, True, -1, 1.5, "", "text", "\ud800", [], {}, [1], ["a"], {"a": 1}, [{}], [[]], 10**30]
ODD = st.sampled_from(ODDITIES)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be put instead of what is there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, one in inner:
        found += places(one, (*path, key))
    return found


def changed(log: list[dict[str, Any]], changes: list[tuple[int, Any]]) -> list[Any]:
    log = copy.deepcopy(log)
    for number, odd in changes:
        all_places = places(log)
        *above, last = all_places[number % len(all_places)]
        target: Any = log
        for key in above:
            target = target[key]
        target[last] = copy.deepcopy(odd)
    return log


def use(folder: Path, log: list[Any]) -> None:
    """Everything that is done with a stored conversation."""
    store = Locations(folder / "c", folder / "d", folder / "s")
    store.conversations.mkdir(parents=True, exist_ok=True)
    path = store.conversations / "a1b2c3.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in log))
    list_conversations(store)
    conversation = Conversation.open(store, "a1b2c3")
    typed = Log(conversation)
    way = typed.path()
    list(events_of(way, TOOLS))
    messages_of(way, MODEL)
    usage_of(way, 1000)
    spent_by_model(way)
    sightings_of(way)
    broke_off(way)
    checkpoints = Checkpoints(typed, Blobs(folder / "blobs"), folder / "journals")
    checkpoints.all()
    checkpoints.unsaid()
    as_markdown("title", way)
    conversation.resolve_pending()
    for one in typed.entries():
        stored = one.entry.to_json()
        assert entry_from_json(stored).to_json() == stored
    typed.append(PromptEntry(Content((Words("on"),))))
    assert isinstance(typed.path()[-1].entry, PromptEntry)
    conversation.close()
    path.unlink()


@pytest.mark.parametrize("log", [LOG, FLAT, TREE], ids=["today", "flat", "tree"])
@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 500), ODD), min_size=1, max_size=4))
def test_any_log_is_used_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, log: list[dict[str, Any]], changes: list[tuple[int, Any]]
) -> None:
    use(tmp_path_factory.getbasetemp() / "foreign", changed(log, changes))


@pytest.mark.parametrize("message", [True, "text", [1], {"role": "assistant", "content": 1, "usage": "much"}])
def test_only_messages_have_a_message(tmp_path: Path, message: Any) -> None:
    other = {"type": "note", "id": "14", "parentId": "8", "message": message}
    use(tmp_path, [*LOG, other, {"type": "label", "id": "15", "parentId": "14"}])
