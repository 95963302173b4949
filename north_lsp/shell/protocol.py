"""The lines that North sends to bash, and that make bash answer. Pure text.

Nothing in them can be replaced by what a command did to the shell: builtins are named with `\\builtin`, and POSIX mode,
which an assignment alone turns on, keeps functions from standing in for those that end or reset something.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from north_lsp.shell.launcher import CONTROL_FD, TTY_FD
from north_lsp.shell.report import COMMANDS
from north_lsp.shell.tree import MARK

_CLEAN = r"POSIXLY_CORRECT=$?; \unset -f builtin"
_ABANDONING = r"""\builtin trap '[ -z "${BASH_SOURCE-}" ] || { \builtin trap - INT; \builtin kill -INT $$; }' VTALRM"""
"""Has a shell that gets this signal give up the command that it is in: between them it reads no file. One that waits
for a program would go on with what stands after it unless that dies of the interrupt; a trap comes in between."""
_DEAF = r"\builtin trap '' INT"
"""Keeps what stops a command from hitting the shell once the command has ended by itself: it would give up what it is
about to report. Nothing that takes long comes before it hears again."""
_RESET = (
    r"\builtin trap - DEBUG RETURN ERR TERM HUP QUIT; \builtin set +aefkuvxtCETP -Bh +mH +o pipefail +o history; "
    r"\builtin hash -r; PS1= PS2= PS0= PROMPT_COMMAND=; \builtin unset TMOUT PROMPT_COMMAND MAILCHECK"
    rf"; {_ABANDONING}"
    rf"; \builtin unset {MARK} 2>/dev/null || \builtin exit"  # a shell that no command can be marked in is of no use
)
_PRINTF = r"\builtin printf '__NORTH_%s_%s__'"


def beginning(nonce: str, startup: str) -> str:
    """Return the first lines for a new shell; `startup` is a file that it reads first, empty for none."""
    read = ""
    if startup:
        quiet = f"</dev/null >/dev/null 2>&1 {TTY_FD}>&- {CONTROL_FD}>&-"
        read = f"\\builtin . {shlex.quote(startup)} {quiet}\n{_CLEAN}; {_RESET}\n"
    return f"{_CLEAN}; {_RESET}\n{read}{reporting(nonce)}"


def calling(script: str, nonce: str, marked: str, stdin: str) -> str:
    """Return the line that runs the command in the file `script`, which reads from the file `stdin` and carries the
    mark."""
    return (
        f"{_PRINTF} START {nonce}; {MARK}={marked} \\builtin . {shlex.quote(script)} "
        f"<{shlex.quote(stdin)} 1>&{TTY_FD} 2>&{TTY_FD} {TTY_FD}>&- {CONTROL_FD}>&-; "
        f"{_CLEAN}; {_PRINTF} END {nonce}; "
        f"\\builtin printf 'D {nonce} %s\\0' \"$POSIXLY_CORRECT\" >&{CONTROL_FD}; \\unset POSIXLY_CORRECT; {_DEAF}"
    )


def reporting(nonce: str) -> str:
    """Return the line that reports the exit code and the shell's state, and resets what must not outlast the
    command."""
    sections = r" \builtin printf '\0';".join(f" {command};" for command in COMMANDS)
    return (
        f"{_CLEAN}; {_DEAF}; {_PRINTF} END {nonce}; {_RESET}; "
        f"{{ \\builtin printf 'S {nonce} %s\\0' \"$POSIXLY_CORRECT\";{sections} \\builtin printf '\\0'; }} "
        f">&{CONTROL_FD} 2>/dev/null; \\unset POSIXLY_CORRECT; \\builtin printf 'Z {nonce}\\0' >&{CONTROL_FD}; "
        "\\builtin trap - INT\n"
    )


def single(folder: Path, script: str, stdin: str, *, sandboxed: bool, waits: bool) -> str:
    """Return the lines of a shell that runs one command and ends with it. `script` and `stdin` are names in its folder;
    with an empty `stdin` the command has no input. With `waits` the shell ends after what the command left running."""
    here = '"$TMPDIR"' if sandboxed else shlex.quote(str(folder))
    given = f"{here}/{stdin}" if stdin else "/dev/null"
    end = "; \\builtin set -- $?; \\builtin wait; \\builtin exit $1" if waits else ""
    return f"{_ABANDONING}; exec {TTY_FD}>&- {CONTROL_FD}>&- <{given}; \\builtin . {here}/{script}{end}"
