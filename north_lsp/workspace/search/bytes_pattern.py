"""Translates Python's regular expressions to ripgrep's, over bytes: the translation matches every line that the
original matches."""

from __future__ import annotations

import importlib
import re
from typing import Any

from north_lsp.lazy_dataclass import dataclass

# The parser of the standard library; the module has no public name.
_parser: Any = importlib.import_module("re._parser")

_DIGITS = frozenset(range(0x30, 0x3A))
_WORD = _DIGITS | frozenset(range(0x41, 0x5B)) | frozenset(range(0x61, 0x7B)) | {0x5F}
_SPACE = frozenset([*range(0x09, 0x0E), *range(0x1C, 0x21)])
_ASCII = frozenset(range(0x80))
_CATEGORIES = {"DIGIT": _DIGITS, "WORD": _WORD, "SPACE": _SPACE}
# Letters that Python treats as an ASCII letter when ignoring case.
_ALIKE = {"k": "\u212a", "s": "\u017f", "i": "\u0130\u0131"}
_ANYTHING_ELSE = r"[\x80-\xff]"


@dataclass(frozen=True, slots=True)
class BytesPattern:
    """An expression for ripgrep without Unicode, in `source`. It finds at least what is to be found; if it is `exact`,
    it finds precisely that in files that contain only ASCII and neither NUL nor carriage returns."""

    source: str
    exact: bool


class _Untranslatable(Exception):
    pass


def translate(pattern: re.Pattern[str], *, multiline: bool = False) -> BytesPattern | None:
    """Translate a pattern for ripgrep; None if it cannot be expressed there."""
    translator = _Translator(multiline, ascii_case=bool(pattern.flags & re.ASCII))
    try:
        tree = _parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
        if multiline and tree.getwidth()[0] == 0:
            return None  # matches after the last line are counted differently
        source = translator.sequence(list(tree), bool(pattern.flags & re.IGNORECASE))
    except (_Untranslatable, re.error, RecursionError):
        return None
    return BytesPattern(source, translator.exact and not multiline)


@dataclass
class _Translator:
    multiline: bool
    ascii_case: bool
    exact: bool = True

    def sequence(self, items: list[Any], folded: bool) -> str:
        parts: list[str] = []
        for at, item in enumerate(items):
            if str(item[0]) == "AT":
                neighbors = (items[at - 1] if at else None, items[at + 1] if at + 1 < len(items) else None)
                parts.append(self._position(str(item[1]), neighbors))
            else:
                parts.append(self._item(item, folded))
        return "".join(parts)

    def _item(self, item: Any, folded: bool) -> str:
        operation, argument = str(item[0]), item[1]
        match operation:
            case "LITERAL":
                return self._literal(argument, folded)
            case "NOT_LITERAL":
                return self._set([("NEGATE", None), ("LITERAL", argument)], folded, repeated=False)
            case "IN":
                return self._set(argument, folded, repeated=False)
            case "ANY":
                return self._set(self._members(item), folded, repeated=False)
            case "BRANCH":
                return f"(?:{'|'.join(self.sequence(list(branch), folded) for branch in argument[1])})"
            case "SUBPATTERN":
                _, added, removed, inner = argument
                return f"(?:{self.sequence(list(inner), (folded or bool(added & re.I)) and not removed & re.I)})"
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeat(argument, folded)
            case "POSSESSIVE_REPEAT":
                self.exact = False
                return self._repeat(argument, folded)
            case "ATOMIC_GROUP":
                self.exact = False
                return f"(?:{self.sequence(list(argument), folded)})"
            case "ASSERT" | "ASSERT_NOT":
                self.exact = False
                return ""
            case "GROUPREF":
                self.exact = False
                return r"[\x00-\xff]*" if self.multiline else r"[^\n]*"
            case _:
                raise _Untranslatable

    def _literal(self, code: int, folded: bool) -> str:
        character = chr(code)
        if code == 0x0A:
            if not self.multiline:
                raise _Untranslatable  # no line contains one
            return r"\r?\n"
        if code < 0x80:
            if not folded or not character.isalpha():
                return rf"\x{code:02x}" if not character.isalnum() else character
            lower = character.lower()
            both = f"[{lower}{lower.upper()}]"
            others = [_utf8(other) for other in _ALIKE.get(lower, "")]
            return f"(?:{'|'.join([both, *others])})" if others else both
        if folded:
            self.exact = False  # case folding beyond ASCII is not worth a table
            return rf"(?:[kKsSiI]|{_ANYTHING_ELSE}{{1,4}})"
        spellings = [_utf8(character)] + ([rf"\x{code:02x}"] if code <= 0xFF else [])
        return f"(?:{'|'.join(spellings)})"

    def _repeat(self, argument: Any, folded: bool) -> str:
        low, high, inner = argument
        items = list(inner)
        unlimited = high == _parser.MAXREPEAT
        if unlimited and len(items) == 1 and str(items[0][0]) in ("IN", "ANY", "NOT_LITERAL"):
            body = self._set(self._members(items[0]), folded, repeated=True)
        else:
            body = f"(?:{self.sequence(items, folded)})"
        return f"{body}{{{int(low)},{'' if unlimited else int(high)}}}"

    @staticmethod
    def _members(item: Any) -> list[Any]:
        """Return a set of the same characters. A dot may match line ends, because the flags that apply here are
        unknown."""
        match str(item[0]):
            case "ANY":
                return [("NEGATE", None)]
            case "NOT_LITERAL":
                return [("NEGATE", None), ("LITERAL", item[1])]
            case _:
                return list(item[1])

    def _set(self, members: list[Any], folded: bool, *, repeated: bool) -> str:
        """Return an expression for one character of a set; `repeated` sets come before an unlimited repetition and may
        match single bytes."""
        negated = bool(members) and str(members[0][0]) == "NEGATE"
        codes, far, category = set[int](), False, False
        for member in members[negated:]:
            match str(member[0]):
                case "LITERAL":
                    codes.add(member[1])
                    far = far or member[1] >= 0x80
                case "RANGE":
                    codes.update(range(member[1][0], min(member[1][1], 0x7F) + 1))
                    far = far or member[1][1] >= 0x80
                case "CATEGORY":
                    name = str(member[1]).removeprefix("CATEGORY_").removeprefix("UNI_")
                    chosen = _CATEGORIES.get(name.removeprefix("NOT_"))
                    if chosen is None:
                        raise _Untranslatable
                    codes |= _ASCII - chosen if name.startswith("NOT_") else chosen
                    category = True
                case _:
                    raise _Untranslatable
        beyond = negated or far or category
        alike = {ord(letter) for letter in "kKsSiI"}
        if folded:
            beyond = beyond or bool(codes & alike)
            codes |= {
                ord(other) for code in codes for other in (chr(code).lower(), chr(code).upper()) if len(other) == 1
            }
            if far:  # case folding may turn what is beyond ASCII into an ASCII letter
                self.exact = False
                codes = codes - alike if negated else codes | alike
        chosen_codes = (_ASCII - codes if negated else codes & _ASCII) - (set() if self.multiline else {0x0A})
        breaks = self.multiline and 0x0A in chosen_codes
        chosen_codes |= {0x0D} if breaks else set()
        inside = "".join(rf"\x{code:02x}" for code in sorted(chosen_codes))
        if not beyond:
            body = f"[{inside}]" if inside else r"[^\x00-\xff]"
            return rf"(?:\r?{body})" if breaks else body
        if repeated:
            return rf"[{inside}\x80-\xff]"
        others = f"{_ANYTHING_ELSE}{{1,4}}"
        body = f"[{inside}]|{others}" if inside else others
        return rf"(?:\r?(?:{body}))" if breaks else f"(?:{body})"

    def _position(self, where: str, neighbors: tuple[Any, Any]) -> str:
        match where:
            case "AT_BEGINNING":
                return "(?m:^)"
            case "AT_BEGINNING_STRING":
                return "" if self.multiline else "(?m:^)"
            case "AT_END":
                return r"\r?(?m:$)"
            case "AT_END_STRING":
                return "" if self.multiline else r"\r?(?m:$)"
            case "AT_BOUNDARY" if _is_word(neighbors[0], last=True) or _is_word(neighbors[1], last=False):
                # Next to an ASCII word character, bytes and text agree on boundaries, whatever the other neighbor is.
                return r"\b"
            case "AT_BOUNDARY" | "AT_NON_BOUNDARY":
                self.exact = False
                return ""
            case _:
                raise _Untranslatable


def _is_word(item: Any, *, last: bool) -> bool:
    """Return whether everything that an item matches begins (or ends) with an ASCII word character."""
    if item is None:
        return False
    operation, argument = str(item[0]), item[1]
    match operation:
        case "LITERAL":
            return argument in _WORD and chr(argument).lower() not in _ALIKE
        case "IN":
            return all(
                (str(kind) == "LITERAL" and value in _WORD)
                or (str(kind) == "RANGE" and value[1] < 0x80 and set(range(value[0], value[1] + 1)) <= _WORD)
                for kind, value in argument
            ) and not any(str(kind) in ("NEGATE", "CATEGORY") for kind, _ in argument)
        case "MAX_REPEAT" | "MIN_REPEAT":
            low, _, inner = argument
            return bool(low >= 1 and len(inner) == 1 and _is_word(inner[0], last=last))
        case "SUBPATTERN":
            items = list(argument[3])
            return bool(items) and _is_word(items[-1 if last else 0], last=last)
        case "BRANCH":
            return all(len(branch) and _is_word(branch[-1 if last else 0], last=last) for branch in argument[1])
        case _:
            return False


def _utf8(character: str) -> str:
    return "".join(rf"\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
