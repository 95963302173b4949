"""The modes of a session: which tools a prompt may use."""

from __future__ import annotations

from north_lsp.lazy_dataclass import dataclass
from north_lsp.vocabulary import Mode


@dataclass(frozen=True, slots=True)
class ModeInfo:
    id: Mode
    name: str
    description: str


MODES = (
    ModeInfo("ask", "Ask", "Reads and answers; changes nothing and runs nothing."),
    ModeInfo("plan", "Plan", "Works out a plan with you; writes nothing but that until you approve it."),
    ModeInfo("agent", "Agent", "Proposes edits and commands; each is reviewed before it happens."),
)
DEFAULT_MODE: Mode = "agent"


def find_mode(text: str) -> Mode:
    """Find a mode by its id. Raises ValueError naming the valid ones."""
    for mode in MODES:
        if mode.id == text:
            return mode.id
    raise ValueError(f"there is no mode {text!r}; the modes are {', '.join(mode.id for mode in MODES)}")
