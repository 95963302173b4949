"""Finds symbols by walking a tree's statements, for languages whose grammar keeps statements out of expressions.

A query visits every node of a tree, and nine out of ten are parts of expressions; this skips them, and bodies without a
word that begins a symbol. It finds what the language's query file finds in a tree without errors, and a test keeps the
two in step.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.structure.grammars import grammar
from north_lsp.workspace.structure.model import SymbolKind

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


@dataclass(frozen=True)
class _Statements:
    """Node types of a language: what is a symbol, what else may contain statements, what is wrapped around a symbol's
    node, and what may be long without containing any, which is skipped unless one of the words is in it."""

    symbols: dict[str, SymbolKind]
    holders: frozenset[str]
    wrapper: str
    body: str
    words: tuple[bytes, ...]
    name: Callable[[Node], Node | None]


def _python_name(node: Node) -> Node | None:
    found = node.child_by_field_name("name")
    if found is None:  # type Alias[T] = …
        found = node.child_by_field_name("left")
        while found is not None and found.type != "identifier":
            found = found.named_child(0)
    return found


_LANGUAGES = {
    "python": _Statements(
        {
            "class_definition": "class",
            "function_definition": "function",
            "type_alias_statement": "type",
            "import_statement": "import",
            "import_from_statement": "import",
            "future_import_statement": "import",
        },
        frozenset(
            {
                *("module", "block", "decorated_definition", "class_definition", "function_definition"),
                *("if_statement", "elif_clause", "else_clause", "for_statement", "while_statement", "with_statement"),
                *("try_statement", "except_clause", "finally_clause"),
                *("match_statement", "case_clause"),
            }
        ),
        "decorated_definition",
        "block",
        (b"def", b"class", b"import", b"type"),
        _python_name,
    )
}


def has_statements(language: str) -> bool:
    return language in _LANGUAGES


def walk_statements(language: str, tree: Tree, source: bytes) -> Iterator[tuple[SymbolKind, Node, Node | None, Node]]:
    """Yield for each symbol its kind, its node, the node of its name (None for imports) and the node that includes what
    comes before it and belongs to it, in the order of the file."""
    known = _LANGUAGES[language]
    symbols, holders, wrapper, body = _ids(language)
    places = sorted(place for word in known.words for place in _places(word, source))
    places.append(len(source))
    cursor = tree.walk()
    down, last, beside, up = (
        cursor.goto_first_child,
        cursor.goto_last_child,
        cursor.goto_next_sibling,
        cursor.goto_parent,
    )
    wrapped: Node | None = None
    while True:
        node = cursor.node
        if node is not None and (number := node.kind_id) in holders:
            kind = symbols.get(number)
            if kind == "import":
                yield kind, node, None, node
            elif kind is not None and (name := known.name(node)) is not None:
                yield kind, node, name, wrapped or node
            worthwhile = kind != "import" and (
                number not in body or places[bisect_left(places, node.start_byte)] < node.end_byte
            )
            # The body of a symbol is the last of its parts.
            if worthwhile and (down() if kind is None else last()):
                wrapped = node if number in wrapper else None
                continue
        while not beside():
            wrapped = None
            if not up():
                return


def _places(word: bytes, source: bytes) -> Iterator[int]:
    place = source.find(word)
    while place >= 0:
        yield place
        place = source.find(word, place + len(word))


@cache
def _ids(language: str) -> tuple[dict[int, SymbolKind], frozenset[int], frozenset[int], frozenset[int]]:
    """Return an entry of `_LANGUAGES` by the grammar's numbers, which are faster to look up than names (one name may
    have several numbers): symbols, symbols and holders, wrapper, body."""
    found, known = _LANGUAGES[language], grammar(language)
    named: dict[str, set[int]] = {}
    for number in range(known.node_kind_count):
        if (name := known.node_kind_for_id(number)) is not None and known.node_kind_is_named(number):
            named.setdefault(name, set()).add(number)
    symbols = {number: kind for name, kind in found.symbols.items() for number in named[name]}
    holders = frozenset(number for name in found.holders for number in named[name]) | symbols.keys()
    return symbols, holders, frozenset(named[found.wrapper]), frozenset(named[found.body])
