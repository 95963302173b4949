"""Loads modules from one file that has the byte code of all that a start needs, instead of looking for each on its own.

Hundreds of modules are imported before a session is open. For each of them Python looks into the folder, compares the
source with its byte code and opens, reads and closes that: a quarter of the time until then. What is read here is the
same byte code, in one file beside Python's own in `__pycache__`, and by the same rule: it holds as long as the time
and the size of the source are those that were compiled. What every session needs in order to open is one piece, which
takes a quarter less time than the same modules one by one, since it has each name once; later ones are read alone.
Every piece is compared with its hash before it is used. A module for which the rule does not hold, or that is not in
the file, is imported as always; so the file may be missing, old or damaged. Imports nothing of ours.
"""

from __future__ import annotations

import contextlib
import importlib.util
import marshal
import os
import sys
import threading
import time
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

_MAGIC = b"north-code-3" + importlib.util.MAGIC_NUMBER
_HASH = len(importlib.util.source_hash(b""))
_PYC_HEADER = 16
_WORTH_WRITING = 20
"""With fewer modules that are not where they should be in the file, it is left as it is."""
_LEFT_BEHIND_SECONDS = 600
"""After that long, what was to become the file belongs to a process that ended before it was whole."""
_DAMAGED = (OSError, ValueError, EOFError, TypeError, LookupError)


class _Entry(NamedTuple):
    """Where the code of a module is, counted from behind the table, its hash, and what its source was when it was
    compiled. In the early piece it has no `size` and no `hash` of its own, and `at` is its place among the others."""

    at: int
    size: int
    hash: bytes
    origin: str
    cached: str
    folder: str
    is_package: bool
    source: tuple[int, int]

    @property
    def is_early(self) -> bool:
        return self.size == 0


class _Loader(SourceFileLoader):
    """Python's own loader, but for where the byte code is."""

    def __init__(self, name: str, path: str, bundle: CodeBundle) -> None:
        super().__init__(name, path)
        self._bundle = bundle

    def get_code(self, fullname: str) -> CodeType | None:
        return self._bundle.code(fullname) or super().get_code(fullname)


class CodeBundle:
    """Finds modules whose code is in the file `path`; for `sys.meta_path`. What is loaded by now stays out of it: a
    process may have begun with something else."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loaded_before = frozenset(sys.modules)
        self._lock = threading.RLock()
        self._rows: dict[str, tuple[Any, ...]] = {}  # of entries: few of them are looked at
        self._outdated: set[str] = set()
        self._early_size, self._early_hash = 0, b""
        self._early: list[CodeType | None] | None = None
        self._file = -1
        self._codes = 0
        with contextlib.suppress(*_DAMAGED):  # there is none, or it is damaged
            self._file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            self._rows = self._read_rows()

    def _read_rows(self) -> dict[str, tuple[Any, ...]]:
        start = self._bytes(0, len(_MAGIC) + 8 + _HASH)
        if start[: len(_MAGIC)] != _MAGIC:
            return {}
        size = int.from_bytes(start[len(_MAGIC) : -_HASH], "little")
        rows: dict[str, tuple[Any, ...]]
        self._early_size, self._early_hash, rows = self._piece(len(start), size, start[-_HASH:])
        self._codes = len(start) + size
        return rows

    def _entry(self, name: str) -> _Entry | None:
        row = self._rows.get(name)
        return _Entry(*row) if row is not None else None

    def _piece(self, at: int, size: int, hash: bytes) -> Any:
        """Read one piece, as `marshal` has it. What is damaged is not given to `marshal`, which may take it for
        something else, or end the process: it raises ValueError."""
        data = self._bytes(at, size)
        if importlib.util.source_hash(data) != hash:
            raise ValueError
        return marshal.loads(data)

    def _bytes(self, at: int, size: int) -> bytes:
        """Read a part of the file; one that is too short raises EOFError."""
        if at + size > os.fstat(self._file).st_size:
            raise EOFError
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
        try:
            if (entry := self._entry(name)) is not None:
                return self._take_early(entry.at) if entry.is_early else self._alone(entry)
        except _DAMAGED:
            self._outdated.add(name)
        return None

    def _take_early(self, at: int) -> CodeType | None:
        """Give the code at a place of the early piece, once: what is imported again comes from Python's own file."""
        with self._lock:
            if self._early is None:
                self._early = []  # what cannot be read is not tried again for each module
                self._early = list(self._read_early())
            code, self._early[at] = self._early[at], None
            return code

    def _read_early(self) -> tuple[CodeType, ...]:
        early: tuple[CodeType, ...] = self._piece(self._codes, self._early_size, self._early_hash)
        return early

    def _alone(self, entry: _Entry) -> CodeType:
        code: CodeType = self._piece(self._codes + entry.at, entry.size, entry.hash)
        return code

    def write(self, early: Collection[str]) -> None:
        """Put what is loaded by now into the file, beside what is there and still holds, and the modules named in
        `early` into one piece. Raises OSError."""
        self._early = []  # what nobody has imported by now need not be kept
        early = set(early) - self._loaded_before
        known = self._rows.keys() - self._outdated
        unknown = sum(1 for _ in _candidates(known | self._loaded_before))
        if unknown + self._not_yet_early(early & known) < _WORTH_WRITING:
            return  # as nearly always, and known without looking at a file
        found = ((name, self._entry(name)) for name in self._rows if name in known)
        kept = {name: entry for name, entry in found if entry is not None and _holds(entry)}
        new = dict(_loaded(kept.keys() | self._loaded_before))
        if len(new) + self._not_yet_early(early & kept.keys()) < _WORTH_WRITING:
            return
        codes = new | self._read(kept)
        temporary = self.path.with_name(f"{self.path.name}.{os.urandom(6).hex()}")
        try:
            with temporary.open("wb") as file:
                file.writelines(_spelled(codes, early))
            self._close()  # Windows replaces no file that is open; one that another server has open stays
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)
            self._remove_left_behind()

    def _read(self, entries: Mapping[str, _Entry]) -> dict[str, tuple[_Entry, CodeType]]:
        """Return the code of modules that are in the file; what is damaged is left out, and comes anew some day."""
        early: Sequence[CodeType] = ()
        with contextlib.suppress(*_DAMAGED):
            early = self._read_early() if any(entry.is_early for entry in entries.values()) else ()
        read: dict[str, tuple[_Entry, CodeType]] = {}
        for name, entry in entries.items():
            with contextlib.suppress(*_DAMAGED):
                read[name] = entry, early[entry.at] if entry.is_early else self._alone(entry)
        return read

    def _close(self) -> None:
        """Give the file up; what is imported from now on comes from Python's own files."""
        with self._lock:
            self._rows, file, self._file = {}, self._file, -1
            if file != -1:
                os.close(file)

    def _not_yet_early(self, names: Collection[str]) -> int:
        """Count those of the modules that are in the file, but not in its early piece."""
        entries = map(self._entry, names)
        return sum(1 for entry in entries if entry is not None and not entry.is_early)

    def _remove_left_behind(self) -> None:
        for path in self.path.parent.glob(f"{self.path.name}.*"):
            with contextlib.suppress(OSError):  # another process has removed it
                if time.time() - path.stat().st_mtime > _LEFT_BEHIND_SECONDS:
                    path.unlink()


def read_code_bundle(use: str) -> CodeBundle:
    """Import modules from the file from now on, as far as it has them, unless another finder knows better. What is
    loaded for one `use` is in a file of its own."""
    cached = importlib.util.cache_from_source(str(Path(__file__).parents[1] / "modules.py"))
    bundle = CodeBundle(Path(cached).with_suffix(f".{use}.bundle"))
    at = sys.meta_path.index(PathFinder) if PathFinder in sys.meta_path else len(sys.meta_path)
    sys.meta_path.insert(at, bundle)
    return bundle


def write_code_bundle(early: Collection[str]) -> None:
    """Write the file for the next start, if there is something new; not where Python writes no byte code either.
    `early` are the modules that opening a session has needed."""
    bundle = next((one for one in sys.meta_path if isinstance(one, CodeBundle)), None)
    if bundle is not None and not sys.dont_write_bytecode:
        # What is installed cannot be written to, or the file is damaged: it starts as before.
        with contextlib.suppress(*_DAMAGED):
            bundle.write(early)


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


def _loaded(known: Container[str]) -> Iterator[tuple[str, tuple[_Entry, CodeType]]]:
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
        yield name, (_Entry(0, len(code), b"", origin, cached, folder, is_package, source), marshal.loads(code))


def _spelled(codes: Mapping[str, tuple[_Entry, CodeType]], early: Container[str]) -> Sequence[bytes]:
    """Return the parts of the file: its beginning, the size of the table, the table, the early piece, and the code of
    the others."""
    rows: dict[str, tuple[object, ...]] = {}
    together: list[CodeType] = []
    later: list[tuple[str, _Entry, CodeType]] = []
    for name, (entry, code) in codes.items():
        if entry.is_early or name in early:
            rows[name] = tuple(entry._replace(at=len(together), size=0, hash=b""))
            together.append(code)
        else:
            later.append((name, entry, code))
    piece = marshal.dumps(tuple(together))
    alone: list[bytes] = []
    at = len(piece)
    for name, entry, code in later:
        data = marshal.dumps(code)
        rows[name] = tuple(entry._replace(at=at, size=len(data), hash=importlib.util.source_hash(data)))
        alone.append(data)
        at += len(data)
    table = marshal.dumps((len(piece), importlib.util.source_hash(piece), rows))
    return (_MAGIC, len(table).to_bytes(8, "little"), importlib.util.source_hash(table), table, piece, *alone)
