"""Which file a program's name stands for on Windows: never one in the present folder, where Windows itself looks
first."""

from __future__ import annotations

import errno
import ntpath
import os
from collections.abc import Callable, Mapping, Sequence

_ENDINGS = ".COM;.EXE;.BAT;.CMD"
_SCRIPTS = (".bat", ".cmd")
_FOR_CMD = frozenset('"%!^&|<>()\r\n')  # what `cmd.exe` would take for more than a letter of an argument

IsFile = Callable[[str], bool]


def find(name: str, environ: Mapping[str, str], is_file: IsFile) -> str | None:
    """Find a program on the path of an environment, or at its whole path. Folders that are named in part, and those of
    other machines, are left out."""
    known = {key.upper(): value for key, value in environ.items()}
    endings = [ending for ending in known.get("PATHEXT", _ENDINGS).lower().split(";") if ending]
    named = [name] if ntpath.splitext(name)[1].lower() in endings else [name + ending for ending in endings]
    if not _is_whole(name) and ("/" in name or "\\" in name or ":" in name):
        return None
    folders = [""] if _is_whole(name) else [one.strip('"') for one in known.get("PATH", "").split(";")]
    paths = (ntpath.join(folder, one) for folder in folders for one in named)
    return next((path for path in paths if _is_whole(path) and is_file(path)), None)


def command_of(words: Sequence[str], environ: Mapping[str, str], is_file: IsFile) -> list[str]:
    """Return a configured command with its program's whole path. Raises OSError, also for what the interpreter of a
    script might take for commands."""
    program = find(words[0], environ, is_file)
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), words[0])
    if program.lower().endswith(_SCRIPTS) and any(not _FOR_CMD.isdisjoint(word) for word in words[1:]):
        problem = "an argument has characters that are commands to cmd.exe, which runs this script; start its program"
        raise OSError(errno.EINVAL, problem, words[0])
    return [program, *words[1:]]


def _is_whole(path: str) -> bool:
    drive, rest = ntpath.splitdrive(path.replace("/", "\\"))
    return len(drive) == 2 and rest.startswith("\\")
