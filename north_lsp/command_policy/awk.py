"""Decides which awk programs only read their input: they write no files, read none but their operands, and run nothing.

Awks differ, so only what all of them read in the same way passes. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.command_policy.parsing import Word
from north_lsp.lazy_pattern import lazy_pattern

_TOKEN = lazy_pattern(
    r"(?P<space>[ \t]+)|(?P<line>\n)|(?P<string>\"(?:[^\"\\\n]|\\.)*\")|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<slash>/)"
    r"|(?P<sign>\+\+|--|\|\||&&|[-+*%^=!<>]=|!~|[-+*%^=!<>~?:,;$(){}\[\]])"
)
_BRACKET = r"\[\^?\]?(?:[^\]/\n\\]|\\.)*\]"
_REGEX = lazy_pattern(rf"/(?!=)(?:[^/\\\n\[]|\\.|{_BRACKET})*/")
_KEYWORDS = frozenset({"BEGIN", "END", "if", "else", "for", "in", "print", "printf", "next", "exit", "delete"})
_FUNCTIONS = frozenset(
    {"length", "substr", "index", "split", "tolower", "toupper", "sprintf", "int", "sub", "gsub", "gensub", "match"}
)
_VARIABLES = frozenset(
    {"NR", "NF", "FNR", "FS", "OFS", "ORS", "RS", "FILENAME", "RSTART", "RLENGTH", "SUBSEP", "FPAT", "IGNORECASE"}
)
_OTHER_WORDS = frozenset(
    {"getline", "system", "close", "fflush", "nextfile", "function", "func", "while", "do", "switch", "case", "default",
     "break", "continue", "return"}
)  # fmt: skip
_OWN_NAME = lazy_pattern(r"[a-z_]\w*\Z|[A-Z]\Z")
_ASSIGNS = lazy_pattern(r"[A-Za-z_]\w*=")


def awk_problem(words: Sequence[Word]) -> str | None:
    """Return why no rule covers an awk with these words (without its own name); None if it is harmless."""
    rest = list(words)
    while rest and rest[0].text.startswith("-") and rest[0].text != "-":
        text = rest.pop(0).text
        if text == "--":
            break
        if text in ("-F", "-v") and rest:
            value = rest.pop(0).text
        elif text.startswith(("-F", "-v")) and len(text) > 2:
            value = text[2:]
        else:
            return f"`{text}` may run or write something"
        if text.startswith("-v") and not _ASSIGNS.match(value):
            return f"`{text}` without an assignment"
    if not rest or (rest[0].is_glob and rest[0].raw[:1] not in "'\""):
        return "awk without a literal program"
    return None if _only_reads(rest[0].text) else "the awk program does more than read its input"


def _only_reads(program: str) -> bool:
    at, prints = 0, False
    before = ""  # the token before; names, strings, numbers and regular expressions are "value"
    heads: list[bool] = []  # for each open parenthesis: whether it belongs to an `if` or `for`
    while at < len(program):
        match = _TOKEN.match(program, at)
        if match is None:
            return False
        kind, text = str(match.lastgroup), match[0]
        at = match.end()
        if kind == "space":
            continue
        if kind == "slash":
            if before in ("++", "--", "length", "head"):  # awks differ in how they read what comes next
                return False
            if before not in ("value", ")", "]"):
                regex = _REGEX.match(program, at - 1)
                if regex is None:
                    return False
                at, text = regex.end(), "value"
        elif kind == "name":
            follows = program[at:].lstrip(" \t")[:1]
            if text in _KEYWORDS:
                prints = prints or text in ("print", "printf")
            elif text in _FUNCTIONS:
                if follows != "(" and text != "length":
                    return False
            elif text in _VARIABLES or (_OWN_NAME.match(text) and text not in _OTHER_WORDS and follows != "("):
                text = "value"
            else:
                return False
        elif kind in ("string", "number"):
            text = "value"
        elif kind == "line":
            text = "\n"
        elif text in (">", ">=") and prints:
            return False
        elif text in (";", "}"):
            prints = False
        elif text == "(":
            heads.append(before in ("if", "for"))
        elif text == ")":
            if not heads:
                return False
            text = "head" if heads.pop() else ")"
        before = text
    return bool(before) and not heads
