"""Tells the user's extensions that the user goes somewhere else in a conversation: before, when one may keep it where
it is, or supply the summary of what is left behind; and after.

One that fails or does not answer in time before the move keeps the conversation where it is: what it would have said is
not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import as_object
from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.extension_events import ExtensionEvents

_NO_SUMMARY = "supplied a summary that is not `{summary: text, details?: {readFiles, modifiedFiles}}`"


class KeptByExtension(ValueError):
    """An extension keeps the conversation where it is; the text says which one, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the conversation does not move: {why}")


class TreeEvents:
    """Tells of the moves in one conversation. `extensions` are told of them."""

    def __init__(self, log: Log, extensions: ExtensionEvents) -> None:
        self._log = log
        self._events = extensions

    async def before(self, target: str, left: Sequence[Logged], *, wants_summary: bool) -> BranchSummaryEntry | None:
        """Tell that the user goes to an entry and leaves others behind; return the summary of these that an extension
        has supplied, if the user wants one. Raises KeptByExtension."""
        path = self._log.path()
        kept = len(path) - len(left)
        event = {
            "targetId": target,
            "oldLeafId": self._log.leaf,
            "commonAncestorId": path[kept - 1].id if kept else None,
            "entriesToSummarize": [one.to_json() for one in left],
            "userWantsSummary": wants_summary,
        }
        supplied: BranchSummaryEntry | None = None
        async for one in self._events.tell("session_before_tree", event):
            problem, found = one.problem, supplied
            if not problem and "summary" in one.content:
                found = _summary(one.content["summary"], self._log.leaf)
                problem = _NO_SUMMARY if found is None else ""
            if problem:
                told = f"the extension {one.extension} {problem}; fix it, or remove it from its folder"
                raise KeptByExtension(told)
            if one.cancels:
                raise KeptByExtension(
                    f"the extension {one.extension} prevented this{f': {one.why}' if one.why else ''}"
                )
            supplied = found
        return supplied if wants_summary else None

    async def after(self, old_leaf: str | None, summary: BranchSummaryEntry | None) -> list[str]:
        """Tell that the user has gone there; return what went wrong in extensions, a sentence each."""
        event: dict[str, Any] = {"newLeafId": self._log.leaf, "oldLeafId": old_leaf}
        event["fromExtension"] = summary is not None and summary.is_supplied
        if summary is not None:
            (*_, written) = [one for one in self._log.path() if isinstance(one.entry, BranchSummaryEntry)]
            event["summaryEntry"] = written.to_json()
        answers = [one async for one in self._events.tell("session_tree", event)]
        return [f"the extension {one.extension} {one.problem}" for one in answers if one.problem]


def _summary(supplied: object, leaf: str | None) -> BranchSummaryEntry | None:
    """Read the summary that an extension supplied: `{summary, details?}`; None if it is none."""
    try:
        return BranchSummaryEntry.supplied(as_object(supplied), leaf)
    except TypeError:
        return None
