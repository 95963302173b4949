"""What tools can ask of the editor's language servers, and where in a text their positions lie."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

Severity = Literal["error", "warning", "info", "hint"]
PlaceFeature = Literal["definition", "typeDefinition", "implementation", "references"]
TextFeature = Literal["hover", "signature"]

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Position:
    """As LSP counts: lines and UTF-16 units from 0."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Problem:
    path: Path
    start: Position
    severity: Severity
    message: str
    source: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Problems:
    """`known` are the files that the language servers had looked at: those that the editor has open."""

    found: tuple[Problem, ...] = ()
    known: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True)
class Place:
    path: Path
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class FoundSymbol:
    """`container` names what it is in."""

    name: str
    kind: str
    place: Place
    container: str = ""


@dataclass(frozen=True, slots=True)
class Replacement:
    start: Position
    end: Position
    text: str


class LanguageFeatures(Protocol):
    """Each raises ToolError UNAVAILABLE when the editor does not answer."""

    async def problems(self, paths: Sequence[Path] | None, *, settled: bool = False) -> Problems:
        """Return what is wrong in these files, or in all that are known. `settled`: have the files checked again,
        since they may just have changed, and wait for the result."""
        ...

    async def places(self, feature: PlaceFeature, path: Path, at: Position) -> Sequence[Place]: ...

    async def text(self, feature: TextFeature, path: Path, at: Position) -> str: ...

    async def symbols(self, path: Path) -> Sequence[FoundSymbol]: ...

    async def find_symbols(self, query: str) -> Sequence[FoundSymbol]: ...

    async def rename(self, path: Path, at: Position, new_name: str) -> Mapping[Path, Sequence[Replacement]]:
        """Return what a rename would change."""
        ...


def lines_of(text: str) -> list[str]:
    """Split a text into lines as LSP counts them, without their ends."""
    return _LINE_END.split(text)


def units_of(text: str) -> int:
    """Count UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def column_of(line: str, units: int) -> int:
    """Return the column, from 1 and in characters, of a place so many UTF-16 units into a line."""
    return len(line.encode("utf-16-le", "surrogatepass")[: max(units, 0) * 2].decode("utf-16-le", "ignore")) + 1


def replaced(text: str, replacements: Sequence[Replacement]) -> str:
    """Make all replacements, whose positions are those of the text before. Raises ValueError for some
    that overlap or lie outside of it."""
    starts, lines = [0], lines_of(text)
    starts += [found.end() for found in _LINE_END.finditer(text)]

    def offset(position: Position) -> int:
        if not 0 <= position.line < len(lines):
            raise ValueError(f"line {position.line + 1} is outside of the text")
        return starts[position.line] + column_of(lines[position.line], position.character) - 1

    made = text
    before = len(text) + 1
    for start, end, new in sorted(
        ((offset(one.start), offset(one.end), one.text) for one in replacements), reverse=True
    ):
        if not start <= end <= before:
            raise ValueError("the replacements overlap")
        made, before = made[:start] + new + made[end:], start
    return made
