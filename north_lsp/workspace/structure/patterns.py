"""Finds symbols by patterns, line by line: for languages without a grammar, and for what a parser's error has
swallowed."""

from __future__ import annotations

import re
from bisect import bisect_left

from north_lsp.workspace.languages import LANGUAGES, Comments
from north_lsp.workspace.structure.model import Symbol, SymbolKind
from north_lsp.workspace.structure.scanning import BraceBlock, Lines, brace_blocks, indented_end, masked

_Rule = tuple[str, SymbolKind]
_SCRIPT: tuple[_Rule, ...] = (
    (r"^[ \t]*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*(?P<n>[\w$]+)", "function"),
    (r"^[ \t]*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?class\s+(?P<n>[\w$]+)", "class"),
    (r"^[ \t]*(?:export\s+)?(?:declare\s+)?interface\s+(?P<n>[\w$]+)", "interface"),
    (r"^[ \t]*(?:export\s+)?(?:declare\s+)?type\s+(?P<n>[\w$]+)[^=\n]*=", "type"),
    (r"^[ \t]*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+(?P<n>[\w$]+)", "enum"),
    (
        r"^[ \t]*(?:export\s+)?(?:const|let|var)\s+(?P<n>[\w$]+)[^=\n]*=\s*(?:async\s*)?"
        r"(?:function\b|\([^\n]*=>|[\w$]+\s*=>|\($|(?:\w+\.)?(?:memo|forwardRef|observer)\b)",
        "function",
    ),
    (
        r"^(?P<n>(?:module\.)?exports\.[\w$]+|[\w$]+\.prototype\.[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\()",
        "function",
    ),
    (
        r"^[ \t]+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*"
        r"(?!(?:if|for|while|switch|catch|return|function|with|new|await|else)\b)(?P<n>[\w$#]+)"
        r"\s*\([^;\n]*\)[^;\n]*\{[ \t]*$",
        "method",
    ),
)
_TYPED = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|async|override|virtual|readonly"
    r"|synchronized|native|default|unsafe|extern|new)\s+)"
)
_CURLY: tuple[_Rule, ...] = (
    (rf"^[ \t]*{_TYPED}*(?:class|record)\s+(?P<n>\w+)", "class"),
    (rf"^[ \t]*{_TYPED}*@?interface\s+(?P<n>\w+)", "interface"),
    (rf"^[ \t]*{_TYPED}*enum\s+(?P<n>\w+)", "enum"),
    (rf"^[ \t]*{_TYPED}*struct\s+(?P<n>\w+)", "struct"),
    (
        r"^[ \t]+" + _TYPED + r"+(?:<[^>\n]*>\s*)?(?:[\w.]+(?:<[^(\n]*>)?(?:\[\])*\??\s+)?(?P<n>\w+)\s*\([^;\n]*$",
        "method",
    ),
)
_RULES: dict[str, tuple[_Rule, ...]] = {
    "python": (
        (r"^[ \t]*(?:async[ \t]+)?def[ \t]+(?P<n>\w+)", "function"),
        (r"^[ \t]*class[ \t]+(?P<n>\w+)", "class"),
    ),
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "rust": (
        (
            r"(?:^|[{};])[ \t]*(?:pub(?:\([^)]*\))?\s+)?"
            r"(?:(?:const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*fn\s+(?P<n>\w+)",
            "function",
        ),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:struct|union)\s+(?P<n>\w+)", "struct"),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?enum\s+(?P<n>\w+)", "enum"),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?trait\s+(?P<n>\w+)", "interface"),
        (r"^[ \t]*(?:unsafe\s+)?impl\b(?:<[^>\n]*>)?\s*(?:[^{\n]*\bfor\s+)?(?P<n>\w+)", "impl"),
        (r"^[ \t]*macro_rules!\s*(?P<n>\w+)", "macro"),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\s+(?:mut\s+)?(?P<n>[A-Z]\w*)\s*:", "constant"),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?type\s+(?P<n>[A-Z]\w*)", "type"),
        (r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?mod\s+(?P<n>\w+)", "module"),
    ),
    "go": (
        (r"^func\s+(?P<n>\w+)", "function"),
        (r"^func\s*\([^)]*\)\s*(?P<n>\w+)", "method"),
        (r"^type\s+(?P<n>\w+)\s+struct\b", "struct"),
        (r"^type\s+(?P<n>\w+)\s+interface\b", "interface"),
        (r"^\t(?P<n>\w+)\s+struct\s*\{", "struct"),
        (r"^\t(?P<n>\w+)\s+interface\s*\{", "interface"),
        (r"^type\s+(?P<n>\w+)\s+(?!struct\b|interface\b)", "type"),
    ),
    "java": _CURLY,
    "csharp": (
        (r"^[ \t]*namespace\s+(?P<n>[\w.]+)", "namespace"),
        *_CURLY,
        (rf"^[ \t]+{_TYPED}+[\w.<>?\[\], ]+\s(?P<n>\w+)\s*(?:\{{\s*get\b|=>)", "property"),
    ),
    "php": (
        (r"^[ \t]*namespace\s+(?P<n>[\w\\]+)", "namespace"),
        (r"^[ \t]*(?:(?:abstract|final|readonly)\s+)*class\s+(?P<n>\w+)", "class"),
        (r"^[ \t]*interface\s+(?P<n>\w+)", "interface"),
        (r"^[ \t]*trait\s+(?P<n>\w+)", "trait"),
        (r"^[ \t]*enum\s+(?P<n>\w+)", "enum"),
        (r"^[ \t]*(?:(?:public|private|protected|static|abstract|final)\s+)*function\s+&?(?P<n>\w+)", "function"),
    ),
    "ruby": (
        (r"^[ \t]*class\s+(?P<n>[\w:]+)", "class"),
        (r"^[ \t]*module\s+(?P<n>[\w:]+)", "module"),
        (r"^[ \t]*def\s+(?:self\.)?(?P<n>[\w?!=]+)", "function"),
    ),
    "c": (
        (
            r"^(?!(?:return|else|typedef)\b)(?:[A-Za-z_][\w \t*]*[ \t*])(?P<n>[A-Za-z_]\w*)\s*\([^;\n]*\)"
            r"\s*(?:;|\{[^\n]*)?[ \t]*$",
            "function",
        ),
        (r"^[ \t]*#[ \t]*define[ \t]+(?P<n>\w+)(?:\(|[ \t]+\S)", "macro"),
        (r"^\}[ \t]*(?P<n>\w+)[ \t]*;", "type"),
        (r"^[ \t]*(?:typedef\s+)?struct\s+(?P<n>\w+)\s*\{?[ \t]*$", "struct"),
        (r"^[ \t]*(?:typedef\s+)?enum\s+(?P<n>\w+)\s*\{?[ \t]*$", "enum"),
    ),
    "cpp": (
        (r"^[ \t]*class\s+(?P<n>\w+)[^;\n]*$", "class"),
        (r"^[ \t]*struct\s+(?P<n>\w+)[^;\n]*$", "struct"),
        (r"^[ \t]*enum\s+(?:class\s+)?(?P<n>\w+)[^;\n]*$", "enum"),
        (r"^[ \t]*namespace\s+(?P<n>[\w:]+)", "namespace"),
        (
            r"^(?!(?:return|else|typedef|using)\b)(?:[A-Za-z_][\w \t*&:<>,]*[ \t*&])(?P<n>[A-Za-z_~][\w:~]*)\s*"
            r"\([^;\n]*\)(?:[^;\n{]*;?|[^;\n{]*\{[^\n]*)[ \t]*$",
            "function",
        ),
        (r"^[ \t]*#[ \t]*define[ \t]+(?P<n>\w+)(?:\(|[ \t]+\S)", "macro"),
    ),
    "bash": (
        (r"^[ \t]*(?:function\s+)?(?P<n>[\w:-]+)\s*\(\)", "function"),
        (r"^[ \t]*function\s+(?P<n>[\w:-]+)", "function"),
    ),
    "kotlin": (
        (r"^[ \t]*(?:\w+\s+)*(?:class|object)\s+(?P<n>\w+)", "class"),
        (r"^[ \t]*(?:\w+\s+)*interface\s+(?P<n>\w+)", "interface"),
        (r"^[ \t]*(?:\w+\s+)*fun\s+(?:<[^>\n]*>\s*)?(?:[\w.<>?]+\.)?(?P<n>\w+)", "function"),
    ),
    "swift": (
        (r"^[ \t]*(?:\w+\s+)*(?:class|actor|extension)\s+(?P<n>\w+)", "class"),
        (r"^[ \t]*(?:\w+\s+)*struct\s+(?P<n>\w+)", "struct"),
        (r"^[ \t]*(?:\w+\s+)*enum\s+(?P<n>\w+)", "enum"),
        (r"^[ \t]*(?:\w+\s+)*protocol\s+(?P<n>\w+)", "interface"),
        (r"^[ \t]*(?:\w+\s+)*func\s+(?P<n>\w+)", "function"),
    ),
    "scala": (
        (r"^[ \t]*(?:\w+\s+)*(?:class|object)\s+(?P<n>\w+)", "class"),
        (r"^[ \t]*(?:\w+\s+)*trait\s+(?P<n>\w+)", "trait"),
        (r"^[ \t]*(?:\w+\s+)*def\s+(?P<n>\w+)", "function"),
    ),
    "dart": ((r"^[ \t]*(?:abstract\s+)?(?:class|mixin)\s+(?P<n>\w+)", "class"), (r"^[ \t]*enum\s+(?P<n>\w+)", "enum")),
    "lua": ((r"^[ \t]*(?:local\s+)?function\s+(?P<n>[\w.:]+)", "function"),),
    "perl": ((r"^[ \t]*sub\s+(?P<n>\w+)", "function"), (r"^package\s+(?P<n>[\w:]+)", "package")),
    "elixir": (
        (r"^[ \t]*defmodule\s+(?P<n>[\w.]+)", "module"),
        (r"^[ \t]*defp?\s+(?P<n>[\w?!]+)", "function"),
    ),
    "zig": ((r"^[ \t]*(?:pub\s+)?fn\s+(?P<n>\w+)", "function"),),
    "julia": (
        (r"^[ \t]*function\s+(?P<n>[\w.!]+)", "function"),
        (r"^[ \t]*(?:mutable\s+)?struct\s+(?P<n>\w+)", "struct"),
    ),
}
_RULES["groovy"] = _CURLY
_COMPILED: dict[str, list[tuple[re.Pattern[str], SymbolKind]]] = {}
_BY_INDENT = frozenset({"python", "ruby", "lua", "elixir", "julia"})


def has_patterns(language: str) -> bool:
    return language in _RULES


def comments_of(language: str) -> Comments:
    return next((known.comments for known in LANGUAGES if known.id == language), "none")


def find_symbols(language: str, text: str) -> list[Symbol]:
    """Find the symbols of a text, without depths and parents; empty for a language without patterns."""
    rules = _COMPILED.get(language)
    if rules is None:
        rules = [(re.compile(source, re.MULTILINE), kind) for source, kind in _RULES.get(language, ())]
        _COMPILED[language] = rules
    if not rules:
        return []
    plain = masked(text, comments_of(language))
    numbers, lines = Lines(text), text.split("\n")
    blocks = [] if language in _BY_INDENT else brace_blocks(plain)
    found: dict[tuple[int, str], Symbol] = {}
    for pattern, kind in rules:
        for match in pattern.finditer(plain):
            line = numbers.at(match.start("n"))
            if (line, match["n"]) in found:
                continue
            head = lines[line - 1]  # what comes before it on other lines belongs to something else
            start = numbers.end_of(line) - len(head.lstrip())
            start = max(start, match.start())
            if language in _BY_INDENT:
                end = indented_end(lines, line)
                stop = numbers.end_of(end)
            else:
                stop = _end_of(match.end("n"), blocks, plain)
                end = numbers.at(stop) if stop > match.end("n") else line
            label = " ".join(_before_brace(head, plain, numbers.end_of(line)).split()).rstrip("{: ")[:120]
            span = (start, max(stop, match.end("n")))
            found[line, match["n"]] = Symbol(match["n"], kind, line, line, max(end, line), label, span=span)
    return sorted(found.values(), key=lambda symbol: (symbol.span[0], -symbol.span[1]))


def _before_brace(line: str, plain: str, end: int) -> str:
    """Return the head of a symbol on its line: up to a brace that is not in a string."""
    brace = plain.find("{", end - len(line), end)
    return line if brace < 0 else line[: brace - end + len(line)]


def style_rules(text: str) -> list[Symbol]:
    """Find the rules of a style sheet by its braces: CSS, SCSS, Less."""
    plain, numbers = masked(text, "c"), Lines(text)
    rules: list[Symbol] = []
    for block in brace_blocks(plain):
        start = block.head + len(plain[block.head : block.open]) - len(plain[block.head : block.open].lstrip())
        label = " ".join(text[start : block.open].split())
        if not label or label.endswith("#"):  # an interpolation
            continue
        line = numbers.at(start)
        end = min(block.close + 1, len(text))
        last = numbers.at(min(block.close, len(text)))
        rules.append(Symbol(label[:120], style_kind(label), line, line, last, label[:120], span=(start, end)))
    return rules


def style_kind(label: str) -> SymbolKind:
    for word, kind in (
        ("@media", "media"),
        ("@keyframes", "keyframes"),
        ("@-", "keyframes"),
        ("@supports", "supports"),
    ):
        if label.startswith(word):
            return "at-rule" if word == "@-" and "keyframes" not in label else kind  # type: ignore[return-value]
    return "at-rule" if label.startswith("@") else "rule"


def _end_of(offset: int, blocks: list[BraceBlock], plain: str) -> int:
    """Return where the block that belongs to a name ends: that of the next brace, if no statement ends before it."""
    at = bisect_left(blocks, offset, key=lambda block: block.open)
    if at == len(blocks) or ";" in plain[offset : blocks[at].open]:
        return offset
    return min(blocks[at].close + 1, len(plain))
