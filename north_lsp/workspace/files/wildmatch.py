"""A star is tried at the first place where what comes between it and the next one matches, and never again: if that
place does not lead to a match, no later one does, since the next star takes in whatever comes between (atomic groups
ensure this). What comes after the last star must match at the end. So matching takes at most the product of the
lengths, whatever the pattern.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache

SPECIAL = b"*?[\\"
_CLASSES = {
    b"alnum": rb"a-zA-Z0-9",
    b"alpha": rb"a-zA-Z",
    b"blank": rb" \t",
    b"cntrl": rb"\x00-\x1f\x7f",
    b"digit": rb"0-9",
    b"graph": rb"\x21-\x7e",
    b"lower": rb"a-z",
    b"print": rb"\x20-\x7e",
    b"punct": rb"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    b"space": rb" \t\n\r\f\v",
    b"upper": rb"A-Z",
    b"xdigit": rb"0-9A-Fa-f",
}


def any_matches(patterns: Iterable[str], relative: str) -> str | None:
    """Return the first pattern that a path matches: by its name for a pattern without a slash, else by all of it. None
    if there is none."""
    for pattern in patterns:
        subject = relative if "/" in pattern else relative.rpartition("/")[2]
        compiled = _compiled(pattern.removeprefix("/"))
        if compiled is not None and compiled.fullmatch(os.fsencode(subject)):
            return pattern
    return None


@cache
def _compiled(pattern: str) -> re.Pattern[bytes] | None:
    expression = translate(os.fsencode(pattern))
    return None if expression is None else re.compile(expression, re.DOTALL)


_STAR, _FOLDERS, _ALL, _SLASH = b"*", b"**/", b"**", b"/"
_ACROSS = {_FOLDERS: b"(?:[^/]*+/)*?", _ALL: b".*?"}


def translate(pattern: bytes) -> bytes | None:
    """Return the regular expression (DOTALL, to be matched in full) of a pattern in which `*` stops at `/`.

    None if the pattern is broken and matches nothing.
    """
    parts = _parts(pattern)
    if parts is None:
        return None
    pieces: list[list[bytes]] = [[]]
    across: list[bytes] = []
    for kind, expression in parts:
        if kind in _ACROSS:
            across.append(kind)
            pieces.append([])
        else:
            pieces[-1].append(expression if kind not in (_STAR, _SLASH) else kind)
    first, *rest = map(_piece, pieces)
    out = [first]
    for kind, piece in zip(across, rest, strict=True):
        out.append(b"(?>" + _ACROSS[kind] + piece + b")")
    if rest:
        out[-1] = b".*" if (across[-1], rest[-1]) == (_ALL, b"") else _ACROSS[across[-1]] + rest[-1]
    return b"".join(out)


def _piece(parts: list[bytes]) -> bytes:
    """Join the names and slashes between two wildcards that span folders."""
    names: list[list[bytes]] = [[b""]]
    for part in parts:
        if part == _SLASH:
            names.append([b""])
        elif part == _STAR:
            names[-1].append(b"")
        else:
            names[-1][-1] += part
    return b"/".join(map(_name, names))


def _name(texts: list[bytes]) -> bytes:
    """Join what comes before, between and after the stars of one name."""
    first, *rest = texts
    if not rest:
        return first
    between = b"".join(b"(?>[^/]*?" + text + b")" for text in rest[:-1] if text)
    return first + between + (b"[^/]*" + rest[-1] if rest[-1] else b"[^/]*+")


def _parts(pattern: bytes) -> list[tuple[bytes, bytes]] | None:
    """Split a pattern into its parts: wildcards and slashes by kind, expressions for single characters."""
    out: list[tuple[bytes, bytes]] = []
    first_special = next((at for at, byte in enumerate(pattern) if byte in SPECIAL), len(pattern))
    at = 0
    while at < len(pattern):
        match pattern[at : at + 1]:
            case b"*":
                end = at + 1
                while pattern[end : end + 1] == b"*":
                    end += 1
                # Git compares the literal beginning separately, so stars right after it count as the beginning, too.
                opens = at == first_special or pattern[at - 1 : at] == b"/"
                if end - at == 1 or not opens or not _closes(pattern, end):
                    out.append((_STAR, b""))
                elif pattern[end : end + 1] == b"/":
                    out.append((_FOLDERS, b""))
                    end += 1
                else:
                    out.append((_ALL, b""))
                at = end
            case b"?":
                out.append((b"?", b"[^/]"))
                at += 1
            case b"[":
                bracket = _bracket(pattern, at + 1)
                if bracket is None:
                    return None
                expression, at = bracket
                out.append((b"[", expression))
            case b"\\":
                if at + 1 == len(pattern):
                    return None
                out.append(_literal(pattern[at + 1 : at + 2]))
                at += 2
            case literal:
                out.append(_literal(literal))
                at += 1
    return out


def _literal(byte: bytes) -> tuple[bytes, bytes]:
    return (_SLASH if byte == b"/" else b"", re.escape(byte))


def _closes(pattern: bytes, end: int) -> bool:
    rest = pattern[end : end + 2]
    return not rest or rest.startswith(b"/") or rest == b"\\/"


def _bracket(pattern: bytes, at: int) -> tuple[bytes, int] | None:
    """Translate the set that begins at `at`, after its `[`. Returns the expression and where the pattern continues;
    None for a set without an end."""
    negated = pattern[at : at + 1] in (b"!", b"^") and at < len(pattern)
    at += negated
    members: list[bytes] = []
    previous: int | None = None
    first = True
    while first or pattern[at : at + 1] != b"]":
        if at >= len(pattern):
            return None
        first = False
        byte, after = pattern[at], pattern[at + 1 : at + 2]
        if byte == ord("\\"):
            if not after:
                return None
            members.append(_member(after[0], after[0]))
            previous, at = after[0], at + 2
        elif byte == ord("-") and previous is not None and after not in (b"", b"]"):
            at += 1
            if after == b"\\":
                at += 1
                if at >= len(pattern):
                    return None
            if previous <= pattern[at]:
                members.append(_member(previous, pattern[at]))
            previous, at = None, at + 1
        elif byte == ord("[") and after == b":":
            close = pattern.find(b"]", at + 2)
            if close < 0:
                return None
            if close == at + 2 or pattern[close - 1 : close] != b":":
                members.append(_member(byte, byte))
                previous, at = byte, at + 1
            else:
                name = _CLASSES.get(pattern[at + 2 : close - 1])
                if name is None:
                    return None
                members.append(name)
                previous, at = None, close + 1
        else:
            members.append(_member(byte, byte))
            previous, at = byte, at + 1
    chosen = b"".join(members)
    if negated:
        return b"[^/" + chosen + b"]", at + 1
    # A set never matches a slash, even if it contains one.
    return (b"(?!/)[" + chosen + b"]" if chosen else b"(?!)"), at + 1


def _member(low: int, high: int) -> bytes:
    return rb"\x%02x" % low if low == high else rb"\x%02x-\x%02x" % (low, high)
