"""Sums up the active path of a conversation, and keeps that from one request to the next: a look costs only what is
new."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from north_lsp.agent.calls.call_ids import plain_id
from north_lsp.agent.costs.sizes import RequestSizes
from north_lsp.agent.costs.totals import Totals
from north_lsp.agent.log.context import context_of, shortens
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.log.transcript import Transcript
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Message
from north_lsp.providers.model import Model
from north_lsp.workspace.seen import Sighting


class History:
    """The history of one session, shared by its turns. `sizes` estimates its requests."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._revision = -1
        self._path: Sequence[Logged] = ()
        self.sizes = RequestSizes()
        self._begin()

    def _begin(self) -> None:
        self._path = ()
        self._totals = Totals()
        self._call_ids: set[str] = set()
        self._model: Model | None = None
        self._transcript: Transcript | None = None
        self._given = 0  # entries that the transcript has

    @property
    def conversation_id(self) -> str:
        return self._log.id

    def exclude_answer_with(self, call_id: str) -> bool:
        """Keep the answer with this call from models, here and in later turns; returns whether there is one. It stays
        in the conversation."""
        for one in self._log.path():
            if isinstance(one.entry, AnswerEntry) and any(call.id == call_id for call in one.entry.calls):
                self._log.exclude(one.id)
                return True
        return False

    def exclude_last_prompt(self) -> None:
        """Keep the last prompt and what came after it from models; they stay in the conversation."""
        for one in reversed(self._log.path()):
            if one.is_message:
                self._log.exclude(one.id)
                if isinstance(one.entry, PromptEntry) and not one.entry.by_north:
                    return

    def messages(self, model: Model) -> Sequence[Message]:
        """Return the messages for a model, in a new list."""
        self._look()
        new = self._path[self._given :]
        if self._transcript is None or self._model is None or not _same(self._model, model) or any(map(shortens, new)):
            self._transcript, new = Transcript(model), context_of(self._path)
        self._model = model
        self._transcript.add(new)
        self._given = len(self._path)
        return list(self._transcript.messages)

    def call_ids(self) -> Collection[str]:
        """Return the plain ids of all calls, including those that models no longer get."""
        self._look()
        return self._call_ids

    def sightings(self) -> dict[Path, Sighting]:
        """Return what the model has seen of files, as far as it still gets that."""
        return sightings_of(context_of(self._log.path()))

    def usage(self, window: int) -> UsageChanged | None:
        """Return usage and cost, for a model with this window; None before the first answer."""
        self._look()
        return self._totals.shown(window, self._log.used_aside())

    def last_usage(self) -> StoredUsage | None:
        """Return the usage of the last answer that is sent to models."""
        self._look()
        return self._totals.last

    def _look(self) -> None:
        revision, path = self._log.look()
        known = len(self._path)
        if revision != self._revision or len(path) < known or (known and path[known - 1].id != self._path[-1].id):
            self._begin()
            known = 0
            for one in self._log.left():
                self._totals.add(one, fills_window=False)
        self._revision, self._path = revision, path
        for one in path[known:]:
            self._totals.add(one)
            if isinstance(one.entry, AnswerEntry):
                self._call_ids |= {plain_id(call.id) for call in one.entry.calls}


def _same(one: Model, other: Model) -> bool:
    return one.selector == other.selector
