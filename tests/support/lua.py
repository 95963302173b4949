"""Reads Lua for what its own compiler lets pass: a key twice in a table, a function twice, a name that is nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--\[(?P<deep>=*)\[.*?\](?P=deep)\]|--[^\n]*)
    |(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\[(?P<level>=*)\[.*?\](?P=level)\])
    |(?P<number>0[xX][0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\.\.\.|\.\.|::|[=~<>]=|.)""",
    re.DOTALL | re.VERBOSE,
)
_WORDS = frozenset(
    {
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil",
        "not", "or", "repeat", "return", "then", "true", "until", "while",
    }
)  # fmt: skip
GLOBALS = frozenset(
    {
        "assert", "coroutine", "debug", "error", "getmetatable", "io", "ipairs", "jit", "math", "next", "os", "package",
        "pairs", "pcall", "print", "rawequal", "rawget", "rawset", "require", "select", "setmetatable", "string",
        "table", "tonumber", "tostring", "type", "unpack", "vim", "xpcall",
    }
)  # fmt: skip
_BEFORE_KEY = ("{", ",", ";")


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int


@dataclass
class _Block:
    """A block of statements or a table. `following` are the names of a loop whose body has not begun."""

    names: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    keys: set[str] | None = None
    following: set[str] = field(default_factory=set)


def problems(source: str) -> list[str]:
    """Return what is wrong in a file, with the lines."""
    return list(_Reader(source).problems())


class _Reader:
    def __init__(self, source: str) -> None:
        self._tokens: list[_Token] = []
        line = 1
        for match in _TOKEN.finditer(source):
            if match.lastgroup is not None and match["skip"] is None:
                kind = next(kind for kind in ("text", "number", "name", "sign") if match[kind] is not None)
                self._tokens.append(_Token("word" if match[0] in _WORDS else kind, match[0], line))
            line += match[0].count("\n")
        self._blocks = [_Block()]

    def _text(self, at: int) -> str:
        return self._tokens[at].text if 0 <= at < len(self._tokens) else ""

    def problems(self) -> Iterator[str]:
        for at, token in enumerate(self._tokens):
            top = self._blocks[-1]
            match token.text if token.kind != "text" else "":
                case "{":
                    self._blocks.append(_Block(keys=set()))
                case "if" | "repeat":
                    self._blocks.append(_Block())
                case "do":
                    self._blocks.append(_Block(top.following))
                    top.following = set()
                case "else" | "elseif":
                    self._blocks[-1] = _Block()
                case "end" | "until" | "}":
                    self._blocks.pop()
                case "for":
                    top.following = set(self._names(at + 1))
                case "local" if self._text(at + 1) != "function":
                    top.names.update(self._names(at + 1))
                case "function":
                    yield from self._function(at, token.line)
                case "[" if self._is_key(at) and self._text(at + 2) == "]" and self._text(at + 3) == "=":
                    yield from self._key(self._text(at + 1).strip("\"'"), token.line)
                case _ if token.kind == "name":
                    yield from self._name(at, token)

    def _names(self, at: int) -> Iterator[str]:
        """Yield the names of a list that begins here."""
        yield self._text(at)
        while self._text(at + 1) == ",":
            at += 2
            yield self._text(at)

    def _function(self, at: int, line: int) -> Iterator[str]:
        opening = next(index for index in range(at, len(self._tokens)) if self._text(index) == "(")
        name, top = "".join(self._text(index) for index in range(at + 1, opening)), self._blocks[-1]
        if name in top.functions:
            yield f"line {line}: the function {name} occurs twice"
        top.functions.update([name] if name else [])
        if self._text(at - 1) == "local":
            top.names.add(name)
        self._blocks.append(_Block({*self._names(opening + 1), *(["self"] if ":" in name else [])}))

    def _is_key(self, at: int) -> bool:
        return self._blocks[-1].keys is not None and self._text(at - 1) in _BEFORE_KEY

    def _key(self, key: str, line: int) -> Iterator[str]:
        keys = self._blocks[-1].keys
        if keys is not None and key in keys:
            yield f"line {line}: the key {key} occurs twice"
        elif keys is not None:
            keys.add(key)

    def _name(self, at: int, token: _Token) -> Iterator[str]:
        if self._is_key(at) and self._text(at + 1) == "=":
            yield from self._key(token.text, token.line)
        elif self._text(at - 1) in (".", ":", "::", "goto") or token.text in GLOBALS:
            return
        elif not any(token.text in block.names | block.following for block in self._blocks):
            yield f"line {token.line}: {token.text} is not the name of anything here"
