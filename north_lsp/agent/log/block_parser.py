"""Parses files that a model writes in the text of its answer: `<NORTH_FILE path="…">`, the content, `</NORTH_FILE>`.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

OPEN, CLOSE = "<NORTH_FILE", "</NORTH_FILE>"
_MAX_TAG = 1024
_BLANKS = 3
_ATTRIBUTE = lazy_pattern(r"""([A-Za-z_-]+)\s*=\s*(?:"([^"\n]*)"|'([^'\n]*)')""")
_TAG = lazy_pattern(r"""<NORTH_FILE((?:\s+[A-Za-z_-]+\s*=\s*(?:"[^"\n]*"|'[^'\n]*'))*)\s*>""")
_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prose:
    """Text of the answer outside of any file."""

    text: str


@dataclass(frozen=True, slots=True)
class BlockStart:
    """`tag` is the opening tag as it was written; `path` is empty if the tag has none."""

    path: str
    mode: Literal["write", "append"]
    tag: str


@dataclass(frozen=True, slots=True)
class BlockText:
    text: str


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """The end of a file; `complete` says whether the closing tag was there."""

    complete: bool


Piece = Prose | BlockStart | BlockText | BlockEnd


class BlockParser:
    """Takes an answer's text in any pieces; the same text yields the same pieces, except for where they are cut."""

    def __init__(self) -> None:
        self._buffer = ""
        self._state: Literal["prose", "tag line", "block", "after"] = "prose"
        self._line_start = True
        self._line = ""  # of the prose; as much of it as may open or close a fence
        self._fence: str | None = None

    @property
    def in_block(self) -> bool:
        return self._state in ("tag line", "block")

    def feed(self, text: str) -> Iterator[Piece]:
        """Yield the pieces that are certain by now; what may still become a tag is held back."""
        self._buffer += text
        while self._buffer and (made := self._step(final=False)) is not None:
            yield from made

    def finish(self) -> Iterator[Piece]:
        """Yield the rest when no more text comes."""
        while self._buffer and (made := self._step(final=True)) is not None:
            yield from made
        if self.in_block:
            self._state = "prose"
            yield BlockEnd(False)

    def _step(self, *, final: bool) -> list[Piece] | None:
        """Take something from the buffer; None to wait for more."""
        match self._state:
            case "prose":
                return self._prose(final)
            case "tag line":
                end = self._buffer.find("\n")
                self._take(len(self._buffer) if end < 0 else end + 1)
                if end >= 0:
                    self._state, self._line_start = "block", True
                return []
            case "block":
                return self._block(final)
            case "after":
                self._state, self._line_start, self._line = "prose", False, ""
                if self._buffer.startswith("\n"):
                    self._take(1)
                    self._line_start = True
                return []

    def _prose(self, final: bool) -> list[Piece] | None:
        if self._line_start and self._fence is None:
            rest = self._buffer.lstrip(" ")
            blanks = len(self._buffer) - len(rest)
            if blanks <= _BLANKS:
                tag = rest[:_MAX_TAG].split("\n")[0]
                if (found := _TAG.match(tag)) is not None:
                    self._take(blanks + found.end())
                    self._state = "tag line"
                    return [_start(found)]
                is_possible = OPEN.startswith(tag) or (tag.startswith(OPEN) and tag[len(OPEN) :][:1] in ("", " ", "\t"))
                if is_possible and not final and tag == rest and len(rest) < _MAX_TAG and "\n" not in rest:
                    return None
        end = self._buffer.find("\n")
        text = self._take(len(self._buffer) if end < 0 else end + 1)
        self._line = (self._line + text)[: _MAX_TAG * 2]
        self._line_start = end >= 0
        if self._line_start:
            self._note_fence(self._line.rstrip("\n"))
            self._line = ""
        return [Prose(text)]

    def _note_fence(self, line: str) -> None:
        found = _FENCE.match(line)
        if found is None:
            return
        marks, info = found.groups()
        if self._fence is None:
            if marks[0] == "~" or "`" not in info:
                self._fence = marks
        elif marks[0] == self._fence[0] and len(marks) >= len(self._fence) and not info.strip():
            self._fence = None

    def _block(self, final: bool) -> list[Piece] | None:
        at = self._buffer.find(CLOSE)
        if at < 0:
            held = 0 if final else _held_back(self._buffer)
            return self._content(len(self._buffer) - held) if held < len(self._buffer) else None
        after = self._buffer[at + len(CLOSE) : at + len(CLOSE) + 1]
        starts_line = self._line_start if at == 0 else self._buffer[at - 1] == "\n"
        if starts_line or after == "\n" or (final and not after):
            made = self._content(at) if at else []
            self._take(len(CLOSE))
            self._state = "after"
            return [*made, BlockEnd(True)]
        if after:  # the line goes on, so this is content
            return self._content(at + len(CLOSE))
        return self._content(at) if at else None

    def _content(self, size: int) -> list[Piece]:
        text = self._take(size)
        self._line_start = text.endswith("\n")
        return [BlockText(text)]

    def _take(self, size: int) -> str:
        text, self._buffer = self._buffer[:size], self._buffer[size:]
        return text


def _held_back(text: str) -> int:
    """Count the characters at the end that may begin the closing tag."""
    return next((size for size in range(min(len(CLOSE) - 1, len(text)), 0, -1) if CLOSE.startswith(text[-size:])), 0)


def _start(tag: re.Match[str]) -> BlockStart:
    attributes = {name.lower(): double or single for name, double, single in _ATTRIBUTE.findall(tag[1])}
    mode: Literal["write", "append"] = "append" if attributes.get("mode") == "append" else "write"
    return BlockStart(attributes.get("path", "").strip(), mode, tag[0])


def parse(text: str) -> list[Piece]:
    """Parse a whole answer into pieces, with neighbors of one kind joined."""
    parser = BlockParser()
    joined: list[Piece] = []
    for piece in (*parser.feed(text), *parser.finish()):
        match joined[-1] if joined else None, piece:
            case Prose(before), Prose(more):
                joined[-1] = Prose(before + more)
            case BlockText(before), BlockText(more):
                joined[-1] = BlockText(before + more)
            case _:
                joined.append(piece)
    return joined
