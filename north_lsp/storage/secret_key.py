"""The key of this machine for the hashes by which a conversation knows its secrets again. Who has a log, but not this
file, can try no passwords on it."""

from __future__ import annotations

import os
from contextlib import suppress

from north_lsp import systems
from north_lsp.storage.files import private_directory, read_regular
from north_lsp.storage.locations import Locations

_BYTES = 32


def secret_key(locations: Locations) -> bytes:
    """Return the key, made on first use; one for this process alone if it cannot be kept."""
    path = locations.data / "secret-key"
    with suppress(OSError):
        return _valid(read_regular(path, _BYTES))
    key = os.urandom(_BYTES)
    with suppress(OSError):
        private_directory(path.parent)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        with open(
            systems.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600), "wb"
        ) as file:
            file.write(key)
        with suppress(FileExistsError):
            os.link(temporary, path)  # another process may have made one meanwhile, which counts
        os.unlink(temporary)
        return _valid(read_regular(path, _BYTES))
    return key


def _valid(key: bytes) -> bytes:
    if len(key) != _BYTES:
        raise OSError("not a key of North's")
    return key
