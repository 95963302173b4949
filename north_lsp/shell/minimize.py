"""Shortens long outputs of successful commands by dropping lines that only report progress (`minimize.toml`). Pure."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass

_LEAST_LINES = 15
_LONGEST_COMMAND = 2000
_LONGEST_LINE = 500


@dataclass(frozen=True, slots=True)
class Minimized:
    """A shortened output. `name` is the filter's; `left_out` counts lines."""

    text: str
    name: str
    left_out: int


@dataclass(frozen=True, slots=True)
class _Filter:
    name: str
    command: re.Pattern[str]
    drop: re.Pattern[str]


def minimize(command: str, output: str) -> Minimized | None:
    """Shorten the output of a command that succeeded; None if no filter applies, or if it would leave out little."""
    command = command[:_LONGEST_COMMAND]
    lines = output.splitlines(keepends=True)
    if len(lines) < _LEAST_LINES:
        return None
    for row in _filters():
        if row.command.search(command) is None:
            continue
        kept = [line for line in lines if row.drop.match(line[:_LONGEST_LINE].rstrip()) is None]
        left_out = len(lines) - len(kept)
        if left_out >= _LEAST_LINES - 5 and left_out * 3 >= len(lines):
            return Minimized("".join(kept), row.name, left_out)
    return None


@cache
def _filters() -> tuple[_Filter, ...]:
    rows = tomllib.loads(Path(__file__).with_name("minimize.toml").read_text("utf-8"))["filters"]
    return tuple(
        _Filter(row["name"], re.compile(row["command"]), re.compile("|".join(f"(?:{one})" for one in row["drop"])))
        for row in rows
    )
