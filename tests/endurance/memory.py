"""What a server has in memory, by who keeps it, and what a growth of it is.

A leak goes on, and what Python's objects are in grows with it. What the allocator of each thread keeps between two
blocks comes to an end: it grows less and less, and not at all where Python's objects are.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_ARENA = 2**26
"""The allocator of a thread begins at a multiple of this (glibc's `HEAP_MAX_SIZE`), and is at most as long."""
_MAPPING = re.compile(r"(?P<start>[0-9a-f]+)-[0-9a-f]+ (?P<rights>\S+) \S+ \S+ (?P<inode>\d+) *(?P<name>.*)")


@dataclass(frozen=True)
class Memory:
    """In bytes: all of it; in the allocator of the main thread and of the others; what Python's own allocator has, with
    the stacks."""

    all: int
    heap: int
    threads: int
    objects: int

    @classmethod
    def of(cls, pid: int) -> Self:
        sizes: Counter[str] = Counter()
        kind = ""
        for row in Path(f"/proc/{pid}/smaps").read_text().splitlines():
            if mapping := _MAPPING.fullmatch(row):
                kind = _kind(mapping)
            elif row.startswith("Rss:"):
                sizes[kind] += int(row.split()[1]) * 1024
        return cls(sizes.total(), sizes["heap"], sizes["threads"], sizes["objects"])


def _kind(mapping: re.Match[str]) -> str:
    if mapping["name"] == "[heap]":
        return "heap"
    if mapping["inode"] != "0" or mapping["name"].startswith("[v"):
        return "files"
    return "objects" if int(mapping["start"], 16) % _ARENA else "threads"


def growth(taken: Sequence[Memory]) -> dict[str, int]:
    """Tell what was there first, what came until last, and by that whether it goes on: what came in each half, and what
    came where."""
    first, last = taken[0], taken[-1]
    middle = taken[len(taken) // 2]
    return {
        "memory": first.all,
        "grown": last.all - first.all,
        "grown_in_first_half": middle.all - first.all,
        "grown_in_second_half": last.all - middle.all,
        "grown_in_heap": last.heap - first.heap,
        "grown_in_threads": last.threads - first.threads,
        "grown_in_objects": last.objects - first.objects,
    }
