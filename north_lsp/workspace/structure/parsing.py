"""Finds the structure of a text: with a grammar if there is one, and with patterns for what its errors have
swallowed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterator, Sequence
from threading import Lock
from typing import TYPE_CHECKING, cast

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.structure import patterns
from north_lsp.workspace.structure.grammars import has_grammar, parse, symbol_query
from north_lsp.workspace.structure.markup import parse_markup
from north_lsp.workspace.structure.model import NO_SYMBOLS, Structure, Symbol, SymbolKind
from north_lsp.workspace.structure.nesting import nested
from north_lsp.workspace.structure.recovery import is_statement, second_look
from north_lsp.workspace.structure.scanning import offsets_in_bytes
from north_lsp.workspace.structure.statements import has_statements, walk_statements

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_WRAPPERS = frozenset({"decorated_definition", "export_statement", "template_declaration", "ambient_declaration"})
# Languages in which what precedes a symbol (Rust's attributes, decorators of methods in TypeScript) is a sibling of its
# node, and those in which it is a part of the node.
_ATTRIBUTES_BEFORE = frozenset({"rust", "typescript", "tsx"})
_ATTRIBUTES_INSIDE = frozenset({"java", "csharp", "php", "typescript", "tsx", "javascript"})
_ATTRIBUTES = frozenset(
    {"marker_annotation", "annotation", "attribute_list", "decorator", "comment", "line_comment", "block_comment"}
)
_GO_WORDS = {"type_spec": "type ", "type_alias": "type ", "var_spec": "var "}
_LABEL = 120
_MAX_REMEMBERED = 32
_QUERIED = 128 * 1024
_MAX_PARSED = 4 * 1024 * 1024
_MAX_LOOKED_AT_AGAIN = 1024 * 1024
_QUOTES = (b'"', b"'", b"`")
_LONG_QUOTES = (b'"""', b"'''", b"`")
_BROKEN_TAG = lazy_pattern(rb"\s*(?:\?|<)\s*php\b")
_remembered: OrderedDict[tuple[str, str], Structure] = OrderedDict()
_lock = Lock()
_STYLES = frozenset({"scss", "less"})
_MARKUP = frozenset({"html", "vue", "svelte"})


def structure_of(language: str, text: str) -> Structure:
    """Find the structure of a text in a language. The last few results are cached. Takes a while: call it on a
    thread."""
    key = (language, text)
    with _lock:
        known = _remembered.get(key)
        if known is not None:
            _remembered.move_to_end(key)
            return known
    found = _analyze(language, text)
    with _lock:
        _remembered[key] = found
        while len(_remembered) > _MAX_REMEMBERED:
            _remembered.popitem(last=False)
    return found


def forget() -> None:
    """Clear the cache."""
    with _lock:
        _remembered.clear()


def _analyze(language: str, text: str) -> Structure:
    if language in _STYLES or (language == "css" and len(text) > _MAX_PARSED):
        return Structure(language, "patterns", nested(patterns.style_rules(text)))
    if language in _MARKUP and len(text) <= _MAX_PARSED:
        return parse_markup(language, text, structure_of)
    if has_grammar(language) and language != "html" and len(text) <= _MAX_PARSED:
        return _by_grammar(language, text)
    if patterns.has_patterns(language):
        return Structure(language, "patterns", nested(patterns.find_symbols(language, text)))
    return Structure(language, "none", ())


def _by_grammar(language: str, text: str) -> Structure:
    source = text.encode("utf-8", "replace")
    tree = parse(language, source)
    found = _symbols(language, tree, source)
    errors: list[int] = []
    if _is_damaged(language, tree, source):
        spans = _error_spans(tree.root_node)
        errors = sorted({start for start, _ in spans}) or [1]
        unpaired = frozenset(quote for quote in _LONG_QUOTES if source.count(quote) % 2)
        if len(source) <= _MAX_LOOKED_AT_AGAIN:
            found = _with_lost(language, source, tree, unpaired, found)
        found += _swallowed(language, text, tree, source, unpaired, found, spans)
    return Structure(language, "tree-sitter", nested(found), tuple(errors[:20]))


def _is_damaged(language: str, tree: Tree, source: bytes) -> bool:
    # Without its opening tag, all of a PHP file is text to the parser.
    return tree.root_node.has_error or (language == "php" and _BROKEN_TAG.match(source) is not None)


def _symbols(language: str, tree: Tree, source: bytes) -> list[Symbol]:
    walked = has_statements(language) and not tree.root_node.has_error
    return _walked(language, tree, source) if walked else _captured(language, tree, source)


def _with_lost(
    language: str, source: bytes, tree: Tree, unpaired: Container[bytes], found: Sequence[Symbol]
) -> list[Symbol]:
    """Add what a second look finds to what was found; if both found the same symbol, take the shorter one, since damage
    makes symbols longer."""

    def look(piece: bytes) -> tuple[list[Symbol], bool]:
        parsed = parse(language, piece)
        clean = not parsed.root_node.has_error
        return (_symbols(language, parsed, piece) if clean else []), clean

    known = {(symbol.name, symbol.line): symbol for symbol in found if not is_statement(symbol)}
    for symbol in second_look(language, source, look):
        first = known.get((symbol.name, symbol.line))
        if first is None:
            if symbol.kind in NO_SYMBOLS or not _is_quoted(tree, source, unpaired, symbol.line - 1):
                known[symbol.name, symbol.line] = symbol
        elif first.end > symbol.end:
            known[symbol.name, symbol.line] = symbol
    return list(known.values())


def _is_quoted(tree: Tree, source: bytes, unpaired: Container[bytes], row: int) -> bool:
    """Return whether a line is in a string or a comment. If a quote is missing, much may only seem to be in a
    string."""
    node = tree.root_node.descendant_for_point_range((row, 0), (row, 1))
    if node is None or "comment" in node.type:
        return node is not None
    if "string" not in node.type:
        return False
    while node.parent is not None and "string" in node.parent.type:
        node = node.parent
    at = node.start_byte
    opening = source[at : at + 3] if source[at : at + 1] in _QUOTES else source[max(at - 3, 0) : at]
    for quote in _LONG_QUOTES:
        if opening.startswith(quote) or opening.endswith(quote):
            return quote not in unpaired
    return not opening.startswith(_QUOTES) and not opening.endswith(_QUOTES)


def _walked(language: str, tree: Tree, source: bytes) -> list[Symbol]:
    return [
        _symbol(language, kind, node, name_node, source, outer, body)
        for kind, node, name_node, outer, body in walk_statements(language, tree, source)
    ]


def _captured(language: str, tree: Tree, source: bytes) -> list[Symbol]:
    seen: dict[int, tuple[int, Symbol]] = {}
    for pattern, captures in _queried(language, tree, len(source)):
        name_nodes = captures.get("name")
        for kind, nodes in captures.items():
            if kind != "name" and kind[0] != "_":
                node = nodes[0]
                break
        else:
            continue
        name_node = name_nodes[0] if name_nodes else None
        at = name_node.start_byte if name_node is not None else node.start_byte
        if at in seen and seen[at][0] <= pattern:
            continue
        seen[at] = (pattern, _symbol(language, cast(SymbolKind, kind), node, name_node, source))
    return [symbol for _, symbol in seen.values()]


def _queried(language: str, tree: Tree, size: int) -> Iterator[tuple[int, dict[str, list[Node]]]]:
    """Yield the matches, in pieces, since a query blocks other threads; what spans several pieces comes with each."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(symbol_query(language))
    for start in range(0, max(size, 1), _QUERIED):
        cursor.set_byte_range(start, start + _QUERIED)
        yield from cursor.matches(tree.root_node)


def _symbol(
    language: str,
    kind: SymbolKind,
    node: Node,
    name_node: Node | None,
    source: bytes,
    outer: Node | None = None,
    body: Node | None = None,
) -> Symbol:
    """Make the symbol of a node. `outer` is the node including what comes before it and belongs to it; finding it takes
    a while, and so does finding its body."""
    outer = outer or _outermost(node)
    first = outer
    if language in _ATTRIBUTES_BEFORE:
        before = outer.prev_named_sibling
        while before is not None and before.type in ("attribute_item", "decorator"):
            first, before = before, before.prev_named_sibling
    # Without a name, it is an import, an export, or a rule, which ends where its block begins.
    if kind in ("import", "export"):
        label = _whole(node, source)
    else:
        head = outer if outer is not node and outer.type == "export_statement" else node
        label = _head(language, head, node, source, body)
    line = (name_node if name_node is not None else node).start_point.row + 1
    if name_node is None:
        name = label
    else:
        name = " ".join(source[name_node.start_byte : name_node.end_byte].decode("utf-8", "replace").split())
        if kind in ("type", "struct", "interface") and name not in label:  # typedef struct {…} name
            label = f"{label} {name}"[:_LABEL]
    row, column = outer.end_point
    start_row = first.start_point.row
    end = row + 1 if column or row == outer.start_point.row else row
    span = (first.start_byte, outer.end_byte)
    return Symbol(name[:_LABEL], kind, line, start_row + 1, max(end, line), label, 0, None, span)


def _outermost(node: Node) -> Node:
    outer = node
    for _ in range(2):
        parent = outer.parent
        if parent is None or not (parent.type in _WRAPPERS or _is_sole_part(outer, parent)):
            break
        outer = parent
    return outer


def _is_sole_part(node: Node, parent: Node) -> bool:
    """Return whether a Go declaration has no parentheses, so that its keyword belongs to what it declares."""
    return parent.type in ("type_declaration", "var_declaration") and parent.start_point.row == node.start_point.row


def _whole(node: Node, source: bytes) -> str:
    text = source[node.start_byte : min(node.end_byte, node.start_byte + 4 * _LABEL)].decode("utf-8", "replace")
    return " ".join(text.split()).rstrip(" ;")[:_LABEL]


def _head(language: str, head: Node, node: Node, source: bytes, body: Node | None) -> str:
    """Return what comes before the body, on one line, without attributes and annotations."""
    if body is None:
        body = node.child_by_field_name("body")
    if body is None and language == "css":
        body = next((child for child in node.children if child.type.endswith("block")), None)
    start = _behind_attributes(head, source) if language in _ATTRIBUTES_INSIDE else head.start_byte
    end = body.start_byte if body is not None else min(node.end_byte, start + 4 * _LABEL)
    text = source[start:end].decode("utf-8", "replace")
    if body is None:
        text = text.split("{", 1)[0] if "{" in text.split("\n", 1)[0] else text.split("\n", 1)[0]
    shown = " ".join(text.split()).rstrip(" {:=;\\")
    word = _GO_WORDS.get(node.type, "") if language == "go" else ""
    if not shown.startswith(word):
        shown = word + shown
    return shown[:_LABEL]


def _behind_attributes(node: Node, source: bytes) -> int:
    """Return where the head of a node begins after its attributes, which may be in front or among its modifiers."""
    for child in node.children:
        if child.type == "modifiers":
            inner = _behind_attributes(child, source)
            if inner < child.end_byte:
                return inner
        elif child.type not in _ATTRIBUTES:
            return child.start_byte
    return node.end_byte


def _error_spans(root: Node) -> list[tuple[int, int]]:
    """Return the first and last lines of the parser's errors."""
    spans: list[tuple[int, int]] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            spans.append((node.start_point.row + 1, node.end_point.row + 1))
        waiting += [child for child in node.children if child.has_error or child.is_missing]
    return spans


def _swallowed(
    language: str,
    text: str,
    tree: Tree,
    source: bytes,
    unpaired: Container[bytes],
    found: Sequence[Symbol],
    spans: Sequence[tuple[int, int]],
) -> list[Symbol]:
    """Return the symbols that patterns find and the grammar did not, unless they are in a string or a comment."""
    known = {(symbol.name, symbol.line) for symbol in found}
    added: list[Symbol] = []
    for symbol in patterns.find_symbols(language, text):
        if (symbol.name, symbol.line) in known:
            continue
        if not _is_quoted(tree, source, unpaired, symbol.line - 1) or any(
            start <= symbol.line <= end for start, end in spans
        ):
            added.append(symbol)
    if text.isascii():
        return added
    in_bytes = offsets_in_bytes(text, {place for symbol in added for place in symbol.span})
    return [symbol._replace(span=(in_bytes[symbol.span[0]], in_bytes[symbol.span[1]])) for symbol in added]


def is_symbol(symbol: Symbol) -> bool:
    """Return whether a symbol belongs in a list of symbols: imports, rules and sections are only structure."""
    return symbol.kind not in NO_SYMBOLS
