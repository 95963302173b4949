"""What a log is asked again and again costs what is new in it, not what is in it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from north_lsp.agent.log.choices import SlashEntry, ToolSelectionEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.todos import todo_on
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.tools.todo_list import TodoList


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    store = Locations(tmp_path, tmp_path, tmp_path)
    made = Conversation.create(
        store, repo_root=tmp_path, repo_hash="0", cwd=tmp_path, model="m", client=None, north_version="0"
    )
    yield made
    made.close()


def _say(conversation: Conversation, count: int) -> list[str]:
    message = {"role": "user", "content": [{"type": "text", "text": "x"}]}
    return [conversation.append("message", message=message)["id"] for _ in range(count)]


def _asking(asked: list[str]) -> Callable[[Logged], bool]:
    def wanted(one: Logged) -> bool:
        asked.append(one.id)
        return True

    return wanted


def test_each_entry_is_asked_about_once(conversation: Conversation) -> None:
    log, asked = Log(conversation), list[str]()
    wanted = _asking(asked)
    first = _say(conversation, 5)
    assert [one.id for one in log.those(wanted)] == first
    assert [one.id for one in log.those(wanted)] == first
    more = _say(conversation, 2)
    assert [one.id for one in log.those(wanted)] == [*first, *more]
    assert asked == [*first, *more]


def test_after_going_back_the_path_is_looked_at_anew(conversation: Conversation) -> None:
    log, asked = Log(conversation), list[str]()
    wanted = _asking(asked)
    ids = _say(conversation, 4)
    kept = log.those(wanted)
    log.move_leaf(ids[1], "rewind")
    (other,) = _say(conversation, 1)
    assert [one.id for one in log.those(wanted)] == [*ids[:2], other] == [one.id for one in log.path()]
    assert [one.id for one in kept] == ids  # what was given before does not change


def test_a_message_that_is_kept_from_models_is_asked_about_again(conversation: Conversation) -> None:
    log = Log(conversation)
    first, *_ = _say(conversation, 3)

    def is_sent(one: Logged) -> bool:
        return not getattr(one.entry, "excluded", False)

    assert len(log.those(is_sent)) == 3
    log.exclude(first)
    assert len(log.those(is_sent)) == 2


def test_a_look_returns_only_what_is_not_known(conversation: Conversation) -> None:
    ids = _say(conversation, 3)
    revision, whole = conversation.look(-1, 0)
    assert [one["id"] for one in whole] == ids
    assert conversation.look(revision, 3) == (revision, [])
    more = _say(conversation, 1)
    assert [one["id"] for one in conversation.look(revision, 3)[1]] == more
    conversation.move_leaf(ids[0], "rewind")
    now, path = conversation.look(revision, 4)
    assert now != revision
    assert [one["id"] for one in path] == ids[:1]


def test_questions_that_wait_are_known_without_a_search(conversation: Conversation) -> None:
    log = Log(conversation)
    one, other = (conversation.append("review", kind="write", status="pending", toolCallId="c")["id"] for _ in range(2))
    conversation.append("review", kind="learning", status="pending", toolCallId="c")
    conversation.annotate("entry_updated", targetId=one, patch={"status": "accept"})
    assert conversation.resolve_pending() == 1
    assert conversation.resolve_pending() == 0
    assert {row.id: row.entry.status for row in log.path() if row.id in (one, other)}[one] == "accept"  # type: ignore[union-attr]


def test_the_list_follows_from_what_concerns_it(conversation: Conversation) -> None:
    _say(conversation, 2)
    log = Log(conversation)
    details = {"phases": [{"name": "All", "tasks": [{"content": "one", "status": "pending"}]}]}
    result = {"role": "toolResult", "toolCallId": "c", "toolName": "todo", "content": [], "details": details}
    conversation.append("message", message=result)
    _say(conversation, 2)
    todo = todo_on(log.about_todo(), log.opened_at)
    assert todo == todo_on(log.path(), log.opened_at) != TodoList()
    assert len(log.about_todo()) == 2  # that entry, and the one that was the last when the log was opened


def test_former_names_of_fields_are_read() -> None:
    command = SlashEntry.from_json({"type": "command_executed", "input": "/help", "name": "help", "output": "words"})
    assert (command.output, command.more) == ("words", {})
    assert command.to_json()["message"] == "words"
    chosen = ToolSelectionEntry.from_json({"type": "mcp_tool_selection", "tools": ["a", "b"]})
    assert (chosen.tools, chosen.more) == (("a", "b"), {})
    assert chosen.to_json()["selectedToolNames"] == ["a", "b"]
