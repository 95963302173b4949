"""Decides when two texts are the same command. Pure."""

from __future__ import annotations

_BLANKS = " \t\n"


def trimmed(command: str) -> str:
    """Strip the whitespace around a command that bash ignores as well: anything else could be part of a word, and so
    could a space after a backslash."""
    begun = command.lstrip(_BLANKS)
    text = begun.rstrip(_BLANKS)
    is_escaped = (len(text) - len(text.rstrip("\\"))) % 2 == 1
    return begun[: len(text) + 1] if is_escaped else text
