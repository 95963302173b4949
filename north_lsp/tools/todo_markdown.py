"""The todo list as a Markdown document that a user can edit. Pure."""

from __future__ import annotations

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.tools.todo_list import Phase, Status, Task, TodoError, TodoList

DEFAULT_PHASE = "Todos"
_HEADING = lazy_pattern(r" {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*")
_ITEM = lazy_pattern(r"[ \t]*[-*+][ \t]+\[(.)\][ \t]+(.*\S)[ \t]*")
_STATUS: dict[str, Status] = {
    " ": "pending",
    "/": "in_progress",
    ">": "in_progress",
    "x": "completed",
    "X": "completed",
    "-": "abandoned",
    "~": "abandoned",
}
_MEANING = "`[ ]` open, `[/]` in progress, `[x]` done, `[-]` dropped"


def parse_todo(text: str) -> TodoList:
    """Read a list: headings are phases, items with a box are tasks; those before any heading go into one phase. Raises
    TodoError naming the line."""
    phases: dict[str, list[Task]] = {}
    known: dict[str, int] = {}
    name = DEFAULT_PHASE
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        if (heading := _HEADING.fullmatch(line)) is not None:
            name = heading[1].strip()
            if name in phases:
                raise TodoError(f"line {number}: the phase {name!r} occurs twice")
            phases[name] = []
            continue
        item = _ITEM.fullmatch(line)
        if item is None:
            raise TodoError(f"line {number} is neither a heading (`# …`) nor a task (`- [ ] …`): {line.strip()[:80]!r}")
        if item[1] not in _STATUS:
            raise TodoError(f"line {number}: `[{item[1]}]` means nothing here; there are {_MEANING}")
        content = " ".join(item[2].split())
        if content in known:
            raise TodoError(f"line {number}: the task {content[:80]!r} already occurs in line {known[content]}")
        known[content] = number
        phases.setdefault(name, []).append(Task(content, _STATUS[item[1]]))
    return TodoList(tuple(Phase(name, tuple(tasks)) for name, tasks in phases.items())).normalized()


def todo_document(todo: TodoList) -> str:
    """Return the list as `parse_todo` reads it."""
    return f"{todo.tree()}\n" if todo.phases else ""


def described_change(before: TodoList, after: TodoList) -> list[str]:
    """Say what became of the tasks, a line each."""
    old = {task.content: task.status for task in before.tasks}
    new = {task.content: task.status for task in after.tasks}
    lines = [f"added: {text} ({status})" for text, status in new.items() if text not in old]
    lines += [f"removed: {text}" for text in old if text not in new]
    lines += [f"{old[text]} → {status}: {text}" for text, status in new.items() if text in old and old[text] != status]
    if not lines and before != after:
        lines.append("the order or the phases of the tasks")
    return lines
