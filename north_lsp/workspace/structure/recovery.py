"""Takes a second look at a text with syntax errors: piece by piece, so that damage is confined to its piece.

Pieces are determined by indentation alone, which damage to brackets and quotes does not affect. One that cannot be
parsed is tried again without its first line, as the members of something.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.structure.model import Symbol

Look = Callable[[bytes], tuple[list[Symbol], bool]]
"""Parses a source: returns its symbols, and whether it was parsed without an error."""

_Around = tuple[tuple[bytes, bytes], ...]

_MAX_DEPTH = 4
_CLASS = (b"class _ {", b"\n}")
# What a piece may be a part of, by language, besides standing alone.
_AROUND: dict[str, _Around] = {
    "python": ((b"if 1:\n", b""), (b"class _:\n", b"")),
    "javascript": (_CLASS,),
    "typescript": (_CLASS, (b"interface _ {", b"\n}")),
    "tsx": (_CLASS, (b"interface _ {", b"\n}")),
    "java": (_CLASS, (b"interface _ {", b"\n}"), (b"enum _ { ;", b"\n}")),
    "csharp": (_CLASS, (b"interface _ {", b"\n}")),
    "php": ((b"<?php ", b""), (b"<?php class _ {", b"\n}"), (b"<?php enum _ {", b"\n}")),
    "cpp": ((b"class _ {", b"\n};"),),
    "rust": ((b"impl _ {", b"\n}"), (b"trait _ {", b"\n}")),
    "go": ((b"type (\n", b"\n)"), (b"var (\n", b"\n)")),
    "ruby": ((b"class _\n", b"\nend"),),
}
# The same for what is in a function.
_STATEMENT: dict[str, _Around] = {"python": ((b"if 1:\n", b""),), "php": ((b"<?php ", b""),)}
_CONTINUES = lazy_pattern(
    rb"[ \t]*(?:[\])}{>:?&|,.=+*/\\-]|</"
    rb"|(?:end|else|elif|elsif|except|finally|catch|rescue|ensure|when|then|do|done|fi)\b)"
)
_ENDING, _ENDS = re.compile(rb"\n[ \t]*[\])}]"), b" \t\r\n\f\v;,)]}"
_BELONGS_BELOW = lazy_pattern(rb"[ \t]*(?:@(?!interface\b|media\b)|#\[|\[|template\b|\w[\w \t*&]*\r?\Z)")
_HAS_MEMBERS = lazy_pattern(
    rb"\b(?:class|struct|interface|trait|impl|enum|record|namespace|module|union|type|var|const|object)\b"
    rb"|\b(?:public|private|protected)[ \t]*:"
)
_STATEMENTS = frozenset({"_", "if", "for", "while", "switch", "catch", "return"})


@dataclass(frozen=True, slots=True)
class _Lines:
    lines: Sequence[bytes]
    starts: Sequence[int]

    @classmethod
    def of(cls, source: bytes) -> _Lines:
        lines, starts, at = source.split(b"\n"), list[int](), 0
        for line in lines:
            starts.append(at)
            at += len(line) + 1
        return cls(lines, starts)

    def margin(self, row: int) -> int | None:
        """Return how far a line is indented; None for a blank line."""
        line = self.lines[row].expandtabs(4)
        text = line.lstrip()
        return len(line) - len(text) if text else None


def second_look(language: str, source: bytes, look: Look) -> list[Symbol]:
    """Return the symbols of the pieces that can be parsed, with lines and spans in the whole source."""
    lines = _Lines.of(source)
    return list(_members(language, lines, 0, len(lines.lines), look, 0))


def is_statement(symbol: Symbol) -> bool:
    """Return whether a statement was mistaken for a symbol, because its surroundings are missing; no language has such
    a symbol."""
    return symbol.name in _STATEMENTS


def _members(language: str, lines: _Lines, first: int, end: int, look: Look, depth: int) -> Iterator[Symbol]:
    around = _AROUND.get(language, ())
    if depth and not _HAS_MEMBERS.search(b" ".join(lines.lines[first - 1 : first + 2])):
        around = _STATEMENT.get(language, ())
    for start, stop in _pieces(lines, first, end):
        found = _parsed(around, lines, start, stop, look)
        if found is not None:
            yield from found
        elif stop - start > 1 and depth < _MAX_DEPTH:
            yield from _members(language, lines, start + 1, stop, look, depth + 1)


def _pieces(lines: _Lines, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the pieces from each line with the least indentation to the next, except for lines that continue the one
    before."""
    margins = [lines.margin(row) for row in range(first, end)]
    heads = (
        margin
        for row, margin in enumerate(margins, first)
        if margin is not None and not _CONTINUES.match(lines.lines[row])
    )
    least = min(heads, default=None)
    if least is None:
        return
    start: int | None = None
    joined = False
    for row, margin in enumerate(margins, first):
        if margin is None or margin > least:
            continue
        if margin < least or not (_CONTINUES.match(lines.lines[row]) or joined):
            if start is not None:
                yield start, row
            start = row if margin == least else None
        joined = _BELONGS_BELOW.match(lines.lines[row]) is not None
    if start is not None:
        yield start, end


def _parsed(around: _Around, lines: _Lines, start: int, stop: int, look: Look) -> list[Symbol] | None:
    """Return the symbols of a piece; None if it cannot be parsed as anything."""
    piece = b"\n".join(lines.lines[start:stop])
    found = _looked_at(around, piece, lines, start, look)
    if found is None:
        ended = _ENDING.search(piece, len(piece.rstrip(_ENDS)))
        if ended is not None:  # its closing brackets may belong to what is around it
            found = _looked_at(around, piece[: ended.start()], lines, start, look)
    return found


def _looked_at(around: _Around, piece: bytes, lines: _Lines, start: int, look: Look) -> list[Symbol] | None:
    nothing = False
    for before, behind in ((b"", b""), *around):
        if before.startswith(b"<?") and b"<?" in piece[:64]:
            continue
        found, clean = look(before + piece + behind + b"\n")
        if clean and found:
            rows, shift = start - before.count(b"\n"), lines.starts[start] - len(before)
            inside = (one for one in found if one.span[0] >= len(before) and not is_statement(one))
            return [_moved(one, rows, shift) for one in inside]
        nothing = nothing or clean
    return [] if nothing and not around else None


def _moved(symbol: Symbol, rows: int, shift: int) -> Symbol:
    span = (symbol.span[0] + shift, symbol.span[1] + shift)
    return symbol._replace(line=symbol.line + rows, start=symbol.start + rows, end=symbol.end + rows, span=span)
