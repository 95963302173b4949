"""Rules that watch an answer while it streams: what other rooms have to know of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass

SCOPES = ("text", "thinking", "tool")


@dataclass(frozen=True, slots=True)
class Condition:
    """When a rule is broken: one of the `patterns` (regular expressions) matches what streams, or one of the
    `structures` (code with `$NAME`) what is written into a file. `scope` has items of `SCOPES`, or `tool:<wildcard>`.
    `interrupts`: the answer is stopped at once, otherwise the model is told later."""

    patterns: tuple[str, ...] = ()
    structures: tuple[str, ...] = ()
    scope: tuple[str, ...] = ("text", "tool")
    interrupts: bool = True


@dataclass(frozen=True, slots=True)
class StreamRule:
    """A rule with its `condition`. `covers` tells whether it is about a file; None for a rule about any text."""

    name: str
    body: str
    condition: Condition
    covers: Callable[[Path], bool] | None = None
