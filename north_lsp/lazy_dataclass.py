"""`dataclass`, as the standard library has it, but quick to declare: what it generates is made when it is first used.

The standard library compiles six functions for a frozen dataclass when its module is imported, which takes half a
millisecond. Hundreds of classes are declared before the first answer and most of them are not used for it, so that was
two fifths of the time until a session is open. Imports nothing of ours.
"""

import dataclasses
import reprlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ["dataclass"]

_Class = TypeVar("_Class", bound=type)
_OMITTED = object()


def _dataclass(
    cls: _Class | None = None, /, *, eq: bool = True, frozen: bool = False, slots: bool = False
) -> "_Class | Callable[[_Class], _Class]":
    """Return the class with what `dataclasses.dataclass` would add to it."""

    def decorate(cls: Any) -> Any:
        cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise a signature is written into it
        own = frozenset(vars(cls))
        has_hash = "__hash__" in own and (cls.__hash__ is not None or "__eq__" not in own)
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
        fields = dataclasses.fields(made)
        added: dict[str, Any] = {"__init__": _init(made, fields, frozen), "__repr__": _repr(fields)}
        if eq:
            added["__eq__"] = _eq([one.name for one in fields if one.compare])
        if frozen:
            added["__setattr__"], added["__delattr__"] = _guards(made, frozenset(one.name for one in fields))
        if frozen and slots:
            added["__getstate__"], added["__setstate__"] = _states([one.name for one in fields])
        if eq and not has_hash:
            hashed = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
            made.__hash__ = _hash(hashed) if frozen else None
        for name in added.keys() - own:
            setattr(made, name, added[name])
        return made

    return decorate if cls is None else decorate(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _init(cls: Any, fields: "Sequence[dataclasses.Field[Any]]", frozen: bool) -> Callable[..., None]:
    """Return a constructor that puts the real one in its place when it is first called."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        made = _compiled(cls, fields, frozen)
        if vars(cls).get("__init__") is __init__:
            cls.__init__ = made
        made(self, *args, **kwargs)

    return __init__


def _compiled(cls: Any, fields: "Sequence[dataclasses.Field[Any]]", frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"_set": object.__setattr__, "_OMITTED": _OMITTED}
    parameters, body = [], []
    for at, one in enumerate(fields):
        value = one.name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_make{at}"] = one.default_factory
            value = f"_make{at}() if {one.name} is _OMITTED else {one.name}" if one.init else f"_make{at}()"
        elif not one.init:
            if one.default is dataclasses.MISSING:
                continue
            known[f"_default{at}"], value = one.default, f"_default{at}"
        if one.init:
            parameters.append(_parameter(one, at, known))
        body.append(f"_set(self, {one.name!r}, {value})" if frozen else f"self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n ".join(body or ["pass"])
    exec(f"def __init__({', '.join(['self', *parameters])}):\n {lines}", known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _parameter(field: "dataclasses.Field[Any]", at: int, known: dict[str, Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}=_OMITTED"
    if field.default is dataclasses.MISSING:
        return field.name
    known[f"_default{at}"] = field.default
    return f"{field.name}=_default{at}"


def _values(names: Sequence[str]) -> Callable[[object], object]:
    """Return what gives the values of the fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq(names: Sequence[str]) -> Callable[[object, object], bool]:
    values = _values(names)

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(names: Sequence[str]) -> Callable[[object], int]:
    values = _values(names)

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


def _repr(fields: "Sequence[dataclasses.Field[Any]]") -> Callable[[object], str]:
    names = [one.name for one in fields if one.repr]

    @reprlib.recursive_repr("...")
    def __repr__(self: object) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _guards(cls: Any, names: frozenset[str]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what refuses to change a field of a frozen class; a subclass may have attributes of its own."""

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _states(names: Sequence[str]) -> tuple[Callable[..., object], Callable[..., None]]:
    """Return what copies an instance that has slots and is frozen."""

    def __getstate__(self: object) -> list[object]:
        return [getattr(self, name) for name in names]

    def __setstate__(self: object, state: Sequence[object]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    return __getstate__, __setstate__
