"""Environment variables that are switches or whole numbers, read in the same way everywhere."""

from __future__ import annotations

from collections.abc import Mapping

_ON = ("1", "true", "yes", "on")
_OFF = ("", "0", "false", "no", "off")
_LONGEST = 18  # digits: more is no number that anybody means


def is_on(environ: Mapping[str, str], name: str) -> bool:
    """Tell whether a variable is switched on. What is neither on nor off switches on what forbids something
    (`NORTH_NO_…`), and nothing else."""
    word = _word(environ, name)
    return word in _ON or ("_NO_" in name and word not in _OFF)


def is_off(environ: Mapping[str, str], name: str) -> bool:
    """Tell whether a variable is set, and switched off."""
    word = _word(environ, name)
    return word != "" and word in _OFF


def is_switch(value: str) -> bool:
    """Tell whether a value is one of the words for on and off."""
    return value.strip().lower() in (*_ON, *_OFF)


def number(environ: Mapping[str, str], name: str, default: int) -> int:
    """Read a whole number of 0 or more; the default for anything else."""
    value = environ.get(name, "").strip()
    return int(value) if is_number(value) else default


def is_number(value: str) -> bool:
    """Tell whether a value is such a number."""
    text = value.strip()
    return text.isascii() and text.isdigit() and len(text) <= _LONGEST


def _word(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name, "").strip().lower()
