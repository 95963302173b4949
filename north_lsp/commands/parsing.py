"""Finding slash commands in a prompt. Pure."""

import re
import shlex
from collections.abc import Container
from dataclasses import dataclass

_NAME = re.compile(r"/([a-z][a-z0-9:_-]*)(?![a-zA-Z/.])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command as it was typed; `problem` says why its words cannot be read."""

    name: str
    args: tuple[str, ...]
    typed: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """`text` is what remains for the model; `unknown` is a word at its beginning that looks like a command."""

    invocations: tuple[Invocation, ...]
    text: str
    unknown: str = ""


def find_commands(text: str, names: Container[str]) -> Found:
    """Commands stand at the start of a line (and behind another command), outside fenced code; their words go on to the
    end of the line. `\\/name` is text: it loses its backslash."""
    invocations: list[Invocation] = []
    rest: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else mark[1]
        begin = _NAME.match(line.lstrip()) if not fence and mark is None else None
        if begin is not None and begin[1] in names:
            invocations += _on_line(line.strip(), names)
        else:
            rest.append(line)
    remaining = "\n".join(rest)
    remaining = remaining.strip() if invocations else remaining
    first = _NAME.match(remaining.lstrip())
    unknown = first[1] if first is not None and (remaining.lstrip()[first.end() :][:1] or " ").isspace() else ""
    escaped = remaining.lstrip()
    if escaped.startswith("\\/"):
        remaining = remaining.replace("\\/", "/", 1)
    return Found(tuple(invocations), remaining, unknown)


def _on_line(line: str, names: Container[str]) -> list[Invocation]:
    starts = [0]
    starts += [
        found.start()
        for found in _NAME.finditer(line, 1)
        if found[1] in names and line[found.start() - 1].isspace() and not _is_quoted(line[: found.start()])
    ]
    pieces = [line[start:end].strip() for start, end in zip(starts, [*starts[1:], len(line)], strict=True)]
    return [_invocation(piece) for piece in pieces]


def _is_quoted(before: str) -> bool:
    return any(before.count(mark) % 2 for mark in "\"'`")


def _invocation(typed: str) -> Invocation:
    found = _NAME.match(typed)
    assert found is not None  # it was found by this name
    name, words = found[1], typed[found.end() :]
    try:
        return Invocation(name, tuple(shlex.split(words)), typed)
    except ValueError:
        return Invocation(name, (), typed, "a quotation mark has no partner")
