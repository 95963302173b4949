"""The goal in the log: each change is an entry of its own. And the runs and changes of files that evidence is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeVar, get_args

from north_lsp.agent.log.fields import FIXED, Json, as_list, as_object, unknown
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.goals import Criterion, CriterionStatus, Evidence, Goal, Status

GOAL = "north.goal"
_S = TypeVar("_S", bound=str)


@dataclass(frozen=True, slots=True)
class GoalEntry:
    """The goal as it is since; None: there is none any more. `by_user`: the model must be told."""

    goal: Goal | None
    by_user: bool = False
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> GoalEntry:
        data = as_object(record.get("data"))
        known = FIXED | {"customType", "data"}
        return cls(goal_from_json(data.get("goal")), data.get("byUser") is True, unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        data = {"goal": goal_to_json(self.goal) if self.goal is not None else None, "byUser": self.by_user}
        return {"type": "custom", "customType": GOAL, "data": data, **self.more}


def goal_to_json(goal: Goal) -> dict[str, Any]:
    rows = [_criterion_to_json(one) for one in goal.criteria]
    return {"statement": goal.statement, "criteria": rows, "status": goal.status, "blocked": goal.blocked}


def _criterion_to_json(one: Criterion) -> dict[str, Any]:
    row = {"id": one.id, "text": one.text, "check": "command" if one.command else "inspection"}
    row |= {"command": one.command} if one.command else {}
    return row | {"status": one.status, "evidence": list(map(_evidence_to_json, one.evidence))}


def _evidence_to_json(one: Evidence) -> dict[str, str]:
    return {"at": one.at, "text": one.text, "artifact": one.artifact, "treeHash": one.state}


def goal_from_json(stored: object) -> Goal | None:
    """Read a goal; None for none, and for what is none."""
    row = as_object(stored)
    if not isinstance(row.get("statement"), str):
        return None
    status: Status = _one_of(get_args(Status), row.get("status"), "active")
    criteria = tuple(_criterion(one) for one in as_list(row.get("criteria")) if isinstance(one, Mapping))
    return Goal(row["statement"], criteria, status, _text(row, "blocked"))


def _criterion(row: Json) -> Criterion:
    status: CriterionStatus = _one_of(get_args(CriterionStatus), row.get("status"), "open")
    evidence = tuple(_evidence(one) for one in as_list(row.get("evidence")) if isinstance(one, Mapping))
    return Criterion(_text(row, "id"), _text(row, "text"), _text(row, "command"), status, evidence)


def _evidence(row: Json) -> Evidence:
    return Evidence(_text(row, "at"), _text(row, "text"), _text(row, "artifact"), _text(row, "treeHash"))


def _one_of(known: Sequence[_S], stored: object, otherwise: _S) -> _S:
    return next((one for one in known if one == stored), otherwise)


def _text(row: Json, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""
