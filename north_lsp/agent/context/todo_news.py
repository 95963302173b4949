"""What a model has to be told of the todo list: what the user changed in it, and the list itself once it cannot be seen
in the conversation any more. Pure."""

from collections.abc import Sequence

from north_lsp.agent.context.telling import context_block
from north_lsp.agent.log.choices import TodoEditEntry
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import News, PromptEntry
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.log.todos import todo_in, todo_on
from north_lsp.agent.prompts import render
from north_lsp.tools.todo_list import TodoList
from north_lsp.tools.todo_markdown import described_change

_ABOUT = "todo"


def news_of_edits(path: Sequence[Logged], opened_at: str | None) -> list[News]:
    """Return what the user has changed since the model last saw the list; empty if that is nothing."""
    known = next((at for at in range(len(path) - 1, -1, -1) if _tells(path[at])), -1)
    if not any(isinstance(one.entry, TodoEditEntry) for one in path[known + 1 :]):
        return []
    before, now = todo_on(path[: known + 1]), todo_on(path, opened_at)
    changes = described_change(before, now)
    if not changes:
        return []
    return [News(render("todo_edited", changes=[{"line": line} for line in changes], todo=_tree(now)), _ABOUT)]


def news_of_todo(path: Sequence[Logged], opened_at: str | None) -> list[News]:
    """Return what goes with a prompt: what the user has changed, or else the list if something is left to do and the
    model does not see it any more."""
    edits = news_of_edits(path, opened_at)
    now = todo_on(path, opened_at)
    if edits or not now.open_count or any(map(_tells, context_of(path))):
        return edits
    return [News(context_block(f"The todo list of this conversation:\n\n{_tree(now)}"), _ABOUT)]


def _tells(one: Logged) -> bool:
    """Tell whether an entry shows the model the list."""
    match one.entry:
        case ResultEntry() as result:
            return todo_in(result) is not None
        case PromptEntry(excluded=False) as prompt:
            return any(isinstance(part, News) and part.about == _ABOUT for part in prompt.parts)
        case _:
            return False


def _tree(todo: TodoList) -> str:
    return todo.tree() or "(no tasks)"
