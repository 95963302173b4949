"""Looks settings up in a file of the user's: a wrong value is left out and said, an unknown key is said."""

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

EVERY_COMMAND = ("",)
"""Patterns of commands that always ask, where nobody can know which were meant."""

_T = TypeVar("_T")
_FOR_EDITORS = frozenset({"$schema"})


class SettingsError(ValueError):
    """A settings file that cannot be used; `line` and `column` count from 1."""

    def __init__(self, path: Path, line: int, column: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}, column {column}: {problem}")
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem


@dataclass(frozen=True)
class SettingsReader:
    """Keys may be written flat (`"mode.default": …`) or nested (`"mode": {"default": …}`). Each method gives the
    default for a key that is not there, and for a wrong value its `strict` (the default, if there is none)."""

    path: Path
    source: str
    values: Mapping[str, object]
    problems: list[str] = field(default_factory=list)
    _asked: dict[str, None] = field(default_factory=dict)
    _wrong: set[str] = field(default_factory=set)

    def text(self, key: str) -> str | None:
        value = self._find(key)
        if value is not None and not isinstance(value, str):
            return self._refused(key, f"{key} has to be a text", None)
        return value

    def choice(
        self, key: str, choices: tuple[str, ...], default: str | None, alias: str | None = None, *, strict: str = ""
    ) -> str | None:
        """`alias` is another name of the key."""
        if alias is not None and _found(self.values, key) is None and _found(self.values, alias) is not None:
            self._asked.setdefault(key)
            key = alias
        value = self._find(key)
        if value is not None and not isinstance(value, str):
            return self._refused(key, f"{key} has to be a text", strict or default)
        if value is not None and value not in choices:
            return self._refused(key, f"{key} has to be one of {', '.join(choices)}, not {value!r}", strict or default)
        return value if value is not None else default

    def flag(self, key: str, default: bool, *, strict: bool | None = None) -> bool:
        value = self._find(key)
        if value is not None and not isinstance(value, bool):
            return self._refused(key, f"{key} has to be true or false", default if strict is None else strict)
        return default if value is None else value

    def count(self, key: str, default: int) -> int:
        value = self._find(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            return self._refused(key, f"{key} has to be a whole number, 0 or more", default)
        return default if value is None else value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        value = self.count(key, default)
        if not low <= value <= high:
            return self._refused(key, f"{key} has to be from {low} to {high}, not {value}", default)
        return value

    def amount(self, key: str, default: float, *, strict: float) -> float:
        value = self._find(key)
        if value is None:
            return default
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value < 0:  # type: ignore[arg-type,operator]  # seen above
            return self._refused(key, f"{key} has to be a number, 0 or more", strict)
        return float(value)  # type: ignore[arg-type]  # a number, as seen above

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        value = self._find(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(_are_texts(row) for row in value.values()):
            return self._refused(key, f"{key} has to be an object of lists of texts", {})
        return {name: tuple(row) for name, row in value.items()}

    def named_texts(self, key: str) -> dict[str, str]:
        value = self._find(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            return self._refused(key, f"{key} has to be an object of texts", {})
        return dict(value)

    def value(self, key: str) -> object:
        """As it stands there, for a caller that reads it by itself."""
        return self._find(key)

    def texts(self, key: str, *, strict: tuple[str, ...] = ()) -> tuple[str, ...]:
        value = self._find(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            return self._refused(key, f"{key} has to be a list of texts", strict)
        return tuple(value)

    def rows(self, key: str) -> tuple[Mapping[str, object], ...]:
        value = self._find(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            return self._refused(key, f"{key} has to be a list of objects", ())
        return tuple(value)

    def patterns(self, key: str) -> tuple[str, ...]:
        """Regular expressions of commands that always ask; with one that is wrong, every command does."""
        found = self.texts(key, strict=EVERY_COMMAND)
        for pattern in found:
            try:
                re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                problem = f"{key} has an invalid regular expression ({error}): until it is fixed, every command asks"
                return self._refused(key, problem, EVERY_COMMAND)
        return found

    @property
    def known(self) -> tuple[str, ...]:
        """The keys that have been looked up."""
        return tuple(self._asked)

    def is_wrong(self, key: str) -> bool:
        """Whether the key has been looked up and had a wrong value."""
        return key in self._wrong

    def refuse(self, key: str, problem: str) -> None:
        """Note what is wrong with a value that the caller has read by itself."""
        self._refused(key, problem, None)

    def unknown(self) -> Iterator[str]:
        """What stands in the file and was not looked up, with the closest name. For the end, when all keys were."""
        for key in _leaves(self.values, set(self._asked)):
            if key in _FOR_EDITORS:
                continue
            near = difflib.get_close_matches(key, self._asked, 1, 0.7)
            meant = f"; did you mean {near[0]}?" if near else ""
            yield str(self._error(key, f"the setting {key} is unknown and has no effect{meant}"))

    def _refused(self, key: str, problem: str, instead: _T) -> _T:
        self._wrong.add(key)
        line = str(self._error(key, problem))
        if line not in self.problems:
            self.problems.append(line)
        return instead

    def _find(self, key: str) -> object:
        self._asked.setdefault(key)
        return _found(self.values, key)

    def _error(self, key: str, problem: str) -> SettingsError:
        group, _, name = key.rpartition(".")
        place = self.source.find(f'"{key}"')
        if place < 0:
            place = max(self.source.find(f'"{name}"', max(self.source.find(f'"{group}"'), 0)), 0)
        before = self.source[:place]
        return SettingsError(self.path, before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1, problem)


def _are_texts(row: object) -> bool:
    return isinstance(row, list) and all(isinstance(item, str) for item in row)


def _found(values: Mapping[str, object], key: str) -> object:
    """The value of a key that may be written in one piece or nested at any of its dots; None if there is none."""
    if key in values:
        return values[key]
    parts = key.split(".")
    for size in range(1, len(parts)):
        inner = values.get(".".join(parts[:size]))
        if isinstance(inner, dict) and (value := _found(inner, ".".join(parts[size:]))) is not None:
            return value
    return None


def _leaves(values: Mapping[str, object], known: set[str], prefix: str = "") -> Iterator[str]:
    """The keys that nothing looks up; a group counts as its members."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key in known:
            continue
        if isinstance(value, dict) and any(one.startswith(f"{key}.") for one in known):
            yield from _leaves(value, known, f"{key}.")
        else:
            yield key
