"""Shows what North learns as the call of a tool, in every client: which part is under way, what is done, how much is
left. Nothing of it is stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from north_lsp.agent.ports.events import CallEnded, CallNamed, CallReady, CallRunning, CallTitled, Event
from north_lsp.display import one_line, visible
from north_lsp.storage.entries import new_entry_id
from north_lsp.vocabulary import Location


class LearningProgress:
    """Shows the progress of one run as a tool call. `what` is the run's title, `steps` are the names of its steps."""

    def __init__(self, show: Callable[[Event], Awaitable[None]], what: str, steps: Sequence[str]) -> None:
        self._show = show
        self._what = what
        self._steps = steps
        self._id = f"learn-{new_entry_id(())}"
        self._outcomes: dict[str, str] = {}

    async def begin(self) -> None:
        """Show that it begins."""
        await self._show(CallNamed(self._id, "learn", "think", self._what))
        await self._show(CallReady(self._id, self._what, {}))

    async def at(self, step: str, doing: str = "") -> None:
        """Show that a step is under way, and what is done for it."""
        percent = 100 * len(self._outcomes) // max(len(self._steps), 1)
        await self._show(CallTitled(self._id, one_line(f"{self._what}: {percent} %, {step}")))
        rows = [*self._rows(), f"… {step}{f': {one_line(doing)}' if doing else ''}"]
        await self._show(CallRunning(self._id, "\n".join(rows)))

    def done(self, step: str, outcome: str = "") -> None:
        """Note that a step is done; `outcome` says why it failed."""
        self._outcomes[step] = outcome

    async def end(self, title: str, *, ok: bool, files: Sequence[Path] = ()) -> None:
        """Show that it is over; the files are links where a client has any."""
        text = "\n".join([*self._rows(), *(visible(str(file)) for file in files)])
        places = tuple(Location(file) for file in files)
        await self._show(CallEnded(self._id, one_line(title), ok, text, locations=places))

    def _rows(self) -> list[str]:
        return [f"✗ {step}: {one_line(why, 200)}" if why else f"✓ {step}" for step, why in self._outcomes.items()]
