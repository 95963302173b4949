"""The queued prompts as a log has them: they are not part of the conversation yet."""

from __future__ import annotations

from dataclasses import field

from north_lsp.agent.log.fields import Json, unknown
from north_lsp.lazy_dataclass import dataclass

_KEYS = frozenset({"id", "kind", "mode", "text"})


@dataclass(frozen=True, slots=True)
class QueuedRow:
    """A queued prompt as it is stored, with the `text` that the user gets back."""

    id: str
    kind: str
    mode: str
    text: str
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, row: Json) -> QueuedRow:
        return cls(row["id"], row["kind"], row["mode"], row["text"], unknown(row, _KEYS))

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, "kind": self.kind, "mode": self.mode, "text": self.text, **self.more}
