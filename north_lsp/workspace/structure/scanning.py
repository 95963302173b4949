"""Finds blocks by braces and by indentation, for texts without a grammar. Braces in strings and comments are
ignored."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.languages import Comments

_STRINGS = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_MASKED: dict[Comments, re.Pattern[str]] = {
    "c": lazy_pattern(rf"//[^\n]*|/\*.*?(?:\*/|\Z)|`(?:\\.|[^`\\])*`|{_STRINGS}", re.DOTALL),
    "hash": lazy_pattern(rf'#[^\n]*|"""(?:\\.|[^\\])*?(?:"""|\Z)|\'\'\'(?:\\.|[^\\])*?(?:\'\'\'|\Z)|{_STRINGS}'),
    "dash": lazy_pattern(rf"--\[\[.*?(?:\]\]|\Z)|--[^\n]*|{_STRINGS}", re.DOTALL),
    "html": lazy_pattern(r"<!--.*?(?:-->|\Z)", re.DOTALL),
    "none": lazy_pattern(_STRINGS),
}
_NOT_LINE_ENDS = lazy_pattern(r"[^\n]")


@dataclass(frozen=True, slots=True)
class BraceBlock:
    """A block in braces, as offsets: `head` is where the text before the brace begins, `close` is the closing brace (or
    the text's end)."""

    head: int
    open: int
    close: int
    depth: int


def masked(text: str, comments: Comments) -> str:
    """Return the text with strings and comments replaced by spaces; lines and offsets stay the same."""
    return _MASKED[comments].sub(lambda found: _NOT_LINE_ENDS.sub(" ", found[0]), text)


def brace_blocks(plain: str) -> list[BraceBlock]:
    """Return the blocks of a masked text, outer ones before inner ones. Braces without a partner close at the end."""
    blocks: list[BraceBlock | None] = []
    waiting: list[tuple[int, int, int]] = []
    head = 0
    for found in re.finditer(r"[{};]", plain):
        at = found.start()
        match found[0]:
            case "{":
                waiting.append((len(blocks), head, at))
                blocks.append(None)
            case "}" if waiting:
                index, start, begin = waiting.pop()
                blocks[index] = BraceBlock(start, begin, at, len(waiting))
            case _:
                pass
        head = at + 1
    while waiting:
        index, start, begin = waiting.pop()
        blocks[index] = BraceBlock(start, begin, len(plain), len(waiting))
    return [block for block in blocks if block is not None]


class Lines:
    """Converts between offsets and line numbers of a text."""

    def __init__(self, text: str) -> None:
        self._size = len(text)
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def at(self, offset: int) -> int:
        return bisect_right(self._starts, offset)

    def end_of(self, line: int) -> int:
        """Return the offset after the last character of a line (from 1), before its line feed."""
        return self._starts[line] - 1 if line < len(self._starts) else self._size


def offsets_in_bytes(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Convert offsets in characters to offsets in the text as UTF-8, by the former."""
    found, done, size = dict[int, int](), 0, 0
    for offset in sorted(offsets):
        size += len(text[done:offset].encode("utf-8", "replace"))
        found[offset], done = size, offset
    return found


def offsets_in_characters(text: str, offsets: Iterable[int]) -> dict[int, int]:
    """Convert offsets in the text as UTF-8 to offsets in characters, by the former."""
    source, found, done, size = text.encode("utf-8", "replace"), dict[int, int](), 0, 0
    for offset in sorted(offsets):
        size += len(source[done:offset].decode("utf-8", "replace"))
        found[offset], done = size, offset
    return found


def indented_end(lines: list[str], first: int) -> int:
    """Return the last line (1-based) of the block whose head is line `first`: what is indented further, and a closing
    word."""
    margin = _indent(lines[first - 1])
    end = first
    for number in range(first + 1, len(lines) + 1):
        line = lines[number - 1]
        if not line.strip():
            continue
        if _indent(line) <= margin:
            closing = line.strip()
            if _indent(line) == margin and (closing in ("end", "};", "})", ")") or closing.startswith(("}", "end "))):
                end = number
            break
        end = number
    return end


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
