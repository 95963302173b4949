"""Declares the settings of `<config>/config.json`: each once, as a field of a frozen dataclass, with all there is to
know about it. Reading and its problems (`settings_reader.py`), what waits for a restart, the JSON Schema
(`settings_json_schema.py`) and the page `docs/settings.md` are generic code over these declarations.

The file is read before the first conversation can open. Loading pydantic takes 60 ms of processor time, its core alone
14 ms and `annotated_types` 7 ms; reading the whole file with the standard library takes 1.4 ms. So nothing here imports
pydantic: it only makes the JSON Schema, and a test compares what the schema accepts with what the reader accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin

from north_lsp.lazy_dataclass import dataclass

_T = TypeVar("_T")
_SAME: Any = object()
InProject = Literal["no", "stricter", "yes"]
"""What a project's file may do with a setting: nothing; make it stricter than the user's; set it."""


class PartlyWrong(ValueError):
    """A value is wrong in parts, which are left out. `problems` continue a sentence that begins with the setting's key,
    and `rest` is the value that applies."""

    def __init__(self, problems: list[str], rest: object) -> None:
        super().__init__(*problems)
        self.problems = problems
        self.rest = rest


@dataclass(frozen=True)
class Setting:
    """A declared setting. `strict` replaces a wrong value, and applies while it is unknown what the file says. A wrong
    value of this setting also makes those of the keys `tightens` strict. `restart`: a change takes effect at the next
    start.

    `parse` makes the value from what was written; a ValueError says what is wrong and continues a sentence that begins
    with the key. `schema` is the JSON Schema of what is written, if the field's type does not say it; then `parse` gets
    the value unchecked.

    `former` are names from earlier versions or other tools: they are read, and the user is told the new one. `project`
    says what a project's own file may do with the setting, and `secret` that its value is shown to nobody. `guards`: a
    wrong value holds back as much as it can, in whichever layer it stands.
    """

    key: str
    text: str
    default: object
    strict: object
    aliases: tuple[str, ...]
    low: float
    high: float | None
    or_zero: bool
    restart: bool
    tightens: tuple[str, ...]
    parse: Callable[[Any], object] | None
    schema: Mapping[str, object] | None
    former: tuple[str, ...]
    project: InProject
    secret: bool
    guards: bool

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which it is read, its own first."""
        return (self.key, *self.aliases, *self.former)


def setting(
    key: str,
    default: _T,
    text: str,
    *,
    strict: _T = _SAME,
    aliases: tuple[str, ...] = (),
    low: float = 0,
    high: float | None = None,
    or_zero: bool = False,
    restart: bool = False,
    tightens: tuple[str, ...] = (),
    parse: Callable[[Any], _T] | None = None,
    schema: Mapping[str, object] | None = None,
    former: tuple[str, ...] = (),
    project: InProject = "no",
    secret: bool = False,
) -> _T:
    """Declare a field of a dataclass as a setting; the field's type says which values it takes. Without `strict`, the
    default replaces a wrong value. A number is at least `low`, and at most `high` if that is given; with
    `or_zero` it may be 0, too."""
    instead = default if strict is _SAME else strict
    guards = strict is not _SAME or bool(tightens)
    bounds = (low, high, or_zero, restart, tightens, parse, schema)
    row = Setting(key, text, default, instead, aliases, *bounds, former, project, secret, guards)
    return field(default_factory=lambda: default, metadata={"setting": row})


class Declared(NamedTuple):
    """A setting with its field: `kind` is the field's type without None; `path` leads there from the outermost
    dataclass."""

    setting: Setting
    kind: Any
    path: tuple[str, ...]

    def value_in(self, settings: object) -> object:
        """Return the value that a dataclass of settings has."""
        for name in self.path:
            settings = getattr(settings, name)
        return settings


@cache
def declared(kind: type) -> Mapping[str, Declared]:
    """Return the settings that a dataclass and those inside it declare, by key."""
    return {row.setting.key: row for row in _declared(kind)}


def _declared(kind: Any, path: tuple[str, ...] = ()) -> Iterator[Declared]:
    for row in fields(kind):
        inner = (*path, row.name)
        if (found := row.metadata.get("setting")) is not None:
            yield Declared(found, _without_none(row.type), inner)
        elif is_dataclass(row.type):
            yield from _declared(row.type, inner)


def _without_none(kind: Any) -> Any:
    if get_origin(kind) not in (Union, UnionType):
        return kind
    (one,) = (member for member in get_args(kind) if member is not NoneType)
    return one


def filled(kind: type[_T], values: Mapping[str, object]) -> _T:
    """Make a dataclass of settings from values by key; a setting without a value gets its default."""
    arguments: dict[str, object] = {}
    for row in fields(cast(Any, kind)):
        if (found := row.metadata.get("setting")) is not None:
            arguments[row.name] = values.get(found.key, found.default)
        elif is_dataclass(row.type):
            arguments[row.name] = filled(cast(type, row.type), values)
    return kind(**arguments)
