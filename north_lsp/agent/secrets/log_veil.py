"""Masks secrets in the lines of a conversation's log, with the same placeholders as in its requests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from north_lsp.agent.log.secret_rows import SecretRow
from north_lsp.agent.log.thoughts import thoughts_apart, with_thoughts
from north_lsp.agent.log.veiling import with_texts
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.storage.entries import Record


class LogVeil:
    """The veil of one conversation. What is on the disk is masked, what is in memory is not; thoughts stay as they
    came, since their vendor has signed them, and have placeholders already. Keys, and the fields that hold the log
    together, are never exchanged."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets

    def masked(self, record: Record) -> Record:
        thoughts, record = thoughts_apart(record)
        return with_thoughts(self.secrets.masked(record, with_texts), thoughts)

    def loaded(self, record: Record) -> Record:
        thoughts, record = thoughts_apart(record)
        return with_thoughts(self.secrets.loaded(record, with_texts), thoughts)

    def masked_text(self, text: str) -> str:
        return self.secrets.masked(text)

    def unknown_in(self, text: str) -> list[str]:
        return self.secrets.unknown_in(text)

    def adopt(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.secrets.adopt(read for row in rows if (read := SecretRow.from_json(row)) is not None)

    def take_unrecorded(self) -> list[dict[str, object]]:
        return [row.to_json() for row in self.secrets.take_unrecorded()]
