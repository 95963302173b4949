"""The records of one log as its lines: secrets are masked on their way to the disk and restored when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from north_lsp.storage.entries import Record, timestamp
from north_lsp.storage.log_state import LogState
from north_lsp.storage.records import encode
from north_lsp.storage.veil import INDEX, NoVeil, Veil


class VeiledLines:
    """Reads and writes the lines of one log. `veil` exchanges the secrets, `new_id` is for the annotations that number
    them."""

    def __init__(self, new_id: Callable[[], str]) -> None:
        self.veil: Veil = NoVeil()
        self._new_id = new_id
        self._numbers: list[Record] = []  # that secrets have got, and that are not in the log yet

    def line(self, record: Record) -> bytes:
        """Return a record as a line of the log."""
        return encode(record if record["type"] == INDEX else self.veil.masked(record))

    def take_numbers(self) -> list[Record]:
        """Return, once, the annotations that the log needs before the next masked line."""
        rows, self._numbers = [*self._numbers, *self._new_numbers()], []
        return rows

    def copied(self, records: Iterable[Record], known: Sequence[Record]) -> bytes:
        """Return records as lines for another log, with what that one has to know of the secrets in them; `known` are
        the annotations of this one."""
        lines = [self.line(record) for record in records]
        self._numbers += self._new_numbers()
        numbers = [*(one for one in known if one["type"] == INDEX), *self._numbers]
        return b"".join([*map(encode, numbers), *lines])

    def restored(self, records: Sequence[Record]) -> list[Record]:
        """Return records that were read, with what is masked in them put back."""
        self.veil.adopt(record for record in records if record["type"] == INDEX)
        return [record if record["type"] == INDEX else self.veil.loaded(record) for record in records]

    def restore(self, state: LogState) -> None:
        """Put back in memory what is masked on the disk."""
        self.veil.adopt(one for one in state.annotations if one["type"] == INDEX)
        if not any(one["type"] == INDEX for one in state.annotations):
            return
        for record in state.entries:
            if (real := self.veil.loaded(record)) is not record:
                record.update(real)
        rest = self.veil.loaded({"title": state.title, "queue": state.queue, "labels": state.labels})
        state.title, state.queue, state.labels = rest["title"], rest["queue"], rest["labels"]

    def _new_numbers(self) -> list[Record]:
        rows = self.veil.take_unrecorded()
        return [{"type": INDEX, "id": self._new_id(), "timestamp": timestamp(), **row} for row in rows]
