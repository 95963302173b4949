"""The structure of HTML, including the rules and symbols of its style and script elements in their places."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.structure.grammars import parse
from north_lsp.workspace.structure.model import Structure, Symbol, SymbolKind
from north_lsp.workspace.structure.nesting import nested
from north_lsp.workspace.structure.scanning import Lines, offsets_in_bytes

if TYPE_CHECKING:
    from tree_sitter import Node

SECTIONS = frozenset({"section", "article", "nav", "header", "footer", "main", "aside", "form"})
_FRAME = frozenset({"head", "body", "template"})
_LABEL = 120
# An element with a tag that may have lost its beginning or end, and an end tag that may be missing.
_SPELLED = lazy_pattern(
    rb"(?P<tag><(?P<name>script|style)\b[^<>\n]*(?:>|$)|^[ \t]*(?P<bare>script|style)\b[^<>\n]*>)"
    rb"(?P<raw>.*?)(?:<?/[ \t]*(?:script|style)[ \t]*>|</(?:script|style)\b|(?=^[ \t]*<(?:script|style)\b)|\Z)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_SPOKEN = lazy_pattern(r"\b(?:type|lang)\s*=\s*[\"']?([\w/+-]+)")


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A style or script element: where it and its text are, in bytes, and what its tag says about the language."""

    kind: SymbolKind
    span: tuple[int, int]
    raw: tuple[int, int] | None
    label: str
    spoken: str


Analyze = Callable[[str, str], Structure]
"""Finds the structure of a text in another language, as in styles and scripts."""


def parse_markup(language: str, text: str, analyze: Analyze) -> Structure:
    """Parse a page to its structure, including that of what is embedded in it."""
    source = text.encode("utf-8", "replace")
    tree = parse("html", source)
    symbols: list[Symbol] = []
    embedded: list[_Embedded] = []
    comments: list[tuple[int, int]] = []
    errors: list[int] = []
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing or _has_swallowed(node, source):
            errors.append(node.start_point.row + 1)
        if node.type in ("style_element", "script_element"):
            embedded.append(_embedded(node, source))
            raw = embedded[-1].raw
            swallowed = raw is not None and node.type == "style_element" and b"<s" in source[raw[0] : raw[1]]
            if swallowed or node.children[-1].type != "end_tag":
                errors.append(node.start_point.row + 1)
            continue
        if node.type == "comment":
            comments.append((node.start_byte, node.end_byte))
        if node.type == "element":
            symbol = _element(node, source)
            symbols += [symbol] if symbol is not None else []
        waiting += node.children
    if errors or tree.root_node.has_error:
        embedded = _found_again(source, embedded, comments)
    rows = Lines(source.decode("latin-1"))  # one character per byte
    for one in embedded:
        symbols += _inner(one, source, rows, analyze)
    return Structure(language, "tree-sitter", nested(symbols), tuple(sorted(errors)[:20]))


def _has_swallowed(node: Node, source: bytes) -> bool:
    """Return whether the value of an attribute continues to the next quote, over lines and tags, because its own is
    missing."""
    if node.type != "attribute_value":
        return False
    value = source[node.start_byte : node.end_byte]
    return b"<" in value and b"\n" in value


def _found_again(source: bytes, embedded: list[_Embedded], comments: Sequence[tuple[int, int]]) -> list[_Embedded]:
    """Find the style and script elements of a damaged page by their tags in the text."""
    found: list[_Embedded] = []
    for match in _SPELLED.finditer(source):
        if any(start <= match.start() < end for start, end in comments):
            continue
        tag = match["tag"].decode("utf-8", "replace")
        kind: SymbolKind = "style" if (match["name"] or match["bare"]).lower() == b"style" else "script"
        spoken = " ".join(_SPOKEN.findall(tag.lower()))
        label = " ".join(tag.split())[:_LABEL]
        found.append(_Embedded(kind, (match.start("tag"), match.end()), match.span("raw"), label, spoken))
    spelled = {one.span[0] for one in found}
    return found + [one for one in embedded if one.span[0] not in spelled and not _within(one, found)]


def _within(one: _Embedded, others: Sequence[_Embedded]) -> bool:
    return any(other.span[0] <= one.span[0] < other.span[1] for other in others)


def _element(node: Node, source: bytes) -> Symbol | None:
    tag = next((child for child in node.children if child.type in ("start_tag", "self_closing_tag")), None)
    if tag is None:
        return None
    name, attributes = _tag(tag, source)
    identity = attributes.get("id")
    if name not in SECTIONS and name not in _FRAME and not identity:
        return None
    shown = " ".join(_text(tag, source).split())[:_LABEL]
    title = f"{name}#{identity}" if identity else name
    first = node.start_point.row + 1
    return Symbol(title, "section", first, first, _end(node), shown, span=(node.start_byte, node.end_byte))


def _embedded(node: Node, source: bytes) -> _Embedded:
    kind: SymbolKind = "style" if node.type == "style_element" else "script"
    tag = next((child for child in node.children if child.type == "start_tag"), None)
    attributes = _tag(tag, source)[1] if tag is not None else {}
    label = " ".join(_text(tag, source).split())[:_LABEL] if tag is not None else f"<{kind}>"
    raw = next((child for child in node.children if child.type == "raw_text"), None)
    inside = (raw.start_byte, raw.end_byte) if raw is not None else None
    spoken = f"{attributes.get('type', '')} {attributes.get('lang', '')}"
    return _Embedded(kind, (node.start_byte, node.end_byte), inside, label, spoken)


def _inner(one: _Embedded, source: bytes, rows: Lines, analyze: Analyze) -> list[Symbol]:
    """Return the symbols of an element itself and of what is in it."""
    start, end = one.span
    first = rows.at(start)
    symbols = [Symbol(one.kind, one.kind, first, first, rows.at(max(end - 1, start)), one.label, span=one.span)]
    if one.raw is None or "json" in one.spoken or "template" in one.spoken:
        return symbols
    begin, stop = one.raw
    text = source[begin:stop].decode("utf-8", "replace")
    found = analyze(_language(one.kind, one.spoken), text)
    places = {place for inner in found.symbols for place in inner.span}
    in_bytes = {place: place for place in places}
    if found.backend == "patterns":
        in_bytes = offsets_in_bytes(text, places)
    shift = rows.at(begin) - 1
    for inner in found.symbols:
        span = (begin + in_bytes[inner.span[0]], begin + in_bytes[inner.span[1]])
        moved = inner._replace(line=inner.line + shift, start=inner.start + shift, end=inner.end + shift, span=span)
        symbols.append(moved)
    return symbols


def _language(kind: SymbolKind, spoken: str) -> str:
    if kind == "style":
        return next((language for language in ("scss", "less") if language in spoken), "css")
    return "typescript" if "ts" in spoken.split() or "typescript" in spoken else "javascript"


def _tag(tag: Node, source: bytes) -> tuple[str, dict[str, str]]:
    name, attributes = "", dict[str, str]()
    for child in tag.children:
        if child.type == "tag_name":
            name = _text(child, source).lower()
        elif child.type == "attribute" and child.children:
            key = _text(child.children[0], source).lower()
            value = _text(child.children[-1], source) if len(child.children) > 1 else ""
            attributes[key] = value.strip("\"'")
    return name, attributes


def _end(node: Node) -> int:
    row, column = node.end_point
    return row + 1 if column else max(row, node.start_point.row + 1)


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
