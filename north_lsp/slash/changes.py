"""The commands for changes: undo, redo, mark, compare, count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.slash.base import Command, Reply, UsageError

_MOST_STEPS = 1000
_WAYS = ("overwrite", "merge")


class HostForChanges(Protocol):
    """What commands about changes ask of a session. Every method may raise CommandError."""

    async def undo(self, steps: int, path: str | None, conflicts: str) -> str:
        """Undo the last changes, all or of one file; `conflicts` (skip, overwrite, merge) is what happens to places
        that were changed later. Returns the outcome in words."""
        ...

    async def redo(self, steps: int, path: str | None, conflicts: str) -> str: ...

    async def checkpoint(self, name: str) -> str: ...

    def checkpoints(self) -> str: ...

    async def restore(self, name: str, conflicts: str) -> str:
        """Restore the files as they were at a checkpoint, by its id or name."""
        ...

    async def differences(self, since: str | None) -> str:
        """Show what the conversation has changed, since its beginning or a checkpoint."""
        ...

    async def differences_from_git(self) -> str: ...

    def statistics(self) -> str: ...

    async def numbers(self) -> str:
        """Say what the conversation adds up to: prompts, calls, tokens, times."""
        ...


@dataclass(frozen=True, slots=True)
class _What:
    """The words after /undo and /redo: how many changes, of which file, and what to do about later changes."""

    steps: int = 1
    path: str | None = None
    conflicts: str = "skip"


def _what(words: Sequence[str]) -> _What:
    usage = UsageError(f"The number must be between 1 and {_MOST_STEPS}.")
    steps: int | None = None
    path: str | None = None
    conflicts: str | None = None
    for word in words:
        if word.lstrip("-+").isdecimal() and not word.isdecimal():
            raise usage
        if word.isdecimal() and steps is None and 1 <= int(word[:5]) <= _MOST_STEPS:
            steps = int(word[:5])
        elif word in _WAYS and conflicts is None:
            conflicts = word
        elif word.strip() and not word.isdecimal() and word not in _WAYS and path is None:
            path = word
        else:
            raise usage
    return _What(steps or 1, path, conflicts or "skip")


async def _undo(host: HostForChanges, words: Sequence[str]) -> Reply:
    what = _what(words)
    return Reply(await host.undo(what.steps, what.path, what.conflicts))


async def _redo(host: HostForChanges, words: Sequence[str]) -> Reply:
    what = _what(words)
    return Reply(await host.redo(what.steps, what.path, what.conflicts))


async def _checkpoint(host: HostForChanges, words: Sequence[str]) -> Reply:
    return Reply(await host.checkpoint(" ".join(words)))


async def _checkpoints(host: HostForChanges, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(host.checkpoints())
        case ["diff", *name] if name:
            return Reply(await host.differences(" ".join(name)))
        case ["restore", *name, ("overwrite" | "merge") as conflicts] if name:
            return Reply(await host.restore(" ".join(name), conflicts))
        case ["restore", *name] if name:
            return Reply(await host.restore(" ".join(name), "skip"))
        case _:
            raise UsageError


async def _diff(host: HostForChanges, words: Sequence[str]) -> Reply:
    match words:
        case []:
            return Reply(await host.differences(None))
        case ["git"]:
            return Reply(await host.differences_from_git())
        case _:
            raise UsageError


async def _stats(host: HostForChanges, words: Sequence[str]) -> Reply:
    if words:
        raise UsageError
    return Reply(f"{host.statistics()}\n\n{await host.numbers()}")


CHANGES = (
    Command("checkpoint", "Make a checkpoint here, to return to it later", _checkpoint, "[name]"),
    Command(
        "checkpoints",
        "Show the changes and checkpoints so far, and return to one",
        _checkpoints,
        "[restore|diff <id or name>]",
    ),
    Command("diff", "Show what this conversation has changed, or all since the last commit", _diff, "[git]"),
    Command("redo", "Redo the last undone changes", _redo, "[n] [file] [overwrite|merge]"),
    Command("stats", "Show what this conversation has changed, used and taken", _stats, is_harmless=True),
    Command("undo", "Undo the last changes", _undo, "[n] [file] [overwrite|merge]"),
)
