"""Searches in a separate process, for expressions that may take forever: such a search can only be killed."""

import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search.search import SearchResult, search, search_in_text

COMMAND = (sys.executable, "-I", "-c", "from north_lsp.workspace.search.search_child import main; main()")


def request(roots: Roots, query: str, options: Mapping[str, object], texts: Mapping[Path, str]) -> bytes:
    """Encode what `main` reads: the arguments of `search`, without functions, and the unsaved texts."""
    return pickle.dumps((roots, query, dict(options), dict(texts)))


def text_request(shown: str, text: str, query: str, options: Mapping[str, object]) -> bytes:
    """Encode the same for `search_in_text`."""
    return pickle.dumps(((shown, text), query, dict(options), {}))


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

    roots, query, options, texts = pickle.load(sys.stdin.buffer)
    found: object
    try:
        if isinstance(roots, Roots):
            found = search(roots, query, read=texts.get, unsaved=tuple(texts), patient=True, **options)
        else:
            shown, text = roots
            found = search_in_text(shown, text, query, patient=True, **options)
    except ToolError as error:
        found = (error.code, error.message, error.hint, error.details)
    sys.stdout.buffer.write(pickle.dumps(found))
