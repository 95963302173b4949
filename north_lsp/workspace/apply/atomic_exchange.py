"""Exchanges two names in one folder in a single system call, so that what is displaced can be checked and restored. A
crash leaves the names as they were or exchanged, and both files whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from functools import cache

_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM})

_Rename = Callable[[int, bytes, int, bytes, int], int]


def exchange_names(one: str, other: str, folder: int) -> bool:
    """Exchange two names in an open folder; False if the system or the file system does not support it. Raises
    OSError."""
    rename = _rename()
    if rename is None:
        return False
    if rename(folder, os.fsencode(one), folder, os.fsencode(other), _EXCHANGE) == 0:
        return True
    import ctypes

    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), other)


@cache
def _rename() -> _Rename | None:
    if os.name == "nt":
        return None
    import ctypes  # with the first exchange: opening a session does without

    library = ctypes.CDLL(None, use_errno=True)
    for name in ("renameat2", "renameatx_np"):
        found = getattr(library, name, None)
        if found is not None:
            found.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
            found.restype = ctypes.c_int
            made: _Rename = found
            return made
    return None
