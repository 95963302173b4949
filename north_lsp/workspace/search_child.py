"""Searching in a process of its own, for expressions that may take for ever: such a search can only be killed."""

import importlib
import pickle
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search import SearchResult, search

COMMAND = (sys.executable, "-I", "-c", "from north_lsp.workspace.search_child import main; main()")
_parser: Any = importlib.import_module("re._parser")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT")


def may_take_for_ever(expression: str) -> bool:
    """Whether a repetition without an end holds another one or alternatives, which can be tried in very many ways."""
    try:
        return _nested(_parser.parse(expression), inside=False)
    except (re.error, OverflowError, RecursionError):
        return False


def request(roots: Roots, query: str, options: Mapping[str, object], texts: Mapping[Path, str]) -> bytes:
    """What `main` reads: the arguments of `search`, without functions, and the unsaved texts."""
    return pickle.dumps((roots, query, dict(options), dict(texts)))


def result(data: bytes) -> SearchResult:
    """What `main` has written. Raises ToolError as `search` does."""
    found = pickle.loads(data)
    if isinstance(found, SearchResult):
        return found
    from north_lsp.errors import ToolError

    raise ToolError(*found)


def main() -> None:
    """Search as the standard input says and write what was found to the standard output."""
    from north_lsp.errors import ToolError

    roots, query, options, texts = pickle.load(sys.stdin.buffer)
    found: object
    try:
        found = search(roots, query, read=texts.get, unsaved=tuple(texts), **options)
    except ToolError as error:
        found = (error.code, error.message, error.hint, error.details)
    sys.stdout.buffer.write(pickle.dumps(found))


def _nested(items: Any, *, inside: bool) -> bool:
    for operation, argument in items:
        name = str(operation)
        if name in _REPEATS:
            endless = argument[1] == _parser.MAXREPEAT or argument[1] > 20
            if endless and inside:
                return True
            if _nested(argument[2], inside=inside or endless):
                return True
        elif name == "BRANCH":
            if inside or any(_nested(branch, inside=inside) for branch in argument[1]):
                return True
        elif name == "SUBPATTERN":
            if _nested(argument[3], inside=inside):
                return True
        elif name in ("ASSERT", "ASSERT_NOT"):
            if _nested(argument[1], inside=inside):
                return True
        elif name == "ATOMIC_GROUP" and _nested(argument, inside=inside):
            return True
    return False
