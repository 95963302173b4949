"""Regular expressions that are compiled when they are first used: compiling those of the modules that a start imports
took a tenth of the time until a session is open. Imports nothing of ours."""

from __future__ import annotations

import re
from typing import AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what can be used like `re.compile(pattern, flags)`. A mistake in the pattern shows when it is used."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


class _LazyPattern:
    """Stands for a pattern: what is asked of it is looked up in the compiled one, each name once."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, value)
        return value
