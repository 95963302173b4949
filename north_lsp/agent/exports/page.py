"""A conversation as one HTML file: no scripts, nothing from the network, every text escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path

from north_lsp.agent.exports.document import (
    Answered,
    Attachment,
    Call,
    Change,
    Document,
    Failure,
    Note,
    Picture,
    Prose,
    Row,
    Said,
    Thought,
)
from north_lsp.agent.exports.prose import escape, to_html
from north_lsp.agent.exports.words import answer_took, call_state, facts, outcome_of_review, result_in_words, title_of
from north_lsp.display import visible

_OPEN_LINES = 60
"""The diff of a call is shown at once up to so many lines; longer ones are folded."""
_LISTED = 12
_TITLE = 90


def html_of(document: Document) -> str:
    """Render a conversation."""
    return "".join(_page(document))


@cache
def _style() -> str:
    return Path(__file__).with_name("export.css").read_text("utf-8")


def _policy() -> str:
    """Return the page's content security policy: pictures that are in the page, its own style, nothing else."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode("ascii")
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _e(text: str) -> str:
    return escape(visible(text))


def _page(document: Document) -> Iterator[str]:
    title = _e(" ".join((document.title or "Untitled").split()))
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(_policy())}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield '<meta name="referrer" content="no-referrer">\n<meta name="generator" content="North">\n'
    yield f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body>\n"
    yield '<a class="skip" href="#conversation">Skip to the conversation</a>\n'
    yield f"<header>\n<h1>{title}</h1>\n<dl>"
    for name, value in facts(document):
        yield f"<dt>{_e(name)}</dt><dd>{_e(value)}</dd>"
    yield "</dl>\n"
    yield from _left_out(document)
    yield from _contents(document)
    yield from _surroundings(document)
    yield '</header>\n<main id="conversation">\n'
    number, is_open = 0, False
    for row in document.rows:
        if isinstance(row, Said):
            number += 1
            yield "</section>\n" if is_open else ""
            yield f'<section aria-labelledby="prompt-{number}">\n'
            is_open = True
            yield from _said(row, number)
        else:
            yield from _row(row)
    yield "</section>\n" if is_open else ""
    yield from _branches(document)
    yield "</main>\n</body>\n</html>\n"


def _branches(document: Document) -> Iterator[str]:
    if not document.branches:
        return
    yield '<section aria-labelledby="branches">\n<h2 id="branches">Branches that were left</h2>\n'
    for branch in document.branches:
        yield f"<details><summary>{_e(title_of(branch))}</summary>\n"
        for row in branch.rows:
            yield from _said(row, None) if isinstance(row, Said) else _row(row)
        yield "</details>\n"
    yield "</section>\n"


def _left_out(document: Document) -> Iterator[str]:
    if document.left_out:
        rows = "".join(f"<li>{_e(one)}</li>" for one in document.left_out)
        yield f'<div class="warning" role="note"><p>Not everything in this conversation can be read:</p><ul>{rows}</ul>'
        yield "</div>\n"


def _contents(document: Document) -> Iterator[str]:
    said = [row for row in document.rows if isinstance(row, Said)]
    if len(said) < 2:
        return
    is_open = " open" if len(said) <= _LISTED else ""
    yield f'<nav aria-label="Prompts"><details{is_open}><summary>{len(said)} prompts</summary><ol>'
    for number, row in enumerate(said, 1):
        text = " ".join(row.text.split()) or "(no text)"
        yield f'<li><a href="#prompt-{number}">{_e(text if len(text) <= _TITLE else text[: _TITLE - 1] + "…")}</a></li>'
    yield "</ol></details></nav>\n"


def _surroundings(document: Document) -> Iterator[str]:
    around = document.surroundings
    if around is None:
        return
    yield f"<details><summary>System prompt</summary>{_wrapped(around.system)}</details>\n"
    yield f"<details><summary>{len(around.tools)} tools</summary>"
    for tool in around.tools:
        schema = _json(tool.schema)
        yield f"<details><summary><code>{_e(tool.name)}</code></summary>"
        yield f"{_wrapped(tool.description)}{_wrapped(schema)}</details>"
    yield "</details>\n"


def _said(row: Said, number: int | None) -> Iterator[str]:
    """Render a prompt; those of the conversation as it is have a number."""
    name = "h3" if number is None else f'h2 id="prompt-{number}"'
    yield f'<div class="prompt"><{name}>You{_when(row.at)}</{name[:2]}>\n'
    if row.text:
        yield f'<div class="text">{_e(row.text)}</div>\n'
    yield from _pictures(row.pictures, "Picture sent with the prompt")
    for one in row.attachments:
        yield from _attachment(one)
    yield "</div>\n"


def _attachment(one: Attachment) -> Iterator[str]:
    lines = f", lines {_e(one.range)}" if one.range else ""
    yield f"<details><summary>Attached: <code>{_e(one.path)}</code>{lines}</summary>"
    yield f'<pre tabindex="0">{_e(one.text)}</pre></details>\n'


def _row(row: Row) -> Iterator[str]:
    match row:
        case Prose(text):
            yield f"{to_html(visible(text))}\n"
        case Thought(text):
            yield '<details class="thought"><summary>Thinking</summary>'
            yield f"{to_html(visible(text))}</details>\n"
        case Failure(text):
            yield f'<p class="failed"><strong>The request failed:</strong> {_e(text)}</p>\n'
        case Note(text):
            yield f'<p class="note">{_e(text)}</p>\n'
        case Answered() if took := answer_took(row):
            yield f'<p class="took">{_e(took)}</p>\n'
        case Call():
            yield from _call(row)
        case _:
            pass


def _call(call: Call) -> Iterator[str]:
    lines = sum(change.diff.count("\n") for change in call.changes)
    mark, words, style = call_state(call)
    is_open = " open" if call.changes and lines <= _OPEN_LINES else ""
    state = f'<span class="{style}" role="img" aria-label="{words}">{mark}</span>'
    yield f'<details class="call"{is_open}><summary>{state} {_e(call.title or call.tool)}</summary>\n'
    if review := outcome_of_review(call):
        yield f'<p class="label">{_e(review)}</p>\n'
    for change in call.changes:
        yield from _change(change)
    yield from _pictures(call.pictures, "Picture in the result")
    if call.arguments and not call.changes:
        yield from _labelled("Arguments", _json(call.arguments))
    elif call.arguments:
        yield f"<details><summary>Arguments</summary>{_wrapped(_json(call.arguments))}</details>\n"
    if call.result or call.text:
        yield from _labelled("Result", result_in_words(call))
    yield "</details>\n"


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


def _labelled(label: str, text: str) -> Iterator[str]:
    yield f'<p class="label">{label}</p>{_wrapped(text)}\n'


def _wrapped(text: str) -> str:
    """Return a text as it is, in lines that are broken where they are too long; it can be scrolled by keyboard."""
    return f'<pre class="wrap" tabindex="0">{_e(text)}</pre>'


def _change(change: Change) -> Iterator[str]:
    name = f"{change.path} → {change.new_path}" if change.new_path else change.path
    yield f'<p class="label"><code>{_e(name)}</code> +{change.lines_added} −{change.lines_removed}</p>\n'
    if change.diff.strip():
        yield '<pre class="diff" tabindex="0"><code>'
        for line in change.diff.removesuffix("\n").split("\n"):
            yield f'<span class="{_kind(line)}">{_e(line) or " "}</span>'
        yield "</code></pre>\n"


def _kind(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "rename ", "\\")):
        return "place"
    return {"+": "added", "-": "removed"}.get(line[:1], "same")


def _pictures(pictures: tuple[Picture, ...], words: str) -> Iterator[str]:
    if not pictures:
        return
    yield '<div class="pictures">'
    for number, one in enumerate(pictures, 1):
        if one.data:
            yield f'<img alt="{words} ({number})" src="data:{escape(one.mime_type)};base64,{escape(one.data)}">'
        else:
            yield '<p class="note">[picture: not available]</p>'
    yield "</div>\n"


def _when(at: str) -> str:
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return ""
    return f' <time class="when" datetime="{escape(at)}">{moment:%Y-%m-%d %H:%M} UTC</time>'
