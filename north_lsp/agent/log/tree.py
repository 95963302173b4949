"""The tree of a conversation as rows for people: every entry on every branch, filtered and searched. Pure."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from north_lsp.agent.log.branch_summaries import BranchSummaryEntry
from north_lsp.agent.log.checkpoints import CheckpointEntry
from north_lsp.agent.log.choices import (
    ModeEntry,
    ModelEntry,
    PlanEntry,
    ServiceTierEntry,
    SlashEntry,
    ThinkingEntry,
    TodoEditEntry,
    ToolSelectionEntry,
)
from north_lsp.agent.log.compactions import CompactionEntry, PrunedEntry
from north_lsp.agent.log.custom_messages import CustomMessageEntry
from north_lsp.agent.log.entries import Entry, Logged, UnknownEntry
from north_lsp.agent.log.fields import as_text
from north_lsp.agent.log.goals import GoalEntry
from north_lsp.agent.log.marks import RULES_TOLD, RetryEntry, RuleEntry, StopEntry
from north_lsp.agent.log.messages import AnswerEntry, OtherMessage, PromptEntry, shown_prompt
from north_lsp.agent.log.results import AgentCallEntry, OwnCommandEntry, ResultEntry
from north_lsp.agent.log.reviews import CommandRequest, EditRequest, ReviewEntry
from north_lsp.agent.log.workflows import SkillStateEntry
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Text
from north_lsp.vocabulary import TREE_FILTERS, TreeFilter

_WIDTH = 120
_QUIET = (ModeEntry, ModelEntry, ThinkingEntry, ServiceTierEntry, ToolSelectionEntry, StopEntry, RetryEntry)
_QUIET_TYPES = ("custom", RULES_TOLD, "session_init")
_FAILED = ("error", "aborted")


@dataclass(frozen=True, slots=True)
class Row:
    """An entry in the tree. `parent` is the nearest entry above it that is shown, too, and `depth` counts the branches
    above it; `is_here` marks the last shown entry of the active path."""

    id: str
    parent: str | None
    depth: int
    kind: str
    role: str
    text: str
    label: str
    at: str
    is_on_path: bool
    is_here: bool = False


@dataclass(frozen=True, slots=True)
class _Said:
    """What an entry is, for people: its kind and role as in the file, a line, and everything that a search looks at."""

    kind: str
    role: str
    text: str
    more: str = ""


def find_filter(name: str) -> TreeFilter:
    """Find a filter by its name. Raises ValueError naming all of them."""
    for filter in TREE_FILTERS:
        if filter == name:
            return filter
    raise ValueError(f"there is no filter {name[:64]!r}; the filters are {', '.join(TREE_FILTERS)}")


def tree_rows(
    entries: Sequence[Logged],
    path: Sequence[Logged],
    labels: Mapping[str, str],
    filter: TreeFilter = "default",
    query: str = "",
) -> list[Row]:
    """Return the entries that pass the filter and match all words of the query: each branch from its oldest entry on,
    the active one first."""
    on_path = {one.id for one in path}
    leaf = path[-1].id if path else None
    words = query.casefold().split()
    rows: list[Row] = []
    shown: dict[str, str | None] = {}  # for every entry, the nearest shown one from itself upwards
    for one in _in_order(entries, on_path):
        above = shown.get(one.parent) if one.parent is not None else None
        said, label = _said(one.entry), labels.get(one.id, "")
        if _passes(one, said, label, filter, is_leaf=one.id == leaf) and _matches(words, said, label):
            text = one_line(said.text, _WIDTH)
            row = Row(one.id, above, 0, said.kind, said.role, text, label, one.at, one.id in on_path)
            rows.append(row)
            above = one.id
        shown[one.id] = above
    return list(_placed(rows))


def _in_order(entries: Sequence[Logged], on_path: set[str]) -> Iterator[Logged]:
    """Yield each entry before those that follow it, the active branch first, then the older ones first. An entry whose
    parent is missing is a root; of a cycle, the oldest entry is."""
    known = {one.id for one in entries}
    children: defaultdict[str | None, list[Logged]] = defaultdict(list)
    for one in entries:
        children[one.parent if one.parent in known else None].append(one)
    visited: set[str] = set()

    def below(id: str | None) -> list[Logged]:
        """Return what follows an entry, in the order in which a stack gives it back."""
        newest_first = children[id][::-1]
        return sorted(newest_first, key=lambda one: one.id in on_path)

    waiting = below(None)
    cycles = iter(entries)
    while waiting or (waiting := _rest(cycles, visited)):
        one = waiting.pop()
        if one.id in visited:
            continue
        visited.add(one.id)
        yield one
        waiting += below(one.id)


def _rest(entries: Iterator[Logged], visited: set[str]) -> list[Logged]:
    return next(([one] for one in entries if one.id not in visited), [])


def _placed(rows: Sequence[Row]) -> Iterator[Row]:
    """Give each row its depth, and mark the place where the conversation is."""
    siblings: defaultdict[str | None, int] = defaultdict(int)
    for row in rows:
        siblings[row.parent] += 1
    depths: dict[str | None, int] = {None: 0}
    here = next((row.id for row in reversed(rows) if row.is_on_path), None)
    for row in rows:
        depths[row.id] = depths[row.parent] + (siblings[row.parent] > 1)
        yield replace(row, depth=depths[row.id], is_here=row.id == here)


def _passes(one: Logged, said: _Said, label: str, filter: TreeFilter, *, is_leaf: bool) -> bool:
    entry = one.entry
    match filter:
        case "all":
            return True
        case "labeled-only":
            return bool(label)
        case "user-only":
            return isinstance(entry, PromptEntry | OwnCommandEntry) and not _is_norths(entry)
        case _:
            pass
    if isinstance(entry, _QUIET) or said.kind in _QUIET_TYPES or _is_norths(entry) or _is_of_a_call(entry):
        return False
    if isinstance(entry, AnswerEntry) and entry.stop_reason not in _FAILED and not is_leaf:
        return any(isinstance(block, Text) and block.text.strip() for block in entry.blocks)
    return filter != "no-tools" or not isinstance(entry, ResultEntry | ReviewEntry | CheckpointEntry)


def _is_of_a_call(entry: Entry) -> bool:
    """Tell whether it is a step of a call, whose result says the same."""
    return isinstance(entry, ReviewEntry | CheckpointEntry) and bool(entry.call_id)


def _is_norths(entry: Entry) -> bool:
    match entry:
        case PromptEntry(by_north=by_north):
            return by_north
        case OwnCommandEntry(called_by=called_by):
            return called_by != ""
        case _:
            return False


def _matches(words: Iterable[str], said: _Said, label: str) -> bool:
    text = "\n".join((label, said.role, said.text, said.more)).casefold()
    return all(word in text for word in words)


def _said(entry: Entry) -> _Said:
    match entry:
        case PromptEntry():
            return _Said("message", "user", shown_prompt(entry))
        case AnswerEntry():
            return _said_by_model(entry)
        case ResultEntry():
            return _Said("message", "toolResult", entry.details.title or entry.tool, entry.text)
        case OwnCommandEntry(command, output, excluded=excluded):
            return _Said("message", "bashExecution", f"{'!!' if excluded else '!'}{command}", output)
        case OtherMessage(role, record):
            return _Said("message", role, _words(record.get("message")))
        case CustomMessageEntry(kind, text):
            return _Said("custom_message", "", text, kind)
        case SlashEntry(input, output=output):
            return _Said("command_executed", "", input, output)
        case BranchSummaryEntry(summary=summary):
            return _Said("branch_summary", "", summary)
        case ReviewEntry(kind, request=request):
            return _Said("review", "", _asked(request) or kind)
        case CheckpointEntry(title=title, files=files):
            return _Said("checkpoint", "", title, "\n".join(file.relative for file in files))
        case ModeEntry(mode):
            return _Said("mode_change", "", mode)
        case ModelEntry(model):
            return _Said("model_change", "", model)
        case ThinkingEntry(level):
            return _Said("thinking_level_change", "", level)
        case ServiceTierEntry(tier):
            return _Said("service_tier_change", "", tier)
        case ToolSelectionEntry(tools):
            return _Said("mcp_tool_selection", "", ", ".join(tools))
        case CompactionEntry(summary, short=short):
            return _Said("compaction", "", short or summary, summary)
        case PrunedEntry(results):
            return _Said("custom", "", f"older outputs removed ({len(results)})")
        case StopEntry():
            return _Said("custom", "", "stopped")
        case RetryEntry(reason=reason):
            return _Said("custom", "", reason)
        case RuleEntry(rules):
            return _Said(RULES_TOLD, "", f"broken: {', '.join(rules)}")
        case PlanEntry(text, approved):
            return _Said("custom", "", "plan approved" if approved else "plan written", text)
        case GoalEntry(goal):
            return _Said(
                "custom", "", f"goal: {goal.statement} ({goal.status})" if goal is not None else "goal dropped"
            )
        case SkillStateEntry(skill, phase):
            return _Said("custom", "", f"{skill}: {phase}" if skill else "workflow ended")
        case TodoEditEntry(todo):
            return _Said("custom", "", f"todo list changed ({todo.open_count} open)", todo.tree())
        case AgentCallEntry(title=title):
            return _Said("custom", "", title)
        case UnknownEntry(record):
            return _Said(entry.type, "", _words(record))


def _said_by_model(answer: AnswerEntry) -> _Said:
    text = "\n\n".join(block.text for block in answer.blocks if isinstance(block, Text) and block.text.strip())
    called = ", ".join(call.name for call in answer.calls)
    arguments = "\n".join(json.dumps(dict(call.arguments), ensure_ascii=False, default=str) for call in answer.calls)
    return _Said("message", "assistant", text or answer.error or called, f"{called}\n{arguments}")


def _asked(request: object) -> str:
    match request:
        case EditRequest(title):
            return title
        case CommandRequest(command):
            return as_text(command)
        case _:
            return ""


def _words(record: object) -> str:
    """Return what an entry of an unknown kind says: its summary, its own type, or its text."""
    if not isinstance(record, Mapping):
        return ""
    named = [as_text(record.get(key)) for key in ("customType", "summary")]
    content = record.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [as_text(part.get("text")) if isinstance(part, Mapping) else as_text(part) for part in parts]
    return " ".join(word for word in (*named, *texts) if word)
