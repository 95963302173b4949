"""What tools can ask of the editor's language servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from north_lsp.lazy_dataclass import dataclass

Severity = Literal["error", "warning", "info", "hint"]
PlaceFeature = Literal["definition", "typeDefinition", "implementation", "references"]
TextFeature = Literal["hover", "signature"]


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
    """`known` are the files that the language servers had looked at: those that are open, or that the editor opened for
    this, as far as anything was said about them."""

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


@dataclass(frozen=True, slots=True)
class Formatting:
    """What a formatter would change. `digest` is that of the text that it looked at (`positions.digest_of`)."""

    replacements: tuple[Replacement, ...]
    digest: str


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

    async def format(self, path: Path) -> Formatting: ...
