"""Structure as the tools show it: outline, blocks, and the block around a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.structure import patterns
from north_lsp.workspace.structure.model import Structure, Symbol
from north_lsp.workspace.structure.scanning import Lines, brace_blocks, masked, offsets_in_bytes, offsets_in_characters

BlockKind = Literal["html_section", "css_rule", "js_ts_symbol", "csharp_symbol", "php_symbol", "java_symbol", "all"]
CodeKind = Literal["function", "class", "method", "block", "any"]

_CHUNK = 50
_ALONE_BEFORE = lazy_pattern(r"[^{};\n]*")
_ALONE_BEHIND = lazy_pattern(r"[;,)\] \t]*(?:(?://|#|--|/\*|<!--)[^\n]*)?(?=\r?\n|\Z)")
_STYLE = frozenset({"rule", "media", "keyframes", "supports", "at-rule"})
_CLASSES = frozenset({"class", "interface", "struct", "trait", "enum", "impl", "type"})
_PREFIXES = {
    "javascript": "js",
    "typescript": "js",
    "tsx": "js",
    "css": "css",
    "scss": "css",
    "less": "css",
    "html": "html",
    "vue": "html",
    "svelte": "html",
}
_FITTING: dict[str, BlockKind] = {
    "js": "js_ts_symbol",
    "css": "css_rule",
    "html": "html_section",
    "csharp": "csharp_symbol",
    "php": "php_symbol",
    "java": "java_symbol",
}


class OutlineEntry(NamedTuple):
    label: str
    kind: str
    startLine: int
    endLine: int
    depth: int


@dataclass(frozen=True, slots=True)
class Block:
    id: str
    label: str
    startLine: int
    endLine: int
    kind: BlockKind


def outline(structure: Structure, lines: list[str]) -> list[OutlineEntry]:
    """Return the outline of a file. Adjacent imports are one entry; a file without structure is divided into chunks."""
    entries: list[OutlineEntry] = []
    imports: list[Symbol] = []

    def flush() -> None:
        if imports:
            label = f"imports ({len(imports)})" if len(imports) > 1 else imports[0].label
            entries.append(OutlineEntry(label, "import", imports[0].start, imports[-1].end, imports[0].depth))
            imports.clear()

    for symbol in structure.symbols:
        if symbol.kind == "import":
            if imports and imports[-1].depth != symbol.depth:
                flush()
            imports.append(symbol)
            continue
        flush()
        entries.append(OutlineEntry(symbol.label or symbol.name, symbol.kind, symbol.start, symbol.end, symbol.depth))
    flush()
    return entries or chunks(lines)


def chunks(lines: list[str]) -> list[OutlineEntry]:
    """Divide the lines into pieces of fifty, each labeled by its first line that is not blank."""
    entries: list[OutlineEntry] = []
    for start in range(0, len(lines), _CHUNK):
        part = lines[start : start + _CHUNK]
        label = next((line.strip() for line in part if line.strip()), "(blank)")[:120]
        entries.append(OutlineEntry(label, "chunk", start + 1, start + len(part), 0))
    return entries


def outline_text(entries: list[OutlineEntry]) -> str:
    """Format the entries, one per line, indented, with their line ranges."""
    shown = []
    for entry in entries:
        lead = "  " * (entry.depth - 1) + "└─ " if entry.depth else ""
        shown.append(f"{lead}{entry.label} [{entry.startLine}-{entry.endLine}]")
    return "\n".join(shown)


def blocks(structure: Structure) -> list[Block]:
    """Return the blocks of a file with ids. The blocks in a style or script element of a page are numbered per
    element."""
    prefix = _PREFIXES.get(structure.language, structure.language)
    counts: dict[str, int] = {}
    found: list[Block] = []
    embedding: tuple[Symbol, str] | None = None
    for symbol in structure.symbols:
        if symbol.kind in ("import", "export"):
            continue
        if embedding is not None and symbol.start > embedding[0].end:
            embedding = None
        inner = _FITTING.get(prefix, "all")
        if symbol.kind in ("style", "script"):
            name: str = symbol.kind
            kind: BlockKind = "html_section"
        elif embedding is not None and symbol.kind != "section":
            name = f"{embedding[1]}-{'css' if symbol.kind in _STYLE else 'js'}"
            kind = "css_rule" if symbol.kind in _STYLE else "js_ts_symbol"
        else:
            name, kind = prefix, inner
        number = counts.get(name, 0)
        counts[name] = number + 1
        found.append(Block(f"{name}-{number}", symbol.label or symbol.name, symbol.start, symbol.end, kind))
        if symbol.kind in ("style", "script"):
            embedding = (symbol, f"{symbol.kind}{number}")
    return found


def fitting_kinds(structure: Structure) -> frozenset[BlockKind]:
    """Return the kinds of block that a file of this language may contain."""
    prefix = _PREFIXES.get(structure.language, structure.language)
    if prefix == "html":
        return frozenset({"html_section", "css_rule", "js_ts_symbol", "all"})
    kind = _FITTING.get(prefix)
    return frozenset({kind, "all"}) if kind is not None else frozenset({"all"})


def enclosing(structure: Structure, line: int) -> Symbol | None:
    """Return the innermost function or class around a line."""
    around = [
        symbol
        for symbol in structure.symbols
        if symbol.start <= line <= symbol.end and symbol.kind not in ("import", "export", "constant", "property")
    ]
    return min(around, key=_innermost, default=None)


def _innermost(symbol: Symbol) -> tuple[int, int, int]:
    """Return a key that sorts the symbols around a line, the innermost first."""
    return symbol.end - symbol.start, -symbol.start, -symbol.depth


def code_blocks(structure: Structure, text: str, query: str, kind: CodeKind) -> list[Symbol]:
    """Return blocks of a kind by name, exact matches first; if no name matches, the innermost ones that contain the
    text."""
    candidates = [symbol for symbol in structure.symbols if _is(symbol, kind)]
    if structure.backend == "none" or kind == "block":
        candidates += _braces(structure, text)
    folded = query.casefold()
    for fits in (
        lambda symbol: symbol.name == query,
        lambda symbol: query in symbol.name,
        lambda symbol: folded in symbol.name.casefold(),
    ):
        named = [symbol for symbol in candidates if fits(symbol)]
        if named:
            return named
    levels = 2 if _PREFIXES.get(structure.language) == "html" else 1
    chosen: dict[Symbol, None] = {}
    reaches = _reaches(structure, text, candidates)
    waiting = sorted(candidates, key=lambda one: reaches[one][0], reverse=True)
    around: list[Symbol] = []
    for start, end in _hits(text, query):
        while waiting and reaches[waiting[-1]][0] <= start:
            around.append(waiting.pop())
        around = [one for one in around if start < reaches[one][1]]
        holding = [one for one in around if end <= reaches[one][1]]
        chosen.update(dict.fromkeys(sorted(holding, key=_innermost)[:levels]))
    return sorted(chosen, key=lambda symbol: (symbol.start, -symbol.end, symbol.depth))


def _hits(text: str, query: str) -> Iterator[tuple[int, int]]:
    """Find where the text is, in order: exactly as written, else in any case."""
    flags = re.NOFLAG if query in text else re.IGNORECASE
    return (found.span() for found in re.finditer(re.escape(query), text, flags))


def _reaches(structure: Structure, text: str, candidates: Sequence[Symbol]) -> dict[Symbol, tuple[int, int]]:
    """Return where the text of each block begins and ends, in characters, including what is alone before and after it
    on its lines: an assignment to a name, a comment."""
    characters: dict[int, int] = {}
    if structure.backend == "tree-sitter" and not text.isascii():
        characters = offsets_in_characters(text, {place for one in candidates for place in one.span})
    reaches: dict[Symbol, tuple[int, int]] = {}
    for symbol in candidates:
        start, end = (characters.get(place, place) for place in symbol.span)
        first = text.rfind("\n", 0, start) + 1
        behind = _ALONE_BEHIND.match(text, end)
        reaches[symbol] = (
            first if _ALONE_BEFORE.fullmatch(text, first, start) else start,
            behind.end() if behind is not None else end,
        )
    return reaches


def _is(symbol: Symbol, kind: CodeKind) -> bool:
    match kind:
        case "function":
            return symbol.kind in ("function", "method", "macro")
        case "method":
            return symbol.kind == "method"
        case "class":
            return symbol.kind in _CLASSES
        case "any" | "block":
            return symbol.kind not in ("import", "export")


def _braces(structure: Structure, text: str) -> list[Symbol]:
    plain, numbers = masked(text, patterns.comments_of(structure.language)), Lines(text)
    found: list[Symbol] = []
    for block in brace_blocks(plain):
        begin = block.open - len(plain[block.head : block.open].lstrip())
        head = re.sub(r"\s+", " ", text[begin : block.open]).strip()[-120:]
        line, close = numbers.at(begin), min(block.close + 1, len(text))
        last = numbers.at(min(block.close, len(text)))
        found.append(Symbol(head or "{", "block", line, line, last, head, span=(begin, close)))
    if structure.backend != "tree-sitter" or text.isascii():
        return found
    in_bytes = offsets_in_bytes(text, {place for one in found for place in one.span})
    return [one._replace(span=(in_bytes[one.span[0]], in_bytes[one.span[1]])) for one in found]
