"""Reads what is secret for one conversation: variables, `.env` files of its folders, the keys that North has."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from north_lsp.agent.secrets.names import of_environment, secrets_of, variables_of
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular

_DEEPEST = 3
_MOST_FOLDERS = 300
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults", ".schema")
_LEFT_OUT = frozenset({"node_modules", "venv", "env", "target", "build", "dist", "vendor", "__pycache__"})

Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Found:
    """What is secret now: `values` by themselves."""

    values: frozenset[str] = frozenset()


class Sources:
    """The sources of one conversation; reading them takes a moment, so it is done on a thread. `known` returns the keys
    that North has."""

    def __init__(self, environ: Mapping[str, str], roots: Sequence[Path], known: Callable[[], Iterable[str]]) -> None:
        self._environ = environ
        self._roots = roots
        self._known = known
        self._stamps: list[Stamp] | None = None
        self._of_files: frozenset[str] = frozenset()

    def read(self) -> Found:
        """Return what is secret now; files that have not changed are not read again."""
        stamps = [stamp for root in self._roots for stamp in _files(root)]
        if stamps != self._stamps:
            self._stamps = stamps
            self._of_files = frozenset(value for path, *_ in stamps for value in _of_file(path))
        return Found(self._of_files | frozenset(of_environment(self._environ)) | frozenset(self._known()))


def is_env_file(name: str) -> bool:
    """Tell whether a file's name says that it has variables with values that are somebody's own."""
    named = name == ".envrc" or name.startswith(".env.") or name.endswith(".env")
    return named and not name.endswith(_EXAMPLES)


def _of_file(path: str) -> Iterator[str]:
    with suppress(OSError):
        text = read_regular(Path(path), MAX_CONFIG_BYTES).decode("utf-8", "replace")
        yield from secrets_of(variables_of(text))


def _files(root: Path) -> Iterator[Stamp]:
    """Find the files of variables in a folder, a few levels deep."""
    folders, count = [(str(root), 0)], 0
    while folders and count < _MOST_FOLDERS:
        folder, depth = folders.pop(0)
        count += 1
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda one: one.name):
                with suppress(OSError):
                    if is_env_file(entry.name) and entry.is_file():
                        status = entry.stat()
                        yield entry.path, status.st_mtime_ns, status.st_size
                    elif depth < _DEEPEST and _is_looked_into(entry):
                        folders.append((entry.path, depth + 1))


def _is_looked_into(entry: "os.DirEntry[str]") -> bool:
    return not entry.name.startswith(".") and entry.name not in _LEFT_OUT and entry.is_dir(follow_symlinks=False)
