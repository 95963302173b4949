"""What the user had chosen where a path ends: mode, model and thinking level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from north_lsp.agent.log.choices import ModeEntry, ModelEntry, ThinkingEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.modes import DEFAULT_MODE
from north_lsp.lazy_dataclass import dataclass
from north_lsp.vocabulary import Mode


@dataclass(frozen=True, slots=True)
class Chosen:
    """Holds what the user chose on a path: mode, model and thinking level. None is what the path does not say: then the
    log's header and the settings apply."""

    mode: Mode
    model: str | None
    level: str | None


def chosen_on(path: Iterable[Logged]) -> Chosen:
    """Return the last choices of a path."""
    chosen = Chosen(DEFAULT_MODE, None, None)
    for one in path:
        match one.entry:
            case ModeEntry(mode):
                chosen = replace(chosen, mode=mode)
            case ModelEntry(is_chosen=True, model=model):
                chosen = replace(chosen, model=model)
            case ThinkingEntry(level):
                chosen = replace(chosen, level=level)
            case _:
                pass
    return chosen
