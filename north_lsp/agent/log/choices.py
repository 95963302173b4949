"""The entries that record what the user chose or ran besides prompts: commands, modes, models, tools."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal, get_args

from north_lsp.agent.log.fields import FIXED, Json, as_list, as_object, as_text, unknown
from north_lsp.agent.log.todo_rows import todo_from_json, todo_to_json
from north_lsp.lazy_dataclass import dataclass
from north_lsp.tools.todo_list import TodoList
from north_lsp.vocabulary import Mode

USER_EDIT = "user_todo_edit"
PLAN = "north.plan"
PHASES = "phases"


@dataclass(frozen=True, slots=True)
class SlashEntry:
    """A slash command with its output."""

    input: str
    name: str
    args: tuple[str, ...]
    output: str
    ok: bool = True
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> SlashEntry:
        known = FIXED | {"input", "name", "args", "ok", "message", "output"}
        return cls(
            as_text(record.get("input")),
            as_text(record.get("name")),
            tuple(map(as_text, as_list(record.get("args")))),
            as_text(record.get("message", record.get("output"))),  # its former name
            bool(record.get("ok", True)),
            unknown(record, known),
        )

    def to_json(self) -> dict[str, Any]:
        said = {"input": self.input, "name": self.name, "args": list(self.args), "ok": self.ok, "message": self.output}
        return {"type": "command_executed", **said, **self.more}


@dataclass(frozen=True, slots=True)
class TodoEditEntry:
    """The user has changed the todo list; `todo` is what there is since."""

    todo: TodoList
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> TodoEditEntry:
        known = FIXED | {"customType", "data"}
        return cls(todo_from_json(as_object(record.get("data")).get(PHASES)), unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        return {"type": "custom", "customType": USER_EDIT, "data": {PHASES: todo_to_json(self.todo)}, **self.more}


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """The plan as the model wrote it or was told it, or as the user approved it. `file` is where it is in the project;
    empty for one that is kept with the conversation."""

    text: str
    approved: bool = False
    file: str = ""
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> PlanEntry:
        data, known = as_object(record.get("data")), FIXED | {"customType", "data"}
        text, file = as_text(data.get("text")), as_text(data.get("file"))
        return cls(text, data.get("approved") is True, file, unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        data = {"text": self.text, "approved": self.approved} | ({"file": self.file} if self.file else {})
        return {"type": "custom", "customType": PLAN, "data": data, **self.more}


@dataclass(frozen=True, slots=True)
class PlanWork:
    """The work on the plan in a `file` has begun, or stops without a decision."""

    file: str
    state: Literal["active", "paused"]

    def to_json(self) -> dict[str, Any]:
        return {"plan": {"planFile": self.file, "state": self.state}}


@dataclass(frozen=True, slots=True)
class AcceptedPlan:
    """The user has approved the plan in a `file`, with the digest of its text."""

    file: str
    digest: str

    def to_json(self) -> dict[str, Any]:
        return {"acceptedPlan": {"planFile": self.file, "sha256": self.digest}}


@dataclass(frozen=True, slots=True)
class ModeEntry:
    """A change of the mode; `plan` is what it says of the plan, None if it is not about one."""

    mode: Mode
    plan: PlanWork | AcceptedPlan | None = None
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> ModeEntry:
        modes: tuple[Mode, ...] = get_args(Mode)
        mode: Mode = next((mode for mode in modes if mode == record.get("mode")), "agent")
        plan = _plan(record.get("data"))
        return cls(mode, plan, unknown(record, FIXED | {"mode"} | ({"data"} if plan is not None else set())))

    def to_json(self) -> dict[str, Any]:
        data = {"data": self.plan.to_json()} if self.plan is not None else {}
        return {"type": "mode_change", "mode": self.mode, **data, **self.more}


def _plan(data: object) -> PlanWork | AcceptedPlan | None:
    """Read what a change of the mode says of the plan; None for what has other fields, which is kept as it is."""
    read: PlanWork | AcceptedPlan
    match data:
        case {"plan": {"planFile": str(file), "state": "active" | "paused" as state}}:
            read = PlanWork(file, state)
        case {"acceptedPlan": {"planFile": str(file), "sha256": str(digest)}}:
            read = AcceptedPlan(file, digest)
        case _:
            return None
    return read if read.to_json() == data else None


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A change of the model that answers. `temporary`: it is not what the user chose."""

    model: str
    reason: str
    temporary: bool = False
    more: Json = field(default_factory=dict)

    @property
    def is_chosen(self) -> bool:
        """Whether the change holds for the conversation. (Early versions did not mark those of a retry as
        temporary.)"""
        return not self.temporary and self.reason != "retry"

    @classmethod
    def from_json(cls, record: Json) -> ModelEntry:
        known = FIXED | {"model", "reason", "temporary"}
        model, reason = as_text(record.get("model")), as_text(record.get("reason"))
        return cls(model, reason, bool(record.get("temporary")), unknown(record, known))

    def to_json(self) -> dict[str, Any]:
        temporary = {"temporary": True} if self.temporary else {}
        return {"type": "model_change", "model": self.model, "reason": self.reason, **temporary, **self.more}


@dataclass(frozen=True, slots=True)
class ThinkingEntry:
    level: str
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> ThinkingEntry:
        return cls(as_text(record.get("thinkingLevel")), unknown(record, FIXED | {"thinkingLevel"}))

    def to_json(self) -> dict[str, Any]:
        return {"type": "thinking_level_change", "thinkingLevel": self.level, **self.more}


@dataclass(frozen=True, slots=True)
class ServiceTierEntry:
    tier: str
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> ServiceTierEntry:
        return cls(as_text(record.get("serviceTier")), unknown(record, FIXED | {"serviceTier"}))

    def to_json(self) -> dict[str, Any]:
        return {"type": "service_tier_change", "serviceTier": self.tier, **self.more}


@dataclass(frozen=True, slots=True)
class ToolSelectionEntry:
    """The tools that the model has looked up so far."""

    tools: tuple[str, ...]
    more: Json = field(default_factory=dict)

    @classmethod
    def from_json(cls, record: Json) -> ToolSelectionEntry:
        names = as_list(record.get("selectedToolNames", record.get("tools")))  # its former name
        return cls(tuple(map(as_text, names)), unknown(record, FIXED | {"selectedToolNames", "tools"}))

    def to_json(self) -> dict[str, Any]:
        return {"type": "mcp_tool_selection", "selectedToolNames": list(self.tools), **self.more}
