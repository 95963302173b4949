"""What storage, and what is built on it, tells North's log without knowing it: whoever opened the log in this task, or
in one that it was started from, takes the notes. Elsewhere, as on the command line, there is nobody to tell."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from north_lsp.errors import Problem


class Notes(Protocol):
    """Takes an event: its level, its name and its data. May be called from any thread; never raises."""

    def __call__(self, level: str, name: str, /, **data: object) -> None: ...


_NOTES: ContextVar[Notes | None] = ContextVar("notes", default=None)


def take_notes(notes: Notes) -> None:
    """Have this task, and all that it starts from now on, tell `notes`."""
    _NOTES.set(notes)


def note(name: str, /, **data: object) -> None:
    """Tell of an event."""
    _tell("info", name, data)


def warn(name: str, /, **data: object) -> None:
    """Tell of an event that should not be."""
    _tell("warn", name, data)


def note_problem(problem: str) -> None:
    """Tell of something wrong in a file that users write."""
    match problem:
        case Problem(path=path, key=key, event=event):
            _tell("warn", event, {"path": path, "key": key, "message": str(problem)})
        case _:
            _tell("warn", "config_error", {"path": None, "key": None, "message": problem})


def _tell(level: str, name: str, data: dict[str, object]) -> None:
    if (notes := _NOTES.get()) is not None:
        notes(level, name, **data)
