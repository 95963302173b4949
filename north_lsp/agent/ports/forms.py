"""Forms: questions with typed answers that an editor shows as a whole, and pages that it opens. What came back is
checked here, whoever sent it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Value = str | int | float | bool | tuple[str, ...]
"""What a field holds; a tuple for a choice of several."""


@dataclass(frozen=True, slots=True)
class TextField:
    """A line of text. `most` is how many characters it may have."""

    key: str
    title: str
    detail: str = ""
    required: bool = True
    default: str | None = None
    most: int | None = None

    def read(self, value: object) -> Value:
        """Return the value. Raises ValueError."""
        if not isinstance(value, str):
            raise ValueError("must be text")
        if self.most is not None and len(value) > self.most:
            raise ValueError(f"must have at most {self.most} characters")
        return value


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number; a `whole` one has no decimals."""

    key: str
    title: str
    detail: str = ""
    required: bool = True
    default: float | None = None
    whole: bool = False
    least: float | None = None
    most: float | None = None

    def read(self, value: object) -> Value:
        """Return the value. Raises ValueError."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("must be a number")
        if self.whole and value != int(value):
            raise ValueError("must be a whole number")
        if (self.least is not None and value < self.least) or (self.most is not None and value > self.most):
            raise ValueError("is out of range")
        return int(value) if self.whole else value


@dataclass(frozen=True, slots=True)
class SwitchField:
    """Yes or no."""

    key: str
    title: str
    detail: str = ""
    required: bool = True
    default: bool | None = None

    def read(self, value: object) -> Value:
        """Return the value. Raises ValueError."""
        if not isinstance(value, bool):
            raise ValueError("must be true or false")
        return value


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """A field whose value is one of its options, or, with `several`, any number of them. `options` are values and their
    names."""

    key: str
    title: str
    options: tuple[tuple[str, str], ...]
    detail: str = ""
    required: bool = True
    default: str | None = None
    several: bool = False

    def read(self, value: object) -> Value:
        """Return the value, a tuple with `several`. Raises ValueError."""
        known = {option for option, _ in self.options}
        chosen = value if self.several else [value]
        if not isinstance(chosen, list) or not all(isinstance(one, str) and one in known for one in chosen):
            raise ValueError("must be among the options")
        return tuple(dict.fromkeys(chosen)) if self.several else str(value)


Field = TextField | NumberField | SwitchField | ChoiceField


@dataclass(frozen=True, slots=True)
class Form:
    """A question with fields, all of which are answered at once. It must never ask for a secret: what a user types into
    a form is shown and may be logged. `call_id` is the tool call that asks, if any."""

    id: str
    message: str
    fields: tuple[Field, ...]
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """A page that the user is to open in a browser, where the rest happens between the user and that page."""

    id: str
    message: str
    url: str
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """What the user did: `declined` is a no, `cancelled` is no answer. `values` has the fields of an accepted form that
    were filled in, by key; `problem` says why an accepted form counts as cancelled."""

    kind: Literal["accepted", "declined", "cancelled"]
    values: Mapping[str, Value] = field(default_factory=dict)
    problem: str = ""


def read_values(fields: Sequence[Field], content: object) -> FormAnswer:
    """Read an accepted form. Keys that the form does not have are left out; an answer that does not fit the form counts
    as cancelled, and says why."""
    given = content if isinstance(content, dict) else {}
    values: dict[str, Value] = {}
    for one in fields:
        value = given.get(one.key)
        if value is None:
            if one.required:
                return FormAnswer("cancelled", problem=f"{one.key} is missing")
            continue
        try:
            values[one.key] = one.read(value)
        except ValueError as error:
            return FormAnswer("cancelled", problem=f"{one.key} {error}")
    return FormAnswer("accepted", values)
