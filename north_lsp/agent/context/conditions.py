"""Reads the condition of a rule that watches an answer while it streams."""

from __future__ import annotations

from collections.abc import Mapping

from north_lsp.agent.ports.stream_rules import SCOPES, Condition
from north_lsp.display import one_line

_PATTERNS, _STRUCTURES = ("condition", "ttsr_trigger"), "astCondition"
FIELDS = (*_PATTERNS, _STRUCTURES)
_MAX_COUNT, _MAX_LENGTH = 20, 2_000


class BadCondition(ValueError):
    """A condition that cannot be watched; the text says why, and continues a sentence that begins with its field."""


def has_condition(fields: Mapping[str, object]) -> bool:
    """Tell whether a rule's head asks to watch answers."""
    return any(fields.get(name) is not None for name in FIELDS)


def read_condition(fields: Mapping[str, object]) -> Condition:
    """Read the condition of a rule's head. Raises BadCondition."""
    patterns = [pattern for name in _PATTERNS for pattern in _texts(fields, name)]
    structures = _texts(fields, _STRUCTURES)
    for pattern in patterns:
        _check(pattern)
    interrupts = fields.get("interrupt", True)
    if not isinstance(interrupts, bool):
        raise BadCondition("`interrupt` must be true or false")
    return Condition(tuple(patterns), tuple(structures), _scope(fields), interrupts)


def _texts(fields: Mapping[str, object], name: str) -> list[str]:
    value = fields.get(name)
    found = [value] if isinstance(value, str) else value if value is not None else []
    if not isinstance(found, list) or not all(isinstance(one, str) and one.strip() for one in found):
        raise BadCondition(f"`{name}` must be a string, or a list of strings")
    if len(found) > _MAX_COUNT or any(len(one) > _MAX_LENGTH for one in found):
        raise BadCondition(f"`{name}` may have {_MAX_COUNT} items of {_MAX_LENGTH} characters")
    return [str(one) for one in found]


def _scope(fields: Mapping[str, object]) -> tuple[str, ...]:
    value = fields.get("scope")
    if value is None:
        return Condition().scope
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(one, str) for one in items):
        raise BadCondition("`scope` must be a string, or a list of strings")
    found = tuple(one.strip() for one in items if one.strip())
    wrong = [one for one in found if one not in SCOPES and not one.startswith("tool:")]
    if wrong or not found:
        named = one_line(wrong[0], 40) if wrong else "nothing"
        raise BadCondition(f"`scope` has {named}: it may have {', '.join(SCOPES)} and tool:<wildcard>")
    return found


def _check(pattern: str) -> None:
    import regex  # only where a rule needs it: it takes 15 ms

    try:
        regex.compile(pattern)
    except (regex.error, OverflowError, RecursionError) as error:
        raise BadCondition(f"`condition` is not a regular expression: {one_line(str(error), 120)}") from None
