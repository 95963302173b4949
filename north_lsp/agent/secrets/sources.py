"""Reads what is secret for one conversation: variables, `.env` files of its folders, the keys that North has."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from north_lsp.agent.secrets.names import LEAST, is_secret, of_environment, secrets_of, variables_of
from north_lsp.agent.secrets.secrets_file import BadFile, Entry, SecretsFile, read_secrets_file
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular

_NAME = "secrets.yml"
_DEEPEST = 3
_MOST_FOLDERS = 300
_MOST_FILES = 500
_MOST_VALUES = 2000
_LONGEST = 32_768
_EXAMPLES = (".example", ".sample", ".template", ".dist", ".defaults", ".schema")
_LEFT_OUT = frozenset({"node_modules", "venv", "env", "target", "build", "dist", "vendor", "__pycache__"})

Stamp = tuple[str, int, int]


@dataclass(frozen=True)
class Found:
    """What is secret now: `values` by themselves, and what files say; `problems` are what is wrong there. With
    `unknown`, a file cannot be read, and nothing may be sent."""

    values: frozenset[str] = frozenset()
    entries: tuple[Entry, ...] = ()
    problems: tuple[str, ...] = ()
    unknown: str | None = None


_NOT_OF_A_PROJECT = (
    "`mode: replace` has no effect in a project's secrets.yml: a project cannot choose the text that models "
    "get instead. A placeholder is used"
)


class Sources:
    """The sources of one conversation; reading them takes a moment, so it is done on a thread. `known` returns the keys
    that North has, `given` what MCP servers have been given; `config` is the folder with the user's own
    `secrets.yml`."""

    def __init__(
        self,
        environ: Mapping[str, str],
        roots: Sequence[Path],
        config: Path,
        known: Callable[[], Iterable[str]],
        given: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._environ = environ
        self._roots = roots
        self._known = known
        self._given = given
        self._read_of_given = 0
        # Those of the project come first: they count before the user's.
        self._files = [_File(path) for path in (*(root / ".north" / _NAME for root in roots), config / _NAME)]
        self._stamps: list[Stamp] | None = None
        self._of_files: frozenset[str] = frozenset()
        self._left_out: tuple[str, ...] = ()

    @property
    def has_news(self) -> bool:
        """Whether MCP servers have been given more since the last reading: it is in what they answer at once."""
        return len(self._given()) != self._read_of_given

    def read(self) -> Found:
        """Return what is secret now; files that have not changed are not read again."""
        given = self._given()
        self._read_of_given = len(given)
        stamps = [stamp for root in self._roots for stamp in islice(_files(root), _MOST_FILES + 1)]
        if stamps != self._stamps:
            self._stamps = stamps
            self._of_files, self._left_out = _of_files([path for path, *_ in stamps])
        values = self._of_files | frozenset(of_environment(self._environ)) | frozenset(self._known())
        values |= frozenset(filter(is_secret, given))
        entries: dict[str, Entry] = {}
        instead: list[Entry] = []
        problems = [*self._left_out]
        unknown: str | None = None
        for file in self._files:
            file.look()
            unknown = unknown or file.unknown
            problems += file.said.problems
            for entry in file.said.entries:
                if entry.replacement is not None and file is not self._files[-1]:
                    problems.append(_NOT_OF_A_PROJECT)
                    instead.append(replace(entry, replacement=None))
                else:
                    entries.setdefault(entry.content, entry)
        for entry in instead:
            entries.setdefault(entry.content, entry)
        return Found(values, tuple(entries.values()), tuple(dict.fromkeys(problems)), unknown)


class _File:
    """A `secrets.yml`, read again when it has changed. One that cannot be read any more leaves its last entries in
    force."""

    def __init__(self, path: Path) -> None:
        self.said = SecretsFile()
        self.unknown: str | None = None
        self._path = path
        self._stamp: tuple[int, int, int] | None = None

    def look(self) -> None:
        try:
            status = os.stat(self._path)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except (FileNotFoundError, NotADirectoryError):
            self.said, self.unknown, self._stamp = SecretsFile(), None, None
            return
        except OSError:
            stamp = (0, 0, 0)
        if stamp == self._stamp:
            return
        try:
            self.said, self.unknown = read_secrets_file(self._path), None
        except BadFile as error:
            was_read = self._stamp is not None and self.unknown is None
            self.said = replace(self.said, problems=(f"{error}; its last entries stay in force",) if was_read else ())
            self.unknown = None if was_read else str(error)
        self._stamp = stamp


def is_env_file(name: str) -> bool:
    """Tell whether a file's name says that it has variables with values that are somebody's own."""
    named = name == ".envrc" or name.startswith(".env.") or name.endswith(".env")
    return named and not name.endswith(_EXAMPLES)


def _of_files(paths: Sequence[str]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the secrets in files of variables, with what is said of those that are too many. A very long one is taken
    in pieces."""
    values: set[str] = set()
    for path in paths[:_MOST_FILES]:
        for value in _of_file(path):
            pieces = (value[at : at + _LONGEST] for at in range(0, len(value), _LONGEST))
            values.update(piece for piece in pieces if len(piece) >= LEAST)
            if len(values) >= _MOST_VALUES:
                told = f"{path}: there are more than {_MOST_VALUES:,} secrets in `.env` files; the rest is not masked"
                return frozenset(values), (told,)
    if len(paths) > _MOST_FILES:
        told = (
            f"{paths[_MOST_FILES]}: there are more than {_MOST_FILES} `.env` files; values in the rest are not masked"
        )
        return frozenset(values), (told,)
    return frozenset(values), ()


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


def _is_looked_into(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.name not in _LEFT_OUT and entry.is_dir(follow_symlinks=False)
