"""A conversation as plain text, whole: what the model is told, and everything that was said and done."""

from __future__ import annotations

import json
from collections.abc import Iterator

from north_lsp.agent.exports.document import Answered, Call, Document, Failure, Note, Prose, Row, Said, Thought
from north_lsp.agent.exports.words import answer_took, call_state, facts, moment, outcome_of_review, title_of
from north_lsp.display import visible

_RULE = "=" * 80


def text_of(document: Document) -> str:
    """Render a conversation."""
    return visible("\n".join(_lines(document))) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield document.title or "Untitled"
    yield from (f"{name}: {value}" for name, value in facts(document))
    yield from (f"Left out: {one}" for one in document.left_out)
    around = document.surroundings
    if around is not None:
        yield from _part("System prompt", around.system)
        for tool in around.tools:
            schema = json.dumps(tool.schema, indent=1, ensure_ascii=False, default=str)
            yield from _part(f"Tool {tool.name}", f"{tool.description}\n{schema}")
    for row in document.rows:
        yield from _row(row)
    for branch in document.branches:
        yield from _part("A branch that was left", title_of(branch))
        for row in branch.rows:
            yield from _row(row)


def _part(title: str, text: str) -> Iterator[str]:
    yield from ("", _RULE, title, _RULE, text.rstrip("\n"))


def _row(row: Row) -> Iterator[str]:
    match row:
        case Said():
            yield from _part(f"You {moment(row.at)}".rstrip(), row.text)
            for one in row.attachments:
                yield from ("", f"[attached: {one.path}{f', lines {one.range}' if one.range else ''}]", one.text)
            yield from ("[picture]" for _ in row.pictures)
            yield from ["", "[for the model]", row.context] if row.context else []
        case Prose(text):
            yield from ("", text.strip("\n"))
        case Thought(text):
            yield from ("", "[thinking]", text.strip("\n"), "[end of thinking]")
        case Failure(text):
            yield from ("", f"[no complete answer: {text}]")
        case Note(text):
            yield from ("", f"[{text}]")
        case Answered() if took := answer_took(row):
            yield from ("", f"[{took}]")
        case Call():
            yield from _call(row)
        case _:
            pass


def _call(call: Call) -> Iterator[str]:
    yield from ("", f"--- {call.tool}: {call.title} ({call_state(call)[1]})")
    if call.arguments:
        yield json.dumps(call.arguments, indent=1, ensure_ascii=False, default=str)
    if review := outcome_of_review(call):
        yield review
    for change in call.changes:
        yield change.diff.rstrip("\n")
    if call.result or call.text:
        yield from ("--- result", (call.result or call.text).rstrip("\n"))
    yield from ("[picture]" for _ in call.pictures)
    yield "---"
