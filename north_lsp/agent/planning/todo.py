"""Keeps the todo list of a conversation: models change it through their tool, users as a document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from north_lsp.agent.log.choices import TodoEditEntry
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.todos import todo_details, todo_on, todo_shown
from north_lsp.agent.ports.events import CallEnded, Event
from north_lsp.agent.ports.results import Result
from north_lsp.display import visible
from north_lsp.providers.base import ToolCall
from north_lsp.tools.todo_list import Action, Change, TodoError, TodoList
from north_lsp.tools.todo_markdown import DEFAULT_PHASE, parse_todo, todo_document

_OPERATIONS: dict[str, Action] = {"start": "start", "done": "done", "drop": "drop", "rm": "rm"}
_NOT_RECORDED = "Nothing of this call was recorded: the list is unchanged."


class TodoKeeper:
    """Changes the todo list of one conversation and records each change. The log has the list, so there may be several
    keepers of it."""

    def __init__(self, log: Log, show: Callable[[Event], Awaitable[None]]) -> None:
        self._log = log
        self._show = show

    @property
    def now(self) -> TodoList:
        return todo_on(self._log.about_todo(), self._log.opened_at)

    @property
    def document(self) -> str:
        """The list as Markdown."""
        return todo_document(self.now)

    def change(self, call: ToolCall, title: str, changes: Sequence[Change]) -> Result:
        """Carry out a model's call. Its result, once it is in the log, is the list."""
        before = self.now
        after, problems = before.changed(changes)
        if problems:
            rows = "\n".join(f"- {problem}" for problem in problems)
            told = f"Errors:\n{rows}"
            known = f"\n\n{before.tree()}" if before.tasks else ""
            return Result(f"{told}\n\n{_NOT_RECORDED}{known}", True, CallEnded(call.id, title, False, visible(told)))
        done = sum(not task.is_open for task in after.tasks)
        ended = CallEnded(call.id, f"{title} - {done} of {len(after.tasks)} done", True, visible(after.tree()))
        text = "The todo list was emptied." if before.tasks and not after.tasks else after.for_model()
        return Result(text, False, ended, todo_details(before, after, is_stored=self._log.conversation.is_saved))

    async def replace(self, text: str) -> TodoList:
        """Replace the list by what the user wrote. Raises TodoError naming the line; then nothing is changed."""
        todo = parse_todo(text)
        await self.put(todo)
        return todo

    async def edit(self, changes: Sequence[Change]) -> TodoList:
        """Carry out the user's operations, all or none. Raises TodoError."""
        after, problems = self.now.changed(changes)
        if problems:
            raise TodoError("; ".join(problems))
        await self.put(after)
        return after

    async def put(self, todo: TodoList) -> None:
        """Record that the user wants this list. Raises TodoError."""
        if todo == self.now:
            return
        if (reason := self._log.conversation.read_only_reason) is not None:
            raise TodoError(f"this conversation cannot be changed: {visible(reason)}")
        logged = self._log.append(TodoEditEntry(todo))
        for event in todo_shown(logged.entry):
            await self._show(event)


def user_change(op: str, text: str, todo: TodoList) -> Change:
    """Make what a user asks for: `add` adds to the current phase, all others need a task, named by the beginning of its
    text. Raises TodoError for a text that fits no task, or several."""
    if op == "add":
        phase = todo.current or (todo.phases[-1] if todo.phases else None)
        return Change("append", phase=phase.name if phase is not None else DEFAULT_PHASE, items=(text,))
    wanted = text.strip().lower()
    exact = [task for task in todo.tasks if task.content.lower() == wanted]
    fitting = exact or [task for task in todo.tasks if task.content.lower().startswith(wanted)]
    if len(fitting) != 1 or not wanted:
        raise TodoError(f"{len(fitting) or 'no'} tasks begin with {text.strip()[:80]!r}")
    return Change(_OPERATIONS[op], task=fitting[0].content)
