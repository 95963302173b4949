"""Orders symbols as in the file, with depths and parents by what encloses what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from north_lsp.workspace.structure.model import CONTAINERS, Symbol, SymbolKind


def nested(symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """Order symbols as in the file, with depths and parents by what encloses what. Functions in a class become its
    methods."""
    result: list[Symbol] = []
    around: list[Symbol] = []
    for symbol in sorted(symbols, key=lambda one: (one.span[0], -one.span[1], one.line)):
        while around and not _encloses(around[-1].span, symbol.span):
            around.pop()
        placed = _inside(symbol, around)
        result.append(placed)
        if placed.kind not in ("import", "export"):
            around.append(placed)
    return tuple(result)


def _encloses(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    """Return whether one span contains the other; two equal spans are neighbors."""
    return outer[0] <= inner[0] and inner[1] <= outer[1] and outer != inner


def _inside(symbol: Symbol, around: Sequence[Symbol]) -> Symbol:
    if not around:
        return symbol if not symbol.depth and symbol.parent is None else symbol._replace(depth=0, parent=None)
    parent = around[-1]
    kind: SymbolKind = "method" if symbol.kind == "function" and parent.kind in CONTAINERS else symbol.kind
    return Symbol(
        symbol.name, kind, symbol.line, symbol.start, symbol.end, symbol.label, len(around), parent.name, symbol.span
    )
