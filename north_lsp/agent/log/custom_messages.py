"""The entry of an extension that has put something into the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from north_lsp.agent.log.fields import Json, as_text, is_excluded, without_place
from north_lsp.agent.log.messages import PICTURE
from north_lsp.agent.log.results import image_from_json
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Image


@dataclass(frozen=True, slots=True)
class CustomMessageEntry:
    """A message that neither the user nor a model wrote: models get it like something that the user said, people only
    if it `is_shown`. North writes none; logs of other programs have them, as entries of their own (`custom_message`),
    or as messages with the role `custom`."""

    kind: str
    text: str
    images: tuple[Image, ...]
    is_shown: bool
    excluded: bool
    record: Json

    @classmethod
    def from_json(cls, record: Json) -> CustomMessageEntry:
        """Read a record of the log. Raises TypeError if it is malformed."""
        fields = record["message"] if record.get("type") == "message" else record
        match fields:
            case {"content": str() | list() as content}:
                parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
                known = [part for part in parts if isinstance(part, Mapping)]
                texts = [as_text(part.get("text")) for part in known if part.get("type") == "text"]
                images = [image_from_json(part) for part in known if part.get("type") == "image"]
                kind, is_shown = as_text(fields.get("customType")), fields.get("display") is not False
                return cls(kind, "\n\n".join(texts), tuple(images), is_shown, is_excluded(record), record)
            case _:
                raise TypeError("not a message")

    def to_json(self) -> dict[str, Any]:
        return without_place(self.record)

    @property
    def for_people(self) -> str:
        """The text that people read, in Markdown: a paragraph of its own, whatever stands before it."""
        return "\n\n" + "\n\n".join([self.text, *(PICTURE for _ in self.images)]).strip() + "\n\n"
