"""The entries that record what happened in a turn beside what was said in it: that the user stopped it, that North
waited before it asked a model again, and which rules the model was told since it broke them. Models get nothing of
them."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from north_lsp.agent.log.fields import FIXED, Json, as_list, as_object, as_text, unknown, whole_number
from north_lsp.lazy_dataclass import dataclass

_STOPPED, _RETRY = "north.turnStopped", "north.retry"
RULES_TOLD = "ttsr_injection"
_KNOWN = FIXED | {"customType", "data"}
_RETRY_KEYS = frozenset({"retryId", "attempt", "of", "reason", "kind", "outcome"})


@dataclass(frozen=True, slots=True)
class StopEntry:
    """The user has stopped the turn."""

    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"type": "custom", "customType": _STOPPED, "data": {}, **self.more}


@dataclass(frozen=True, slots=True)
class RetryEntry:
    """A wait before the model was asked again (`over`), or was not (`stopped`). `kind` is that of the failure, and
    `reason` says in words what failed."""

    retry_id: str
    attempt: int
    of: int
    reason: str
    kind: str
    outcome: Literal["over", "stopped"]
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        data = {"retryId": self.retry_id, "attempt": self.attempt, "of": self.of}
        data |= {"reason": self.reason, "kind": self.kind, "outcome": self.outcome}
        return {"type": "custom", "customType": _RETRY, "data": data, **self.more}


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """The model was told the rules with these names, since it broke them while it answered."""

    rules: tuple[str, ...]
    more: Json = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"type": RULES_TOLD, "rules": list(self.rules), **self.more}

    @classmethod
    def from_json(cls, record: Json) -> RuleEntry:
        return cls(tuple(as_text(one) for one in as_list(record["rules"])), unknown(record, FIXED | {"rules"}))


def mark_from_json(record: Json) -> StopEntry | RetryEntry | None:
    """Read one of these entries; None for any other."""
    data, more = as_object(record.get("data")), unknown(record, _KNOWN)
    match record.get("customType"):
        case kind if kind == _STOPPED:
            return StopEntry(more)
        case kind if kind == _RETRY and data.keys() == _RETRY_KEYS:
            numbers = whole_number(data["attempt"]) or 0, whole_number(data["of"]) or 0
            outcome: Literal["over", "stopped"] = "over" if data["outcome"] == "over" else "stopped"
            return RetryEntry(
                as_text(data["retryId"]), *numbers, as_text(data["reason"]), as_text(data["kind"]), outcome, more
            )
        case _:
            return None
