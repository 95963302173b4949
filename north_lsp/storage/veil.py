"""What stands between a conversation in memory and its log on the disk: secrets are masked on the way out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from north_lsp.storage.entries import Record

INDEX = "secret_index"
"""The annotation that gives a placeholder's number to a value."""


class Veil(Protocol):
    """Exchanges secrets for placeholders, and back. Returns the same record if there is nothing to exchange."""

    def masked(self, record: Record) -> Record: ...

    def loaded(self, record: Record) -> Record: ...

    def masked_text(self, text: str) -> str: ...

    def unknown_in(self, text: str) -> list[str]:
        """Return the placeholders in a text that stand for a value that is not known any more."""
        ...

    def adopt(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take over the numbers that the log has."""
        ...

    def take_unrecorded(self) -> list[dict[str, object]]:
        """Return the payloads of the annotations that the log needs before a masked record, once."""
        ...


class NoVeil:
    """Nothing is exchanged: a log that is only read, or copied as it is."""

    def masked(self, record: Record) -> Record:
        return record

    def loaded(self, record: Record) -> Record:
        return record

    def masked_text(self, text: str) -> str:
        return text

    def unknown_in(self, text: str) -> list[str]:
        return []

    def adopt(self, rows: Iterable[Mapping[str, Any]]) -> None:
        pass

    def take_unrecorded(self) -> list[dict[str, object]]:
        return []
