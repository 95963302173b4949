"""A conversation as JSON text, kept from one request to the next, so that what was sent before is not converted again.
Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import field
from operator import is_
from typing import Any, Generic, Protocol, TypeVar

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Message

_MOST = 4
"""The number of conversations that one provider keeps."""


class Fold(Protocol):
    """Messages in a vendor's form. `add` appends to `sent`, or changes only its last item."""

    @property
    def sent(self) -> list[dict[str, Any]]: ...

    def add(self, message: Message) -> None: ...


F = TypeVar("F", bound=Fold)


@dataclass
class KeptMessages(Generic[F]):
    """One conversation: `fold` has all of `messages`; `_texts` are the JSON texts of the first items in `fold.sent`."""

    fold: F
    messages: list[Message] = field(default_factory=list)
    _texts: list[bytes] = field(default_factory=list)

    def begins(self, messages: Sequence[Message]) -> bool:
        """Return whether these messages begin with the ones it has. Nearly all of them are the very same objects."""
        known = self.messages
        if len(known) > len(messages):
            return False
        return all(map(is_, known, messages)) or all(
            one is other or one == other for one, other in zip(known, messages, strict=False)
        )

    def add(self, messages: Sequence[Message]) -> None:
        del self._texts[max(len(self.fold.sent) - 1, 0) :]  # the last item may change
        for message in messages:
            self.fold.add(message)

    def texts(self, changed: Mapping[int, Mapping[str, Any]] | None = None) -> list[bytes]:
        """Return all items as JSON texts. The items in `changed`, by index, replace others this time only."""
        self._texts += [dumps(item) for item in self.fold.sent[len(self._texts) :]]
        texts = list(self._texts)
        for index, item in (changed or {}).items():
            texts[index] = dumps(item)
        return texts


class KeptTexts(Generic[F]):
    """The conversations of one provider. `key` includes everything that the form of the messages depends on."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, KeptMessages[F]] = {}

    def take(self, key: Hashable, messages: Sequence[Message], begin: Callable[[], F]) -> KeptMessages[F]:
        """Return the conversation with these messages; it starts over if they do not continue the one that is kept."""
        kept = self._kept.pop(key, None)
        if kept is None or not kept.begins(messages):
            kept = KeptMessages(begin())
        kept.add(messages[len(kept.messages) :])
        kept.messages = list(messages)
        self._kept[key] = kept
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]
        return kept


def dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def encode(body: Mapping[str, Any], name: str, texts: Sequence[bytes]) -> bytes:
    """Return the request as JSON whose last field, `name`, is a list of these texts."""
    rest = dumps({key: value for key, value in body.items() if key != name})
    return b"".join([rest[:-1], f',"{name}":['.encode(), b",".join(texts), b"]}"])
