"""The todo list of a conversation: its phases and tasks, and what can be done to them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, get_args

from north_lsp.display import one_line
from north_lsp.lazy_dataclass import dataclass

Status = Literal["pending", "in_progress", "completed", "abandoned"]
Action = Literal["init", "start", "done", "rm", "drop", "append", "view"]
STATUSES: tuple[Status, ...] = get_args(Status)
MARKS: dict[Status, str] = {"pending": " ", "in_progress": "/", "completed": "x", "abandoned": "-"}
_CLOSED = ("completed", "abandoned")
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Task:
    """One thing to do."""

    content: str
    status: Status = "pending"

    @property
    def is_open(self) -> bool:
        return self.status not in _CLOSED


@dataclass(frozen=True, slots=True)
class Phase:
    """A named group of tasks, in their order."""

    name: str
    tasks: tuple[Task, ...] = ()

    @property
    def is_open(self) -> bool:
        return any(task.is_open for task in self.tasks)


@dataclass(frozen=True, slots=True)
class Change:
    """One operation on a list, as a model asks for it."""

    op: Action
    phases: tuple[Phase, ...] | None = None
    task: str | None = None
    phase: str | None = None
    items: tuple[str, ...] | None = None


class TodoError(ValueError):
    """What was asked for cannot be done; the text names the task or phase."""


@dataclass(frozen=True, slots=True)
class TodoList:
    """The phases of a list. A task's text is unique in all of them, and at most one task is in progress."""

    phases: tuple[Phase, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(task for phase in self.phases for task in phase.tasks)

    @property
    def open_count(self) -> int:
        return sum(task.is_open for task in self.tasks)

    @property
    def current(self) -> Phase | None:
        """The first phase in which something is left to do, or in which something is in progress."""
        working = (phase for phase in self.phases if any(task.status == "in_progress" for task in phase.tasks))
        return next(working, next((phase for phase in self.phases if phase.is_open), None))

    def without_closed(self) -> TodoList:
        """Return the list without what is completed or abandoned, and without phases that have nothing else."""
        left = (replace(phase, tasks=tuple(filter(lambda task: task.is_open, phase.tasks))) for phase in self.phases)
        return TodoList(tuple(phase for phase in left if phase.tasks))

    def normalized(self) -> TodoList:
        """Return the list with one task in progress as long as any is open: the first of those that are, else the first
        pending one."""
        chosen = next((task for task in self.tasks if task.status == "in_progress"), None)
        return self._with_one_in_progress(chosen or next((one for one in self.tasks if one.status == "pending"), None))

    def _with_one_in_progress(self, chosen: Task | None) -> TodoList:
        def settled(task: Task) -> Task:
            if task is chosen:
                return replace(task, status="in_progress")
            return replace(task, status="pending") if task.status == "in_progress" else task

        return self._each(settled)

    def _each(self, change: Callable[[Task], Task]) -> TodoList:
        return TodoList(tuple(replace(one, tasks=tuple(map(change, one.tasks))) for one in self.phases))

    # -- operations --------------------------------------------------------------------------------------------------

    def changed(self, changes: Sequence[Change]) -> tuple[TodoList, list[str]]:
        """Carry out operations in order, each of them even after another failed. Returns the normalized list and what
        was wrong: unless that is empty, the list must not be used."""
        now, problems = self, list[str]()
        for change in changes:
            try:
                now = now._after(change)
            except TodoError as error:
                problems.append(str(error))
        return now.normalized(), problems

    def _after(self, change: Change) -> TodoList:
        match change.op:
            case "init":
                return _begun(change.phases)
            case "append":
                return self._appended(change)
            case "start":
                return self._started(change.task)
            case "done":
                return self._closed(change, "completed")
            case "drop":
                return self._closed(change, "abandoned")
            case "rm":
                found = self._named(change)
                return TodoList(
                    tuple(replace(one, tasks=tuple(t for t in one.tasks if t not in found)) for one in self.phases)
                )
            case "view":
                return self

    def _started(self, text: str | None) -> TodoList:
        if text is None or not text.strip():
            raise TodoError("start needs the text of a task")
        return self._with_one_in_progress(self._task(text))

    def _closed(self, change: Change, status: Status) -> TodoList:
        found = self._named(change)
        return self._each(lambda task: replace(task, status=status) if task in found else task)

    def _appended(self, change: Change) -> TodoList:
        if change.phase is None or not change.phase.strip():
            raise TodoError("append needs the name of a phase")
        if not change.items:
            raise TodoError(f"append to {_named(change.phase)} needs items")
        name = change.phase.strip()
        new = tuple(Task(_task_text(item)) for item in change.items)
        known = {task.content for task in self.tasks}
        for task in new:
            if task.content in known:
                raise TodoError(f"the task {_named(task.content)} is already in the list: nothing of this was added")
            known.add(task.content)
        if all(phase.name != name for phase in self.phases):
            return TodoList((*self.phases, Phase(name, new)))
        grown = (replace(one, tasks=(*one.tasks, *new)) if one.name == name else one for one in self.phases)
        return TodoList(tuple(grown))

    def _named(self, change: Change) -> tuple[Task, ...]:
        """Return the tasks that an operation is about: its task, else those of its phase, else all."""
        if change.task is not None:
            return (self._task(change.task),)
        if change.phase is None:
            return self.tasks
        for phase in self.phases:
            if phase.name == change.phase.strip():
                return phase.tasks
        raise TodoError(f"there is no phase {_named(change.phase)}{self._when_empty()}")

    def _task(self, text: str) -> Task:
        for task in self.tasks:
            if task.content == text.strip():
                return task
        raise TodoError(f"there is no task {_named(text)}{self._when_empty()}")

    def _when_empty(self) -> str:
        return "" if self.tasks else ": the list is empty"

    # -- forms -------------------------------------------------------------------------------------------------------

    def tree(self) -> str:
        """Return all phases with their tasks and marks, as Markdown."""
        lines: list[str] = []
        for phase in self.phases:
            lines += [f"# {phase.name}", *(f"- [{MARKS[task.status]}] {task.content}" for task in phase.tasks), ""]
        return "\n".join(lines).strip()

    def for_model(self) -> str:
        """Return what is left, how far the current phase is, and the whole tree."""
        if not self.tasks:
            return "The todo list has no tasks."
        left = [f"- {task.content} ({task.status})" for task in self.tasks if task.is_open]
        parts = [f"{len(left)} left:" if left else "Nothing is left to do.", *left]
        if (phase := self.current) is not None:
            closed = sum(not task.is_open for task in phase.tasks)
            parts += ["", f"Phase {phase.name}: {closed} of {len(phase.tasks)} closed."]
        return "\n".join([*parts, "", self.tree()])


def _begun(phases: tuple[Phase, ...] | None) -> TodoList:
    if not phases:
        raise TodoError("init needs a list of phases with their items")
    names, texts = set[str](), set[str]()
    made: list[Phase] = []
    for phase in phases:
        name = phase.name.strip()
        if not name:
            raise TodoError("a phase needs a name")
        if name in names:
            raise TodoError(f"the phase {_named(name)} occurs twice")
        names.add(name)
        tasks = tuple(Task(_task_text(task.content)) for task in phase.tasks)
        for task in tasks:
            if task.content in texts:
                raise TodoError(f"the task {_named(task.content)} occurs twice")
            texts.add(task.content)
        made.append(Phase(name, tasks))
    return TodoList(tuple(made))


def _task_text(text: str) -> str:
    if not text.strip():
        raise TodoError("a task needs a text")
    return " ".join(text.split())


def _named(text: str) -> str:
    return repr(one_line(text, _SHOWN))
