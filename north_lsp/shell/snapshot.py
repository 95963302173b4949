"""Reads the user's own aliases, functions and options from a login shell, for the session's shell to start with."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern

_SECONDS = 5.0
_MAX_BYTES = 1 << 20
_RC_FILES = (".bash_profile", ".bash_login", ".profile", ".bashrc", ".bash_aliases")
_DAY = 86_400
# Options that would change how North's own lines are read, or that cannot be set.
_NO_OPTIONS = lazy_pattern(
    r"^shopt -[su] (?:extdebug|login_shell|restricted_shell|expand_aliases|compat\d+|lastpipe|inherit_errexit)$",
    re.MULTILINE,
)
_PRINT = r"\builtin printf '%s\n' {mark}"
_ASK = rf"{_PRINT}; \builtin declare -f; \builtin alias -p; \builtin shopt -p; {_PRINT}"

_known: dict[tuple[object, ...], str] = {}
_lock = threading.Lock()


def user_snapshot(bash: str, environ: Mapping[str, str]) -> str:
    """Return lines of bash that set up the user's aliases, functions and options; empty if the login shell does not
    answer in time. It is asked once a day, and again when one of the user's startup files has changed. May take seconds
    at first: call it on a thread."""
    key = (bash, environ.get("HOME"), _changed_at(environ), int(time.time() // _DAY))
    with _lock:
        if key not in _known:
            _known.clear()
            _known[key] = _asked(bash, environ)
        return _known[key]


def _changed_at(environ: Mapping[str, str]) -> tuple[int, ...]:
    home = Path(environ.get("HOME") or "/nonexistent")
    found = []
    for path in (*(home / name for name in _RC_FILES), Path("/etc/profile"), Path("/etc/bash.bashrc")):
        try:
            found.append(path.stat().st_mtime_ns)
        except OSError:
            found.append(0)
    return tuple(found)


def _asked(bash: str, environ: Mapping[str, str]) -> str:
    mark = os.urandom(16).hex()
    try:
        process = subprocess.Popen(
            [bash, "-l", "-i", "-c", _ASK.format(mark=mark)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            cwd="/",
            start_new_session=True,
        )
    except OSError:
        return ""
    try:
        output, _ = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        return ""
    finally:
        _end(process)
    parts = output.decode("utf-8", "surrogateescape").split(f"{mark}\n")
    if len(parts) != 3 or len(parts[1]) > _MAX_BYTES:
        return ""
    return _NO_OPTIONS.sub("", parts[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the login shell and whatever the user's startup files started in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        systems.signal_group(process.pid, 9)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()
