"""A conversation's log has placeholders on the disk and the real values in memory, whatever becomes of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.log.log import Log
from north_lsp.agent.secrets.log_veil import LogVeil
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.secrets.secrets_file import Entry
from north_lsp.agent.secrets.sources import Found
from north_lsp.agent.session.navigation.navigation import fork
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.copying import branch, hand_over
from north_lsp.storage.locations import Locations

TOKEN, OTHER = "tok-9f8e7d6c5b", 'quo"ted-\\value'


class Known:
    has_news = False

    def __init__(self, *values: str) -> None:
        self.values = values

    def read(self) -> Found:
        return Found(frozenset(self.values))


class Listed:
    """A source with entries of a file."""

    has_news = False

    def __init__(self, *entries: Entry) -> None:
        self.entries = entries

    def read(self) -> Found:
        return Found(entries=self.entries)


def veil(*values: str) -> LogVeil:
    return LogVeil(Secrets(Known(*values), lambda: b"key", lambda: True))


@pytest.fixture
def store(tmp_path: Path) -> Locations:
    return Locations(tmp_path / "config", tmp_path / "data", tmp_path / "state")


@pytest.fixture
def conversation(store: Locations, tmp_path: Path) -> Conversation:
    made = Conversation.create(
        store, repo_root=tmp_path, repo_hash="0", cwd=tmp_path, model="m", client=None, north_version="0"
    )
    made.wear(veil(TOKEN, OTHER))
    return made


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def said(conversation: Conversation) -> list[str]:
    return [block["text"] for entry in conversation.entries for block in entry["message"]["content"]]


def opened(store: Locations, id: str, *values: str) -> Conversation:
    conversation = Conversation.open(store, id)
    conversation.wear(veil(*values))
    return conversation


def test_the_disk_has_placeholders_and_memory_the_values(store: Locations, conversation: Conversation) -> None:
    conversation.append("message", message=user(f"use {TOKEN}"))
    conversation.append("message", message=user(f"and {OTHER}"))
    conversation.annotate("title_changed", title=f"About {TOKEN}", titleSource="user")
    text = conversation.path.read_text()
    assert TOKEN not in text
    assert "quo" not in text
    assert said(conversation) == [f"use {TOKEN}", f"and {OTHER}"]
    conversation.close()
    again = opened(store, conversation.id, TOKEN, OTHER)
    assert (said(again), again.title) == (said(conversation), f"About {TOKEN}")
    again.append("message", message=user(f"{OTHER} {TOKEN}"))
    assert "<<$env:S1>> <<$env:S0>>" in conversation.path.read_text()


def test_numbers_are_written_before_the_lines_that_have_them(conversation: Conversation) -> None:
    conversation.append("message", message=user(f"use {TOKEN}"))
    lines = [json.loads(line) for line in conversation.path.read_text().splitlines()]
    assert [line["type"] for line in lines] == ["conversation_started", "secret_index", "message"]
    assert lines[1]["index"] == 0
    assert len(lines[1]["hash"]) == 32


def test_what_streams_is_masked_too_and_comes_back(store: Locations, conversation: Conversation) -> None:
    conversation.append("message", message=user("Hello"))
    conversation.answer.begin({"role": "assistant", "content": []}, conversation.reserve_id())
    conversation.answer.add("text", 0, f"It is {TOKEN}")
    conversation.answer.flush()
    (partial,) = conversation.path.parent.glob("*.partial.jsonl")
    assert "It is <<$env:S0>>" in partial.read_text()
    assert TOKEN not in conversation.path.read_text() + partial.read_text()
    reader = Conversation.look_at(conversation.path)
    reader.wear(veil(TOKEN))
    assert said(reader) == ["Hello", f"It is {TOKEN}"]


def test_another_process_reads_along_with_the_values(store: Locations, conversation: Conversation) -> None:
    conversation.append("message", message=user("Hello"))
    reader = opened(store, conversation.id, TOKEN, OTHER)
    conversation.append("message", message=user(f"{TOKEN} and {OTHER}"))
    assert reader.refresh()
    assert said(reader)[1:] == [f"{TOKEN} and {OTHER}"]


def test_copies_know_the_numbers(store: Locations, conversation: Conversation) -> None:
    conversation.append("message", message=user(f"use {OTHER} and {TOKEN}"))
    last = conversation.append("message", message=user(f"more {TOKEN}"))
    conversation.append("message", message=user("the end"))
    conversation.annotate("title_changed", title=f"About {TOKEN}", titleSource="user")
    forked = fork(Log(conversation), store).id
    copy = opened(store, forked, TOKEN, OTHER)
    assert (said(copy), copy.title) == (said(conversation), f"Fork: About {TOKEN}")
    branched, _ = branch(conversation, store, last["id"])
    assert said(opened(store, branched, TOKEN, OTHER)) == said(conversation)[:1]
    entry = {"type": "message", "id": "abcdef01", "message": user(f"carry on with {TOKEN}")}
    handed = hand_over(conversation, store, entry, f"After {OTHER}")
    begun = opened(store, handed, TOKEN, OTHER)
    assert (said(begun), begun.title) == ([f"carry on with {TOKEN}"], f"After {OTHER}")
    for id in (forked, branched, handed):
        assert TOKEN not in (store.conversations / f"{id}.jsonl").read_text()


def test_thoughts_stay_as_their_vendor_has_signed_them(store: Locations, conversation: Conversation) -> None:
    thought = {"type": "thinking", "thinking": "<<$env:S0>> and <<$env:S7>>", "signature": "s"}
    content = [thought, {"type": "text", "text": f"It is {TOKEN}"}]
    conversation.append("message", message=user(f"use {TOKEN}"))
    conversation.append("message", message={"role": "assistant", "content": content})
    assert '"thinking":"<<$env:S0>> and <<$env:S7>>"' in conversation.path.read_text()
    again = opened(store, conversation.id, TOKEN)
    assert again.entries[-1]["message"]["content"] == content


def test_nothing_that_holds_the_log_together_is_masked(store: Locations, conversation: Conversation) -> None:
    entries = [Entry(one) for one in ("message", "content", "user", "title_changed", "tool_call", "call-1")]
    digits = Entry(r"[a-z0-9]{4,}", pattern=re.compile(r"[a-z0-9]{4,}"))
    conversation.wear(LogVeil(Secrets(Listed(*entries, digits), lambda: b"key", lambda: True)))
    call = {"type": "tool_call", "id": "call-1", "name": "shell_run", "arguments": {"command": "1234", "id": "12345"}}
    asked = conversation.append("message", message=user("a message of 1234"))
    conversation.append("message", message={"role": "assistant", "content": [call]})
    conversation.append(
        "checkpoint", checkpointId="0123", files=[{"path": "/a", "before": "blob:0123", "after": "4567"}]
    )
    conversation.annotate("label", targetId=asked["id"], label="1234")
    conversation.annotate("title_changed", title="About 1234", titleSource="user")
    assert "1234" not in re.sub(r'"(?:timestamp|[a-zA-Z]*[iI]d|before)":"[^"]*"', "", conversation.path.read_text())
    again = Conversation.open(store, conversation.id)
    again.wear(veil())
    assert [one["id"] for one in again.entries] == [one["id"] for one in conversation.entries]
    first, second, third = again.entries
    assert first["message"]["content"][0]["type"] == "text"
    (block,) = second["message"]["content"]
    assert (block["id"], block["name"], block["arguments"].keys()) == ("call-1", "shell_run", {"command", "id"})
    assert third["files"][0]["before"] == "blob:0123"
    assert again.labels.keys() == {asked["id"]}
