"""A conversation as Markdown: a heading for each prompt and answer, fenced calls, results and diffs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from north_lsp.agent.exports.document import Answered, Call, Document, Failure, Note, Prose, Row, Said, Thought
from north_lsp.agent.exports.words import (
    answer_took,
    call_state,
    facts,
    moment,
    outcome_of_review,
    result_in_words,
    title_of,
)
from north_lsp.display import fenced, one_line, visible

_MOST_LINES = 200


def markdown_of(document: Document) -> str:
    """Render a conversation."""
    return "\n\n".join(_parts(document)) + "\n"


def _parts(document: Document) -> Iterator[str]:
    yield f"# {_line(document.title or 'Untitled')}"
    yield "\n".join(f"- {name}: {_line(value)}" for name, value in facts(document))
    if document.left_out:
        yield "\n".join(["> Not everything in this conversation can be read:", *_listed(document.left_out)])
    around = document.surroundings
    if around is not None:
        yield f"<details><summary>System prompt</summary>\n\n{fenced(visible(around.system))}\n\n</details>"
        names = ", ".join(f"`{_line(tool.name)}`" for tool in around.tools)
        yield f"Tools: {names}" if names else "No tools"
    yield from _answered(document.rows)
    for branch in document.branches:
        yield f"# A branch that was left: {_line(title_of(branch))}"
        yield from _answered(branch.rows)


def _answered(rows: Iterable[Row]) -> Iterator[str]:
    speaks = False
    for row in rows:
        if isinstance(row, Said):
            speaks = False
            yield from _said(row)
            continue
        if not speaks and not isinstance(row, Note):
            speaks = True
            yield "## North"
        yield from _row(row)


def _listed(lines: tuple[str, ...]) -> Iterator[str]:
    return (f"> - {_line(one)}" for one in lines)


def _line(text: str) -> str:
    return one_line(text, 1000)


def _said(row: Said) -> Iterator[str]:
    yield f"## You{f' ({moment(row.at)})' if row.at else ''}"
    if row.text:
        yield visible(row.text)
    for number, picture in enumerate(row.pictures, 1):
        yield f"[picture {number}: {_line(picture.mime_type)}{'' if picture.data else ', not available'}]"
    for one in row.attachments:
        lines = f", lines {_line(one.range)}" if one.range else ""
        yield f"Attached: `{_line(one.path)}`{lines}"
        yield fenced(_cut(one.text))


def _row(row: Row) -> Iterator[str]:
    match row:
        case Prose(text):
            yield visible(text).strip("\n")
        case Thought(text):
            yield "\n".join(f"> {line}" for line in ["*Thinking*", "", *visible(text).strip().split("\n")])
        case Failure(text):
            yield f"**The request failed:** {visible(text)}"
        case Note(text):
            yield f"*{_line(text)}*"
        case Answered() if took := answer_took(row):
            yield f"<sub>{_line(took)}</sub>"
        case Call():
            yield from _call(row)
        case _:
            pass


def _call(call: Call) -> Iterator[str]:
    mark, _, _ = call_state(call)
    yield f"### {mark} {_line(call.title or call.tool)}"
    if review := outcome_of_review(call):
        yield _line(review)
    for change in call.changes:
        if change.diff.strip():
            yield fenced(visible(change.diff).rstrip("\n"), "diff")
    if call.arguments and not call.changes:
        yield fenced(_cut(json.dumps(call.arguments, indent=1, ensure_ascii=False, default=str)), "json")
    if call.result or call.text:
        yield fenced(_cut(result_in_words(call)))
    for number, picture in enumerate(call.pictures, 1):
        yield f"[picture {number}: {_line(picture.mime_type)}{'' if picture.data else ', not available'}]"


def _cut(text: str) -> str:
    lines = visible(text).rstrip("\n").split("\n")
    more = len(lines) - _MOST_LINES
    return "\n".join(lines if more <= 0 else [*lines[:_MOST_LINES], f"… {more:,} more lines"])
