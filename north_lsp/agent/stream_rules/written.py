"""Finds what a call of an edit tool writes into files, while its arguments arrive."""

from __future__ import annotations

from dataclasses import field

from north_lsp.agent.stream_rules.matching import ArrivingText
from north_lsp.agent.stream_rules.strings import OBJECT_END, ArrivingStrings, Piece
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_WHOLE = frozenset({"content", "new"})
"""The arguments of edit tools with text that goes into a file as it is."""
_FILE = lazy_pattern(r"(?:\*\*\* (?:Update|Add) File: |\+\+\+ (?:b/)?)([^\t\n]+)")
_MAX_PATH = 4096


@dataclass
class WrittenSource:
    """The edits of one call, one after the other."""

    _strings: ArrivingStrings = field(default_factory=ArrivingStrings)
    _has_path: bool = False
    _is_over: bool = False  # what comes next is another edit
    _line: str = ""  # of a patch

    def feed(self, json: str, text: ArrivingText) -> None:
        """Take more of the arguments, and add to `text` what is written by them."""
        for piece in self._strings.feed(json):
            if piece is OBJECT_END:
                self._is_over = True
                continue
            if self._is_over and (piece.key == "path" or piece.key in _WHOLE):
                self._has_path = self._is_over = False
                text.restart()
            if piece.key == "path":
                self._path(piece, text)
            elif piece.key in _WHOLE:
                text.add(piece.text + ("\n" if piece.ended else ""))
            elif piece.key == "patch":
                self._patch(piece, text)

    def _path(self, piece: Piece, text: ArrivingText) -> None:
        if self._has_path:  # named twice: the last one counts, as it does for the tool
            text.path = ""
        text.path = (text.path + piece.text)[:_MAX_PATH]
        self._has_path = piece.ended

    def _patch(self, piece: Piece, text: ArrivingText) -> None:
        """Add the lines that a patch adds."""
        *lines, self._line = (self._line + piece.text).split("\n")
        if piece.ended:
            lines, self._line = [*lines, self._line], ""
        for line in lines:
            if (named := _FILE.match(line)) is not None:
                text.restart()
                text.path = named[1].strip()
            elif line.startswith("+"):
                text.add(f"{line[1:]}\n")
