"""The kinds of entries of a conversation. Only this room knows their form in the file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.choices import (
    PLAN,
    USER_EDIT,
    ModeEntry,
    ModelEntry,
    PlanEntry,
    ServiceTierEntry,
    SlashEntry,
    ThinkingEntry,
    TodoEditEntry,
    ToolSelectionEntry,
)
from north_lsp.agent.log.compactions import PRUNED, CompactionEntry, PrunedEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.fields import Json, as_object, as_text, text_or_none, without_place
from north_lsp.agent.log.goals import GOAL, GoalEntry
from north_lsp.agent.log.marks import RULES_TOLD, RetryEntry, RuleEntry, StopEntry, mark_from_json
from north_lsp.agent.log.messages import AnswerEntry, OtherMessage, PromptEntry, message_from_json
from north_lsp.agent.log.results import AGENT_CALL, AgentCallEntry, OwnCommandEntry, ResultEntry
from north_lsp.agent.log.reviews import ReviewEntry
from north_lsp.agent.log.workflows import SKILL_STATE, SkillStateEntry
from north_lsp.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UnknownEntry:
    """An entry of a kind that this version does not know, or one that is malformed."""

    record: Json

    @property
    def type(self) -> str:
        return as_text(self.record.get("type"))

    def to_json(self) -> dict[str, Any]:
        return without_place(self.record)


Entry = (
    PromptEntry
    | AnswerEntry
    | ResultEntry
    | OwnCommandEntry
    | OtherMessage
    | CustomMessageEntry
    | BranchSummaryEntry
    | ReviewEntry
    | CheckpointEntry
    | SlashEntry
    | ModeEntry
    | ModelEntry
    | ThinkingEntry
    | ServiceTierEntry
    | ToolSelectionEntry
    | CompactionEntry
    | PrunedEntry
    | StopEntry
    | RetryEntry
    | RuleEntry
    | TodoEditEntry
    | PlanEntry
    | GoalEntry
    | SkillStateEntry
    | AgentCallEntry
    | UnknownEntry
)


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry in its place: `at` is when it was written (UTC, ISO 8601; empty if the log does not say)."""

    id: str
    parent: str | None
    at: str
    entry: Entry

    def to_json(self) -> Json:
        """Return the entry as its line in the file."""
        return {**self.entry.to_json(), "id": self.id, "parentId": self.parent, "timestamp": self.at}

    @property
    def is_message(self) -> bool:
        return isinstance(self.entry, PromptEntry | AnswerEntry | ResultEntry | OwnCommandEntry | OtherMessage)

    @property
    def is_from_user(self) -> bool:
        """Whether the entry comes from the user: something said or run."""
        match self.entry:
            case PromptEntry() | OwnCommandEntry():
                return True
            case OtherMessage(role):
                return role == "pythonExecution"
            case _:
                return False


def entry_from_json(record: Json) -> Entry:
    try:
        return _read(record)
    except (KeyError, TypeError, ValueError, AttributeError):
        return UnknownEntry(record)


def _read(record: Json) -> Entry:
    match record.get("type"):
        case "message" if as_object(record.get("message")).get("role") == "custom":
            return CustomMessageEntry.from_json(record)
        case "message":
            return message_from_json(record)
        case "custom_message":
            return CustomMessageEntry.from_json(record)
        case "branch_summary":
            return BranchSummaryEntry.from_json(record)
        case "review":
            return ReviewEntry.from_json(record)
        case "checkpoint":
            return CheckpointEntry.from_json(record)
        case "command_executed":
            return SlashEntry.from_json(record)
        case "mode_change":
            return ModeEntry.from_json(record)
        case "model_change":
            return ModelEntry.from_json(record)
        case "thinking_level_change":
            return ThinkingEntry.from_json(record)
        case "service_tier_change":
            return ServiceTierEntry.from_json(record)
        case "mcp_tool_selection":
            return ToolSelectionEntry.from_json(record)
        case "compaction":
            return CompactionEntry.from_json(record)
        case kind if kind == RULES_TOLD:
            return RuleEntry.from_json(record)
        case "custom" if record.get("customType") == PRUNED:
            return PrunedEntry.from_json(record)
        case "custom" if record.get("customType") == PLAN:
            return PlanEntry.from_json(record)
        case "custom" if record.get("customType") == GOAL:
            return GoalEntry.from_json(record)
        case "custom" if record.get("customType") == SKILL_STATE:
            return SkillStateEntry.from_json(record)
        case "custom" if record.get("customType") == USER_EDIT:
            return TodoEditEntry.from_json(record)
        case "custom" if record.get("customType") == AGENT_CALL:
            return AgentCallEntry.from_json(record)
        case "custom":
            return mark_from_json(record) or UnknownEntry(record)
        case _:
            return UnknownEntry(record)


def logged_from_json(record: Json) -> Logged:
    """Read a line of the log as an entry in its place."""
    id, at = as_text(record.get("id")), as_text(record.get("timestamp"))
    return Logged(id, text_or_none(record.get("parentId")), at, entry_from_json(record))


def logged(path: Iterable[Json]) -> list[Logged]:
    return [logged_from_json(record) for record in path]
