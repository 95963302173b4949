"""Where an anchor text stands among lines: the one rule for every tool that takes one."""

from collections.abc import Sequence

from north_lsp.errors import ToolError


def find_anchor(lines: Sequence[str], anchor: str) -> tuple[list[tuple[int, int]], str | None]:
    """The places (first and last line, 1-based) that contain an anchor, and a notice if white space was disregarded.

    `lines` have no line ends. An anchor of several lines matches consecutive lines. Raises ToolError INVALID_INPUT for
    a blank one.
    """
    wanted = anchor.replace("\r\n", "\n").removesuffix("\n").split("\n")
    if not anchor.strip():
        raise ToolError("INVALID_INPUT", "the anchor is empty", "give a text that stands in the file")
    found = _places(lines, wanted)
    if found:
        return found, None
    squeezed = [" ".join(line.split()) for line in wanted]
    found = _places([" ".join(line.split()) for line in lines], squeezed)
    return found, "the anchor was found with white space disregarded" if found else None


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[tuple[int, int]]:
    size = len(wanted)
    first = wanted[0]
    return [
        (at + 1, at + size)
        for at in range(len(lines) - size + 1)
        if first in lines[at] and all(wanted[offset] in lines[at + offset] for offset in range(1, size))
    ]
