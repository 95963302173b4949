"""Who stops first when a disk is nearly full: what can be redone, or is only convenient, leaves the last of the room to
the logs of conversations."""

from __future__ import annotations

import errno
import os
from pathlib import Path

RESERVED_BYTES = 32 * 1024 * 1024


def has_room(folder: Path) -> bool:
    """Tell whether the disk of a folder has more left than what is kept for logs; also where that is not known. The
    folder may not exist yet."""
    try:
        existing = next((one for one in (folder, *folder.parents) if one.exists()), folder)
        import shutil

        usage = shutil.disk_usage(existing)
        return usage.total == 0 or usage.free > RESERVED_BYTES  # some network folders say 0
    except OSError:
        return True


def leave_room(folder: Path) -> None:
    """Raise OSError where a folder's disk has only as much left as is kept for logs."""
    if not has_room(folder):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
