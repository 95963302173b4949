"""Finds lines by an anchor, with one rule for every tool that takes one, and replaces whole lines of a text. Knows no
files."""

from __future__ import annotations

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.closest_match import diagnose
from north_lsp.workspace.text import Newline, dominant_newline, split_lines, to_newlines

_MAX_CANDIDATES = 20
_PREVIEW_CHARACTERS = 200
LOOSE = "the anchor was found ignoring white space"
_HINT = "repeat the call with part of a line exactly as it is in the file (`read_file` with `aroundMatch` shows more)"


@dataclass(frozen=True, slots=True)
class Found:
    """Where an anchor is: lines `start` to `end`, 0-based, the end excluded; `loose` if the white space differs."""

    start: int
    end: int
    loose: bool = False


def find_anchors(lines: list[str], anchor: str, since: int = 0) -> list[Found]:
    """Find every place of an anchor from line `since` on: a line that contains it, or consecutive lines for an anchor
    of several lines; if there is none, the places that match except for white space. Raises ToolError INVALID_INPUT."""
    wanted = to_newlines(anchor, "\n").removesuffix("\n").split("\n")
    if not anchor.strip():
        raise ToolError("INVALID_INPUT", "the anchor is empty", "give part of the line that you mean")
    size = len(wanted)
    if size == 1 and "\r" not in wanted[0]:  # the most common case; line ends cannot be part of it
        exact = [Found(at, at + 1) for at in range(since, len(lines)) if wanted[0] in lines[at]]
        if exact:
            return exact
    plain = [line.removesuffix("\n").removesuffix("\r") for line in lines]
    exact = [Found(at, at + size) for at in range(since, len(plain) - size + 1) if _stands(plain, at, wanted)]
    if exact:
        return exact
    squeezed = [" ".join(line.split()) for line in plain]
    loose = [" ".join(line.split()) for line in wanted]
    if not any(loose):
        return []
    starts = range(since, len(plain) - size + 1)
    return [Found(at, at + size, loose=True) for at in starts if _stands(squeezed, at, loose)]


def _stands(lines: list[str], at: int, wanted: list[str]) -> bool:
    """Return whether an anchor is at line `at`; one of several lines may begin and end within a line."""
    if len(wanted) == 1:
        return wanted[0] in lines[at]
    if not lines[at].endswith(wanted[0]) or not lines[at + len(wanted) - 1].startswith(wanted[-1]):
        return False
    return all(lines[at + offset] == wanted[offset] for offset in range(1, len(wanted) - 1))


def choose(
    found: list[Found], occurrence: int | None, lines: list[str], anchor: str, name: str = "anchor", hint: str = _HINT
) -> Found:
    """Return the one place that is meant. Raises ToolError: NO_MATCH with the closest places, AMBIGUOUS with
    `candidates` of `occurrence`, `line` and `preview`, INVALID_INPUT for an occurrence that does not exist. `hint` says
    what to do when there is none."""
    if not found:
        message, details = diagnose("".join(lines), anchor)
        raise ToolError("NO_MATCH", f"{name}: {message}", hint, details | {"anchor": name})
    if occurrence is not None:
        if not 1 <= occurrence <= len(found):
            raise ToolError(
                "INVALID_INPUT", f"{name} occurs {len(found)} times, so there is no occurrence {occurrence}"
            )
        return found[occurrence - 1]
    if len(found) > 1:
        candidates = [
            {"occurrence": number, "line": one.start + 1, "preview": lines[one.start].rstrip()[:_PREVIEW_CHARACTERS]}
            for number, one in enumerate(found[:_MAX_CANDIDATES], start=1)
        ]
        places = "; ".join(f"{row['occurrence']}: line {row['line']}: {row['preview']}" for row in candidates)
        more = f" and {len(found) - len(candidates)} more" if len(found) > len(candidates) else ""
        raise ToolError(
            "AMBIGUOUS",
            f"{name} occurs at {len(found)} places ({places}{more})",
            "give `occurrence`, or a longer anchor",
            {"count": len(found), "candidates": candidates, "anchor": name},
        )
    return found[0]


def replace_lines(text: str, start: int, end: int, content: str) -> str:
    """Return the text with lines `start` to `end` (0-based, end excluded) replaced by whole lines.

    New lines get the line end that most lines of the text have; whether the text ends with a line end does not
    change.
    """
    lines = split_lines(text)
    newline = dominant_newline(text) if "\n" in text else _escaped(content)
    added = split_lines(to_newlines(content, newline))
    if added and not added[-1].endswith("\n"):
        added[-1] += newline
    head, tail = lines[:start], lines[end:]
    if not added:
        return "".join(head + tail)
    if head and not head[-1].endswith("\n"):
        head[-1] += newline
    if not tail and lines and not lines[-1].endswith("\n"):
        added[-1] = added[-1].removesuffix("\n").removesuffix("\r")
    return "".join(head + added + tail)


def _escaped(content: str) -> Newline:
    return "\r\n" if "\r\n" in content else "\n"
