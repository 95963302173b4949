"""What became of a command, and what the next one would find."""

from __future__ import annotations

from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.output import Captured
from north_lsp.shell.sandbox import ActiveRestrictions
from north_lsp.shell.watch import QuarantinedFiles


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The outcome of a command. `exit_code` is negative for a signal and None if it is unknown; `left_running` are
    processes that it left in the background; `shell_ended` says that what earlier commands left in the shell is gone;
    `sandbox` are the restrictions that the command ran under, None outside; `lost` says why the shell was a new one, if
    earlier commands had left something in the old one; `enough` says that it was stopped because it had printed the
    lines that were wanted; `alone` says why it had its own bash, of which nothing stays; `taken` is what appeared in
    the sandbox and was quarantined, `closed` what could not be read there because the user closes it."""

    exit_code: int | None
    output: Captured
    timed_out: bool
    duration_ms: int
    left_running: tuple[int, ...]
    cwd: Path
    moved: bool = False
    shell_ended: bool = False
    sandbox: ActiveRestrictions | None = None
    lost: str | None = None
    enough: bool = False
    alone: str | None = None
    taken: tuple[QuarantinedFiles, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShellState:
    """What a command would find: the directory, and what earlier commands did that may change what a word means."""

    cwd: Path
    changes: tuple[str, ...] = ()
