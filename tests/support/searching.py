"""Searches with what a test has to say by keyword, whichever part of the request it belongs to."""

from dataclasses import fields
from typing import Any

from north_lsp.workspace.paths import Roots
from north_lsp.workspace.search import search as searching
from north_lsp.workspace.search.request import Expression, Means, Selection, Within
from north_lsp.workspace.search.search import SearchResult


def search(roots: Roots, text: str, **options: Any) -> SearchResult:
    """Search as `workspace.search.search` does, with the fields of its four arguments as keywords."""
    parts = [_part(kind, options) for kind in (Within, Selection, Means)]
    expression = _part(Expression, {"text": text}, options)
    assert not options, options
    return searching.search(roots, expression, *parts)


def search_in_text(shown: str, searched: str, text: str, **options: Any) -> SearchResult:
    """Do the same for one text."""
    patient = options.pop("patient", False)
    selection, expression = _part(Selection, options), _part(Expression, {"text": text}, options)
    assert not options, options
    return searching.search_in_text(shown, searched, expression, selection, patient=patient)


def _part(kind: Any, *sources: dict[str, Any]) -> Any:
    names = {one.name for one in fields(kind)}
    return kind(**{name: source.pop(name) for source in sources for name in names & source.keys()})
