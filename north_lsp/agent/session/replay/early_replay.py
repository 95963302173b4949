"""Shows how a long conversation begins while the rest of it is still being read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.entries import Logged, logged
from north_lsp.agent.log.header import Header
from north_lsp.agent.log.messages import PromptEntry
from north_lsp.agent.log.projection import events_by_entry
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.replay.replay import Show, events_of_next
from north_lsp.storage.entries import valid_conversation_id
from north_lsp.storage.log_snapshot import read_beginning
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.tools.base import Tool
    from north_lsp.tools.registry import Registry

_MOST_ENTRIES = 100
_FIRST, _PART = 1, 20  # the first prompt needs no tools, which may still be loading


async def show_beginning(environment: Environment, id: str, root: Path, show: Show) -> Sequence[str]:
    """Show the first turns of a stored conversation, if it is a long one of this project and they are certain without
    reading the rest. Returns the ids of the entries that were shown: the replay continues after them."""
    if not valid_conversation_id(id):
        return ()
    path = environment.locations.conversations / f"{id}.jsonl"
    turns = await anyio.to_thread.run_sync(_first_turns, path, project_hash(root))
    steps = events_by_entry(turns, cast("Registry", _LateTools(environment.process.load_tools)))
    left = len(turns)
    while left > 0:
        count = min(left, _FIRST if left == len(turns) else _PART)
        for event in await anyio.to_thread.run_sync(events_of_next, steps, count):
            await show(event)
        left -= count
    return [one.id for one in turns]


def _first_turns(path: Path, project: str) -> Sequence[Logged]:
    """Return whole turns from the beginning: up to the last prompt among the first entries."""
    try:
        state = read_beginning(path, _MOST_ENTRIES)
    except OSError:
        return ()  # opening it says why
    if state is None or Header.from_json(state.header).project != project:
        return ()
    found = logged(state.active_path())
    end = next((index for index, one in enumerate(found) if not _can_be_early(one)), len(found))
    prompts = [index for index, one in enumerate(found[: end + 1]) if _is_prompt(one)]
    return found[: prompts[-1]] if prompts else ()


def _can_be_early(one: Logged) -> bool:
    """Tell whether an entry is shown by its text alone: a mode is shown with options, which the session has, and
    pictures are files."""
    return not isinstance(one.entry, ModeEntry) and not (isinstance(one.entry, PromptEntry) and one.entry.images)


def _is_prompt(one: Logged) -> bool:
    return isinstance(one.entry, PromptEntry) and not one.entry.by_north


class _LateTools:
    """The tools, loaded when the first of them is looked for."""

    def __init__(self, load: Callable[[], Registry]) -> None:
        self._load = load

    def find(self, name: str) -> Tool | None:
        return self._load().find(name)
