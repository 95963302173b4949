"""What a conversation's log has in place of secrets: the same placeholders as the requests."""

from collections.abc import Iterable, Mapping
from typing import Any

from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.storage.entries import Record


class LogVeil:
    """The veil of one conversation. What stands on the disk is masked, what is in memory is not; thoughts stay as they
    came, since their vendor has signed them, and have placeholders already."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets

    def masked(self, record: Record) -> Record:
        thoughts, record = _apart(record)
        return _together(self.secrets.masked(record), thoughts)

    def loaded(self, record: Record) -> Record:
        thoughts, record = _apart(record)
        return _together(self.secrets.loaded(record), thoughts)

    def masked_text(self, text: str) -> str:
        return self.secrets.masked(text)

    def unknown_in(self, text: str) -> list[str]:
        return self.secrets.unknown_in(text)

    def adopt(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.secrets.adopt(rows)

    def take_unrecorded(self) -> list[dict[str, object]]:
        return self.secrets.take_unrecorded()


def _apart(record: Record) -> tuple[dict[int, Any], Record]:
    """Take the thoughts out of an answer; returns them by their place."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(content, list):
        return {}, record
    thoughts = {at: one for at, one in enumerate(content) if isinstance(one, dict) and one.get("type") == "thinking"}
    if not thoughts:
        return {}, record
    rest = [None if at in thoughts else one for at, one in enumerate(content)]
    return thoughts, {**record, "message": {**message, "content": rest}}


def _together(record: Record, thoughts: Mapping[int, Any]) -> Record:
    if not thoughts:
        return record
    message = record["message"]
    content = [thoughts.get(at, one) for at, one in enumerate(message["content"])]
    return {**record, "message": {**message, "content": content}}
