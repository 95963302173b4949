"""What the active path of a conversation adds up to, kept from one request to the next: a look costs what is new."""

from collections.abc import Collection, Sequence
from typing import Any

from north_lsp.agent.costs.usage import Totals
from north_lsp.agent.log.transcript import Entry, Transcript, blocks_of
from north_lsp.agent.ports.events import UsageChanged
from north_lsp.providers.base import Message, ToolCall
from north_lsp.providers.model import Model
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.entries import message_of, now_ms


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

    @property
    def conversation_id(self) -> str:
        return self._conversation.id

    def exclude_answer_with(self, call_id: str) -> bool:
        """No model gets the answer with this call again, here or in a later turn; whether there is one. It stays in the
        conversation."""
        for entry in self._conversation.active_path():
            message = message_of(entry)
            calls = message.get("content") or () if message.get("role") == "assistant" else ()
            if any(block.get("type") == "tool_call" and block.get("id") == call_id for block in calls):
                self._exclude(entry)
                return True
        return False

    def exclude_last_prompt(self) -> None:
        """The last prompt and what came after it stay in the conversation, but no model gets them again."""
        for entry in reversed(self._conversation.active_path()):
            if entry["type"] == "message":
                self._exclude(entry)
                message = message_of(entry)
                if message.get("role") == "user" and message.get("attribution") != "north":
                    return

    def append_nudge(self, text: str) -> None:
        """Words of North's own to the model, which people are not shown."""
        content = [{"type": "text", "text": text}]
        message = {"role": "user", "content": content, "attribution": "north", "timestamp": now_ms()}
        self._conversation.append("message", message=message)

    def _exclude(self, entry: Entry) -> None:
        self._conversation.annotate("entry_updated", targetId=entry["id"], patch={"excludeFromContext": True})

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
