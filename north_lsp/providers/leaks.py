"""Finds traces of a model's internal channels in its output (`to=functions.…`), as models of the OpenAI family leave
them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from north_lsp.lazy_pattern import lazy_pattern

_MARK = lazy_pattern(r"to=functions\.[A-Za-z_]\w*")
_BEFORE = lazy_pattern(
    r"(?:(?:Japgolly|Jsii_commentary|Jsii|changedFiles|RTLU)\W{0,3}"
    r"|\b(?:analysis|assistant|commentary|user)\W{0,3}"
    r"|[^\W\d_A-Za-z\u00aa-\u024f\u1e00-\u1eff]{2,}\s{0,3})\Z"
)
_REACH = 60
_FAMILY = lazy_pattern(r"(?:^|/)(?:gpt|chatgpt|o\d|codex)|gpt-oss", re.IGNORECASE)


def may_leak(model_id: str) -> bool:
    return _FAMILY.search(model_id) is not None


def leak_in(text: str) -> int | None:
    """Return the offset of a leaked marker, None if there is none or it may be intended."""
    for found in _MARK.finditer(text):
        if _BEFORE.search(text, max(found.start() - _REACH, 0), found.start()):
            return found.start()
    return None


def texts_of(arguments: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield all strings in a call's arguments, each with the path of its key before it."""
    for key, value in arguments.items():
        yield from _texts(value, f"{prefix}{key}")


def _texts(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        yield from texts_of(value, f"{name}.")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, f"{name}[{index}]")
