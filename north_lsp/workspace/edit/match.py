"""Finds an exact text in a file and replaces it, leaving everything else untouched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.closest_match import diagnose
from north_lsp.workspace.text import Newline, dominant_newline, split_lines, to_newlines

_MAX_CANDIDATES = 20
_PREVIEW_CHARACTERS = 200
_MIN_DONE = 8  # characters that a new text needs so that it is not found by accident

Span = tuple[int, int]


def find_occurrences(text: str, needle: str) -> list[int]:
    """Return where a text occurs, overlapping occurrences included; a line end in it matches `\\n` and `\\r\\n`.

    Raises ToolError INVALID_INPUT for an empty needle.
    """
    return [start for start, _ in _spans(text, needle)]


def replace_exact(text: str, old: str, new: str, expected: int) -> str:
    """Return the text with all `expected` occurrences of `old` replaced by `new`.

    Lines that `old` and `new` share keep their own line ends; other lines of `new` get the file's usual line ends.

    Raises ToolError: INVALID_INPUT for an empty `old`; NO_MATCH without an occurrence, with the details from
    `closest_match.diagnose`; AMBIGUOUS for another number of occurrences, or if they overlap, with `details` of `count`
    and `candidates`: at most 20 of `occurrence`, `line` and `preview`.
    """
    spans = _spans(text, old)
    if not spans:
        message, details = diagnose(text, old)
        if len(new.strip()) >= _MIN_DONE and (done := _spans(text, new)):
            details["alreadyAt"] = line = text.count("\n", 0, done[0][0]) + 1
            message += f"\nthe new text is already at line {line}: the edit may have been made before"
        hint = (
            "repeat the call with the text exactly as it is in the file (`read_file` with `aroundMatch` shows more), "
            "or edit by an anchor"
        )
        raise ToolError("NO_MATCH", message, hint, details)
    overlap = any(end > start for (_, end), (start, _) in pairwise(spans))
    if len(spans) != expected or overlap:
        raise _ambiguous(text, spans, expected, overlap)
    fallback = dominant_newline(text) if "\n" in text else None
    out: list[str] = []
    at = 0
    for start, end in spans:
        out += [text[at:start], _fitted(text[start:end], new, fallback)]
        at = end
    out.append(text[at:])
    return "".join(out)


def _spans(text: str, needle: str) -> list[Span]:
    if not needle:
        raise ToolError("INVALID_INPUT", "the text to look for is empty", "give the exact text as it is in the file")
    plain = to_newlines(needle, "\n")
    if "\n" not in plain or "\r\n" not in text:
        spans: list[Span] = []
        at = text.find(plain)
        while at >= 0:
            spans.append((at, at + len(plain)))
            at = text.find(plain, at + 1)
        return spans
    # A line feed after a carriage return belongs to it: `\r\n` is found whole or not at all.
    pattern = re.compile(r"(?:\r\n|(?<!\r)\n)".join(re.escape(part) for part in plain.split("\n")))
    spans = []
    found = pattern.search(text)
    while found:
        spans.append(found.span())
        found = pattern.search(text, found.start() + 1)
    return spans


def _fitted(region: str, new: str, fallback: Newline | None) -> str:
    """Return what to put in the place of `region`. `fallback` is the file's line end, None if it has none."""
    before, plain = split_lines(region), [to_newlines(line, "\n") for line in split_lines(region)]
    after = split_lines(to_newlines(new, "\n"))
    shortest = min(len(plain), len(after))
    head = next((at for at in range(shortest) if plain[at] != after[at]), shortest)
    shortest -= head
    tail = next((at for at in range(shortest) if plain[-1 - at] != after[-1 - at]), shortest)
    changed = "".join(after[head : len(after) - tail])
    if fallback is not None:
        changed = to_newlines(changed, fallback)
    elif "\r\n" in new:
        changed = to_newlines(changed, dominant_newline(new))
    return "".join([*before[:head], changed, *before[len(before) - tail :]])


def _ambiguous(text: str, spans: Sequence[Span], expected: int, overlap: bool) -> ToolError:
    candidates: list[dict[str, object]] = []
    line, at = 1, 0
    for occurrence, (start, _) in enumerate(spans[:_MAX_CANDIDATES], start=1):
        line += text.count("\n", at, start)
        at = start
        begin = text.rfind("\n", 0, start) + 1
        end = text.find("\n", start)
        preview = text[begin : end if end >= 0 else len(text)].removesuffix("\r")
        candidates.append({"occurrence": occurrence, "line": line, "preview": preview[:_PREVIEW_CHARACTERS]})
    places = "; ".join(f"line {candidate['line']}: {candidate['preview']}" for candidate in candidates)
    more = f" and {len(spans) - len(candidates)} more" if len(spans) > len(candidates) else ""
    how = ", overlapping each other" if overlap else ""
    return ToolError(
        "AMBIGUOUS",
        f"the text occurs {len(spans)} times{how}, {expected} expected ({places}{more})",
        "include more surrounding lines until it is unique, or set expectedOccurrences",
        {"count": len(spans), "expected": expected, "candidates": candidates},
    )
