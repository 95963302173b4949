"""How a session's shells are created, according to the user's settings."""

from __future__ import annotations

from typing import Literal

from north_lsp.lazy_dataclass import dataclass

# The places of a session's shells. Whatever runs without asking is `contained`, or `clean` if a rule allows it: both
# run in the sandbox, whatever the settings say. `bare` is for commands that only read, where no sandbox holds.
Place = Literal["session", "contained", "clean", "bare", "outside", "own"]
UNASKED: frozenset[Place] = frozenset({"contained", "clean"})


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """The settings for shells. `path` is the bash to run (None: the one on PATH). Without `terminal` commands print
    into a pipe; without `persistent` each command gets its own shell; `prefix` is put before every command. `snapshot`
    gives the session's shell the user's own aliases and functions. A shell that is not used is closed after `idle`
    seconds."""

    path: str | None = None
    terminal: bool = True
    persistent: bool = True
    prefix: str = ""
    snapshot: bool = False
    idle: float = 3600.0
