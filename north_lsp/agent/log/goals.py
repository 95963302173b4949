"""The goal in the log: each change is an entry of its own. And the runs and changes of files that evidence is about."""

from dataclasses import field
from typing import Any

from north_lsp.agent.log.fields import FIXED, Json, as_object, unknown
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.goals import Goal

GOAL = "north.goal"


@dataclass(frozen=True, slots=True)
class GoalEntry:
    """The goal as it is since; None: there is none any more. `by_user`: the model must be told."""

    goal: Goal | None
    by_user: bool = False
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> "GoalEntry":
        data = as_object(record.get("data"))
        known = FIXED | {"customType", "data"}
        return cls(Goal.from_json(data.get("goal")), data.get("byUser") is True, unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        data = {"goal": self.goal.to_json() if self.goal is not None else None, "byUser": self.by_user}
        return {"type": "custom", "customType": GOAL, "data": data, **self.more}
