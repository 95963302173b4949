"""Finds lines that differ from a wanted text only in trailing white space and in how far all of them are indented."""

from __future__ import annotations

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.text import split_lines, to_newlines


@dataclass(frozen=True, slots=True)
class WhitespaceMatch:
    """Lines `start` to `end` (0-based, end excluded) that match the wanted ones; `content` is fitted to their
    indentation."""

    start: int
    end: int
    content: str


def find_ignoring_whitespace(text: str, old: str, new: str) -> WhitespaceMatch | None:
    """Find the one place where `old` matches except for white space, with `new` indented as that place is; None if
    there is no place or several."""
    lines = [line.rstrip() for line in split_lines(to_newlines(text, "\n"))]
    wanted = [line.rstrip() for line in split_lines(to_newlines(old, "\n"))]
    if not any(wanted):
        return None
    found: list[WhitespaceMatch] = []
    first = next(at for at, line in enumerate(wanted) if line)
    bare = wanted[first].lstrip()
    for at in range(first, len(lines) - len(wanted) + first + 1):
        if lines[at].lstrip() != bare:
            continue
        start = at - first
        shift = _shift(lines[start : start + len(wanted)], wanted)
        if shift is not None:
            found.append(WhitespaceMatch(start, start + len(wanted), _shifted(to_newlines(new, "\n"), *shift)))
    return found[0] if len(found) == 1 else None


def _shift(window: list[str], wanted: list[str]) -> tuple[str, str] | None:
    """Return what every line's indentation has in place of the text's; None if the lines do not all differ in the same
    way."""
    shift: tuple[str, str] | None = None
    for here, there in zip(window, wanted, strict=True):
        if here.lstrip() != there.lstrip():
            return None
        if not here:
            continue
        ours, theirs = here[: len(here) - len(here.lstrip())], there[: len(there) - len(there.lstrip())]
        if shift is None:
            common = 0
            while common < min(len(ours), len(theirs)) and ours[-1 - common] == theirs[-1 - common]:
                common += 1
            shift = (ours[: len(ours) - common], theirs[: len(theirs) - common])
        if not theirs.startswith(shift[1]) or shift[0] + theirs[len(shift[1]) :] != ours:
            return None
    return shift


def _shifted(new: str, ours: str, theirs: str) -> str:
    return "".join(
        ours + line[len(theirs) :] if line.strip() and line.startswith(theirs) else line for line in split_lines(new)
    )
