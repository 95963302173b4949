"""Changes one value in the text of a JSON object as people write it, and leaves the rest as it is, comments too. Pure;
what the text means afterwards is for the caller to check."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.relaxed_json import plain, without_comments

_SPACE = lazy_pattern(r"\s*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: where its name begins, and where its value begins and ends. `inner` is where the brace of
    an object is, with its members."""

    name: str
    start: int
    value: int
    end: int
    inner: Object | None


@dataclass(frozen=True, slots=True)
class Object:
    """An object in a text: where its brace is, and its members."""

    brace: int
    members: Sequence[Member]


def find(text: str, key: str) -> Member | None:
    """Find a key, whether it is written in one piece or nested at any of its dots. Raises ValueError for a text that is
    not a JSON object."""
    return _find(_object(plain(text)), key)


def with_value(text: str, key: str, value: object) -> str:
    """Return the text with a key set: in its place, or else before all others of the object that it belongs in. Raises
    ValueError for a text that is not a JSON object."""
    whole = _object(plain(text))
    if (member := _find(whole, key)) is not None:
        return text[: member.value] + _dumped(value) + text[member.end :]
    inside, name = _belongs_in(whole, key)
    start = inside.brace + 1
    indent = re.match(r"\s*?\n([ \t]+)", text[start:])
    head = f"\n{indent[1]}" if indent is not None and inside.members else ""
    pair = f"{head}{json.dumps(name)}: {_dumped(value)}"
    rest = text[start:]
    if not inside.members:
        return text[:start] + pair + rest
    return text[:start] + pair + "," + (rest if head else f" {rest.lstrip()}")


def without_key(text: str, key: str) -> str:
    """Return the text without a key. Raises ValueError for a text that is not a JSON object."""
    while (member := find(text, key)) is not None:
        text = _cut(text, member)
    return text


def _cut(text: str, member: Member) -> str:
    """Cut a member with the comma that follows it, or else the one before it; and the line, if that is empty then."""
    bare = without_comments(text)
    start, end = member.start, member.end
    after = _SPACE.match(bare, end)
    assert after is not None  # it matches anything
    if bare[after.end() : after.end() + 1] == ",":
        end = after.end() + 1
        before = text[:start]
    else:
        comma = len(bare[:start].rstrip()) - 1
        before = text[:comma] + text[comma + 1 : start] if bare[comma : comma + 1] == "," else text[:start]
    rest = text[end:]
    line = re.search(r"\r?\n[ \t]*\Z", before)
    if line is not None and (blank := re.match(r"[ \t]*(?=\r?\n)", rest)) is not None:
        return before[: line.start()] + rest[blank.end() :]
    return before + (rest.lstrip(" \t") if line is None else rest)


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _find(inside: Object, key: str) -> Member | None:
    """Find it as the reader does: the longest name first at the outside, then the shortest group; of two members of the
    same name the last one counts."""
    by_name = {member.name: member for member in inside.members}
    if key in by_name:
        return by_name[key]
    parts = key.split(".")
    for size in range(1, len(parts)):
        group = by_name.get(".".join(parts[:size]))
        if group is not None and group.inner is not None and (found := _find(group.inner, ".".join(parts[size:]))):
            return found
    return None


def _belongs_in(inside: Object, key: str) -> tuple[Object, str]:
    """Return the object that a new key belongs in, and its name there: a group that is written, or the whole."""
    by_name = {member.name: member for member in inside.members}
    parts = key.split(".")
    for size in range(len(parts) - 1, 0, -1):
        group = by_name.get(".".join(parts[:size]))
        if group is not None and group.inner is not None and group.inner.members:
            return _belongs_in(group.inner, ".".join(parts[size:]))
    return inside, key


def _object(bare: str, at: int | None = None) -> Object:
    """Read the object at a place of a text without comments and trailing commas; by default the whole."""
    brace = _skip(bare, 0) if at is None else at
    if bare[brace : brace + 1] == "\ufeff":
        brace = _skip(bare, brace + 1)
    if bare[brace : brace + 1] != "{":
        raise ValueError("it is not an object")
    members: list[Member] = []
    place = _skip(bare, brace + 1)
    while bare[place : place + 1] == '"':
        name, end = _DECODER.raw_decode(bare, place)
        value = _skip(bare, _skip(bare, end) + 1)
        _, after = _DECODER.raw_decode(bare, value)
        inner = _object(bare, value) if bare[value] == "{" else None
        members.append(Member(name, place, value, after, inner))
        place = _skip(bare, after)
        if bare[place : place + 1] == ",":
            place = _skip(bare, place + 1)
    return Object(brace, members)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place
