"""The shape of a message: two messages of one shape are both valid by a JSON Schema, or neither is.

Checking a message takes milliseconds, and a suite checks tens of thousands, of some hundred shapes. What a schema says
of names, types, constants and limits is in the shape; the words of a text and the number of entries of a list are not.
"""

from bisect import bisect
from collections.abc import Hashable, Mapping
from typing import Any

_LIMITS = ("minimum", "maximum")
_KNOWN = {"type", "properties", "required", "additionalProperties", "unevaluatedProperties", "items", "not", "const"}
_KNOWN |= {"allOf", "anyOf", "oneOf", "$ref", "$defs", "minItems", "minLength", *_LIMITS}
_SAYS_NOTHING = {"title", "description", "default", "format", "contentEncoding", "discriminator", "examples"}
_NAMED = ("properties", "$defs")


class Shapes:
    """The shapes that a schema can tell apart."""

    def __init__(self, definitions: Mapping[str, Any]) -> None:
        """Raises AssertionError for a keyword that shapes do not know, so that a new schema cannot weaken a check."""
        self._texts: set[str] = {""}
        numbers: set[float] = set()
        waiting = list(definitions.values())
        while waiting:
            schema = waiting.pop()
            if not isinstance(schema, Mapping):
                continue
            for key, value in schema.items():
                if key.startswith("x-") or key in _SAYS_NOTHING:
                    continue
                assert key in _KNOWN, f"shapes do not know the keyword {key!r}"
                assert key not in ("minItems", "minLength") or value == 1, (
                    "a limit above one needs a count in the shape"
                )
                if key == "const":
                    (self._texts if isinstance(value, str) else numbers).add(value)
                elif key in _LIMITS:
                    numbers.add(value)
                elif key in _NAMED:
                    waiting += value.values()
                else:
                    waiting += value if isinstance(value, list) else [value]
        self._numbers = sorted(numbers)

    def of(self, value: object) -> Hashable:
        match value:
            case bool() | None:
                return value
            case str():
                return value if value in self._texts else "…"
            case int() | float():
                is_whole = isinstance(value, int) or value.is_integer()
                return "number", is_whole, value in self._numbers, bisect(self._numbers, value)
            case dict():
                return "object", frozenset((name, self.of(inner)) for name, inner in value.items())
            case list():
                return "list", frozenset(map(self.of, value))
        raise AssertionError(f"not JSON: {value!r}")
