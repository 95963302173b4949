"""Recognizes calls that a vendor says have no result, by the wording of its refusals. Imports nothing heavy."""

from __future__ import annotations

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import Failed

_ORPHAN = lazy_pattern(
    r"tool_use.{0,40}ids were found without.{0,60}?tool_result.{0,60}?\b(toolu_\w+)"
    r"|[Nn]o tool output found for function call ([\w-]+)"
    r"|Expected toolResult blocks at .{0,60}?for the following Ids: ([\w-]+)"
    r"|tool_call_ids? did not have response messages: ([\w-]+)"
)


def orphaned_call(failure: Failed) -> str | None:
    """Return the id of the call that a vendor says has no result, None if it says no such thing."""
    if failure.kind != "bad_request":
        return None
    found = _ORPHAN.search(failure.message)
    return next((group for group in found.groups() if group), None) if found is not None else None
