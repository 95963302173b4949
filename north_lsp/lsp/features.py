"""What language features say, in North's own words. Types of LSP are made of it where pygls is."""

from __future__ import annotations

from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.language_features import Position


@dataclass(frozen=True, slots=True)
class Offered:
    """A completion that replaces the text between two positions by `new`; people see `shown` with `about`."""

    shown: str
    new: str
    about: str
    start: Position
    end: Position
    kind: str


@dataclass(frozen=True, slots=True)
class Completions:
    items: tuple[Offered, ...] = ()
    is_incomplete: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, with what it is: a prompt's words, or a link's target. Its heading ends at `heading_end`."""

    start: Position
    end: Position
    text: str
    heading_end: Position


class Features(Protocol):
    """The features of all documents; empty for those that are none of North's."""

    async def complete(self, uri: object, at: Position) -> Completions: ...

    def hover(self, uri: object, at: Position) -> str | None:
        """Return Markdown."""
        ...

    def folds(self, uri: object) -> list[tuple[int, int]]:
        """Return what can be folded, by first and last line."""
        ...

    def prompts(self, uri: object) -> list[Span]: ...

    def links(self, uri: object) -> list[Span]: ...

    def definition(self, uri: object, at: Position) -> tuple[str, int] | None:
        """Return a file's URI, and a line from 0."""
        ...
