"""Finding the slash command in a prompt. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Container

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_NAME = lazy_pattern(r"/([a-z][a-z0-9:_-]*)(?![a-zA-Z/.])")


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command as it was typed; `problem` says why its words cannot be read."""

    name: str
    args: tuple[str, ...]
    typed: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A command, or `text` for the model; `unknown` is a word at its beginning that looks like a command; `is_escaped`
    says that a backslash in front of it was taken away."""

    command: Invocation | None
    text: str
    unknown: str = ""
    is_escaped: bool = False


def split_name(text: str) -> tuple[str, str] | None:
    """Split a prompt that begins like a command into the name and the words after it."""
    typed = text.strip()
    begin = _NAME.match(typed)
    return None if begin is None else (begin[1], typed[begin.end() :])


def find_command(text: str, names: Container[str]) -> Found:
    """Find the command at the beginning of a prompt; everything after it is its words. `\\/name` is text, and loses its
    backslash."""
    typed = text.strip()
    name, words = split_name(typed) or ("", "")
    if name and name in names:
        return Found(_invocation(name, typed, words), "")
    if name and (words[:1] or " ").isspace():
        return Found(None, text, name)
    if typed.startswith("\\/"):
        return Found(None, text.replace("\\/", "/", 1), is_escaped=True)
    return Found(None, text)


def _invocation(name: str, typed: str, words: str) -> Invocation:
    try:
        return Invocation(name, tuple(shlex.split(words)), typed)
    except ValueError:
        return Invocation(name, (), typed, "a quotation mark is not closed")
