"""What reviews ask about besides edits, commands and tools: the model's questions, plans, and hosts of the web."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from north_lsp.agent.log.fields import Json, unknown
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class QuestionRequest:
    """The questions of a model's that its user is asked."""

    questions: tuple[str, ...]
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"questions": list(self.questions), **self.more}


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The plan that the user is asked to approve: what the model says of it, its `file`, and the digest of its text."""

    summary: str
    file: str
    digest: str
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"summary": self.summary, "planFile": self.file, "sha256": self.digest, **self.more}


@dataclass(frozen=True, slots=True)
class PlanModeRequest:
    """The wish of a model's to work out a plan first, and why."""

    reason: str
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"reason": self.reason, **self.more}


@dataclass(frozen=True, slots=True)
class HostRequest:
    """The host that a call wants to reach for a `url`. `addresses` are where the host leads, if that is not the public
    internet."""

    host: str
    url: str
    addresses: tuple[str, ...] = ()
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"host": self.host, "url": self.url, "addresses": list(self.addresses), **self.more}


Question = QuestionRequest | PlanRequest | PlanModeRequest | HostRequest


def question_from_json(kind: str, stored: object) -> Question | None:
    """Read what a review asks about; None if it is something else, or malformed."""
    if not isinstance(stored, Mapping):
        return None
    match kind, stored:
        case "question", {"questions": list(questions)} if _are_texts(questions):
            return QuestionRequest(tuple(questions), unknown(stored, frozenset({"questions"})))
        case "plan", {"summary": str(summary), "planFile": str(file), "sha256": str(digest)}:
            return PlanRequest(summary, file, digest, unknown(stored, frozenset({"summary", "planFile", "sha256"})))
        case "plan_mode", {"reason": str(reason)}:
            return PlanModeRequest(reason, unknown(stored, frozenset({"reason"})))
        case "host", {"host": str(host), "url": str(url), "addresses": list(addresses)} if _are_texts(addresses):
            return HostRequest(host, url, tuple(addresses), unknown(stored, frozenset({"host", "url", "addresses"})))
        case _:
            return None


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(one, str) for one in values)
