"""Tells the user's extensions that the user goes somewhere else in a conversation: before, when one may keep it where
it is, or supply the summary of what is left behind; and after.

Extensions run in this process with the user's rights, and only the user's own are read. One that fails or does not
answer in time before the move keeps the conversation where it is: what it would have said is not known.
"""

import inspect
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp.agent.log.branch_summaries import ROOT, BranchSummaryEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import as_object
from north_lsp.agent.log.log import Log
from north_lsp.display import one_line

if TYPE_CHECKING:
    from north_lsp.providers.catalog.extensions import Listener

_SECONDS = 5.0


class KeptByExtension(ValueError):
    """An extension keeps the conversation where it is; the text says which one, and why."""


class _Failed(Exception):
    """An extension did not answer as it should; the text says how."""


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
        for one in await self._listeners("session_before_tree"):
            try:
                answer = await _answer(one, event)
                found = _summary(answer.get("summary"), self._log.leaf) if "summary" in answer else supplied
            except _Failed as error:
                told = f"the extension {one.path} {error}; fix it, or take it out of its folder"
                raise KeptByExtension(f"the conversation stays where it is: {told}") from None
            if answer.get("cancel") is True:
                why = one_line(str(answer.get("reason", "")), 300)
                told = f"the extension {one.path} keeps it there{f': {why}' if why else ''}"
                raise KeptByExtension(f"the conversation stays where it is: {told}")
            supplied = found
        return supplied if wants_summary else None

    async def after(self, old_leaf: str | None, summary: BranchSummaryEntry | None) -> list[str]:
        """Tell that the user has gone there; return what went wrong in extensions, a sentence each."""
        event: dict[str, Any] = {"newLeafId": self._log.leaf, "oldLeafId": old_leaf}
        event["fromExtension"] = summary is not None and summary.more.get("fromExtension") is True
        if summary is not None:
            (*_, written) = [one for one in self._log.path() if isinstance(one.entry, BranchSummaryEntry)]
            event["summaryEntry"] = written.to_json()
        problems = list[str]()
        for one in await self._listeners("session_tree"):
            try:
                await _answer(one, event)
            except _Failed as error:
                problems.append(f"the extension {one.path} {error}")
        return problems

    async def _listeners(self, event: str) -> Sequence["Listener"]:
        def found() -> Sequence["Listener"]:
            if not self._extensions.is_dir():
                return ()
            from north_lsp.providers.catalog.extensions import listeners

            return listeners(self._extensions, event)

        return await anyio.to_thread.run_sync(found)


async def _answer(one: "Listener", event: Mapping[str, object]) -> Mapping[str, Any]:
    """Have an extension handle an event, in limited time. Raises _Failed."""
    given = deepcopy(dict(event))  # what one does with it is nothing to the next
    answer: object = None
    try:
        with anyio.fail_after(_SECONDS):
            if inspect.iscoroutinefunction(one.handler):
                answer = await one.handler(given)
            else:
                answer = await anyio.to_thread.run_sync(one.handler, given, abandon_on_cancel=True)
    except TimeoutError:
        raise _Failed(f"did not answer `{one.event}` within {_SECONDS:g} s") from None
    except Exception as error:  # noqa: BLE001 - an extension may raise anything
        said = one_line(f"{type(error).__name__}: {error}", 300)
        raise _Failed(f"failed to handle `{one.event}` ({said})") from None
    if answer is not None and not isinstance(answer, Mapping):
        raise _Failed(f"answered `{one.event}` with something that is no dict")
    return answer or {}


def _summary(supplied: object, leaf: str | None) -> BranchSummaryEntry:
    """Read the summary that an extension supplied: `{summary, details?}`. Raises _Failed."""
    given = as_object(supplied)
    record = {"fromId": leaf if leaf is not None else ROOT, "summary": given.get("summary"), "fromExtension": True}
    record |= {"details": given["details"]} if "details" in given else {}
    try:
        return BranchSummaryEntry.from_json(record)
    except TypeError:
        raise _Failed(
            "supplied a summary that is not `{summary: text, details?: {readFiles, modifiedFiles}}`"
        ) from None
