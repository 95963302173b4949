"""What the active path of a conversation adds up to, kept from one request to the next: a look costs what is new."""

from collections.abc import Collection, Sequence
from typing import Any

from north_lsp.agent.costs.usage import Totals
from north_lsp.agent.log.transcript import Entry, Transcript, blocks_of
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Message, ToolCall
from north_lsp.providers.model import Model
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import message_of


class History:
    """Of one session; one for all its turns."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._revision = -1
        self._path: Sequence[Entry] = ()
        self._begin()

    def _begin(self) -> None:
        self._path = ()
        self._totals = Totals()
        self._call_ids: set[str] = set()
        self._model: Model | None = None
        self._transcript: Transcript | None = None
        self._given = 0  # entries that the transcript has

    def messages(self, model: Model) -> Sequence[Message]:
        """What a model is given, in a list of its own."""
        self._look()
        if self._transcript is None or self._model is None or not _same(self._model, model):
            self._transcript, self._given = Transcript(model), 0
        self._model = model
        self._transcript.add(self._path[self._given :])
        self._given = len(self._path)
        return list(self._transcript.messages)

    def call_ids(self) -> Collection[str]:
        """The ids of all calls, also of those that no model gets."""
        self._look()
        return self._call_ids

    def usage(self, window: int) -> UsageChanged | None:
        """Use and cost, for a model with this window; None before the first answer."""
        self._look()
        return self._totals.shown(window)

    def last_usage(self) -> dict[str, Any]:
        """What the last answer that models get has used, as it is stored; empty if there is none."""
        self._look()
        return self._totals.last

    def _look(self) -> None:
        revision, path = self._conversation.look()
        known = len(self._path)
        if revision != self._revision or len(path) < known or (known and path[known - 1] is not self._path[-1]):
            self._begin()
            known = 0
        self._revision, self._path = revision, path
        for entry in path[known:]:
            self._totals.add(entry)
            message = message_of(entry)
            if message.get("role") == "assistant":
                self._call_ids |= {block.id for block in blocks_of(message) if isinstance(block, ToolCall)}


def _same(one: Model, other: Model) -> bool:
    return one.selector == other.selector
