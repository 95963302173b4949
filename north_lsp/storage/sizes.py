"""How much files and folders take."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Size(NamedTuple):
    """What a file or a folder takes: its bytes, and how many files there are."""

    size: int
    files: int


def measure(path: Path) -> Size:
    """Measure a file or everything in a folder, without following links; what cannot be seen counts as none. Blocks."""
    size, files = 0, 0
    with suppress(OSError):
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return Size(status.st_size, 1)
        for place, _, names in os.walk(path):
            files += len(names)
            for name in names:
                with suppress(OSError):
                    size += os.lstat(os.path.join(place, name)).st_size
    return Size(size, files)
