"""The todo list in the log: it has no file of its own, but is what the last change on a path left. Pure."""

from collections.abc import Iterator, Sequence

from north_lsp.agent.log.choices import PHASES, TodoEditEntry
from north_lsp.agent.log.entries import Entry, Logged
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.ports.events import Event, PlanChanged
from north_lsp.tools.todo_list import TodoList

_NAMES = frozenset({"todo", "todo_write"})


def todo_details(todo: TodoList) -> dict[str, object]:
    """Return the details of a call that changed the list."""
    return {PHASES: todo.to_json(), "storage": "session"}


def todo_in(entry: Entry) -> TodoList | None:
    """Return the list that an entry leaves; None for one that is not about it."""
    match entry:
        case TodoEditEntry(todo):
            return todo
        case ResultEntry(is_error=False, details=details) if entry.tool in _NAMES and PHASES in details.of_tool:
            return TodoList.from_json(details.of_tool[PHASES])
        case _:
            return None


def todo_on(path: Sequence[Logged], opened_at: str | None = None) -> TodoList:
    """Return the list at the end of a path. What had been closed when the conversation was opened, after the entry
    `opened_at`, is not in it any more."""
    is_earlier = False
    for one in reversed(path):
        is_earlier = is_earlier or (opened_at is not None and one.id == opened_at)
        if (found := todo_in(one.entry)) is not None:
            return found.without_closed().normalised() if is_earlier else found
    return TodoList()


def todo_shown(entry: Entry) -> Iterator[Event]:
    """Show the list after an entry that changed it."""
    if (todo := todo_in(entry)) is not None:
        yield PlanChanged(todo)
