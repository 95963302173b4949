"""Takes `| head` and `| tail` off the end of a command and applies them to the captured output, so that the rest of it
stays readable."""

from __future__ import annotations

from dataclasses import replace

from north_lsp.command_policy.parsing import NotSimple, parse
from north_lsp.command_policy.tables import changes_shell
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.base import Command

_LAST = lazy_pattern(r"\|\s*(?P<source>(?P<program>head|tail)(?:\s+(?:-n\s*|-|--lines=)(?P<count>[1-9]\d{0,4}))?)\s*\Z")
_DEFAULT = 10


@dataclass(frozen=True, slots=True)
class OutputSelection:
    """The selected lines: `text` is what is left, `left_out` how many lines are not."""

    text: str
    left_out: int


def strip_head_tail(command: Command) -> Command:
    """Return the command to run, with the last `head` or `tail` of its pipeline as numbers. Nothing is changed where
    that could change what the command does. Parses, so call it in a thread."""
    match = _LAST.search(command.command)
    if match is None or command.head is not None or command.tail is not None or command.background:
        return command
    try:
        simple = list(parse(command.command))
    except NotSimple:
        return command
    while simple and simple[0].program == "cd" and simple[0].link == "&&":
        simple.pop(0)
    if len(simple) < 2 or simple[-1].source != match["source"] or any(one.link != "|" for one in simple[:-1]):
        return command
    if any(one.program == "cd" or changes_shell(one.program) for one in simple):
        return command  # in a pipeline it would not have changed the session's shell
    count = int(match["count"] or _DEFAULT)
    shorter = command.command[: match.start()].rstrip()
    try:
        left = parse(shorter)
    except NotSimple:
        return command
    if [one.words for one in left] != [one.words for one in parse(command.command)[:-1]]:
        return command  # the space before the pipe was part of a word
    if match["program"] == "head":
        return replace(command, command=shorter, head=count)
    return replace(command, command=shorter, tail=count)


def select_lines(text: str, head: int | None, tail: int | None) -> OutputSelection:
    """Select the first `head` lines, and the last `tail` of those."""
    lines = text.splitlines(keepends=True)
    kept = lines[:head] if head is not None else lines
    kept = kept[-tail:] if tail is not None else kept
    return OutputSelection("".join(kept), len(lines) - len(kept))
