"""Finds symbols by walking a tree's statements, for languages whose grammar keeps statements out of expressions.

A query visits every node of a tree, and nine out of ten are parts of expressions; this goes only to the statements with
a word in them that begins a symbol. It finds what the language's query file finds in a tree without errors, and a test
keeps the two in step.
"""

from __future__ import annotations

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
    """Node types of a language: what is a symbol, what else may contain statements, and what is wrapped around a
    symbol's node. One of the words is in each symbol."""

    symbols: dict[str, SymbolKind]
    holders: frozenset[str]
    wrapper: str
    words: tuple[bytes, ...]
    name: Callable[[Node], Node | None]
    """Returns the name of a symbol that has no field for it."""


def _python_alias(node: Node) -> Node | None:
    found = node.child_by_field_name("left")  # type Alias[T] = …
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
        (b"def", b"class", b"import", b"type"),
        _python_alias,
    )
}


def has_statements(language: str) -> bool:
    return language in _LANGUAGES


def walk_statements(
    language: str, tree: Tree, source: bytes
) -> Iterator[tuple[SymbolKind, Node, Node | None, Node, Node | None]]:
    """Yield for each symbol its kind, its node, the node of its name (None for imports), the node that includes what
    comes before it and belongs to it, and its body if it has one, in the order of the file."""
    known = _LANGUAGES[language]
    symbols, holders, wrapper, name_field, body_field = _ids(language)
    cursor = tree.walk()
    down, up = cursor.goto_first_child_for_byte, cursor.goto_parent
    ends: list[int] = [len(source) + 1]  # of the holders around the place
    wrapped: list[Node | None] = [None]
    done = 0
    for place in sorted(place for word in known.words for place in _places(word, source)):
        if place < done:  # in an expression, or before the body of a symbol
            continue
        while place >= ends[-1]:
            up()
            ends.pop()
            wrapped.pop()
        while down(place) is not None and (node := cursor.node) is not None:
            number, done = node.kind_id, node.end_byte
            if number not in holders:
                up()
                break
            kind = symbols.get(number)
            if kind == "import":
                yield kind, node, None, node, None
                up()
                break
            body = None
            if kind is not None:
                name, body = node.child_by_field_id(name_field), node.child_by_field_id(body_field)
                if name is not None or (name := known.name(node)) is not None:
                    yield kind, node, name, wrapped[-1] or node, body
                if body is None:
                    up()
                    break
            ends.append(done)
            wrapped.append(node if number in wrapper else None)
            if body is not None:
                done = body.start_byte
                break


def _places(word: bytes, source: bytes) -> Iterator[int]:
    place = source.find(word)
    while place >= 0:
        yield place
        place = source.find(word, place + len(word))


@cache
def _ids(language: str) -> tuple[dict[int, SymbolKind], frozenset[int], frozenset[int], int, int]:
    """Return an entry of `_LANGUAGES` by the grammar's numbers, which are faster to look up than names (one name may
    have several numbers): symbols, symbols and holders, wrapper, and the fields `name` and `body`."""
    found, known = _LANGUAGES[language], grammar(language)
    named: dict[str, set[int]] = {}
    for number in range(known.node_kind_count):
        if (name := known.node_kind_for_id(number)) is not None and known.node_kind_is_named(number):
            named.setdefault(name, set()).add(number)
    symbols = {number: kind for name, kind in found.symbols.items() for number in named[name]}
    holders = frozenset(number for name in found.holders for number in named[name]) | symbols.keys()
    name_field, body_field = known.field_id_for_name("name"), known.field_id_for_name("body")
    assert name_field is not None
    assert body_field is not None
    return symbols, holders, frozenset(named[found.wrapper]), name_field, body_field
