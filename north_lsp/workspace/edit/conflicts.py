"""Merge conflicts that reads have found, by number, so that they can be referred to later."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Literal

from north_lsp.lazy_dataclass import dataclass

Side = Literal["ours", "theirs", "base"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A conflict in a file: its lines with the markers (1-based, inclusive) and the lines of each side."""

    startLine: int
    endLine: int
    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    base: tuple[str, ...] | None
    text: str

    def side(self, side: Side) -> str | None:
        """Return the lines of a side; None for a base that the markers do not show."""
        lines = {"ours": self.ours, "theirs": self.theirs, "base": self.base}[side]
        return None if lines is None else "".join(f"{line}\n" for line in lines)


def find_conflicts(lines: list[str]) -> list[Conflict]:
    """Find the complete conflicts among lines without line ends; nested or broken markers are not a conflict."""
    found: list[Conflict] = []
    start, part = 0, ""
    sides: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        if line.startswith("<<<<<<< "):
            start, part, sides = number, "ours", {"ours": [], "theirs": []}
        elif part == "ours" and line.startswith("|||||||"):
            part = "base"
            sides["base"] = []
        elif part in ("ours", "base") and line == "=======":
            part = "theirs"
        elif part == "theirs" and line.startswith(">>>>>>> "):
            base = tuple(sides["base"]) if "base" in sides else None
            text = "".join(f"{one}\n" for one in lines[start - 1 : number])
            found.append(Conflict(start, number, tuple(sides["ours"]), tuple(sides["theirs"]), base, text))
            part = ""
        elif part:
            sides[part].append(line)
    return found


@dataclass
class Conflicts:
    """The registry of a session's conflicts. Numbers stay the same as long as a file's conflicts do."""

    known: dict[int, tuple[Path, Conflict]] = field(default_factory=dict)
    _next: int = 1

    def register(self, path: Path, found: list[Conflict]) -> dict[int, Conflict]:
        """Return the numbers of the conflicts that a file has now; those that it no longer has are forgotten."""
        texts = [conflict.text for conflict in found]
        before = {conflict.text: number for number, (place, conflict) in self.known.items() if place == path}
        for text, number in before.items():
            if text not in texts:
                del self.known[number]
        numbered: dict[int, Conflict] = {}
        for conflict in found:
            number = before.pop(conflict.text, 0) if conflict.text in before else 0
            if not number:
                number, self._next = self._next, self._next + 1
            self.known[number] = (path, conflict)
            numbered[number] = conflict
        return numbered
