"""Searches code by example: a pattern is code with `$NAME` for one node and `$$$NAME` for any number of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.structure.grammars import has_grammar, parse, parsed_languages

if TYPE_CHECKING:
    from tree_sitter import Node

_VARIABLE = lazy_pattern(r"\$\$\$([A-Z_][A-Z0-9_]*)?|\$([A-Z_][A-Z0-9_]*)")
_ONE, _MANY = "northOne", "northMany"
_PLACED = lazy_pattern(rf"({_ONE}|{_MANY})([A-Z0-9_]*)")
# Where an expression or statement may occur, for languages in which that is not everywhere.
_SURROUNDINGS: dict[str, tuple[str, ...]] = {
    "c": ("@", "void f(){@}", "void f(){@;}"),
    "cpp": ("@", "void f(){@}", "void f(){@;}"),
    "csharp": ("@", "class C{void F(){@}}", "class C{void F(){@;}}", "class C{@}"),
    "java": ("@", "class C{void f(){@}}", "class C{void f(){@;}}", "class C{@}"),
    "rust": ("@", "fn f(){@}", "fn f(){@;}", "impl C{@}"),
    "go": ("@", "package p\nfunc f(){@}", "package p\n@"),
    "php": ("<?php @", "<?php @;", "<?php class C{@}"),
    "css": ("@", "a{@}"),
    "javascript": ("@", "(@)", "class C{@}"),
    "typescript": ("@", "(@)", "class C{@}"),
    "tsx": ("@", "(@)", "class C{@}"),
}


@dataclass(frozen=True, slots=True)
class AstMatch:
    """A match. Lines are 1-based and inclusive; `captures` are the texts that the names stand for."""

    start: int
    end: int
    captures: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class AstPattern:
    """A pattern, ready for the files of one language. All `words` occur in any text that matches."""

    language: str
    node: Node
    source: bytes
    words: tuple[str, ...]

    def find(self, text: str) -> Iterator[AstMatch]:
        """Yield the matches in a text, in order, including matches within matches."""
        if not all(word in text for word in self.words):
            return
        source = text.encode("utf-8", "replace")
        waiting = [parse(self.language, source).root_node]
        while waiting:
            node = waiting.pop()
            waiting += reversed(node.children)
            captures: dict[str, bytes] = {}
            if self._matches(self.node, node, source, captures):
                row, column = node.end_point
                end = row + 1 if column or row == node.start_point.row else row
                shown = tuple((name, value.decode("utf-8", "replace")) for name, value in captures.items())
                yield AstMatch(node.start_point.row + 1, end, shown)

    def _matches(self, wanted: Node, node: Node, source: bytes, captures: dict[str, bytes]) -> bool:
        kind, name = self._variable(wanted)
        if kind == _ONE:
            return node.is_named and _bind(name, source[node.start_byte : node.end_byte], captures)
        if wanted.type != node.type:
            return False
        inner = [child for child in wanted.children if not child.is_extra]
        if not inner:
            return self._text(wanted) == source[node.start_byte : node.end_byte]
        return self._all(inner, [child for child in node.children if not child.is_extra], source, captures)

    def _all(self, wanted: Sequence[Node], nodes: Sequence[Node], source: bytes, captures: dict[str, bytes]) -> bool:
        if not wanted:
            return not nodes
        kind, name = self._variable(wanted[0])
        if kind == _MANY:
            for count in range(len(nodes) + 1):
                tried = dict(captures)
                text = source[nodes[0].start_byte : nodes[count - 1].end_byte] if count else b""
                if _bind(name, text, tried) and self._all(wanted[1:], nodes[count:], source, tried):
                    captures.update(tried)
                    return True
            return False
        if not nodes:
            return False
        tried = dict(captures)
        if self._matches(wanted[0], nodes[0], source, tried) and self._all(wanted[1:], nodes[1:], source, tried):
            captures.update(tried)
            return True
        return False

    def _text(self, node: Node) -> bytes:
        return self.source[node.start_byte : node.end_byte]

    def _variable(self, node: Node) -> tuple[str, str]:
        text = self._text(node)
        if len(text) > 80 or not text.startswith(b"north"):
            return "", ""
        found = _PLACED.fullmatch(text.decode("utf-8", "replace").rstrip(";").rstrip())
        return (found[1], found[2]) if found is not None else ("", "")


def compile_pattern(language: str, pattern: str) -> AstPattern:
    """Compile a pattern for a language. Raises ToolError: UNAVAILABLE for a language without a grammar, INVALID_INPUT
    for a pattern that is not exactly one node."""
    if not has_grammar(language):
        known = ", ".join(parsed_languages())
        raise ToolError("UNAVAILABLE", f"there is no parser for {language}", f"parsers: {known}")
    plain = _VARIABLE.sub(_placed, pattern.strip())
    words = tuple(word for word in re.findall(r"[A-Za-z_]\w{2,}", plain) if not _PLACED.fullmatch(word))
    problem = "is empty"
    for surroundings in _SURROUNDINGS.get(language, ("@",)) if plain else ():
        before, after = surroundings.split("@")
        source = f"{before}{plain}{after}".encode("utf-8", "replace")
        root = parse(language, source).root_node
        start = len(before.encode())
        end = start + len(plain.encode("utf-8", "replace"))
        node = root.named_descendant_for_byte_range(start, end)
        if root.has_error:
            problem = f"does not parse as {language}"
        elif node is None or node.parent is None or (node.start_byte, node.end_byte) != (start, end):
            problem = "is not exactly one node"
        else:
            return AstPattern(language, node, source, words)
    shown = repr(pattern[:200])
    raise ToolError("INVALID_INPUT", f"the pattern {shown} {problem}", "for example `print($$$ARGS)` or `$A == $A`")


def _placed(found: re.Match[str]) -> str:
    if found[0].startswith("$$$"):
        return f"{_MANY}{found[1] or ''}"
    return f"{_ONE}{found[2]}"


def _bind(name: str, text: bytes, captures: dict[str, bytes]) -> bool:
    """Assign a text to a name, or compare it with the one it has. `_` and an empty name match anything."""
    if name in ("", "_"):
        return True
    return captures.setdefault(name, text) == text
