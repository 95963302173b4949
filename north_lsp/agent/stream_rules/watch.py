"""Watches answers while they stream for what breaks a rule: such an answer is stopped, or the model is told later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.context.documents import attribute, plain
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.marks import RuleEntry
from north_lsp.agent.log.messages import PromptEntry, nudge
from north_lsp.agent.ports.events import Notice, RulesBroken
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.prompts import render
from north_lsp.agent.stream_rules.builtin import built_in
from north_lsp.agent.stream_rules.matching import ArrivingText, Source, Watched, watched, watched_own
from north_lsp.agent.stream_rules.written import WrittenSource
from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.entries import now_ms
from north_lsp.storage.stream_rule_settings import StreamRuleSettings

_INTERRUPT, _REMINDER = "rule_interrupt", "rule_reminder"
_FILE_TOOL = "edit_create_file"
_STOPPED = "The answer was stopped, since it goes against the rule {}; the model is told, and answers again"
_SLOW = (
    "the rule {} takes too long to look for what it forbids, and is not watched any more; make its `condition` simpler"
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that was broken, and the file that it was about, if it was one."""

    rule: str
    body: str
    path: str = ""


class StreamRules:
    """The rules that count in one turn, and what is to be told of them."""

    def __init__(self, context: TurnContext, log: Log, ports: Ports) -> None:
        self._context = context
        self._settings = context.settings.stream_rules
        self._log = log
        self._ports = ports
        self._all: list[Watched] | None = None
        self._later: list[Violation] = []
        self._for_calls: dict[str, list[Violation]] = {}

    def watch(self) -> AnswerWatch:
        """Begin to watch an answer; nothing is kept of one that was watched before and did not succeed."""
        self._later, self._for_calls = [], {}
        if not self._settings.enabled:
            return AnswerWatch(self, [], self._context)
        if self._all is None:
            disabled = self._context.settings.context.disabled_rules
            own = [watched_own(one) for one in built_in()] if self._settings.built_in else []
            self._all = [one for one in own if one.rule.name not in disabled]
            self._all += [watched(rule) for rule in self._context.rules.stream]
        told = told_rules(self._log.those(_counts), self._settings) if self._log.those(_tells) else frozenset()
        return AnswerWatch(self, [one for one in self._all if one.rule.name not in told], self._context)

    def interrupts(self, one: Watched) -> bool:
        """Tell whether breaking a rule ends the answer."""
        return one.rule.condition.interrupts and self._settings.interrupt_mode == "always"

    def note(self, violation: Violation, source: Source) -> None:
        """Note what the model is told later: with a call's result, or after the answer."""
        if source.call_id:
            self._for_calls.setdefault(source.call_id, []).append(violation)
        else:
            self._later.append(violation)

    async def report_slow(self, rules: Iterable[Watched]) -> None:
        """Say which rules are not watched any more."""
        for one in rules:
            if self._all is not None and one in self._all:
                self._all.remove(one)
                await self._ports.show(Notice("warning", _SLOW.format(one_line(one.rule.name, 80))))

    @property
    def keeps_stopped(self) -> bool:
        """Whether the model gets an answer that was stopped."""
        return self._settings.context_mode == "keep"

    async def interrupt(self, violations: Sequence[Violation]) -> None:
        """Tell the model why its answer was stopped, and the user that it was. The answer is in the log by now."""
        self._ports.diagnostics.event("ttsr_triggered", rules=[one.rule for one in violations])
        self._tell(_INTERRUPT, violations)
        await self._ports.show(RulesBroken(tuple(one.rule for one in violations)))
        named = " and ".join(one_line(one.rule, 80) for one in violations)
        await self._ports.show(Notice("info", _STOPPED.format(named)))

    def reminder_for(self, call_id: str) -> str:
        """Return what goes before the result of a call, which counts as told."""
        violations = self._for_calls.pop(call_id, [])
        if not violations:
            return ""
        self._log.append(RuleEntry(tuple(one.rule for one in violations)))
        return _told(_REMINDER, violations)

    def tell_later(self) -> bool:
        """Tell the model what an answer that stays has broken; returns whether there was anything."""
        violations, self._later = self._later, []
        if violations:
            self._tell(_REMINDER, violations)
        return bool(violations)

    def _tell(self, prompt: str, violations: Sequence[Violation]) -> None:
        self._log.append(nudge(_told(prompt, violations), now_ms()))
        self._log.append(RuleEntry(tuple(one.rule for one in violations)))


class AnswerWatch:
    """Watches one answer. `broken` are the rules for which it must be stopped."""

    def __init__(self, turn: StreamRules, rules: Sequence[Watched], context: TurnContext) -> None:
        self._turn = turn
        self._rules = [one for one in rules if not one.is_off]
        self._roots = context.workspace.roots
        self._prose = {kind: ArrivingText(Source(kind)) for kind in ("text", "thinking")}
        self._calls: dict[int, ArrivingText] = {}
        self._written: dict[int, WrittenSource] = {}
        self._file = ArrivingText(Source("tool", _FILE_TOOL, writes=True))
        self.broken: list[Violation] = []

    def say(self, kind: str, text: str) -> None:
        """Take more of the answer's text, or of the thoughts before it (`thinking`)."""
        if self._rules:
            self._prose[kind].add(text)

    def begin_call(self, index: int, id: str, tool: str, *, writes: bool) -> None:
        """Take note of a call; `writes`: its tool edits files."""
        if self._rules:
            self._calls[index] = ArrivingText(Source("tool", tool, id, writes))
            if writes:
                self._written[index] = WrittenSource()

    def add_arguments(self, index: int, json: str) -> None:
        """Take more of a call's arguments."""
        arriving = self._calls.get(index)
        if arriving is None:
            return
        written = self._written.get(index)
        if written is not None:
            written.feed(json, arriving)
        else:
            arriving.add(json)

    def write(self, path: str, text: str) -> None:
        """Take more of a file that is written in the answer's text."""
        if not self._rules:
            return
        if path != self._file.path:
            self._file.restart()
            self._file.path = path
        self._file.add(text)

    async def look(self, *, at_end: bool = False) -> bool:
        """Search what has arrived since the last time, all of it if the answer is `at_end`; returns whether the answer
        must be stopped."""
        if not self._rules:
            return False
        for arriving in (*self._prose.values(), *self._calls.values(), self._file):
            for ended in arriving.take_ended():
                await self._search(ended, at_end=True)
            if arriving.is_due(at_end=at_end) or (at_end and arriving.tail):
                await self._search(arriving, at_end=at_end)
        return bool(self.broken)

    async def _search(self, arrived: ArrivingText, *, at_end: bool) -> None:
        rules = [one for one in self._rules if one.concerns(arrived.source) and (at_end or not one.at_end)]
        broken = [one for one in rules if one.is_own and one.is_in(arrived.tail)]
        others = [one for one in rules if not one.is_own and self._covers(one, arrived)]
        if others:
            look = partial(_broken, others, arrived, at_end=at_end)
            broken += await anyio.to_thread.run_sync(look, abandon_on_cancel=True)
            await self._turn.report_slow(one for one in others if one.is_off)
        gone = [*broken, *(one for one in others if one.is_off)]
        self._rules = [one for one in self._rules if one not in gone]
        for one in broken:
            violation = Violation(one.rule.name, one.body, arrived.path)
            if self._turn.interrupts(one):
                self.broken.append(violation)
            else:
                self._turn.note(violation, arrived.source)

    def _covers(self, one: Watched, arrived: ArrivingText) -> bool:
        covers = one.rule.covers
        if covers is None:
            return True
        if not arrived.path:
            return False
        path = Path(arrived.path)
        return covers(path if path.is_absolute() else self._roots.main / path)


def _tells(one: Logged) -> bool:
    return isinstance(one.entry, RuleEntry)


def _counts(one: Logged) -> bool:
    """Tell whether an entry is one of those that `told_rules` looks at."""
    return isinstance(one.entry, RuleEntry) or (isinstance(one.entry, PromptEntry) and not one.entry.by_north)


def told_rules(path: Iterable[Logged], settings: StreamRuleSettings) -> frozenset[str]:
    """Return the rules that the model was told on this branch, and that are not watched again."""
    told: dict[str, int] = {}
    turns = 0
    for one in path:
        match one.entry:
            case PromptEntry(by_north=False):
                turns += 1
            case RuleEntry(rules):
                told |= dict.fromkeys(rules, turns)
            case _:
                pass
    if settings.repeat_mode == "once":
        return frozenset(told)
    return frozenset(name for name, at in told.items() if turns - at < settings.repeat_gap)


def _broken(rules: Sequence[Watched], arrived: ArrivingText, *, at_end: bool) -> list[Watched]:
    parses = arrived.begin_parse(at_end=at_end)
    return [one for one in rules if one.is_in(arrived.tail) or (parses and one.is_in_code(arrived))]


def _told(prompt: str, violations: Sequence[Violation]) -> str:
    rows: list[Mapping[str, str]] = [
        {"name": attribute(one.rule), "path": attribute(one.path), "body": plain(one.body)} for one in violations
    ]
    return render(prompt, rules=rows)
