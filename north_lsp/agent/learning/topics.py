"""The topics of a project's profile, in their order. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from north_lsp.agent.prompts import render
from north_lsp.lazy_dataclass import dataclass

_NOT_LEARNED = "not learned: "


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic; `text` says what belongs there."""

    title: str
    text: str


@cache
def topics() -> tuple[Topic, ...]:
    """Read them from the prompts."""
    parts = re.split(r"^# (.+)\n", render("learn_topics"), flags=re.MULTILINE)[1:]
    return tuple(Topic(title.strip(), text.strip()) for title, text in zip(parts[::2], parts[1::2], strict=True))


def not_learned(reason: str) -> str:
    """Return what is in a profile for a topic that could not be learned."""
    return f"{_NOT_LEARNED}{reason}"


def missing(sections: Mapping[str, str]) -> list[Topic]:
    """Return the topics that a profile says nothing of."""
    return [one for one in topics() if not is_learned(sections.get(one.title, ""))]


def is_learned(text: str) -> bool:
    return bool(text.strip()) and not text.startswith(_NOT_LEARNED)
