"""Tells the user's extensions that the user goes somewhere else in a conversation: before, when one may keep it where
it is, or supply the summary of what is left behind; and after. One that fails or does not answer in time before the
move keeps the conversation where it is: what it would have said is not known.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from north_lsp.agent.log.branch_summaries import ROOT, BranchSummaryEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import as_object
from north_lsp.agent.log.log import Log
from north_lsp.agent.session.extension_events import (
    ExtensionFailed,
    answer_of,
    ensure_not_kept,
    kept_by_failure,
    problems_after,
    told_of,
)

_STAYS = "the conversation stays where it is"


class TreeEvents:
    """Those of one conversation. `extensions` is the user's folder of them."""

    def __init__(self, log: Log, extensions: Path) -> None:
        self._log = log
        self._extensions = extensions

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
        for one in await told_of("session_before_tree", self._extensions):
            try:
                answer = await answer_of(one, event)
                found = _summary(answer.get("summary"), self._log.leaf) if "summary" in answer else supplied
            except ExtensionFailed as error:
                raise kept_by_failure(one, error, _STAYS) from None
            ensure_not_kept(one, answer, _STAYS)
            supplied = found
        return supplied if wants_summary else None

    async def after(self, old_leaf: str | None, summary: BranchSummaryEntry | None) -> list[str]:
        """Tell that the user has gone there; return what went wrong in extensions, a sentence each."""
        event: dict[str, Any] = {"newLeafId": self._log.leaf, "oldLeafId": old_leaf}
        event["fromExtension"] = summary is not None and summary.more.get("fromExtension") is True
        if summary is not None:
            (*_, written) = [one for one in self._log.path() if isinstance(one.entry, BranchSummaryEntry)]
            event["summaryEntry"] = written.to_json()
        return await problems_after("session_tree", self._extensions, event)


def _summary(supplied: object, leaf: str | None) -> BranchSummaryEntry:
    """Read the summary that an extension supplied: `{summary, details?}`. Raises ExtensionFailed."""
    given = as_object(supplied)
    record = {"fromId": leaf if leaf is not None else ROOT, "summary": given.get("summary"), "fromExtension": True}
    record |= {"details": given["details"]} if "details" in given else {}
    try:
        return BranchSummaryEntry.from_json(record)
    except TypeError:
        raise ExtensionFailed(
            "supplied a summary that is not `{summary: text, details?: {readFiles, modifiedFiles}}`"
        ) from None
