"""What the user's extensions have to say when a conversation is summarized: that it is not, with which words, or the
summary itself. One that fails is told of, and left out: a full conversation must continue without it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import as_list, as_object, as_text
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.extension_events import Answer
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.display import one_line, visible
from north_lsp.lazy_dataclass import dataclass

BEFORE, WORDS, AFTER = "session_before_compact", "session.compacting", "session_compact"
_MOST_CONTEXT = 20_000


class KeptWhole(ValueError):
    """An extension does not want a conversation to be summarized; the text says which one, and why."""


@dataclass(frozen=True, slots=True)
class Supplied:
    """What extensions say before a summary: one in place of a model's (None: none); else what a model is told instead
    of North's own words (empty: those), with it, and what is stored with the summary."""

    summary: str | None = None
    short: str = ""
    prompt: str = ""
    context: tuple[str, ...] = ()
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def added(self) -> str:
        """What is told with the conversation; empty for nothing."""
        return "\n".join(self.context)[:_MOST_CONTEXT]


class ExtensionHooks:
    """Asks extensions about the summaries of one conversation."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._events = ports.extensions

    async def before(self, replaced: Sequence[Logged], about: Mapping[str, object]) -> Supplied:
        """Tell what is going to be replaced by a summary, and return what extensions say to it. Raises KeptWhole."""
        found = Supplied()
        if not await self._events.has(BEFORE) and not await self._events.has(WORDS):
            return found
        event = {**about, "entriesToSummarize": [one.to_json() for one in replaced]}
        async for one in self._events.tell(BEFORE, {"preparation": event}):
            await self._report(one)
            if one.cancels:
                raise KeptWhole(
                    f"the extension {one.extension} prevented the summary{f': {one.why}' if one.why else ''}"
                )
            given = as_object(one.content.get("compaction"))
            if text := as_text(given.get("summary")).strip():
                found = replace(found, summary=text, short=one_line(as_text(given.get("shortSummary")), 200))
        if found.summary is not None:
            return found
        async for one in self._events.tell(WORDS, event):
            await self._report(one)
            context = tuple(as_text(row) for row in as_list(one.content.get("context")))
            found = replace(
                found,
                prompt=as_text(one.content.get("prompt")).strip() or found.prompt,
                context=(*found.context, *(row for row in context if row)),
                kept={**found.kept, **as_object(one.content.get("preserveData"))},
            )
        return found

    async def after(self, entry: CompactionEntry, *, is_supplied: bool) -> None:
        """Tell that a summary has taken the place of a part of the conversation."""
        async for one in self._events.tell(AFTER, {"compactionEntry": entry.to_json(), "fromExtension": is_supplied}):
            await self._report(one)

    async def _report(self, one: Answer) -> None:
        if one.problem:
            told = f"the extension {one.extension} {one.problem}; the summary is written without it"
            await self._ports.show(Notice("warning", visible(told)))
