"""The annotations of a log that give a number to each secret, which stands in its place there."""

from __future__ import annotations

from north_lsp.agent.log.fields import Json
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SecretRow:
    """The number of a value, of which the log has only a keyed hash, the `digest`; or of a `text` that looks like a
    placeholder itself. A row of another program may have neither."""

    number: int
    digest: str | None = None
    text: str | None = None

    @classmethod
    def from_json(cls, row: Json) -> SecretRow | None:
        """Read a row; None for one without a number."""
        number, digest, text = row.get("index"), row.get("hash"), row.get("text")
        if not isinstance(number, int) or number < 0:
            return None
        return cls(number, digest if isinstance(digest, str) else None, text if isinstance(text, str) else None)

    def to_json(self) -> dict[str, object]:
        told = {"text": self.text} if self.text is not None else {"hash": self.digest}
        return {"index": self.number, **told}
