"""What is asked of a search: what to look for, where, which of the matches are wanted, and with what it is done."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.search.query import Query, compile_query


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Expression:
    """What to look for: text, or with `regex` a regular expression; `multiline` lets a match span several lines."""

    text: str
    regex: bool = False
    case_sensitive: bool = False
    multiline: bool = False

    def compiled(self, *, patient: bool = False) -> Query:
        """Return what finds it; `patient` where it may take as long as it needs. Raises ToolError INVALID_INPUT."""
        found = compile_query(self.text, regex=self.regex, case_sensitive=self.case_sensitive, multiline=self.multiline)
        return replace(found, longest=None) if patient else found


@dataclass(frozen=True, slots=True)
class Within:
    """The scope of a search: the file or folder `path`, None for all roots, and names that match `glob` and end with
    one of `suffixes`, which are lower-case. `private` are folders whose files are never listed."""

    path: str | None = None
    glob: str | None = None
    suffixes: tuple[str, ...] | None = None
    private: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the matches are wanted: `limit` of them after the first `offset`, with `context_lines` around each; of
    the lines of the inclusive range `lines` alone, if it is given."""

    lines: tuple[int, int] | None = None
    context_lines: int = 0
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Means:
    """With what a search is done. `read` returns the unsaved text of a file, if there is one; `unsaved` names the files
    that have one (needed with `ripgrep`, the binary that counts). `should_stop` is called before every file and
    occasionally within one; after `seconds` a search returns what it has found so far. Without `trees`, files are
    listed. `patient` is only for a process that can be killed."""

    read: Callable[[Path], str | None] | None = None
    unsaved: Iterable[Path] = ()
    should_stop: Callable[[], bool] = _never
    trees: Trees | None = None
    ripgrep: Path | None = None
    seconds: float | None = None
    patient: bool = False
