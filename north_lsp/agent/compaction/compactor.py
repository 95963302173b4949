"""Shortens a conversation: prunes old results where that is enough, else has its older part summarized.

Nothing is changed before a summary is there, and nothing is ever removed from the log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from north_lsp.agent.compaction.cut import Cut, cut_before_last, find_cut
from north_lsp.agent.compaction.entry_sizes import sizes_of
from north_lsp.agent.compaction.extension_hooks import ExtensionHooks, KeptWhole
from north_lsp.agent.compaction.files import files_of
from north_lsp.agent.compaction.limits import limits_of, tighter
from north_lsp.agent.compaction.pruning import prunable
from north_lsp.agent.compaction.serialize import rows_of
from north_lsp.agent.compaction.summarizer import NoSummary, Part, Summarizer, Wanted
from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.limits import LimitReached
from north_lsp.agent.costs.sizes import RequestSizes
from north_lsp.agent.log.compactions import CompactionEntry, PrunedEntry, Reason
from north_lsp.agent.log.context import context_of, unpruned_context_of
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.projection import compaction_shown
from north_lsp.agent.log.transcript import summary_text
from north_lsp.agent.ports.events import CompactionChanged, CompactionState
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import UserMessage
from north_lsp.providers.model import Model
from north_lsp.storage.compaction_settings import CompactionSettings

_LEAST_REDUCTION = 0.10
_PROGRESS_CHARACTERS = 500
_TURN = "\n\n---\n\n**Beginning of the current turn:**\n\n"
_NOTHING = "there is nothing to summarize yet: all of this conversation is recent enough to be kept as it is"
_NOT_SHORTER = "the summary would not have made the conversation shorter"


class NothingToCompact(ValueError):
    """Raised when nothing in the conversation is old enough to be summarized."""

    def __init__(self) -> None:
        super().__init__(_NOTHING)


@dataclass(frozen=True, slots=True)
class Occasion:
    """Why a conversation is to be shortened: for the window of `model`, where its next request would have `used`
    tokens. `keep_last` is how many of the last messages the user wants to stay, None for as many as fit."""

    model: Model
    used: int
    reason: Reason
    settings: CompactionSettings
    instructions: str = ""
    keep_last: int | None = None


class Compactor:
    """Shortens one conversation. `root` is the project's folder."""

    def __init__(
        self, log: Log, summarizer: Summarizer, account: Account, sizes: RequestSizes, ports: Ports, root: Path
    ) -> None:
        self._log = log
        self._summarizer = summarizer
        self._account = account
        self._sizes = sizes
        self._ports = ports
        self._root = root
        self._hooks = ExtensionHooks(ports)

    async def make_room(self, occasion: Occasion) -> bool:
        """Shorten the conversation if that can be done; a failure is shown. Returns whether it is shorter now."""
        limits = limits_of(occasion.model, occasion.settings)
        context = context_of(self._log.path())
        pruned = prunable(context, sizes_of(context, self._sizes, occasion.model), limits)
        saved = sum(pruned.values())
        if pruned and occasion.reason != "overflow" and occasion.used - saved < limits.threshold:
            await self._prune(pruned, occasion.model)
            return True
        if self.find_cut(occasion) is not None and await self.compact(occasion):
            return True
        if pruned:
            await self._prune(pruned, occasion.model)
        return bool(pruned)

    def find_cut(self, occasion: Occasion) -> Cut | None:
        """Return what a summary would replace; None for nothing."""
        context = context_of(self._log.path())
        if occasion.keep_last is not None:
            return cut_before_last(context, occasion.keep_last)
        limits = limits_of(occasion.model, occasion.settings)
        limits = tighter(limits) if occasion.reason == "overflow" else limits
        return find_cut(context, sizes_of(context, self._sizes, occasion.model), limits)

    async def compact(self, occasion: Occasion) -> bool:
        """Have the older part summarized; returns whether it was. Shows how it goes, and why it did not succeed. Raises
        NothingToCompact."""
        cut = self.find_cut(occasion)
        if cut is None:
            raise NothingToCompact
        async with self._told(occasion) as attempt:
            entry = await self._written(occasion, cut, attempt)
            logged = self._log.append(entry, attempt.id)
            attempt.is_done = True
            for event in compaction_shown(logged):
                await self._ports.show(event)
            await self._hooks.after(entry, is_supplied=entry.by_extension)
            after = entry.tokens_after
            self._ports.diagnostics.event("compaction_complete", ok=True, tokensBefore=occasion.used, tokensAfter=after)
        return attempt.is_done

    @asynccontextmanager
    async def _told(self, occasion: Occasion) -> AsyncIterator[_Attempt]:
        """Show that a summary is written, and how that ends without one."""
        ports, attempt = self._ports, _Attempt(self._log.reserve_id(), occasion, self._ports)
        ports.diagnostics.event("compaction_start", reason=occasion.reason, tokensBefore=occasion.used)
        async with ports.status.during("compacting"):
            await attempt.show("running")
            try:
                yield attempt
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await attempt.show("cancelled")
                ports.diagnostics.event("compaction_complete", ok=False, cancelled=True)
                raise
            except (NoSummary, LimitReached, KeptWhole) as error:
                await attempt.show("failed", str(error))
                ports.diagnostics.event("compaction_complete", ok=False)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._account.report(occasion.model)  # it has cost something, whatever became of it

    async def hand_over(self, occasion: Occasion, id: str) -> CompactionEntry:
        """Return the entry, under an id, with which another conversation can begin in place of all of this one. Raises
        NothingToCompact, NoSummary, LimitReached."""
        cut = cut_before_last(context_of(self._log.path()), 0)
        if cut is None:
            raise NothingToCompact
        async with self._ports.status.during("compacting"):
            try:
                entry = await self._entry(occasion, cut, _Attempt(id, occasion, None))
            finally:
                with anyio.CancelScope(shield=True):
                    await self._account.report(occasion.model)
        return replace(entry, tokens_before=0)

    async def _written(self, occasion: Occasion, cut: Cut, attempt: _Attempt) -> CompactionEntry:
        """Return the entry that takes the place of what is cut off. Raises NoSummary, LimitReached."""
        earlier = [one for one in context_of(self._log.path())[:1] if isinstance(one.entry, CompactionEntry)]
        entry = await self._entry(occasion, cut, attempt)
        gone = sum(sizes_of([*earlier, *cut.history, *cut.turn], self._sizes, occasion.model))
        come = self._sizes.tokens([UserMessage(summary_text(entry))], occasion.model)
        after = max(occasion.used - gone, 0) + come
        if after > occasion.used * (1 - _LEAST_REDUCTION):
            raise NoSummary(_NOT_SHORTER)
        return replace(entry, tokens_after=after)

    async def _entry(self, occasion: Occasion, cut: Cut, attempt: _Attempt) -> CompactionEntry:
        context = context_of(self._log.path())
        earlier = [one for one in context[:1] if isinstance(one.entry, CompactionEntry)]
        previous = "".join(one.entry.summary for one in earlier if isinstance(one.entry, CompactionEntry))
        whole = {one.id: one for one in unpruned_context_of(self._log.path())}
        history, turn = (rows_of(whole[one.id] for one in part) for part in (cut.history, cut.turn))
        parts = [Part("compaction", history, previous)] if history else []
        parts += [Part("compaction_turn", turn)] if turn else []
        if not parts:
            raise NoSummary(_NOTHING)
        replaced = [*earlier, *cut.history, *cut.turn]
        entry = CompactionEntry("", cut.first_kept or attempt.id, occasion.used, reason=occasion.reason)
        entry = replace(entry, files=files_of(replaced, self._root))
        supplied = await self._hooks.before(replaced, _preparation(entry, occasion))
        if supplied.summary is not None:
            return replace(entry, summary=supplied.summary, short=supplied.short, by_extension=True)
        candidates = self._summarizer.candidates(occasion.settings, occasion.model)
        wanted = Wanted(occasion.instructions, supplied.prompt, supplied.added)
        summaries, model = await self._summarizer.summarize(parts, wanted, candidates, attempt.note_progress)
        texts = [*([] if history or not previous else [previous]), *(one.text for one in summaries)]
        return replace(
            entry,
            summary=_TURN.join(texts),
            short=summaries[0].short,
            structured=summaries[0].structured if len(texts) == 1 else None,
            model=model.selector,
            kept=supplied.kept,
        )

    async def _prune(self, pruned: Mapping[str, int], model: Model) -> None:
        self._ports.diagnostics.event("results_pruned", results=len(pruned), tokens=sum(pruned.values()))
        self._log.append(PrunedEntry(pruned))
        await self._account.report(model)


def _preparation(entry: CompactionEntry, occasion: Occasion) -> dict[str, object]:
    """Say what is known of a summary before it is written."""
    return {
        "reason": entry.reason,
        "tokensBefore": entry.tokens_before,
        "firstKeptEntryId": entry.first_kept,
        "instructions": occasion.instructions,
        "details": entry.files.to_json(),
    }


class _Attempt:
    """One try to have a summary written, as it is shown: under the `id` of the entry that it may become. Without
    `ports`, nothing of it is shown."""

    def __init__(self, id: str, occasion: Occasion, ports: Ports | None) -> None:
        self.id = id
        self.is_done = False
        self._occasion = occasion
        self._ports = ports
        self._arrived = 0
        self._shown = 0

    async def show(self, state: CompactionState, error: str = "") -> None:
        occasion = self._occasion
        if self._ports is None:
            return
        await self._ports.show(
            CompactionChanged(
                self.id, state, occasion.reason, tokens_before=occasion.used, error=error, written=self._arrived
            )
        )

    async def note_progress(self, characters: int) -> None:
        """Show from time to time how much of the summary has arrived."""
        self._arrived += characters
        if self._arrived - self._shown >= _PROGRESS_CHARACTERS:
            self._shown = self._arrived
            await self.show("running")
