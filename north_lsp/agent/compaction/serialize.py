"""A part of a conversation as text that a model summarizes. Long outputs are cut; the log still has them whole.
Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.log.transcript import said_by_user
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Text, ToolCall

_WORDS = 20_000
_OUTPUT = 2_000
_FRAME = lazy_pattern(
    r"<(?=/?(?:conversation|previous-summary|additional-instructions|additional-context)\b)", re.IGNORECASE
)


def rows_of(entries: Iterable[Logged]) -> list[str]:
    """Return what was said and done, a row each, in order."""
    return [_unframed(row) for one in entries for row in _rows(one.entry)]


def first_rows(rows: Sequence[str], characters: int) -> tuple[str, int]:
    """Join the first rows to a text of about so many characters at most; return it, and how many rows are in it. A
    first row that is longer is cut in the middle."""
    text, count = cut_in_the_middle(rows[0], characters), 1
    while count < len(rows) and len(text) + len(rows[count]) + 2 <= characters:
        text, count = f"{text}\n\n{rows[count]}", count + 1
    return text, count


def cut_in_the_middle(text: str, longest: int) -> str:
    """Shorten a text, and say by how much; its beginning and its end stay."""
    if len(text) <= longest:
        return text
    head, tail = longest * 3 // 4, longest // 4
    return f"{text[:head]}\n[… {len(text) - head - tail:,} characters left out …]\n{text[-tail:] if tail else ''}"


def _rows(entry: Entry) -> Iterator[str]:
    match entry:
        case PromptEntry(excluded=False, by_north=by_north):
            who = "North" if by_north else "User"
            pictures = "\n[a picture]" * len(entry.images)
            yield f"[{who}]: {cut_in_the_middle(said_by_user(entry), _WORDS)}{pictures}"
        case OwnCommandEntry(excluded=False):
            yield f"[User]: {cut_in_the_middle(said_by_user(entry), _OUTPUT)}"
        case AnswerEntry(excluded=False, blocks=blocks):
            for block in blocks:
                match block:
                    case Text(text) if text.strip():
                        yield f"[Assistant]: {cut_in_the_middle(text, _WORDS)}"
                    case ToolCall(_, name, arguments):
                        given = json.dumps(dict(arguments), ensure_ascii=False, default=str)
                        yield f"[Assistant calls {name}]: {cut_in_the_middle(given, _OUTPUT)}"
                    case _:
                        pass
        case CustomMessageEntry(excluded=False, text=text):
            yield f"[Extension]: {cut_in_the_middle(text, _WORDS)}"
        case BranchSummaryEntry():
            yield f"[North]: {cut_in_the_middle(entry.for_model, _WORDS)}"
        case ResultEntry(excluded=False, tool=tool):
            failed = " (failed)" if entry.is_error else ""
            yield f"[Result of {tool}{failed}]: {cut_in_the_middle(entry.text, _OUTPUT)}"
        case _:
            pass


def _unframed(text: str) -> str:
    """Keep what others wrote from closing the frame that it is in."""
    return _FRAME.sub("&lt;", text)
