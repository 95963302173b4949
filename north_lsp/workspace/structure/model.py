"""The data model for what is in a source file."""

from __future__ import annotations

from typing import Literal, NamedTuple

from north_lsp.lazy_dataclass import dataclass

SymbolKind = Literal[
    "function",
    "class",
    "interface",
    "type",
    "enum",
    "method",
    "struct",
    "trait",
    "impl",
    "namespace",
    "module",
    "package",
    "property",
    "constant",
    "macro",
    "rule",
    "media",
    "keyframes",
    "supports",
    "at-rule",
    "section",
    "style",
    "script",
    "import",
    "export",
    "block",
]

Backend = Literal["tree-sitter", "patterns", "none"]

CONTAINERS = frozenset({"class", "interface", "struct", "trait", "impl", "enum"})
NO_SYMBOLS = frozenset(
    {"import", "export", "rule", "media", "keyframes", "supports", "at-rule", "section", "style"}
) | {
    "script",
    "block",
}


class Symbol(NamedTuple):
    """A named part of a file. Lines are 1-based and inclusive: `line` has the name, `start` to `end` is all of it,
    including what comes before it and belongs to it (decorators, `export`). `depth` counts the symbols around it,
    `parent` is the name of the nearest. `label` is its head on one line, at most 120 characters. `span` is where all of
    it begins and ends, so that symbols on one line can be distinguished: in bytes, or in characters if only patterns
    were used.

    A file has thousands: a tuple is made in a third of the time that a dataclass takes."""

    name: str
    kind: SymbolKind
    line: int
    start: int
    end: int
    label: str
    depth: int = 0
    parent: str | None = None
    span: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Structure:
    """What was found in a text, in the order of the file. `errors` are the lines with syntax errors."""

    language: str
    backend: Backend
    symbols: tuple[Symbol, ...]
    errors: tuple[int, ...] = ()
