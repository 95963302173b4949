"""Reads single fields of the log. Other programs write logs, too, so a field may hold anything or be missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeVar

from north_lsp.lazy_dataclass import dataclass

Json = Mapping[str, Any]
NOTHING: Json = {}
T = TypeVar("T")
FIXED = frozenset({"type", "id", "parentId", "timestamp"})
"""The fields that every line has: its kind, id, parent and time."""


def as_text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def text_or_none(value: object) -> str | None:
    return None if value is None else as_text(value)


def as_list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def as_object(value: object) -> Json:
    return value if isinstance(value, Mapping) else NOTHING


def whole_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def unknown(stored: Json, known: frozenset[str]) -> Json:
    """Return the fields that this version does not know; they are kept as they are."""
    if stored.keys() <= known:
        return NOTHING
    return {key: value for key, value in stored.items() if key not in known}


@dataclass(frozen=True, slots=True)
class Content(Generic[T]):
    """The parts of a message. `foreign` has, by position, the parts of an unknown kind and the unknown fields of the
    other parts."""

    parts: tuple[T, ...] = ()
    foreign: Mapping[int, Json] = field(default_factory=dict)

    @classmethod
    def from_json(
        cls, stored: object, read: Callable[[Json], T | None], known: Mapping[str, frozenset[str]]
    ) -> Content[T]:
        parts: list[T] = []
        foreign: dict[int, Json] = {}
        for index, row in enumerate(as_list(stored)):
            if not isinstance(row, Mapping):
                foreign[index] = {"": row}
                continue
            part = read(row)
            if part is None:
                foreign[index] = row
                continue
            parts.append(part)
            if more := unknown(row, known.get(str(row.get("type")), frozenset())):
                foreign[index] = more
        return cls(tuple(parts), foreign)

    def to_json(self, write: Callable[[T], dict[str, Any]]) -> list[Any]:
        rows: list[Any] = []
        known = iter(self.parts)
        for index in range(len(self.parts) + len(self.foreign)):
            more = self.foreign.get(index, NOTHING)
            if "type" in more or "" in more:  # a part of an unknown kind
                rows.append(more.get("", more))
            elif (part := next(known, None)) is not None:
                rows.append(write(part) | dict(more))
        return rows


def without_place(record: Json) -> dict[str, Any]:
    """Return a line without its place (id, parent and time), to be written again elsewhere."""
    return {key: value for key, value in record.items() if key == "type" or key not in FIXED}


def is_excluded(record: Json) -> bool:
    """Tell whether a message is kept from models."""
    return bool(record.get("excludeFromContext") or as_object(record.get("message")).get("excludeFromContext"))


def exclusion(excluded: bool) -> dict[str, bool]:
    return {"excludeFromContext": True} if excluded else {}


def given(**fields: object) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


BESIDE = FIXED | {"message", "fromQueue", "excludeFromContext"}
"""The fields of a line that belong beside its message."""
