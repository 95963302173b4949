"""Reminds a model, when it stops, of what it seems to have forgotten: an edit that it only shows, open tasks."""

from __future__ import annotations

import re

from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import nudge
from north_lsp.agent.log.todos import todo_on
from north_lsp.agent.ports.events import TodoReminded
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.prompts import render
from north_lsp.agent.stream_rules.watch import StreamRules
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import AssistantMessage
from north_lsp.storage.entries import now_ms
from north_lsp.tools.todo_list import Task

_MOST = 3
_MOST_NAMED = 10
_SHOWN_EDIT = lazy_pattern(  # a fenced block that names a file: after the marks, or in the line before
    r"^ {0,3}(?:```|~~~)[^\n`]*?[\w/-]+\.\w{1,8}\b|^[^\n]*`[\w./-]+\.\w{1,8}`[^\n]*\n+ {0,3}(?:```|~~~)", re.MULTILINE
)


class Reminders:
    """Reminds the model of one turn."""

    def __init__(self, context: TurnContext, log: Log, rules: StreamRules, ports: Ports) -> None:
        self._context = context
        self._rules = rules
        self._log = log
        self._ports = ports
        self._told_of_edit = False
        self._told_of_todo = 0
        self._has_worked = True
        self._went_on = False

    def note_work(self) -> None:
        """Note that the model has made calls since it was reminded."""
        self._has_worked = True

    def tell_rules(self) -> bool:
        """Tell the model which rules its answer has broken without being stopped; returns whether there were any."""
        return self._rules.tell_later()

    async def remind(self, answer: AssistantMessage) -> bool:
        """Remind the model if there is reason to; returns whether it was."""
        if answer.stop_reason != "stop":
            return False
        return self._of_edit(answer) or await self._of_todo()

    def _of_edit(self, answer: AssistantMessage) -> bool:
        """Remind the model that it shows an edit in its answer but has made none; once, and only if the user wants
        it."""
        context = self._context
        if self._told_of_edit or not context.settings.turns.nudge_unapplied_code or not context.may_write:
            return False
        if _SHOWN_EDIT.search(answer.text) is None:
            return False
        self._told_of_edit = True
        self._log.append(nudge(render("nudge_edit"), now_ms()))
        return True

    async def _of_todo(self) -> bool:
        """Remind the model of open tasks, some times at most, and not again before it has done something."""
        planning = self._context.settings.planning
        if not planning.todo_reminders or self._told_of_todo >= _MOST:
            return False
        left = self._open_tasks()
        if not left or not self._has_worked:
            return False
        self._told_of_todo += 1
        self._has_worked = False
        rows = [{"text": task.content} for task in left[:_MOST_NAMED]]
        rows += [{"text": f"and {len(left) - _MOST_NAMED} more"}] if len(left) > _MOST_NAMED else []
        self._log.append(nudge(render("nudge_todo", tasks=rows), now_ms()))
        await self._ports.show(TodoReminded(self._told_of_todo, len(left)))
        return True

    def continue_after_summary(self) -> bool:
        """Have the model continue with open tasks if a summary has followed its last answer; once. Returns whether it
        does."""
        if self._went_on or not self._context.settings.compaction.auto_continue:
            return False
        last = next(reversed(self._log.path()), None)
        if last is None or not isinstance(last.entry, CompactionEntry) or not self._open_tasks():
            return False
        self._went_on = True
        self._log.append(nudge(render("nudge_continue"), now_ms()))
        return True

    def _open_tasks(self) -> list[Task]:
        if not self._context.settings.planning.todo_enabled:
            return []
        return [task for task in todo_on(self._log.about_todo(), self._log.opened_at).tasks if task.is_open]
