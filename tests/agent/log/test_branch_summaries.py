"""Summaries of branches that were left: their form in the file, what models and people get, and what they are about."""

from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.entries import Logged, UnknownEntry, entry_from_json, logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import branch_summary_shown
from north_lsp.agent.log.transcript import messages_of
from north_lsp.agent.ports.events import AnswerDelta
from north_lsp.agent.session.navigation import branch_summary
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from tests.agent.log.test_foreign_logs import MODEL

FULL: dict[str, Any] = {
    "type": "branch_summary",
    "fromId": "1",
    "summary": "What was tried",
    "details": {"readFiles": ["a.py"], "modifiedFiles": ["b.py"], "other": 1},
    "fromExtension": True,
}


@pytest.mark.parametrize(
    "record",
    [
        FULL,
        {"type": "branch_summary", "summary": "s"},
        {"type": "branch_summary", "summary": "s", "fromId": "root", "details": {"other": 1}},
        {"type": "branch_summary", "summary": 1},
        {"type": "branch_summary", "summary": "s", "details": "none"},
        {"type": "branch_summary", "summary": "s", "details": {"readFiles": [1]}},
    ],
)
def test_it_is_written_as_it_was_read(record: dict[str, Any]) -> None:
    entry = entry_from_json(record | {"id": "x", "parentId": None})
    assert entry.to_json() == record
    is_known = isinstance(record["summary"], str) and "none" not in str(record) and "[1]" not in str(record)
    assert isinstance(entry, BranchSummaryEntry if is_known else UnknownEntry)


def test_models_and_people_read_it() -> None:
    one = Logged("x", None, "", entry_from_json(FULL))
    assert list(branch_summary_shown(one)) == [
        AnswerDelta("x", "**Summary of the branch that was left**\n\nWhat was tried\n\n")
    ]
    (message,) = messages_of([one], MODEL)
    text = str(message)
    assert "The user went back to this point of the conversation" in text
    assert "What was tried" in text
    assert "<read-files>\\na.py\\n</read-files>" in text
    assert "<modified-files>\\nb.py\\n</modified-files>" in text


def said(id: str, parent: str | None, text: str) -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return {"type": "message", "id": id, "parentId": parent, "message": message}


def test_of_what_is_too_long_the_newest_is_summarized() -> None:
    path = logged(said(str(number), None, f"{number} {'x' * 90}") for number in range(5))
    text = branch_summary._within(path, len, 250)
    assert text.split("\n\n")[0] == "(What came before is left out.)"
    assert [line.split()[1] for line in text.split("\n\n")[1:]] == ["3", "4"]
    assert branch_summary._within(path, len, 10).endswith("x")  # at least the end of the last
    assert len(branch_summary._within(path, len, 10_000).split("\n\n")) == 5


def test_files_are_those_of_earlier_summaries_too() -> None:
    file = {"path": "/p/c.py", "relative": "c.py", "action": "update", "before": None, "after": "x"}
    checkpoint = {"type": "checkpoint", "checkpointId": "c", "title": "t", "files": [file], "status": "applied"}
    result = {
        "type": "message",
        "message": {
            "role": "toolResult",
            "toolCallId": "t",
            "toolName": "read_file",
            "content": [],
            "details": {"seen": [["/p/b.py", "tag", []], ["/p/d.py", "tag", []], ["/q/e.py", "tag", []]]},
        },
    }
    path = logged({"id": str(number), **record} for number, record in enumerate([FULL, checkpoint, result]))
    read, modified = branch_summary._files(path, Path("/p"))
    assert (read, modified) == (("a.py", "d.py", "/q/e.py"), ("b.py", "c.py"))


def test_what_is_left_is_what_comes_after_the_common_entry(tmp_path: Path) -> None:
    store = Locations(tmp_path, tmp_path, tmp_path)
    conversation = Conversation.create(
        store, repo_root=tmp_path, repo_hash="0", cwd=tmp_path, model="m", client=None, north_version="0"
    )
    message = said("", None, "x")["message"]
    ids = [conversation.append("message", message=message)["id"] for _ in range(4)]
    log = Log(conversation)

    def left(leaf: str | None) -> list[str]:
        return [one.id for one in log.left_by(leaf)]

    assert left(ids[1]) == ids[2:]
    assert left(None) == ids
    assert left(ids[3]) == []
    log.move_leaf(ids[0], "rewind")
    assert left(ids[3]) == []  # forth again
    other = conversation.append("message", message=message)["id"]
    assert left(ids[3]) == [other]
    with pytest.raises(ValueError, match="there is no entry"):
        left("lost")
    conversation.close()
