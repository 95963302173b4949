"""What the user is told of masked secrets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from north_lsp.agent.ports.events import Event, Notice
from north_lsp.display import visible


def secrets_notice(show: Callable[[Event], Awaitable[None]]) -> Callable[[int, Sequence[str]], Awaitable[None]]:
    """Return a function that tells the user how many values are masked, and what is wrong with the files that name
    some."""

    async def tell(count: int, problems: Sequence[str]) -> None:
        for problem in problems:
            await show(Notice("warning", visible(problem)))
        if count:
            values = "1 secret value stays" if count == 1 else f"{count} secret values stay"
            text = f"{values} on this machine: the model gets placeholders (`/context`)"
            await show(Notice("info", text))

    return tell


def state_of(count: int, *, is_on: bool) -> str:
    """Say in a sentence what is masked."""
    if not is_on:
        return "Secrets are **not masked** here (`secrets.enabled`, `secrets.offIn`)."
    if not count:
        return "No secrets were found so far."
    values = "1 value is" if count == 1 else f"{count} values are"
    return f"{values} masked: the model gets placeholders like `<<$env:S0>>`, and edits and commands the real values."
