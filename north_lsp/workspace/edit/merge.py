"""Merges two changes of one text by lines: what at most one side changed is clear, the rest is a conflict."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.lines import Block, changed_blocks
from north_lsp.workspace.text import split_lines


@dataclass(frozen=True, slots=True)
class Conflict:
    """Lines that both sides changed differently. Line numbers are 1-based and inclusive in `ours`; a side without lines
    ends before it starts."""

    start: int
    end: int
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merged:
    """`text` has `ours` where the sides conflict; `marked` shows both there, between the usual marks."""

    text: str
    marked: str
    conflicts: tuple[Conflict, ...]


def merge(base: str, ours: str, theirs: str, labels: tuple[str, str] = ("yours", "theirs")) -> Merged:
    """Merge both changes of `base` into one text. Changes that touch each other conflict, unless they are the same."""
    if theirs in (ours, base):
        return Merged(ours, ours, ())
    if base == ours:
        return Merged(theirs, theirs, ())
    lines = split_lines(base)
    mine, other = split_lines(ours), split_lines(theirs)
    out: list[str] = []
    marked: list[str] = []
    conflicts: list[Conflict] = []
    at = mine_at = other_at = 0
    for start, end, my_blocks, their_blocks in _regions(changed_blocks(lines, mine), changed_blocks(lines, other)):
        kept = lines[at:start]
        out += kept
        marked += kept
        mine_at, other_at = mine_at + len(kept), other_at + len(kept)
        my_end = mine_at + end - start + _growth(my_blocks)
        their_end = other_at + end - start + _growth(their_blocks)
        my_lines, their_lines = mine[mine_at:my_end], other[other_at:their_end]
        if not their_blocks or my_lines == their_lines:
            chosen = shown = my_lines
        elif not my_blocks:
            chosen = shown = their_lines
        else:
            chosen, shown = my_lines, _marked(my_lines, their_lines, labels)
            sides = (tuple(lines[start:end]), tuple(my_lines), tuple(their_lines))
            conflicts.append(Conflict(mine_at + 1, my_end, *sides))
        out += chosen
        marked += shown
        at, mine_at, other_at = end, my_end, their_end
    out += lines[at:]
    marked += lines[at:]
    return Merged(_joined(out), _joined(marked), tuple(conflicts))


def _growth(blocks: Sequence[Block]) -> int:
    return sum((block.new_end - block.new_start) - (block.old_end - block.old_start) for block in blocks)


def _regions(ours: list[Block], theirs: list[Block]) -> list[tuple[int, int, list[Block], list[Block]]]:
    """Return the stretches of the base that blocks of either side cover; blocks that touch share one."""
    tagged = sorted([(block.old_start, block.old_end, 0, block) for block in ours], key=lambda row: row[:2])
    tagged += [(block.old_start, block.old_end, 1, block) for block in theirs]
    regions: list[tuple[int, int, list[Block], list[Block]]] = []
    for start, end, side, block in sorted(tagged, key=lambda row: row[:3]):
        if regions and start <= regions[-1][1]:
            first, last, mine, other = regions[-1]
            regions[-1] = (first, max(last, end), mine, other)
        else:
            regions.append((start, end, [], []))
        (regions[-1][3] if side else regions[-1][2]).append(block)
    return regions


def _marked(ours: Sequence[str], theirs: Sequence[str], labels: tuple[str, str]) -> list[str]:
    newline = "\r\n" if any(line.endswith("\r\n") for line in (*ours, *theirs)) else "\n"
    middle = [f"<<<<<<< {labels[0]}{newline}", *_ended(ours, newline), f"======={newline}", *_ended(theirs, newline)]
    return [*middle, f">>>>>>> {labels[1]}{newline}"]


def _ended(lines: Sequence[str], newline: str) -> list[str]:
    return [line if line.endswith("\n") else line + newline for line in lines]


def _joined(lines: Sequence[str]) -> str:
    """Join lines. A line that ended its text without a line end may now have others after it, so it gets one."""
    newline = "\r\n" if sum(line.endswith("\r\n") for line in lines) * 2 > len(lines) else "\n"
    return "".join([*_ended(lines[:-1], newline), *lines[-1:]])
