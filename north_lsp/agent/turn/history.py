"""What the active path of a conversation adds up to, kept from one request to the next: a look costs what is new."""

from collections.abc import Collection, Sequence

from north_lsp.agent.costs.totals import Totals
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry, StoredUsage, nudge
from north_lsp.agent.log.transcript import Transcript
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Message
from north_lsp.providers.model import Model
from north_lsp.storage.entries import now_ms


class History:
    """Of one session; one for all its turns."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._revision = -1
        self._path: Sequence[Logged] = ()
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
        """No model gets the answer with this call again, here or in a later turn; whether there is one. It stays in the
        conversation."""
        for one in self._log.path():
            if isinstance(one.entry, AnswerEntry) and any(call.id == call_id for call in one.entry.calls):
                self._log.exclude(one.id)
                return True
        return False

    def exclude_last_prompt(self) -> None:
        """The last prompt and what came after it stay in the conversation, but no model gets them again."""
        for one in reversed(self._log.path()):
            if one.is_message:
                self._log.exclude(one.id)
                if isinstance(one.entry, PromptEntry) and not one.entry.by_north:
                    return

    def append_nudge(self, text: str) -> None:
        """Words of North's own to the model, which people are not shown."""
        self._log.append(nudge(text, now_ms()))

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

    def last_usage(self) -> StoredUsage | None:
        """What the last answer that models get has used."""
        self._look()
        return self._totals.last

    def _look(self) -> None:
        revision, path = self._log.look()
        known = len(self._path)
        if revision != self._revision or len(path) < known or (known and path[known - 1].id != self._path[-1].id):
            self._begin()
            known = 0
        self._revision, self._path = revision, path
        for one in path[known:]:
            self._totals.add(one)
            if isinstance(one.entry, AnswerEntry):
                self._call_ids |= {call.id for call in one.entry.calls}


def _same(one: Model, other: Model) -> bool:
    return one.selector == other.selector
