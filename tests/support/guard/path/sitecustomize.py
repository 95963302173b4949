"""Holds the providers of a process to the rules as soon as it imports them. Cheap: Python runs it at each start."""

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PROVIDERS = {
    "north_lsp.providers.catalog.extensions": "ExtensionProvider",
    "north_lsp.providers.offline.provider": "OfflineProvider",
    "north_lsp.providers.adapters.scripted": "ScriptedProvider",
}


def hold(provider: Any) -> None:
    """Look at each request before a class of providers is given it."""
    play = provider.stream
    if hasattr(play, "__wrapped__"):
        return

    def stream(self: object, request: Any) -> Any:
        if __package__:
            from tests.support.guard.judging import refused
        else:  # in a server's process, which does not know the tests
            sys.path.append(__file__.rsplit("/tests/support/guard/", 1)[0])
            try:
                from tests.support.guard.judging import refused
            finally:
                sys.path.pop()
        return refused(request) or play(self, request)

    stream.__wrapped__ = play  # type: ignore[attr-defined]  # as functools.wraps does it, which is more to import
    provider.stream = stream


class _Finder:
    """Finds nothing by itself, and holds what the others find."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in PROVIDERS:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((spec for spec in found if spec is not None), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_hold(module: ModuleType) -> None:
            execute(module)
            hold(getattr(module, PROVIDERS[name]))

        spec.loader.exec_module = execute_and_hold  # type: ignore[method-assign]  # of this one loader
        return spec


sys.meta_path.insert(0, _Finder())
