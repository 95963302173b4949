"""How a session's shells are made: what the user's settings say of them."""

from dataclasses import dataclass
from typing import Literal

# Of a session's shells. Whatever runs without a question is `contained`, or `clean` if a rule allows it: both run in
# the sandbox, whatever the settings say. `bare` is for what only reads where no sandbox holds.
Place = Literal["session", "contained", "clean", "bare", "outside", "own"]
UNASKED: frozenset[Place] = frozenset({"contained", "clean"})


@dataclass(frozen=True, slots=True)
class ShellOptions:
    """`path` is the bash to run (None: the one on PATH). Without `terminal` commands print into a pipe; without
    `persistent` each command gets a shell of its own; `prefix` is put before every command. `snapshot` gives the
    session's shell the user's own aliases and functions. A shell that nobody uses is closed after `idle` seconds."""

    path: str | None = None
    terminal: bool = True
    persistent: bool = True
    prefix: str = ""
    snapshot: bool = False
    idle: float = 3600.0
