"""What a model must be told of the todo list: what the user changed in it, and the list itself once it cannot be seen
in the conversation any more. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from north_lsp.agent.context.telling import context_block
from north_lsp.agent.log.choices import TodoEditEntry
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.messages import News
from north_lsp.agent.log.todos import ABOUT_TODO, tells_todo, todo_on
from north_lsp.agent.prompts import render
from north_lsp.tools.todo_list import TodoList
from north_lsp.tools.todo_markdown import described_change


def news_of_edits(path: Sequence[Logged], opened_at: str | None) -> list[News]:
    """Return what the user has changed since the model last saw the list; empty if that is nothing. Of the path, what
    concerns the list is enough."""
    known = next((at for at in range(len(path) - 1, -1, -1) if tells_todo(path[at])), -1)
    if not any(isinstance(one.entry, TodoEditEntry) for one in path[known + 1 :]):
        return []
    before, now = todo_on(path[: known + 1]), todo_on(path, opened_at)
    changes = described_change(before, now)
    if not changes:
        return []
    return [News(render("todo_edited", changes=[{"line": line} for line in changes], todo=_tree(now)), ABOUT_TODO)]


def news_of_todo(path: Sequence[Logged], opened_at: str | None, concerning: Sequence[Logged]) -> list[News]:
    """Return what goes with a prompt: what the user has changed, or else the list if something is left to do and the
    model does not see it any more. `concerning` is what of the path concerns the list."""
    edits = news_of_edits(concerning, opened_at)
    now = todo_on(concerning, opened_at)
    if edits or not now.open_count or any(map(tells_todo, context_of(path))):
        return edits
    return [News(context_block(f"The todo list of this conversation:\n\n{_tree(now)}"), ABOUT_TODO)]


def _tree(todo: TodoList) -> str:
    return todo.tree() or "(no tasks)"
