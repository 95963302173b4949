"""Detects what a command changed: compares the files that git knows and those seen before the command with their state
after it.

Covered are tracked files, untracked ones that git does not ignore, and files that the conversation has seen. Not
covered are ignored files, folders without git (except for seen files), and contents that were too large to keep.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.git import read_blob, run_git
from north_lsp.workspace.opening import open_real

MAX_FILES = 20_000
MAX_KEPT_BYTES = 64 * 1024 * 1024
MAX_FILE_BYTES = 20 * 1024 * 1024
_SECONDS = 5.0

Signature = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class FileImage:
    """One file before and after; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    before_mode: int | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    signature: Signature | None
    blob: str | None = None
    content: bytes | None = None


@dataclass(frozen=True)
class Snapshot:
    """What is known of a root before a command. `has_git` says whether new files can be detected."""

    root: Path
    has_git: bool
    files: Mapping[Path, _Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Observed:
    """What changed, and which changed files could not be covered."""

    images: tuple[FileImage, ...]
    uncovered: tuple[Path, ...]


def take(root: Path, seen: Iterable[Path]) -> Snapshot | None:
    """Record the state of a root; None if it has more files than the limit."""
    staged = run_git(["ls-files", "-s", "-z"], root, _SECONDS)
    modified = run_git(["ls-files", "-m", "-z"], root, _SECONDS) if staged is not None else None
    blobs: dict[Path, str | None] = {}
    for row in (staged or "").split("\0"):
        meta, tab, name = row.partition("\t")
        if tab and meta.startswith("100"):
            blobs[root / name] = meta.split(" ")[1]
    for name in filter(None, (modified or "").split("\0")):
        blobs[root / name] = None
    for path in [*_others(root), *seen]:
        if path.is_relative_to(root):
            blobs.setdefault(path, None)
    if len(blobs) > MAX_FILES:
        return None
    files: dict[Path, _Known] = {}
    spare = MAX_KEPT_BYTES
    for path, blob in blobs.items():
        signature = _signature(path)
        content = None
        if blob is None and signature is not None and signature[2] <= spare:
            content = _content(path)
            spare -= len(content or b"")
        files[path] = _Known(signature, blob, content)
    return Snapshot(root, staged is not None and modified is not None, files)


def compare(before: Snapshot) -> Observed:
    """Compare a snapshot with the present state of its files."""
    images: list[FileImage] = []
    uncovered: list[Path] = []
    for path, known in before.files.items():
        now = _signature(path)
        if now == known.signature:
            continue
        old, new = _old_content(before.root, known), _content(path) if now is not None else None
        if (old is None and known.signature is not None) or (new is None and now is not None):
            uncovered.append(path)
        elif old != new:
            mode = known.signature[4] if known.signature is not None else None
            images.append(FileImage(path, old, new, None if mode is None else stat.S_IMODE(mode)))
    if before.has_git:
        tracked = (run_git(["ls-files", "-z"], before.root, _SECONDS) or "").split("\0")
        for path in dict.fromkeys([*_others(before.root), *(before.root / name for name in tracked if name)]):
            if path in before.files or _signature(path) is None:
                continue
            new = _content(path)
            if new is None:
                uncovered.append(path)
            else:
                images.append(FileImage(path, None, new))
    return Observed(tuple(images), tuple(uncovered))


def _others(root: Path) -> list[Path]:
    """List the untracked files that git does not ignore."""
    found = run_git(["ls-files", "-o", "--exclude-standard", "-z"], root, _SECONDS) or ""
    return [root / name for name in found.split("\0") if name]


def _old_content(root: Path, known: _Known) -> bytes | None:
    if known.content is not None or known.blob is None or known.signature is None:
        return known.content
    data = read_blob(known.blob, root, _SECONDS)
    # Line end conversion and filters make a file differ from its blob; then the blob is not what the file contained.
    return data if data is not None and len(data) == known.signature[2] else None


def _signature(path: Path) -> Signature | None:
    """Return what identifies a version of a file; None if it is not a regular file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode


def _content(path: Path) -> bytes | None:
    try:
        with open(open_real(path), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_FILE_BYTES else None
