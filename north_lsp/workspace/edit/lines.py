"""Finds which runs of lines differ between two texts, in bounded time for any input."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from north_lsp.lazy_dataclass import dataclass

_MAX_COMPARISONS = 100_000


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `old_start` to `old_end` became lines `new_start` to `new_end`; 0-based, ends excluded."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def changed_blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the differing runs in order, none empty on both sides and none touching the next.

    Small inputs get a close comparison; in large ones, lines that occur once on each side align the texts, and a
    stretch between them that is still too large is one block.
    """
    merged: list[Block] = []
    for block in _compare(old, new, 0, 0, anchored=True):
        last = merged[-1] if merged else None
        if last is not None and last.old_end == block.old_start and last.new_end == block.new_start:
            merged[-1] = Block(last.old_start, block.old_end, last.new_start, block.new_end)
        else:
            merged.append(block)
    return merged


def _compare(old: Sequence[str], new: Sequence[str], old_at: int, new_at: int, *, anchored: bool) -> Iterator[Block]:
    shortest = min(len(old), len(new))
    head = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    shortest -= head
    tail = next((at for at in range(shortest) if old[-1 - at] != new[-1 - at]), shortest)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    old_at, new_at = old_at + head, new_at + head
    if not old and not new:
        return
    if not old or not new:
        yield Block(old_at, old_at + len(old), new_at, new_at + len(new))
    elif _comparisons(old, new) <= _MAX_COMPARISONS:
        import difflib

        for tag, *ends in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if tag != "equal":
                yield Block(old_at + ends[0], old_at + ends[1], new_at + ends[2], new_at + ends[3])
    elif anchored:
        here = (0, 0)
        for anchor in (*_anchors(old, new), (len(old), len(new))):
            if anchor != here:
                part = (old[here[0] : anchor[0]], new[here[1] : anchor[1]])
                yield from _compare(*part, old_at + here[0], new_at + here[1], anchored=False)
            here = (anchor[0] + 1, anchor[1] + 1)
    else:
        yield Block(old_at, old_at + len(old), new_at, new_at + len(new))


def _comparisons(old: Sequence[str], new: Sequence[str]) -> int:
    """Count the steps of a close comparison: the pairs of equal lines, and one per line."""
    if len(old) + len(new) > _MAX_COMPARISONS:
        return len(old) + len(new)
    counts = Counter(new)
    return len(old) + len(new) + sum(counts[line] for line in old)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of lines that occur once on each side, as many as are in the same order on both."""
    in_old, in_new = _unique(old), _unique(new)
    pairs = [(at, in_new[line]) for line, at in in_old.items() if line in in_new]
    ends: list[int] = []  # the smallest new position that ends a rising run of each length
    tops: list[int] = []  # which pair that is
    before: list[int] = []
    for index, (_, at) in enumerate(pairs):
        length = bisect_left(ends, at)
        before.append(tops[length - 1] if length else -1)
        ends[length : length + 1] = [at]
        tops[length : length + 1] = [index]
    run: list[tuple[int, int]] = []
    index = tops[-1] if tops else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _unique(lines: Sequence[str]) -> dict[str, int]:
    counts = Counter(lines)
    return {line: at for at, line in enumerate(lines) if counts[line] == 1}
