"""Loads modules from one file that has the byte code of all that a start needs, instead of looking for each on its own.

Hundreds of modules are imported before a session is open. For each of them Python looks into the folder, compares the
source with its byte code and opens, reads and closes that: a quarter of the time until then. What is read here is the
same byte code, in one file beside Python's own in `__pycache__`, and by the same rule: it holds as long as the time
and the size of the source are those that were compiled. A module for which it does not hold, or that is not in the
file, is imported as always; so the file may be missing, old or damaged. Imports nothing of ours.
"""

import contextlib
import importlib.util
import marshal
import os
import sys
import threading
from collections.abc import Container, Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

_MAGIC = b"north-code-1" + importlib.util.MAGIC_NUMBER
_PYC_HEADER = 16
_WORTH_WRITING = 20
"""With fewer modules that are not in the file, it is left as it is."""


class _Entry(NamedTuple):
    """Where the code of a module is, counted from behind the table, and what its source was when it was compiled."""

    at: int
    size: int
    origin: str
    cached: str
    folder: str
    is_package: bool
    source: tuple[int, int]


class _Loader(SourceFileLoader):
    """Python's own loader, but for where the byte code is."""

    def __init__(self, name: str, path: str, bundle: "CodeBundle") -> None:
        super().__init__(name, path)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.code(fullname) or super().get_code(fullname)


class CodeBundle:
    """Finds modules whose code is in the file `path`; for `sys.meta_path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[Any, ...]] = {}  # of entries: few of them are looked at
        self._outdated: set[str] = set()
        self._file = -1
        self._codes = 0
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):  # there is none, or it is damaged
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self._rows = self._read_rows()

    def _read_rows(self) -> dict[str, tuple[Any, ...]]:
        start = self._piece(0, len(_MAGIC) + 8)
        if start[: len(_MAGIC)] != _MAGIC:
            return {}
        size = int.from_bytes(start[len(_MAGIC) :], "little")
        rows = marshal.loads(self._piece(len(start), size))
        self._codes = len(start) + size
        return rows if isinstance(rows, dict) else {}

    def _entry(self, name: str) -> _Entry | None:
        with contextlib.suppress(KeyError, TypeError):
            return _Entry(*self._rows[name])
        return None

    def _piece(self, at: int, size: int) -> bytes:
        """Read one piece; a file that is too short raises EOFError."""
        with self._lock:  # modules are imported on several threads
            os.lseek(self._file, at, os.SEEK_SET)
            data = os.read(self._file, size)
        if len(data) != size:
            raise EOFError
        return data

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Answer what Python's finder would, for a module of a package that was found where it was when the file was
        written. Packages themselves are found by Python's finder, so `sys.path` decides as always."""
        entry = self._entry(name)
        if entry is None or path is None or list(path) != [entry.folder]:
            return None
        if not _holds(entry):
            self._outdated.add(name)
            return None
        spec = ModuleSpec(name, _Loader(name, entry.origin, self), origin=entry.origin, is_package=entry.is_package)
        if entry.is_package:
            spec.submodule_search_locations = [os.path.dirname(entry.origin)]
        spec.cached = entry.cached
        spec.has_location = True
        return spec

    def code(self, name: str) -> CodeType | None:
        """Return the code of a module, or None if it cannot be read."""
        with contextlib.suppress(OSError, ValueError, EOFError, TypeError):
            if (entry := self._entry(name)) is not None:
                code = marshal.loads(self._piece(self._codes + entry.at, entry.size))
                return code if isinstance(code, CodeType) else None
        return None

    def write(self) -> None:
        """Put what is loaded by now into the file, beside what is there and still holds. Raises OSError."""
        if sum(1 for _ in _candidates(self._rows.keys() - self._outdated)) < _WORTH_WRITING:
            return  # as nearly always, and known without looking at a file
        found = ((name, self._entry(name)) for name in self._rows)
        kept = {name: entry for name, entry in found if entry is not None and _holds(entry)}
        new = dict(_loaded(kept.keys()))
        if len(new) < _WORTH_WRITING:
            return
        pieces = [self._piece(self._codes + entry.at, entry.size) for entry in kept.values()]
        pieces += [code for _, code in new.values()]
        entries = [*kept.items(), *((name, entry) for name, (entry, _) in new.items())]
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        try:
            temporary.write_bytes(_spelled(entries, pieces))
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)


def read_code_bundle() -> CodeBundle:
    """Import modules from the file from now on, as far as it has them, unless another finder knows better."""
    cached = importlib.util.cache_from_source(str(Path(__file__).parents[1] / "modules.py"))
    bundle = CodeBundle(Path(cached).with_suffix(".bundle"))
    at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(at, bundle)
    return bundle


def write_code_bundle() -> None:
    """Write the file for the next start, if there is something new; not where Python writes no byte code either."""
    bundle = next((one for one in sys.meta_path if isinstance(one, CodeBundle)), None)
    if bundle is not None and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError, EOFError):  # what is installed cannot be written to: it starts as before
            bundle.write()


def _holds(entry: _Entry) -> bool:
    return _source(entry.origin) == entry.source


def _source(origin: str) -> tuple[int, int] | None:
    """Return what Python's byte code says of its source: the seconds of its time, and its size."""
    try:
        found = os.stat(origin)
    except OSError:
        return None
    return int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF


def _candidates(known: Container[str]) -> Iterator[tuple[str, str, str, bool]]:
    """Give the name, source and byte code of each loaded module of a package, and whether it is one itself."""
    for name, module in list(sys.modules.items()):
        spec = getattr(module, "__spec__", None) if "." in name and name not in known else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            continue
        if spec.name == name and spec.origin and spec.cached:
            yield name, spec.origin, spec.cached, spec.submodule_search_locations is not None


def _loaded(known: Container[str]) -> Iterator[tuple[str, tuple[_Entry, bytes]]]:
    """Give each loaded module of a package with its code, if Python has byte code of it that is checked by time."""
    for name, origin, cached, is_package in _candidates(known):
        try:
            data = Path(cached).read_bytes()
        except OSError:
            continue
        header, code = data[:_PYC_HEADER], data[_PYC_HEADER:]
        if header[:4] != importlib.util.MAGIC_NUMBER or any(header[4:8]):
            continue
        source = int.from_bytes(header[8:12], "little"), int.from_bytes(header[12:], "little")
        folder = os.path.dirname(os.path.dirname(origin) if is_package else origin)
        yield name, (_Entry(0, len(code), origin, cached, folder, is_package, source), code)


def _spelled(entries: Sequence[tuple[str, _Entry]], pieces: Sequence[bytes]) -> bytes:
    """Return the file: its beginning, the size of the table of entries, the table, and their code."""
    at, rows = 0, {}
    for (name, entry), piece in zip(entries, pieces, strict=True):
        rows[name] = tuple(entry._replace(at=at))
        at += len(piece)
    table = marshal.dumps(rows)
    return b"".join((_MAGIC, len(table).to_bytes(8, "little"), table, *pieces))
