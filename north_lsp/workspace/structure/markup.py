"""The structure of HTML, with the rules and symbols of its style and script elements at their places."""

from dataclasses import replace
from typing import TYPE_CHECKING

from north_lsp.workspace.structure.grammars import parse
from north_lsp.workspace.structure.model import Structure, Symbol, SymbolKind
from north_lsp.workspace.structure.scanning import offsets_in_bytes

if TYPE_CHECKING:
    from tree_sitter import Node

SECTIONS = frozenset({"section", "article", "nav", "header", "footer", "main", "aside", "form"})
_FRAME = frozenset({"head", "body", "template"})
_LABEL = 120


def parse_markup(language: str, text: str) -> Structure:
    from north_lsp.workspace.structure.parsing import nested

    source = text.encode("utf-8", "replace")
    tree = parse("html", source)
    symbols: list[Symbol] = []
    errors: list[int] = []
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_error:
            errors.append(node.start_point.row + 1)
        if node.type in ("style_element", "script_element"):
            symbols += _embedded(node, source)
            continue
        if node.type == "element":
            symbol = _element(node, source)
            symbols += [symbol] if symbol is not None else []
        waiting += node.children
    return Structure(language, "tree-sitter", nested(symbols), tuple(sorted(errors)[:20]))


def _element(node: "Node", source: bytes) -> Symbol | None:
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


def _embedded(node: "Node", source: bytes) -> list[Symbol]:
    """The element itself and what is in it."""
    from north_lsp.workspace.structure.parsing import structure_of

    kind: SymbolKind = "style" if node.type == "style_element" else "script"
    tag = next((child for child in node.children if child.type == "start_tag"), None)
    attributes = _tag(tag, source)[1] if tag is not None else {}
    first = node.start_point.row + 1
    label = " ".join(_text(tag, source).split())[:_LABEL] if tag is not None else f"<{kind}>"
    symbols = [Symbol(kind, kind, first, first, _end(node), label, span=(node.start_byte, node.end_byte))]
    raw = next((child for child in node.children if child.type == "raw_text"), None)
    spoken = f"{attributes.get('type', '')} {attributes.get('lang', '')}"
    if raw is None or "json" in spoken or "template" in spoken:
        return symbols
    language = _language(kind, spoken)
    shift = raw.start_point.row
    text = _text(raw, source)
    found = structure_of(language, text)
    places = {place for inner in found.symbols for place in inner.span}
    in_bytes = {place: place for place in places}
    if found.backend == "patterns":
        in_bytes = offsets_in_bytes(text, places)
    for inner in found.symbols:
        span = (raw.start_byte + in_bytes[inner.span[0]], raw.start_byte + in_bytes[inner.span[1]])
        moved = replace(inner, line=inner.line + shift, start=inner.start + shift, end=inner.end + shift, span=span)
        symbols.append(moved)
    return symbols


def _language(kind: SymbolKind, spoken: str) -> str:
    if kind == "style":
        return next((language for language in ("scss", "less") if language in spoken), "css")
    return "typescript" if "ts" in spoken.split() or "typescript" in spoken else "javascript"


def _tag(tag: "Node", source: bytes) -> tuple[str, dict[str, str]]:
    name, attributes = "", dict[str, str]()
    for child in tag.children:
        if child.type == "tag_name":
            name = _text(child, source).lower()
        elif child.type == "attribute" and child.children:
            key = _text(child.children[0], source).lower()
            value = _text(child.children[-1], source) if len(child.children) > 1 else ""
            attributes[key] = value.strip("\"'")
    return name, attributes


def _end(node: "Node") -> int:
    row, column = node.end_point
    return row + 1 if column else max(row, node.start_point.row + 1)


def _text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
