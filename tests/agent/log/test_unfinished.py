"""Which turns can go on, by what their log says."""

from typing import Any

import pytest

from north_lsp.agent.log.entries import logged
from north_lsp.agent.log.marks import StopEntry
from north_lsp.agent.log.unfinished import ended_early, find_unfinished

Row = dict[str, Any]


def said(**message: Any) -> Row:
    return {"type": "message", "message": message}


PROMPT = said(role="user", content=[{"type": "text", "text": "go"}])
CALLS = said(
    role="assistant",
    provider="p",
    model="m",
    content=[{"type": "tool_call", "id": id, "name": "edit_create_file", "arguments": {}} for id in ("c1", "c2")],
    stopReason="toolUse",
)
ANSWER = said(role="assistant", provider="p", model="m", content=[{"type": "text", "text": "Done."}], stopReason="stop")


def result(id: str) -> Row:
    return said(role="toolResult", toolCallId=id, toolName="edit_create_file", content=[])


def review(id: str, status: str = "pending", kind: str = "write") -> Row:
    return {"type": "review", "kind": kind, "toolCallId": id, "request": {"files": []}, "status": status}


def checkpoint(id: str) -> Row:
    return {"type": "checkpoint", "checkpointId": "k", "toolCallId": id, "title": "", "files": [], "status": "pending"}


def path(*rows: Row) -> Any:
    parents = [None, *(f"{number:08}" for number in range(len(rows)))]
    return logged(
        {**row, "id": f"{number:08}", "parentId": parents[number], "timestamp": ""} for number, row in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("rows", "waits", "left"),
    [
        ((), None, None),
        ((PROMPT,), None, []),
        ((PROMPT, CALLS), None, ["c1", "c2"]),
        ((PROMPT, CALLS, review("c1")), ["c1", "c2"], ["c1", "c2"]),
        ((PROMPT, CALLS, review("c1", "accepted"), result("c1"), review("c2")), ["c2"], ["c2"]),
        ((PROMPT, CALLS, review("c1", "superseded"), review("c1")), ["c1", "c2"], ["c1", "c2"]),
        # Something was under way: an edit was being written, a command that was allowed ran.
        ((PROMPT, CALLS, review("c1"), checkpoint("c1")), None, None),
        ((PROMPT, CALLS, review("c1", "ran", "shell")), None, None),
        ((PROMPT, CALLS, review("c1", "auto", "shell"), review("c1", "pending", "shell")), None, None),
        ((PROMPT, CALLS, review("c1", kind="poll")), None, None),
        ((PROMPT, CALLS, result("c1"), result("c2")), None, []),
        ((PROMPT, CALLS, review("c1"), result("c1"), result("c2"), ANSWER), None, None),
        ((PROMPT, CALLS, review("c1"), PROMPT), None, []),
    ],
)
def test_a_turn_goes_on_where_a_question_waits_or_where_it_was_left(
    rows: tuple[Row, ...], waits: list[str] | None, left: list[str] | None
) -> None:
    for was_left, wanted in ((False, waits), (True, left)):
        found = find_unfinished(path(*rows), was_left=was_left)
        assert (found and [call.id for call in found.calls]) == wanted, was_left


@pytest.mark.parametrize(
    ("rows", "early"),
    [
        ((), False),
        ((PROMPT,), True),
        ((PROMPT, ANSWER), False),
        ((PROMPT, CALLS), True),
        ((PROMPT, CALLS, result("c1"), result("c2")), True),
        ((PROMPT, CALLS, result("c1"), result("c2"), ANSWER), False),
        ((PROMPT, ANSWER, PROMPT), True),
        ((PROMPT, CALLS, StopEntry().to_json()), False),
    ],
)
def test_a_turn_was_cut_off_where_it_has_no_end(rows: tuple[Row, ...], early: bool) -> None:
    assert ended_early(path(*rows)) is early


def test_an_answer_that_was_cut_off_is_no_end() -> None:
    cut = {**ANSWER, "message": {**ANSWER["message"], "stopReason": "aborted"}}
    assert ended_early(path(PROMPT, cut))


def test_an_answer_that_broke_off_is_not_gone_on_with() -> None:
    cut = {**CALLS, "message": {**CALLS["message"], "stopReason": "aborted"}}
    assert find_unfinished(path(PROMPT, cut, review("c1")), was_left=True) is None
