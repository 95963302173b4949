"""Imports a vendor's SDK without the parts that North does not use.

North sends and reads JSON; of the SDKs it uses only the clients. But their packages of types load a class for every
shape of every API they know, thousands of modules, which is most of the time and memory that importing them takes:

    anthropic 2.12: 2,931 modules, 1.2 s, 49 MB as shipped; 93 modules, 0.3 s, 11 MB this way
    openai 3.54: 549 modules, 0.6 s, 28 MB as shipped; 106 modules, 0.16 s, 11 MB this way

A test counts the modules: if an SDK changes its structure, this must change too, or go.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

from north_lsp.lazy_pattern import lazy_pattern

_IMPORT = lazy_pattern(r"^from (\.+[\w.]*) import (?:\(([^)]*)\)|([^\n(]+))\n?", re.MULTILINE)
_BESIDE = lazy_pattern(r"\s*(#.*|from __future__ import .*)?\s*")


def import_lean(package: str, left_out: Sequence[str] = ()) -> ModuleType:
    """Import the package, but look up the names of its types only when they are first used.

    `left_out` names modules of it that are not loaded either. Importing one later works as usual, and so does calling
    what the package uses from it. If the SDK has changed so much that this fails, it is imported normally.
    """
    if package in sys.modules:
        return sys.modules[package]
    try:
        with _lean(package, [f"{package}.{name}" for name in left_out]):
            return importlib.import_module(package)
    except Exception:  # noqa: BLE001 - a real fault will be raised again below
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            del sys.modules[name]
        return importlib.import_module(package)


def import_without(name: str, left_out: Sequence[str]) -> ModuleType:
    """Import a module without those that are left out: an object of one of their classes, which the module makes, is
    only made when it is used."""
    if name in sys.modules:
        return sys.modules[name]
    stand_ins = {one: _ClassesLater(one) for one in left_out if one not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        return importlib.import_module(name)
    finally:
        for one in stand_ins:
            sys.modules.pop(one, None)


class _ClassesLater(ModuleType):
    """Stands for a module of classes while another one is imported."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return partial(_ObjectLater, self.__name__, name)


class _ObjectLater:
    """Stands for an object of a class that is not imported yet."""

    def __init__(self, module: str, name: str, *args: object) -> None:
        self._made_of = (module, name, args)

    def __getattr__(self, name: str) -> object:
        module, made_of, args = self._made_of
        return getattr(getattr(importlib.import_module(module), made_of)(*args), name)


@contextmanager
def _lean(package: str, left_out: Sequence[str]) -> Iterator[None]:
    finder = _TypesFinder(f"{package}.types")
    sys.modules.update({name: _LeftOut(name) for name in left_out})
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in left_out:
            sys.modules.pop(name, None)


class _LeftOut(ModuleType):
    """Stands for a module while the package is imported."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Later(self.__name__, name)


class _Later:
    """Stands for a function or a class of a module that is left out: calling it calls the real one."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def __call__(self, *args: object, **kwargs: object) -> object:
        return getattr(importlib.import_module(self._module), self._name)(*args, **kwargs)


class _TypesFinder:
    """Finds the packages of types and has them loaded name by name."""

    def __init__(self, root: str) -> None:
        self._root = root

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._root and not name.startswith(f"{self._root}."):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.submodule_search_locations is None or spec.origin is None:
            return None
        loader = _ByName(name, spec.origin)
        if loader.names is None:
            return None
        spec.loader = loader
        return spec


class _ByName(SourceFileLoader):
    """Loads a package that does nothing but import names from its modules: each name on first use. `names` gives the
    module and the name there; None for a package that does more."""

    def __init__(self, fullname: str, path: str) -> None:
        super().__init__(fullname, path)
        self.names = _names(self.get_source(fullname) or "")

    def exec_module(self, module: ModuleType) -> None:
        names = self.names or {}

        def look_up(name: str) -> object:
            if name not in names:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            source, there = names[name]
            if source.strip("."):
                value = getattr(importlib.import_module(source, module.__name__), there)
            else:
                value = importlib.import_module(f"{source}{there}", module.__name__)
            setattr(module, name, value)
            return value

        module.__dict__["__getattr__"] = look_up


def _names(source: str) -> Mapping[str, tuple[str, str]] | None:
    names: dict[str, tuple[str, str]] = {}
    for found in _IMPORT.finditer(source):
        for part in (found[2] or found[3]).split(","):
            if words := part.split():
                names[words[-1]] = (found[1], words[0])
    rest = _IMPORT.sub("", source)
    return names if all(_BESIDE.fullmatch(line) for line in rest.splitlines()) else None
