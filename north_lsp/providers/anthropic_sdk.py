"""Imports the Anthropic SDK without its clients for other vendors' clouds: those load four hundred modules of the SDK
that nothing here uses, a fifth of its memory and of the time that its import takes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

_CLOUDS = tuple(f"anthropic.lib.{name}" for name in ("aws", "bedrock", "foundry", "google_cloud", "vertex"))


class _LeftOut(ModuleType):
    """Stands for a cloud's module while the SDK is imported: whatever is imported from it cannot be used."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


@contextmanager
def _without_clouds() -> Iterator[None]:
    """Afterwards the modules are not there; who needs one imports it as ever."""
    absent = [name for name in _CLOUDS if name not in sys.modules] if "anthropic" not in sys.modules else []
    sys.modules.update({name: _LeftOut(name) for name in absent})
    try:
        yield
    finally:
        for name in absent:
            sys.modules.pop(name, None)


with _without_clouds():
    import anthropic

__all__ = ["anthropic"]
