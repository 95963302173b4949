"""The todo list in the log: it has no file of its own, but is what the last change on a path left. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from north_lsp.agent.log.choices import PHASES, TodoEditEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.messages import News, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.todo_rows import todo_from_json, todo_to_json
from north_lsp.agent.ports.events import Event, PlanChanged
from north_lsp.tools.todo_list import TodoList

ABOUT_TODO = "todo"
"""What news of the list are about."""
_NAMES = frozenset({"todo", "todo_write"})


def tells_todo(one: Logged) -> bool:
    """Tell whether an entry shows the model the list."""
    match one.entry:
        case ResultEntry() as result:
            return todo_in(result) is not None
        case PromptEntry(excluded=False) as prompt:
            return any(isinstance(part, News) and part.about == ABOUT_TODO for part in prompt.parts)
        case _:
            return False


def concerns_todo(one: Logged) -> bool:
    """Tell whether an entry changed the list, or shows the model what it is. Of a path, no others need be looked at."""
    return isinstance(one.entry, TodoEditEntry) or tells_todo(one)


def todo_details(before: TodoList, after: TodoList, *, is_stored: bool) -> dict[str, object]:
    """Return the details of a call that changed the list, with the tasks that it completed."""
    known = {task.content for task in before.tasks if task.status == "completed"}
    done = [task.content for task in after.tasks if task.status == "completed" and task.content not in known]
    kept = {PHASES: todo_to_json(after), "storage": "session" if is_stored else "memory"}
    return kept | ({"completedTasks": done} if done else {})


def todo_in(entry: Entry) -> TodoList | None:
    """Return the list that an entry leaves; None for one that is not about it."""
    match entry:
        case TodoEditEntry(todo):
            return todo
        case ResultEntry(is_error=False, details=details) if entry.tool in _NAMES and PHASES in details.of_tool:
            return todo_from_json(details.of_tool[PHASES])
        case _:
            return None


def todo_on(path: Sequence[Logged], opened_at: str | None = None) -> TodoList:
    """Return the list at the end of a path. What had been closed when the conversation was opened, after the entry
    `opened_at`, is not in it any more."""
    is_earlier = False
    for one in reversed(path):
        is_earlier = is_earlier or (opened_at is not None and one.id == opened_at)
        if (found := todo_in(one.entry)) is not None:
            return found.without_closed().normalized() if is_earlier else found
    return TodoList()


def todo_shown(entry: Entry) -> Iterator[Event]:
    """Show the list after an entry that changed it."""
    if (todo := todo_in(entry)) is not None:
        yield PlanChanged(todo)
