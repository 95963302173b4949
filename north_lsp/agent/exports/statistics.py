"""What a conversation adds up to, by its log. Nothing is counted anywhere else. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any

from north_lsp.agent.edits.totals import Totals
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.header import Header
from north_lsp.agent.log.marks import RetryEntry
from north_lsp.agent.log.messages import AnswerEntry, PromptEntry
from north_lsp.agent.log.results import OwnCommandEntry, ResultEntry
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.display import counted, money, one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Cost
from north_lsp.vocabulary import camel_case

_NOT_NUMBERS = ("tools", "changes", "cost", "parent", "children")


@dataclass(slots=True)
class ToolUse:
    calls: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of a conversation. `failed_answers` are those that were not complete; `wall_seconds` are from its first
    entry to its last, `model_seconds` those in which a model answered; `cost` is `cost_usd` by its parts (None: a part
    is known of some answers only); `parent` is the conversation that it comes from, `children` those that come from
    it."""

    prompts: int = 0
    answers: int = 0
    failed_answers: int = 0
    own_commands: int = 0
    tools: Mapping[str, ToolUse] = field(default_factory=dict)
    files_read: int = 0
    changes: Totals = field(default_factory=Totals)
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float = 0.0
    cost: Cost | None = None
    priced: bool = True
    wall_seconds: float = 0.0
    model_seconds: float = 0.0
    compactions: int = 0
    retries: int = 0
    parent: str = ""
    children: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the numbers for clients."""
        changes = {camel_case(name): value for name, value in dataclasses.asdict(self.changes).items()}
        tools = {name: {"calls": use.calls, "errors": use.errors} for name, use in self.tools.items()}
        names = [one.name for one in dataclasses.fields(self) if one.name not in _NOT_NUMBERS]
        numbers = {camel_case(name): getattr(self, name) for name in names}
        cost = {camel_case(name): value for name, value in dataclasses.asdict(self.cost).items()} if self.cost else None
        return {**numbers, "tools": tools, "changes": changes, "cost": cost, **self._family()}

    def _family(self) -> dict[str, Any]:
        return {"parent": self.parent or None, "children": list(self.children)}


def statistics_of(
    header: Header,
    path: Iterable[Logged],
    changes: Totals,
    children: Sequence[str] = (),
    aside: Iterable[StoredUsage] = (),
) -> Statistics:
    """Sum up a conversation; `changes` are those that still hold, `children` the conversations that come from it,
    `aside` what requests used that are no part of a turn."""
    path = list(path)
    prompts = sum(isinstance(one.entry, PromptEntry) and not one.entry.by_north for one in path)
    answers = [one.entry for one in path if isinstance(one.entry, AnswerEntry)]
    used = sum((*(answer.usage for answer in answers if answer.usage is not None), *aside), StoredUsage())
    return Statistics(
        prompts,
        len(answers),
        sum(answer.error is not None for answer in answers),
        sum(isinstance(one.entry, OwnCommandEntry) for one in path),
        _tools(path),
        len(_read(path)),
        changes,
        used.input,
        used.output,
        used.cache_read,
        used.cache_write,
        used.reasoning,
        used.cost,
        used.split,
        used.priced,
        _between(path),
        sum(answer.duration_ms or 0 for answer in answers) / 1000,
        sum(isinstance(one.entry, CompactionEntry) for one in path),
        sum(isinstance(one.entry, RetryEntry) for one in path),
        header.parent.id,
        children,
    )


def _tools(path: Iterable[Logged]) -> dict[str, ToolUse]:
    used: dict[str, ToolUse] = {}
    for one in path:
        if isinstance(one.entry, ResultEntry):
            use = used.setdefault(one.entry.tool or "(unknown)", ToolUse())
            use.calls += 1
            use.errors += not one.entry.details.ok
    return dict(sorted(used.items(), key=lambda row: (-row[1].calls, row[0])))


def _read(path: Iterable[Logged]) -> set[Path]:
    return set(sightings_of(path))


def _between(path: Iterable[Logged]) -> float:
    times = [time for one in path if (time := _time(one.at)) is not None]
    return max(0.0, max(times) - min(times)) if times else 0.0


def _time(at: str) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):
        return None


def in_words(numbers: Statistics) -> list[str]:
    """Return the numbers as rows of Markdown."""
    failed = f" ({numbers.failed_answers} not complete)" if numbers.failed_answers else ""
    own = f", {counted(numbers.own_commands, 'command')} of your own" if numbers.own_commands else ""
    rows = [f"- {counted(numbers.prompts, 'prompt')}, {counted(numbers.answers, 'answer')}{failed}{own}"]
    if numbers.tools:
        calls = [
            f"`{one_line(name)}` {use.calls}{f' ({use.errors} failed)' if use.errors else ''}"
            for name, use in numbers.tools.items()
        ]
        rows.append(f"- tool calls: {', '.join(calls)}")
    rows.append(f"- files read: {numbers.files_read}")
    read = numbers.input_tokens + numbers.cache_read_tokens + numbers.cache_write_tokens
    thought = f" ({numbers.reasoning_tokens:,} of them thinking)" if numbers.reasoning_tokens else ""
    rows.append(
        f"- tokens: {read:,} in ({numbers.cache_read_tokens:,} from caches, {numbers.cache_write_tokens:,} into them), "
        f"{numbers.output_tokens:,} out{thought}"
    )
    rows.append(f"- cost: {money(numbers.cost_usd)}{'' if numbers.priced else '+?'}{_split(numbers)}")
    rows.append(f"- time: {_duration(numbers.wall_seconds)}, of that {_duration(numbers.model_seconds)} in models")
    if numbers.compactions or numbers.retries:
        retries = counted(numbers.retries, "time")
        rows.append(f"- summarized {counted(numbers.compactions, 'time')}, asked again after a failure {retries}")
    rows += [f"- comes from the conversation `{one_line(numbers.parent)}`"] if numbers.parent else []
    others = ", ".join(f"`{one_line(id)}`" for id in numbers.children)
    return rows + ([f"- other conversations come from it: {others}"] if others else [])


def _split(numbers: Statistics) -> str:
    """Return what the cost was for; nothing where that is not known, or nothing was paid."""
    if numbers.cost is None or not numbers.cost_usd:
        return ""
    parts = {"in": numbers.cost.input, "from caches": numbers.cost.cache_read, "into caches": numbers.cost.cache_write}
    told = [f"{money(part)} {name}" for name, part in (parts | {"out": numbers.cost.output}).items() if part]
    return f" ({', '.join(told)})"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{seconds:.1f} s"
