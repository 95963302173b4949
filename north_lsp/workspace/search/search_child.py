"""Searches in a separate process, for expressions that may take forever: such a search can only be killed."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search.request import Expression, Means, Selection, Within
from north_lsp.workspace.search.search import SearchResult, search, search_in_text

COMMAND = (sys.executable, "-I", "-c", "from north_lsp.workspace.search.search_child import main; main()")


@dataclass(frozen=True)
class InFiles:
    """What to search for in files. `texts` are unsaved."""

    roots: Roots
    expression: Expression
    within: Within
    selection: Selection
    texts: Mapping[Path, str]
    ripgrep: Path | None
    seconds: float

    def search(self) -> SearchResult:
        texts = self.texts
        means = Means(texts.get, tuple(texts), ripgrep=self.ripgrep, seconds=self.seconds, patient=True)
        return search(self.roots, self.expression, self.within, self.selection, means)


@dataclass(frozen=True)
class InText:
    """What to search for in one text."""

    shown: str
    text: str
    expression: Expression
    selection: Selection

    def search(self) -> SearchResult:
        return search_in_text(self.shown, self.text, self.expression, self.selection, patient=True)


def request(asked: InFiles | InText) -> bytes:
    """Encode what `main` reads."""
    return pickle.dumps(asked)


def result(data: bytes) -> SearchResult:
    """Decode what `main` has written. Raises ToolError as `search` does."""
    found = pickle.loads(data)
    if isinstance(found, SearchResult):
        return found
    from north_lsp.errors import ToolError

    raise ToolError(*found)


def main() -> None:
    """Search as the standard input says and write the result to the standard output."""
    from north_lsp.errors import ToolError

    asked: InFiles | InText = pickle.load(sys.stdin.buffer)
    found: object
    try:
        found = asked.search()
    except ToolError as error:
        found = (error.code, error.message, error.hint, error.details)
    sys.stdout.buffer.write(pickle.dumps(found))
