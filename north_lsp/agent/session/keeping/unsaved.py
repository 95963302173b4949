"""Whether a new conversation is saved."""

from __future__ import annotations

from pathlib import Path

from north_lsp.agent.session.process.environment import Environment
from north_lsp.storage import memory_log
from north_lsp.storage.switches import is_on

NOT_SAVED = f"{memory_log.NOT_SAVED}: it is gone when you close it. /export writes it to a file"
_SWITCH = "NORTH_NO_SESSION"


def saves(environment: Environment, root: Path) -> bool:
    """Tell whether a new conversation of a folder is to be saved."""
    settings = environment.of(root, lambda: False).settings
    return settings.sessions.save and not is_on(environment.environ, _SWITCH)
