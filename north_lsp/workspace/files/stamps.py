"""What shows whether a file or a folder has changed, as far as the file system's clock can tell."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

# A folder may change again within one tick of its clock, which could not be noticed later: such a recent one counts as
# changed. File systems that only keep whole seconds have a long tick.
_TICK_NS = 50_000_000
_LONG_TICK_NS = 2_000_000_000

Signature = tuple[int, ...]


class KnownFacts:
    """What was found out about the contents of the files of one root, for as long as they do not change."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._facts: dict[str, dict[str, Signature]] = {}

    def unknown(self, fact: str, files: Iterable[str], size_limit: int) -> list[str]:
        """Return the files for which `learn` was not told a fact, or that have changed since, or are larger than
        `size_limit`."""
        known, root, lstat = self._facts.setdefault(fact, {}), f"{self._root}/", os.lstat
        result: list[str] = []
        for relative in files:
            signature = known.get(relative)
            if signature is not None and signature[1] <= size_limit:
                try:
                    status = lstat(root + relative)
                except OSError:
                    status = None
                if status is not None and signature == (
                    status.st_mtime_ns,
                    status.st_size,
                    status.st_ino,
                    status.st_ctime_ns,
                ):
                    continue
            result.append(relative)
        return result

    def signatures(self, files: Iterable[str]) -> dict[str, Signature | None]:
        """Return the files' signatures, to be taken before a fact about the files is determined."""
        return {relative: _file_signature(f"{self._root}/{relative}") for relative in files}

    def learn(self, fact: str, signatures: Mapping[str, Signature | None]) -> None:
        """Remember that a fact is true of the contents of these files."""
        known = self._facts.setdefault(fact, {})
        known.update((relative, signature) for relative, signature in signatures.items() if signature is not None)


def is_older(stamp: int, moment: int) -> bool:
    """Return whether a file's time stamp is definitely from before a moment; both in nanoseconds."""
    return moment - stamp >= (_TICK_NS if stamp % 1_000_000_000 else _LONG_TICK_NS)


def _file_signature(path: str) -> Signature | None:
    """Return what shows whether a file has changed; None if it changed too recently to tell."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not is_older(status.st_mtime_ns, time.time_ns()):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def folder_state(path: str) -> Signature | None:
    """Return what shows whether a folder has changed; None if that cannot be determined."""
    try:
        return state_in(os.lstat(path))
    except OSError:
        return None


def state_in(status: os.stat_result) -> Signature | None:
    if not is_older(status.st_mtime_ns, time.time_ns()):
        return None
    return status.st_mtime_ns, status.st_ino, status.st_dev
