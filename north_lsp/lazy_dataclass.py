"""`dataclass`, as the standard library has it, but quick to declare: what it generates is made when it is first used.

The standard library compiles six functions for a frozen dataclass when its module is imported, which takes half a
millisecond, and what it finds out of the fields takes another tenth. Hundreds of classes are declared before the first
answer and most of them are not used for it, so that was two fifths of the time until a session is open. So declaring
only makes the slots; the fields are looked at, by the standard library, when somebody asks for them, and a constructor
is compiled once a class has several instances. What is wrong with a field is said then. Imports nothing of ours.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

__all__ = ["dataclass"]

_Class = TypeVar("_Class", bound=type)
_OMITTED = object()
_FEW = 8
"""Instances of a class that are worth no compiling."""


class _Fields:
    """The fields of a class, in the place of its `__dataclass_fields__` until somebody reads that."""

    __slots__ = ("annotations", "cls", "defaults", "names")

    def __init__(self, own: Mapping[str, Any]) -> None:
        self.cls: Any = None
        self.annotations: dict[str, Any] = own.get("__annotations__", {})
        self.names = [name for name, one in self.annotations.items() if not _is_of_the_class(one)]
        self.defaults = {name: own[name] for name in self.annotations if name in own}

    def declared(self) -> dict[str, dataclasses.Field[Any]]:
        """Return what was declared, of the bases, too: all that a constructor needs."""
        fields: dict[str, dataclasses.Field[Any]] = {}
        for base in self.cls.__mro__[:0:-1]:
            known = vars(base).get("__dataclass_fields__")
            if isinstance(known, _Fields):
                fields.update(known.declared())
            elif known is not None:
                fields.update({one.name: one for one in dataclasses.fields(base)})
        for name in self.names:
            default = self.defaults.get(name, dataclasses.MISSING)
            fields[name] = default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)
        return fields

    def __get__(self, instance: object, owner: type) -> dict[str, dataclasses.Field[Any]]:
        cls = self.cls
        if vars(cls).get("__dataclass_fields__") is self:
            # Without a docstring a signature would be worked out for one, which takes longer than all the rest.
            space = {"__annotations__": self.annotations, "__module__": cls.__module__, **self.defaults}
            space["__doc__"] = cls.__doc__
            made: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(cls.__name__, (), space))
            fields: dict[str, dataclasses.Field[Any]] = {}
            for base in cls.__mro__[:0:-1]:
                fields.update(getattr(base, "__dataclass_fields__", {}))
            cls.__dataclass_params__ = made.__dataclass_params__
            cls.__dataclass_fields__ = fields | made.__dataclass_fields__
        return dict(vars(cls)["__dataclass_fields__"])


class _MatchArgs:
    """The names that a pattern finds by their position, in the place of `__match_args__` until somebody reads that."""

    __slots__ = ("fields",)

    def __init__(self, fields: _Fields) -> None:
        self.fields = fields

    def __get__(self, instance: object, owner: type) -> tuple[str, ...]:
        cls = self.fields.cls
        names = tuple(name for name, one in self.fields.declared().items() if one.init)
        type.__setattr__(cls, "__match_args__", names)
        return names


def _dataclass(
    cls: _Class | None = None, /, *, eq: bool = True, frozen: bool = False, slots: bool = False
) -> _Class | Callable[[_Class], _Class]:
    """Return the class with what `dataclasses.dataclass` would add to it."""

    def decorate(cls: Any) -> Any:
        own = dict(vars(cls))
        fields = _Fields(own)
        added: dict[str, Any] = {
            "__match_args__": _MatchArgs(fields),
            "__init__": _init(fields, frozen),
            "__repr__": _repr,
        }
        if eq:
            added["__eq__"] = _stand_in(fields, "__eq__", _eq)
        if frozen:
            added["__setattr__"], added["__delattr__"] = _guards(fields)
        if frozen and slots:
            added["__getstate__"], added["__setstate__"] = _get_state, _set_state
        space = added | own
        if eq and (space.get("__hash__") is None and ("__hash__" not in own or "__eq__" in own)):
            space["__hash__"] = _stand_in(fields, "__hash__", _hash) if frozen else None
        space["__dataclass_fields__"] = fields
        space["__doc__"] = own.get("__doc__") or cls.__name__  # otherwise a signature is written into it
        fields.cls = _with_slots(cls, space, fields.names) if slots else _changed(cls, own, space, fields.names)
        return fields.cls

    return decorate if cls is None else decorate(cls)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass


def _is_of_the_class(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.startswith(("ClassVar", "typing.ClassVar"))
    return getattr(annotation, "__origin__", annotation) is ClassVar


def _with_slots(cls: Any, space: dict[str, Any], names: Sequence[str]) -> Any:
    """Make the class again, with slots for its fields."""
    inherited = {slot for base in cls.__mro__[1:-1] for slot in _slots_of(base)}
    for name in ("__dict__", "__weakref__", *names):
        space.pop(name, None)
    space["__slots__"] = tuple(name for name in names if name not in inherited)
    made = type(cls)(cls.__name__, cls.__bases__, space)
    made.__qualname__ = cls.__qualname__
    return made


def _slots_of(base: type) -> Sequence[str]:
    slots: str | Sequence[str] = vars(base).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _changed(cls: Any, own: Mapping[str, Any], space: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Give the class itself what is in `space`."""
    for name, value in space.items():
        if own.get(name, _OMITTED) is not value:
            setattr(cls, name, value)
    for name in names:
        default = own.get(name)
        if not isinstance(default, dataclasses.Field):
            continue
        if default.default is dataclasses.MISSING:
            delattr(cls, name)
        else:
            setattr(cls, name, default.default)
    return cls


def _stand_in(fields: _Fields, name: str, make: Callable[[_Fields], Callable[..., Any]]) -> Callable[..., Any]:
    """Return a method that is replaced, when it is first called, by the one that `make` makes."""

    def method(self: object, *args: object, **kwargs: object) -> Any:
        made = make(fields)
        if vars(fields.cls).get(name) is method:
            setattr(fields.cls, name, made)
        return made(self, *args, **kwargs)

    method.__name__ = name
    return method


def _init(fields: _Fields, frozen: bool) -> Callable[..., None]:
    """Return a constructor that takes the declaration as it is: most classes have few instances. After these a real
    one is compiled, as it is for arguments that do not fit, so that Python says what is wrong with them."""
    declared: list[tuple[str, dataclasses.Field[Any]]] = []
    made = 0

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        nonlocal made
        declared[:] = declared or fields.declared().items()
        made += 1
        values = _values_for(declared, args, kwargs) if made <= _FEW else None
        if values is None:
            compiled = _compiled(fields, frozen)
            if vars(fields.cls).get("__init__") is __init__:
                fields.cls.__init__ = compiled
            compiled(self, *args, **kwargs)
            return
        put = object.__setattr__ if frozen else setattr
        for name, value in values:
            put(self, name, value)
        if hasattr(fields.cls, "__post_init__"):
            self.__post_init__()  # type: ignore[attr-defined]

    return __init__


def _values_for(
    declared: Sequence[tuple[str, dataclasses.Field[Any]]], args: tuple[object, ...], given: dict[str, object]
) -> list[tuple[str, object]] | None:
    """Return the value of each field; None if the arguments do not fit."""
    values: list[tuple[str, object]] = []
    at = used = 0
    for name, one in declared:
        if one.init and at < len(args):
            value, at = args[at], at + 1
        elif one.init and name in given:
            value, used = given[name], used + 1
        elif one.default is not dataclasses.MISSING:
            value = one.default
        elif one.default_factory is not dataclasses.MISSING:
            value = one.default_factory()
        elif one.init:
            return None
        else:
            continue
        values.append((name, value))
    return values if at == len(args) and used == len(given) else None


def _compiled(fields: _Fields, frozen: bool) -> Callable[..., None]:
    """Return the constructor as the standard library would make it."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_OMITTED": _OMITTED}
    parameters, body = [], []
    for at, (name, one) in enumerate(fields.declared().items()):
        value = name
        if one.default_factory is not dataclasses.MISSING:
            known[f"_make{at}"] = one.default_factory
            value = f"_make{at}() if {name} is _OMITTED else {name}" if one.init else f"_make{at}()"
        elif not one.init:
            if one.default is dataclasses.MISSING:
                continue
            known[f"_default{at}"], value = one.default, f"_default{at}"
        if one.init:
            parameters.append(_parameter(name, one, at, known))
        body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    cls = fields.cls
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    lines = "\n ".join(body or ["pass"])
    exec(f"def __init__({', '.join(['self', *parameters])}):\n {lines}", known)
    made: Callable[..., None] = known["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__module__ = cls.__module__
    return made


def _parameter(name: str, field: dataclasses.Field[Any], at: int, known: dict[str, Any]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return f"{name}=_OMITTED"
    if field.default is dataclasses.MISSING:
        return name
    known[f"_default{at}"] = field.default
    return f"{name}=_default{at}"


def _values(names: Sequence[str]) -> Callable[[object], object]:
    """Return what gives the values of the fields, as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _eq(fields: _Fields) -> Callable[[object, object], bool]:
    values = _values([name for name, one in fields.declared().items() if one.compare])

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(fields: _Fields) -> Callable[[object], int]:
    declared = fields.declared().items()
    values = _values([name for name, one in declared if (one.compare if one.hash is None else one.hash)])

    def __hash__(self: object) -> int:
        return hash(values(self))

    return __hash__


@reprlib.recursive_repr("...")
def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _guards(fields: _Fields) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return what refuses to change a field of a frozen class; a subclass may have attributes of its own."""

    def __setattr__(self: object, name: str, value: object) -> None:
        if type(self) is fields.cls or name in fields.cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(fields.cls, self).__setattr__(name, value)

    def __delattr__(self: object, name: str) -> None:
        if type(self) is fields.cls or name in fields.cls.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(fields.cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _get_state(self: Any) -> list[object]:
    """Give the values of an instance that has slots and is frozen, for copies of it."""
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[object]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
