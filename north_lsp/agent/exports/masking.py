"""Masks what must not leave the machine with an exported conversation: keys, and where the user's home is. Pure.

Masked are the keys that North knows, wherever they stand, and whatever has the form of a well-known kind of secret.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

from north_lsp.agent.exports.document import Picture
from north_lsp.storage.masking import KEY_FORMS, MASK

_SHORTEST = 8

T = TypeVar("T")
Mask = Callable[[str], str]


def mask_for(secrets: Iterable[str], home: str) -> Mask:
    """Return what masks these secrets and the home folder in a text. Short secrets, which would occur by chance, are
    left."""
    known = sorted({one for one in secrets if len(one) >= _SHORTEST}, key=len, reverse=True)
    values = re.compile("|".join(map(re.escape, known))) if known else None
    folder = home.rstrip("/")
    # Not a part of another name: /home/ann is neither in /home/anna nor in /mnt/home/ann.
    place = re.compile(rf"(?<![\w.~-]){re.escape(folder)}(?![\w-]|\.\w)") if folder else None

    def mask(text: str) -> str:
        if values is not None:
            text = values.sub(MASK, text)
        text = KEY_FORMS.sub(MASK, text)
        return place.sub("~", text) if place is not None else text

    return mask


def masked(value: T, mask: Mask) -> T:
    """Return a value with every text in it masked; pictures stay as they are."""
    return cast(T, _masked(value, mask))


def _masked(value: Any, mask: Mask) -> Any:
    if isinstance(value, str):
        return mask(value)
    if value is None or isinstance(value, bool | int | float | Picture):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (one.name for one in dataclasses.fields(value))
        return dataclasses.replace(value, **{name: _masked(getattr(value, name), mask) for name in fields})
    if isinstance(value, Mapping):
        return {_masked(key, mask): _masked(one, mask) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return tuple(_masked(one, mask) for one in value)
    return value
