"""The grammars of tree-sitter: loaded when first needed, which takes a while, so call this module on a thread."""

from __future__ import annotations

import importlib
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Query, Tree

# Language id → package, its function, and the query files.
_GRAMMARS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "python": ("tree_sitter_python", "language", ("python",)),
    "javascript": ("tree_sitter_javascript", "language", ("ecmascript", "javascript")),
    "typescript": ("tree_sitter_typescript", "language_typescript", ("ecmascript", "typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx", ("ecmascript", "typescript")),
    "rust": ("tree_sitter_rust", "language", ("rust",)),
    "go": ("tree_sitter_go", "language", ("go",)),
    "java": ("tree_sitter_java", "language", ("java",)),
    "c": ("tree_sitter_c", "language", ("c",)),
    "cpp": ("tree_sitter_cpp", "language", ("c", "cpp")),
    "csharp": ("tree_sitter_c_sharp", "language", ("csharp",)),
    "php": ("tree_sitter_php", "language_php", ("php",)),
    "ruby": ("tree_sitter_ruby", "language", ("ruby",)),
    "bash": ("tree_sitter_bash", "language", ("bash",)),
    "css": ("tree_sitter_css", "language", ("css",)),
    "html": ("tree_sitter_html", "language", ()),
}
_CHUNK = 16 * 1024
_loading = threading.Lock()


def parsed_languages() -> tuple[str, ...]:
    """Return the ids of the languages that have a grammar."""
    return tuple(_GRAMMARS)


def has_grammar(language: str) -> bool:
    return language in _GRAMMARS


def grammar(language: str) -> Language:
    """Return the grammar of a language. Raises KeyError for a language without one."""
    with _loading:
        return _grammar(language)


def parse(language: str, source: bytes) -> Tree:
    """Parse the source text of a language, in UTF-8. Raises KeyError for a language without a grammar."""
    from tree_sitter import Parser

    parser = Parser(grammar(language))
    if len(source) <= _CHUNK:
        return parser.parse(source)

    def read(offset: int, _: object) -> bytes:
        # The parser blocks other threads; they get their turn whenever it asks for more.
        return source[offset : offset + _CHUNK]

    return parser.parse(read)


def symbol_query(language: str) -> Query:
    """Return the query for a language's symbols, from its query files: `@name` within the captures that name a kind.
    Raises KeyError for a language without a grammar."""
    with _loading:
        return _query(language)


@cache
def _grammar(language: str) -> Language:
    from tree_sitter import Language

    package, function, _ = _GRAMMARS[language]
    return Language(getattr(importlib.import_module(package), function)())


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query

    folder = Path(__file__).with_name("queries")
    sources = (folder.joinpath(f"{name}.scm").read_text("utf-8") for name in _GRAMMARS[language][2])
    return Query(_grammar(language), "\n".join(sources))
