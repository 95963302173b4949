"""Reads declared settings from the user's file. A wrong value is left out; it and unknown keys are reported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import Declared, PartlyWrong, Setting, declared

Origin = Literal["default", "user", "project", "editor", "session"]
"""Where the value of a setting comes from, the weakest first."""
_FOR_EDITORS = frozenset({"$schema"})
_OF_OTHERS = ("theme", "doubleEscapeAction", "symbolPreset", "showHardwareCursor", "tui.", "python.sharedGateway")
"""What settings of terminal agents that people bring along say about a terminal: nothing to North."""
_NO_PYTHON = "North has no Python of its own; commands run the project's"
NOT_HERE = {
    "python.path": _NO_PYTHON,
    "python.toolMode": _NO_PYTHON,
    "python.kernelMode": _NO_PYTHON,
    "hooks.enabled": "North runs no hooks; extensions in Python are told of events (`extensions`)",
    "lsp.formatOnWrite": "an edit is written as it was reviewed; have the editor format when it saves "
    "(`edits.saveAfterApply`), or ask the model to format (`edit_format_file`)",
    "trust.ask": "there is no question about a whole workspace, but one for each thing that needs trust; `/trust` "
    "decides for all of them",
}
"""Settings that people bring along for what North does not have, each with why."""
_MAX_SHOWN = 60
_SWITCHES = {True: ("on", "yes"), False: ("off", "no")}

_MOST_UNKNOWN = 20
"""A file may have any number of them; each is looked up, and told."""


class SettingsError(ValueError):
    """A settings file that cannot be used; `line` and `column` count from 1."""

    def __init__(self, path: Path, line: int, column: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}, column {column}: {problem}")
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem


@dataclass(frozen=True)
class Layer:
    """What one source says about settings: `values` by key, as they apply, and what was `written` for those that are
    right. `is_unknown`: nobody knows what it says, and nothing above it may loosen anything. `as_project`: a project's
    files may be in it, so it may say no more than those."""

    origin: Origin
    values: Mapping[str, object]
    written: Mapping[str, object] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    is_unknown: bool = False
    as_project: bool = False


@dataclass(frozen=True)
class SettingsReader:
    """Reads settings. Keys may be written flat (`"mode.default": …`) or nested (`"mode": {"default": …}`)."""

    path: Path
    source: str
    values: Mapping[str, object]
    problems: list[str] = field(default_factory=list)

    def read(self, kind: type, origin: Origin = "user") -> Layer:
        """Read the settings that a dataclass declares. A wrong value is replaced by the setting's strict one; wrong
        values and unknown keys are added to `problems`."""
        rows = declared(kind)
        found: dict[str, object] = {}
        right: dict[str, object] = {}
        tightened: set[str] = set()
        for key, row in rows.items():
            name, written = self._written(row)
            if written is None or not self._may_be_set(row, name, origin):
                continue
            try:
                found[key] = read_value(row, written)
                right[key] = written
            except PartlyWrong as error:
                found[key] = error.rest
                for problem in error.problems:
                    self._note(name, f"{name} {problem}")
            except ValueError as error:
                told = f"{name} {error}{_until_fixed(row.setting)}"
                if origin == "user" or row.setting.project == "stricter":
                    found[key] = row.setting.strict
                    tightened.update(row.setting.tightens)
                    self._note(name, told)
                else:
                    self._note(name, f"{name} {error}; it has no effect")
        self._note_unknown({name for row in rows.values() for name in row.setting.names})
        found |= {key: rows[key].setting.strict for key in tightened}
        return Layer(origin, found, right, tuple(self.problems), as_project=origin == "project")

    def _may_be_set(self, row: Declared, name: str, origin: Origin) -> bool:
        if origin == "user" or row.setting.project != "no":
            return True
        self._note(name, f"{name} has no effect in a project's file: only you can set it, in your own settings")
        return False

    def _written(self, row: Declared) -> tuple[str, object]:
        """Return what is written under the setting's key, or another name of it, with that name; None if nothing is."""
        there = [(name, value) for name in row.setting.names if (value := found_in(self.values, name)) is not None]
        for name, _ in there[1:]:
            self._note(name, f"{name} has no effect: it is another name of {there[0][0]}, which is set too")
        if there and there[0][0] in row.setting.former:
            self._note(there[0][0], f"{there[0][0]} is called {row.setting.key} now: it counts, but rename it")
        return there[0] if there else (row.setting.key, None)

    def _note_unknown(self, known: set[str]) -> None:
        unknown = [
            key for key in unknown_in(self.values, known) if key not in _FOR_EDITORS and not key.startswith(_OF_OTHERS)
        ]
        for key in unknown[:_MOST_UNKNOWN]:
            self._note(key, f"the setting {key} is unknown and has no effect{did_you_mean(key, known)}")
        if len(unknown) > _MOST_UNKNOWN:
            more = len(unknown) - _MOST_UNKNOWN
            self._note(unknown[_MOST_UNKNOWN], f"{more} more settings are unknown and have no effect")

    def _note(self, key: str, problem: str) -> None:
        """Add a problem, with the place of the key in the file."""
        group, _, name = key.rpartition(".")
        place = self._place(key)
        if place < 0:
            place = max(self._place(name, max(self._place(group), 0)), 0)
        before = self.source[:place]
        line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
        self.problems.append(Problem(str(SettingsError(self.path, line, column, problem)), self.path, key))

    def _place(self, name: str, start: int = 0) -> int:
        """Return where a key is in the file, as far as that can be seen; -1 if it cannot. YAML needs no quotes."""
        place = self.source.find(f'"{name}"', start)
        return self.source.find(f"{name}:", start) if place < 0 and self.path.suffix == ".yml" and name else place


def did_you_mean(key: str, known: Iterable[str]) -> str:
    """Say why there is no such setting, or name the one whose name is like it; empty if none is."""
    if key in NOT_HERE:
        return f": {NOT_HERE[key]}"
    import difflib  # needed only for mistakes

    near = difflib.get_close_matches(key, sorted(known), 1, 0.7)
    return f"; did you mean {near[0]}?" if near else ""


def _until_fixed(setting: Setting) -> str:
    """Say what applies instead of a wrong value, unless it is the default or the problem says so itself."""
    if setting.tightens:
        return f"; until it is fixed, {' and '.join(setting.tightens)} has its strictest value"
    if setting.parse is not None or setting.strict is None or setting.strict == setting.default:
        return ""
    return f"; until it is fixed, it is {_shown(setting.strict)}"


def read_value(row: Declared, written: object) -> object:
    """Return a setting's value from what was written. Raises ValueError; its text continues a sentence that begins with
    the key."""
    value = _checked(row, written) if row.setting.schema is None else written
    return value if row.setting.parse is None else row.setting.parse(value)


def _checked(row: Declared, written: Any) -> object:
    if get_origin(row.kind) is Literal:
        choices = get_args(row.kind)
        if written not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {_shown(written)}{_quoted(choices, written)}")
        return written
    if row.kind in (int, float):
        return _number(row, written)
    words, accepts, make = _KINDS[row.kind]
    if not accepts(written):
        raise ValueError(f"must be {words}")  # it may be a secret, and is not repeated
    return make(written)


def _quoted(choices: Iterable[str], written: object) -> str:
    """Say that a word needs quotes which YAML reads as true or false without them; empty if none does."""
    words = _SWITCHES[written] if isinstance(written, bool) else ()
    return "".join(f'; "{word}" needs its quotes' for word in words if word in choices)


def expected(row: Declared) -> str:
    """Say what a setting takes."""
    if row.setting.schema is not None:
        return "a value as in a JSON file"
    if get_origin(row.kind) is Literal:
        return f"one of {', '.join(get_args(row.kind))}"
    if row.kind in (int, float):
        return f"a {'whole ' if row.kind is int else ''}number, {_span(row)}"
    return _KINDS[row.kind][0]


def _span(row: Declared) -> str:
    low, high = row.setting.low, row.setting.high
    span = f"{low} or more" if high is None else f"from {low} to {high}"
    return f"{span}, or 0" if row.setting.or_zero else span


def _number(row: Declared, written: Any) -> float:
    is_whole = row.kind is int
    low, high, span = row.setting.low, row.setting.high, _span(row)
    is_number = isinstance(written, int if is_whole else int | float) and not isinstance(written, bool)
    if not is_number or not (is_whole or abs(written) <= sys.float_info.max):
        raise ValueError(f"must be a {'whole ' if is_whole else ''}number, {span}")
    is_zero = row.setting.or_zero and written == 0
    if not is_zero and (written < low or (high is not None and written > high)):
        raise ValueError(f"must be {span}, not {_shown(written)}")
    return written if is_whole else float(written)


def _shown(written: object) -> str:
    text = json.dumps(written, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


_KINDS: dict[Any, tuple[str, Callable[[Any], bool], Callable[[Any], object]]] = {
    bool: ("true or false", lambda value: isinstance(value, bool), bool),
    str: ("a string", lambda value: isinstance(value, str), str),
    tuple[str, ...]: ("a list of strings", _are_texts, tuple),
    Mapping[str, str]: (
        "an object of strings",
        lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
        dict,
    ),
    Mapping[str, tuple[str, ...]]: (
        "an object of lists of strings",
        lambda value: isinstance(value, dict) and all(_are_texts(one) for one in value.values()),
        lambda value: {name: tuple(texts) for name, texts in value.items()},
    ),
}
"""For each type of a field: what it takes, in words; a check of what was written; and the conversion to the value."""


def found_in(values: Mapping[str, object], key: str) -> object:
    """Return the value of a key that may be nested at any of its dots; None if there is none."""
    if key in values:
        return values[key]
    parts = key.split(".")
    for size in range(1, len(parts)):
        inner = values.get(".".join(parts[:size]))
        if isinstance(inner, dict) and (value := found_in(inner, ".".join(parts[size:]))) is not None:
            return value
    return None


def unknown_in(values: Mapping[str, object], known: Collection[str], prefix: str = "") -> Iterator[str]:
    """Yield the keys that are not settings; a group counts as its members."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key in known:
            continue
        if isinstance(value, dict) and any(one.startswith(f"{key}.") for one in known):
            yield from unknown_in(value, known, f"{key}.")
        else:
            yield key
