"""Calls that repeat themselves: a model that gets nowhere is told so, and is stopped when it does not listen."""

import json
from collections.abc import Mapping

_NOTE_AT, _STOP_AT = 3, 6
NOTE = (
    "\n\nThis is the same call with the same result as before, {count} times in a row."
    " Do something else, or say what is missing."
)


class Repetition:
    """Counts identical calls (tool, arguments, result) in a row."""

    def __init__(self) -> None:
        self._last: tuple[str, str, str] | None = None
        self._count = 0

    @property
    def is_stuck(self) -> bool:
        return self._count >= _STOP_AT

    def seen(self, tool: str, arguments: Mapping[str, object], result: str) -> str | None:
        """Count a call; what to add to its result, if anything."""
        key = (tool, json.dumps(arguments, sort_keys=True, default=str), result)
        self._count = self._count + 1 if key == self._last else 1
        self._last = key
        return NOTE.format(count=self._count) if self._count >= _NOTE_AT else None
