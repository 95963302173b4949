"""Contents kept under their digests: what files held before and after they were changed."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import private_directory, read_regular, sync_all, sync_directory

MAX_BLOB_BYTES = 20 * 1024 * 1024
_AT_ONCE = 64
_DIGEST = lazy_pattern(r"[0-9a-f]{64}")


class Blobs:
    """The blobs in one folder, shared by all conversations; one that exists is never written again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, contents: Mapping[str, bytes]) -> None:
        """Store contents durably under their SHA-256 digests; those that are too large are left out. Raises OSError."""
        private_directory(self._folder)
        new: dict[Path, bytes] = {}
        for digest, data in contents.items():
            path = self._folder / digest
            if len(data) > MAX_BLOB_BYTES:
                continue
            if path.exists():
                with suppress(OSError):
                    os.utime(path)  # it is needed again, which the log does not say yet
            else:
                new[path] = data
        rows = list(new.items())
        for at in range(0, len(rows), _AT_ONCE):
            self._write(rows[at : at + _AT_ONCE])
        if rows:
            sync_directory(self._folder)

    def find(self, digest: str) -> bytes | None:
        """Return the content; None if it was not kept or is damaged. Raises OSError if it cannot be read now."""
        if _DIGEST.fullmatch(digest) is None:
            return None
        try:
            data = read_regular(self._folder / digest, MAX_BLOB_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.EFBIG, errno.ELOOP, errno.EISDIR):
                return None  # what is there is not a blob
            raise
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def _write(self, rows: Sequence[tuple[Path, bytes]]) -> None:
        """Write contents, and give them their names once all are on the disk."""
        made: list[Path] = []
        try:
            with ExitStack() as opened:
                descriptors = [self._written(path, data, made, opened) for path, data in rows]
                for error in sync_all(descriptors):
                    if error is not None:
                        raise error
            for (path, _), temporary in zip(rows, made, strict=True):
                systems.replace(temporary, path)
        except BaseException:
            for temporary in made:
                with suppress(OSError):
                    os.unlink(temporary)
            raise

    def _written(self, path: Path, data: bytes, made: list[Path], opened: ExitStack) -> int:
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        descriptor = systems.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600)
        made.append(temporary)
        file = opened.enter_context(os.fdopen(descriptor, "wb"))
        file.write(data)
        file.flush()
        return descriptor
