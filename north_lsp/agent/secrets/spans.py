"""Exchanges parts of a text for others. Parts that overlap are exchanged as one, so that nothing is left of any: no
value can take the beginning of another and leave the rest. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A part of a text, and what makes what is in its place."""

    start: int
    end: int
    shown: Callable[[], str]


def exchanged(text: str, spans: Iterable[Span], whole: Callable[[str], str]) -> str:
    """Return a text with its parts exchanged. Of those that overlap, the one that covers all others counts, the first
    if several do; if none does, `whole` returns what stands for all of them together."""
    ordered = sorted(spans, key=lambda one: (one.start, -one.end))
    parts, at, number = list[str](), 0, 0
    while number < len(ordered):
        first = ordered[number]
        end = first.end
        while (number := number + 1) < len(ordered) and ordered[number].start < end:
            end = max(end, ordered[number].end)
        shown = first.shown() if first.end == end else whole(text[first.start : end])
        parts += [text[at : first.start], shown]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def occurrences(part: str, text: str) -> Iterable[int]:
    """Return where a part begins in a text, also where it overlaps itself."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
