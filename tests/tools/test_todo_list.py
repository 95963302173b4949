"""The todo list: what a model and its user can do with it, and what is refused."""

import pytest

from north_lsp.agent.log.todo_rows import todo_from_json, todo_to_json
from north_lsp.tools.todo_list import Change, Phase, Task, TodoError, TodoList
from north_lsp.tools.todo_markdown import described_change, parse_todo, todo_document

INIT = Change("init", (Phase("Read", (Task("a"), Task("b"))), Phase("Write", (Task("c"),))))


def after(*changes: Change, of: TodoList | None = None) -> TodoList:
    todo, problems = (of or TodoList()).changed(changes)
    assert problems == []
    return todo


def problems(*changes: Change, of: TodoList | None = None) -> list[str]:
    return (of or after(INIT)).changed(changes)[1]


def marks(todo: TodoList) -> dict[str, str]:
    return {task.content: task.status for task in todo.tasks}


def test_one_task_is_always_in_progress_while_any_is_open() -> None:
    todo = after(INIT)
    assert marks(todo) == {"a": "in_progress", "b": "pending", "c": "pending"}
    todo = after(Change("done", task="a"), of=todo)
    assert marks(todo) == {"a": "completed", "b": "in_progress", "c": "pending"}
    todo = after(Change("start", task="c"), of=todo)
    assert marks(todo) == {"a": "completed", "b": "pending", "c": "in_progress"}
    todo = after(Change("done"), of=todo)
    assert set(marks(todo).values()) == {"completed"}


def test_operations_are_about_a_task_or_a_phase_or_everything() -> None:
    todo = after(INIT)
    assert marks(after(Change("done", phase="Read"), of=todo)) == {
        "a": "completed",
        "b": "completed",
        "c": "in_progress",
    }
    assert marks(after(Change("drop", task="b"), of=todo))["b"] == "abandoned"
    assert [(one.name, len(one.tasks)) for one in after(Change("rm", phase="Read"), of=todo).phases] == [
        ("Read", 0),
        ("Write", 1),
    ]
    assert after(Change("rm"), of=todo).tasks == ()
    assert marks(after(Change("done", task="a"), Change("start", task="a"), of=todo))["a"] == "in_progress"


def test_appending_makes_a_phase_that_is_missing() -> None:
    todo = after(INIT, Change("append", phase="Check", items=("d", "e")), Change("append", phase="Read", items=("f",)))
    assert [(one.name, [task.content for task in one.tasks]) for one in todo.phases] == [
        ("Read", ["a", "b", "f"]),
        ("Write", ["c"]),
        ("Check", ["d", "e"]),
    ]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (Change("init"), "init needs a list"),
        (Change("init", (Phase("P", (Task("a"),)), Phase("P", (Task("b"),)))), "the phase 'P' occurs twice"),
        (Change("init", (Phase("P", (Task("a"), Task("a"))),)), "the task 'a' occurs twice"),
        (Change("start"), "start needs the text"),
        (Change("start", task="x"), "there is no task 'x'"),
        (Change("done", task=""), "there is no task ''"),
        (Change("done", phase="x"), "there is no phase 'x'"),
        (Change("rm", task="gone"), "there is no task 'gone'"),
        (Change("append", items=("x",)), "append needs the name of a phase"),
        (Change("append", phase="Read"), "append to 'Read' needs items"),
        (Change("append", phase="Read", items=("new", "a")), "the task 'a' is already in the list"),
    ],
)
def test_what_cannot_be_done_is_named(change: Change, named: str) -> None:
    (problem,) = problems(change)
    assert named in problem


def test_an_empty_list_says_that_it_is_empty() -> None:
    assert problems(Change("done", task="x"), of=after(Change("view"))) == ["there is no task 'x': the list is empty"]


def test_later_operations_are_tried_after_one_that_failed() -> None:
    assert len(problems(Change("done", task="x"), Change("done", task="a"), Change("start", task="y"))) == 2


def test_what_was_closed_is_left_out_with_phases_that_have_nothing_else() -> None:
    todo = after(INIT, Change("done", phase="Read"))
    assert [(one.name, len(one.tasks)) for one in todo.without_closed().phases] == [("Write", 1)]


def test_the_list_survives_its_json_and_its_document() -> None:
    todo = after(INIT, Change("done", task="a"), Change("drop", task="b"))
    assert todo_from_json(todo_to_json(todo)) == todo
    assert todo_document(todo) == "# Read\n- [x] a\n- [-] b\n\n# Write\n- [/] c\n"
    assert parse_todo(todo_document(todo)) == todo


def test_a_document_may_be_written_in_several_ways() -> None:
    todo = parse_todo("- [ ] first\n* [>] second\n\n## Later ##\n1\n".replace("1\n", "+ [X] third\n  - [~] fourth\n"))
    assert [one.name for one in todo.phases] == ["Todos", "Later"]
    assert marks(todo) == {"first": "pending", "second": "in_progress", "third": "completed", "fourth": "abandoned"}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("- [ ] a\nsome words\n", "line 2 is neither a heading"),
        ("- [?] a\n", "line 1: `[?]` means nothing"),
        ("- [ ] a\n\n- [x] a\n", "line 3: the task 'a' already occurs in line 1"),
        ("# P\n- [ ] a\n# P\n", "line 3: the phase 'P' occurs twice"),
        ("- a\n", "line 1 is neither"),
    ],
)
def test_a_document_that_cannot_be_read_names_the_line(text: str, named: str) -> None:
    with pytest.raises(TodoError, match=named.replace("[", r"\[").replace("]", r"\]").replace("?", r"\?")):
        parse_todo(text)


def test_a_change_is_told_task_by_task() -> None:
    before = parse_todo("- [ ] a\n- [ ] b\n- [x] c\n")
    now = parse_todo("- [x] a\n- [x] c\n- [ ] d\n")
    assert described_change(before, now) == [
        "added: d (in_progress)",
        "removed: b",
        "in_progress → completed: a",
    ]
    assert described_change(before, before) == []
