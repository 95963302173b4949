"""A conversation as JSON text, kept from one request to the next: what was sent before is neither made nor copied
again. Pure."""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from north_lsp.providers.base import Message

_MOST = 4
"""Conversations that one provider keeps at a time."""


class Fold(Protocol):
    """Messages in a vendor's form while they are added. `add` appends to `sent`, or changes its last item alone."""

    @property
    def sent(self) -> list[dict[str, Any]]: ...

    def add(self, message: Message) -> None: ...


F = TypeVar("F", bound=Fold)


@dataclass
class KeptMessages(Generic[F]):
    """One conversation: `fold` has all of `messages`, `texts` are those of the first items of what it has."""

    fold: F
    messages: list[Message] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def begins(self, messages: Sequence[Message]) -> bool:
        """Whether these are the ones it has, and perhaps more; nearly all of them are the very same objects."""
        known = self.messages
        return len(known) <= len(messages) and all(
            one is other or one == other for one, other in zip(known, messages, strict=False)
        )

    def add(self, messages: Sequence[Message]) -> None:
        del self._texts[max(len(self.fold.sent) - 1, 0) :]  # the last item may change
        for message in messages:
            self.fold.add(message)

    def texts(self, changed: Mapping[int, Mapping[str, Any]] | None = None) -> list[str]:
        """All items as JSON; some of them in another form, for this time."""
        self._texts += [dumps(item) for item in self.fold.sent[len(self._texts) :]]
        texts = list(self._texts)
        for index, item in (changed or {}).items():
            texts[index] = dumps(item)
        return texts


class KeptTexts(Generic[F]):
    """Those of one provider. Of each conversation `key` has all on which the form of its messages depends."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, KeptMessages[F]] = {}

    def take(self, key: Hashable, messages: Sequence[Message], begin: Callable[[], F]) -> KeptMessages[F]:
        """The conversation with these messages; from the beginning if it is another one."""
        kept = self._kept.pop(key, None)
        if kept is None or not kept.begins(messages):
            kept = KeptMessages(begin())
        kept.add(messages[len(kept.messages) :])
        kept.messages = list(messages)
        self._kept[key] = kept
        while len(self._kept) > _MOST:
            del self._kept[next(iter(self._kept))]
        return kept


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def encode(body: Mapping[str, Any], name: str, texts: Sequence[str]) -> bytes:
    """A request whose field `name`, its last, is a list of these."""
    rest = dumps({key: value for key, value in body.items() if key != name})
    return f'{rest[:-1]},"{name}":[{",".join(texts)}]}}'.encode()
