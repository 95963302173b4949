"""Fills in the files that a context file includes by a line of its own, also in a list: `@relative/path.md`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from north_lsp.agent.context.documents import Place, read_document
from north_lsp.display import one_line
from north_lsp.errors import ToolError

_SUFFIXES = (".md", ".mdc", ".markdown", ".txt", ".rst")
_MAX_DEPTH = 3
_MAX_INCLUDES = 40
_FENCES = ("```", "~~~")


def with_includes(text: str, path: Path, place: Place, problems: list[str]) -> str:
    """Return a text with the files that it includes, which is at `path`; `place` decides what may be read. A file that
    cannot be included is told of in `problems`, and its line stays."""
    return "\n".join(_lines(text, path, place, (path,), _Budget(problems)))


class _Budget:
    """How many files may still be included, and what went wrong."""

    def __init__(self, problems: list[str]) -> None:
        self.left = _MAX_INCLUDES
        self.problems = problems


def _lines(text: str, path: Path, place: Place, above: tuple[Path, ...], budget: _Budget) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        opens = next((mark for mark in _FENCES if line.lstrip().startswith(mark)), "")
        if opens and fence in ("", opens):
            fence = "" if fence else opens
        name = line.strip()
        name = name[2:].lstrip() if name.startswith(("- ", "* ")) else name
        if fence or not name.startswith("@") or not name.endswith(_SUFFIXES) or " " in name:
            yield line
            continue
        try:
            yield from _included(name[1:], path, place, above, budget)
        except ToolError as error:
            budget.problems.append(f"{one_line(name)} is not included: {one_line(error.message, 200)}")
            yield line


def _included(name: str, path: Path, place: Place, above: tuple[Path, ...], budget: _Budget) -> Iterator[str]:
    if len(above) > _MAX_DEPTH:
        raise ToolError("TOO_LARGE", f"includes go at most {_MAX_DEPTH} files deep")
    if budget.left <= 0:
        raise ToolError("TOO_LARGE", f"one file includes at most {_MAX_INCLUDES}")
    budget.left -= 1
    target = Path(os.path.expanduser(name)) if name.startswith("~/") else path.parent / name
    real, _ = place.resolve(target)
    if real in above:
        raise ToolError("INVALID_INPUT", "it includes itself")
    text, _ = read_document(real)
    return _lines(text.strip(), real, place, (*above, real), budget)
