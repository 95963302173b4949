"""What is written of questions, plans, the queue, secrets and details, to the letter; what is odd is kept as it is."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from north_lsp.agent.log.call_details import (
    NOT_RUN,
    AnswerDetails,
    details_of_answers,
    details_of_search,
    details_of_skill,
)
from north_lsp.agent.log.choices import AcceptedPlan, ModeEntry, PlanWork
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.entries import Entry, entry_from_json
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.header import EditorName, Header, Parent
from north_lsp.agent.log.messages import AnswerEntry
from north_lsp.agent.log.questions import HostRequest, PlanModeRequest, PlanRequest, QuestionRequest
from north_lsp.agent.log.queued import QueuedRow
from north_lsp.agent.log.reviews import Request, ReviewEntry
from north_lsp.agent.log.secret_rows import SecretRow

FILES = '"tokensBefore": 1, "reason": "manual", "details": {"readFiles": [], "modifiedFiles": []}'
SUMMARY = f'{{"type": "compaction", "summary": "s", "firstKeptEntryId": "f", {FILES}'
ANSWER = '"role": "assistant", "provider": "p", "model": "m", "content": [], "stopReason": "stop"'


@pytest.mark.parametrize(
    ("kind", "request_", "written"),
    [
        ("question", QuestionRequest(("a", "b")), '{"questions": ["a", "b"]}'),
        ("plan", PlanRequest("s", "/p/plan.md", "d"), '{"summary": "s", "planFile": "/p/plan.md", "sha256": "d"}'),
        ("plan_mode", PlanModeRequest("it is large"), '{"reason": "it is large"}'),
        (
            "host",
            HostRequest("a.b", "http://a.b/c", ("::1",)),
            '{"host": "a.b", "url": "http://a.b/c", "addresses": ["::1"]}',
        ),
    ],
)
def test_a_question_is_stored_under_its_kind(kind: str, request_: Request, written: str) -> None:
    entry = ReviewEntry.pending("c", request_, "r")
    stored = entry.to_json()
    assert (stored["kind"], json.dumps(stored["request"])) == (kind, written)
    assert entry_from_json(stored) == entry


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        (ModeEntry("plan"), '{"type": "mode_change", "mode": "plan"}'),
        (
            ModeEntry("plan", PlanWork("/p", "active")),
            '{"type": "mode_change", "mode": "plan", "data": {"plan": {"planFile": "/p", "state": "active"}}}',
        ),
        (
            ModeEntry("agent", AcceptedPlan("/p", "d")),
            '{"type": "mode_change", "mode": "agent", "data": {"acceptedPlan": {"planFile": "/p", "sha256": "d"}}}',
        ),
        (CompactionEntry("s", "f", 1, reason="manual", by_extension=True), SUMMARY + ', "fromExtension": true}'),
        (
            CompactionEntry("s", "f", 1, reason="manual", model="m", kept={"a": 1}),
            SUMMARY + ', "model": "m", "preserveData": {"a": 1}}',
        ),
        (
            AnswerEntry(Content(), "p", "m", stop_reason="stop", request_id="r", raw_usage={"in": 1}),
            f'{{"type": "message", "message": {{{ANSWER}, "requestId": "r", "details": {{"usage": {{"in": 1}}}}}}}}',
        ),
    ],
)
def test_an_entry_is_written_and_read(entry: Entry, written: str) -> None:
    assert json.dumps(entry.to_json()) == written
    assert entry_from_json(entry.to_json()) == entry


def _review(kind: str, request: object) -> dict[str, Any]:
    named = {"type": "review", "reviewId": "r", "kind": kind, "toolCallId": "c"}
    return {**named, "request": request, "status": "pending"}


@pytest.mark.parametrize(
    "record",
    [
        _review("question", {"questions": ["a", 1]}),
        _review("question", {"questions": ["a"], "more": 1}),
        _review("plan", {"summary": "s"}),
        _review("plan", {"summary": "s", "planFile": "/p", "sha256": "d", "more": 1}),
        _review("plan_mode", {"reason": None}),
        _review("host", {"host": "h", "url": "u", "addresses": None}),
        _review("host", []),
        {"type": "mode_change", "mode": "plan", "data": {"plan": {"planFile": "/p", "state": "odd"}}},
        {"type": "mode_change", "mode": "plan", "data": {"plan": {"planFile": "/p", "state": "active"}, "more": 1}},
        {"type": "mode_change", "mode": "plan", "data": {"acceptedPlan": {"planFile": "/p", "sha256": "d", "more": 1}}},
        {"type": "mode_change", "mode": "plan", "data": None},
        json.loads(SUMMARY + ', "fromExtension": false, "preserveData": {}}'),
        json.loads(SUMMARY + ', "fromExtension": "x", "preserveData": 3}'),
        {"type": "message", "message": json.loads(f'{{{ANSWER}, "requestId": 1, "details": null}}')},
        {"type": "message", "message": json.loads(f'{{{ANSWER}, "requestId": "", "details": {{"usage": {{}}}}}}')},
        {"type": "message", "message": json.loads(f'{{{ANSWER}, "details": {{"usage": {{"in": 1}}, "more": 1}}}}')},
    ],
)
def test_what_is_odd_is_kept_as_it_is(record: dict[str, Any]) -> None:
    assert entry_from_json(record).to_json() == record


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ({"index": 2, "hash": "d"}, SecretRow(2, "d")),
        ({"index": 0, "text": "x"}, SecretRow(0, text="x")),
        ({"index": 1, "hash": 5}, SecretRow(1)),
        ({"index": -1, "hash": "d"}, None),
        ({"index": "1", "hash": "d"}, None),
        ({}, None),
    ],
)
def test_a_secret_has_a_number(row: Mapping[str, object], read: SecretRow | None) -> None:
    assert SecretRow.from_json(row) == read
    assert read is None or read.digest is read.text or read.to_json() == row


def test_a_queued_prompt_keeps_what_is_not_known_of_it() -> None:
    row = {"id": "1", "kind": "steer", "mode": "ask", "text": "later", "more": "x"}
    assert QueuedRow.from_json(row).to_json() == row
    assert QueuedRow("1", "steer", "ask", "later").to_json().keys() == row.keys() - {"more"}


def test_a_header_names_the_parent_and_the_editor() -> None:
    assert Parent("a1", "task").to_json() == {"id": "a1", "relation": "task"}
    assert EditorName("Zed").to_json() == {"name": "Zed", "version": None}
    header = Header.from_json({"client": {"name": "Zed", "version": "1"}, "parentSession": {"id": "a1"}})
    assert (header.client, header.parent) == ("Zed 1", Parent("a1"))


def test_details_of_calls() -> None:
    one, other = AnswerDetails("q1", ("a",), "own", unfinished=True), AnswerDetails("q2", automatic=True)
    row = {"id": "q1", "chosen": ["a"], "own": "own", "unfinished": True}
    assert details_of_answers([one]) == row
    assert details_of_answers([one, other]) == {"results": [row, {"id": "q2", "chosen": [], "automatic": True}]}
    found = {"provider": "p", "sources": [{"title": "t", "url": "u"}]}
    assert details_of_search("p", [("t", "u")]) == {"response": found}
    assert details_of_search("p", (), "why") == {"response": {"provider": "p", "sources": []}, "error": "why"}
    assert details_of_skill("review") == {"skill": "review"}
    assert dict(NOT_RUN) == {"cancelled": True}
