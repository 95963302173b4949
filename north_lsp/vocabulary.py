"""Words that all rooms share: what a prompt may do, what a call does, and where; and how names are spelled outside of
Python. Imports nothing of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from north_lsp.lazy_dataclass import dataclass

Mode = Literal["ask", "agent", "plan"]
Kind = Literal["read", "search", "edit", "delete", "move", "execute", "think", "fetch", "other"]
TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
TREE_FILTERS: tuple[TreeFilter, ...] = get_args(TreeFilter)
"""Which entries of a conversation its tree shows."""


@dataclass(frozen=True, slots=True)
class Location:
    """A file that a call looks at or changes, for an editor that follows along. `line` is 1-based."""

    path: Path
    line: int | None = None


def camel_case(name: str) -> str:
    """Return a field's name as JSON and settings spell it (`cacheRead` for `cache_read`)."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


INCOMPLETE = " (incomplete)"
"""In the title of a file that arrived only in part."""
