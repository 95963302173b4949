"""Asks the user outside of a turn, so that a cancel gives the question up."""

import anyio

from north_lsp.agent.ports.editor import Choice, UserInterface


async def ask(editor: UserInterface, questions: list[anyio.CancelScope], choice: Choice) -> str | None:
    """Ask; `questions` has the question's scope while it waits. Returns None also if the user gives it up."""
    with anyio.CancelScope() as scope:
        questions.append(scope)
        try:
            return await editor.choose(choice)
        finally:
            questions.remove(scope)
    return None
