"""Finds and removes what appears in the workspace while a command runs in the sandbox and must not take effect there.

Existing protected names are held by mounts. New ones cannot be, so they are looked for once the command has ended and
put into a quarantine, from which the user can get them back. Every step goes from folder to folder by descriptors,
since what still runs may replace folders with links meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.sandbox import Held

_ROUNDS = 3
_MAX_DEPTH = 100
_FOLDER = os.O_RDONLY | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC


@dataclass(frozen=True, slots=True)
class QuarantinedFiles:
    """Something that appeared as `path`, and where it is `kept` now; None if it could not be kept."""

    path: Path
    kept: Path | None


class Watch:
    """Watches one session's roots. Call `begin` before commands and `sweep` after them; both block."""

    def __init__(self, roots: Iterable[Path], quarantine: Path) -> None:
        self._roots = tuple(roots)
        self._quarantine = quarantine
        self._known: Held | None = None
        self._links: dict[str, str] = {}
        self._expected: set[str] = set()

    def begin(self, now: Held) -> None:
        """Take everything that is there now as the user's."""
        self._known = now
        self._links = {path: os.readlink(path) for path in now.protected if os.path.islink(path)}

    def expect(self, paths: Iterable[Path]) -> None:
        """Note paths that the user wants to be there."""
        self._expected |= {str(one) for path in paths for one in (path, *path.parents)}

    def sweep(self, look: Callable[[], Held]) -> tuple[list[QuarantinedFiles], bool]:
        """Remove what appeared, and restore links. Returns what was quarantined and whether nothing is left: it is not
        if something creates it again and again, or if there is too much to look at. Raises ToolError if something
        cannot be removed."""
        taken: list[QuarantinedFiles] = []
        for _ in range(_ROUNDS):
            now = look()
            if now.problem:
                return taken, False
            new = self._new(now)
            if not new:
                self._put_links_back(now)
                self.begin(now)
                return taken, True
            for path in new:
                if path in now.unreadable and self._opened(path):
                    continue
                kept = self._take(Path(path))
                if kept is not None:
                    taken.append(QuarantinedFiles(Path(path), kept))
        return taken, not self._new(look())

    def _new(self, now: Held) -> list[str]:
        known: Mapping[str, tuple[int, int]] = self._known.protected if self._known is not None else {}
        folders = self._known.folders if self._known is not None else ()
        return [
            path
            for path, ident in now.protected.items()
            if path not in self._expected
            # A name that a mount holds can only have been replaced from outside the sandbox.
            and (path not in known or (path in self._links and known[path] != ident))
            # The `.gitignore` that tools put into a folder that they create applies to that folder only.
            and not (os.path.basename(path) == ".gitignore" and os.path.dirname(path) not in folders)
        ]

    def _put_links_back(self, now: Held) -> None:
        for path, target in self._links.items():
            if path not in now.protected:
                with contextlib.suppress(OSError), self._folder_of(Path(path)) as folder:
                    os.symlink(target, os.path.basename(path), dir_fd=folder)

    def _opened(self, path: str) -> bool:
        """Make an unreadable folder readable. Returns whether that worked."""
        try:
            with self._folder_of(Path(path)) as folder:
                _allow(os.path.basename(path), folder)
                os.close(os.open(os.path.basename(path), _FOLDER, dir_fd=folder))
        except OSError:
            return False
        return True

    def _take(self, path: Path) -> Path | None:
        """Move a path into the quarantine. Returns where it is now; None if it was already gone. Raises ToolError."""
        place = self._quarantine / os.urandom(6).hex()
        try:
            place.mkdir(parents=True, mode=0o700)
            with self._folder_of(path) as folder:
                # Under another name it no longer takes effect, whatever else fails.
                aside = f".north-taken-{os.urandom(6).hex()}"
                try:
                    os.rename(path.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
                except PermissionError:
                    mode = stat.S_IMODE(os.fstat(folder).st_mode)
                    systems.change_mode(folder, mode | 0o700)
                    os.rename(path.name, aside, src_dir_fd=folder, dst_dir_fd=folder)
                    systems.change_mode(folder, mode)
                _allow(aside, folder)
                try:
                    os.rename(aside, place / path.name, src_dir_fd=folder)
                except OSError as error:
                    if error.errno != errno.EXDEV:
                        raise
                    _copy_away(folder, aside, place / path.name)
        except (FileNotFoundError, NotADirectoryError):
            with contextlib.suppress(OSError):
                place.rmdir()
            return None
        except OSError as error:
            message = f"{path} appeared in the sandbox and cannot be removed: {error.strerror}"
            raise ToolError("IO_ERROR", message, "the user should look at it before anything else runs") from None
        return place / path.name

    @contextlib.contextmanager
    def _folder_of(self, path: Path) -> Iterator[int]:
        """Open the folder that contains a path. Raises OSError, also if a folder on the way has become a link."""
        root = next(root for root in self._roots if path.is_relative_to(root) and path != root)
        folder = os.open(root, _FOLDER)
        try:
            for name in path.relative_to(root).parts[:-1]:
                below = os.open(name, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = below
            yield folder
        finally:
            os.close(folder)


def _allow(name: str, folder: int) -> None:
    """Give the user all rights on their own folder; do nothing for a file."""
    if sys.platform == "win32":  # nothing is watched without a sandbox
        return
    with contextlib.suppress(OSError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o700 == 0o700:
            return
        mode = stat.S_IMODE(status.st_mode) | 0o700
        if sys.platform != "linux":
            os.chmod(name, mode, dir_fd=folder, follow_symlinks=False)
            return
        descriptor = os.open(name, os.O_PATH | systems.NOFOLLOW | systems.CLOEXEC, dir_fd=folder)
        try:
            os.chmod(f"/proc/self/fd/{descriptor}", mode)
        finally:
            os.close(descriptor)


def _copy_away(folder: int, name: str, target: Path) -> None:
    """Move something to another file system. Links are copied as links; what is neither file nor folder is dropped, and
    so is what cannot be read or lies very deep."""
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    _copy(folder, name, mode, target, _MAX_DEPTH)
    if stat.S_ISDIR(mode):
        shutil.rmtree(name, ignore_errors=True, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _copy(folder: int, name: str, mode: int, target: Path, depth: int) -> None:
    """Copy an entry of an open folder, without following a link. Raises OSError."""
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(name, dir_fd=folder), target)
    elif stat.S_ISREG(mode):
        flags = os.O_RDONLY | systems.NOFOLLOW | systems.NONBLOCK | systems.CLOEXEC
        with open(os.open(name, flags, dir_fd=folder), "rb") as source, open(target, "xb") as copy:
            shutil.copyfileobj(source, copy)
            systems.change_mode(copy.fileno(), stat.S_IMODE(mode) | 0o600)
    elif stat.S_ISDIR(mode) and depth > 0:
        target.mkdir(mode=0o700)
        _allow(name, folder)
        below = os.open(name, _FOLDER, dir_fd=folder)
        try:
            for inner in os.listdir(below):
                with contextlib.suppress(OSError):
                    inner_mode = os.stat(inner, dir_fd=below, follow_symlinks=False).st_mode
                    _copy(below, inner, inner_mode, target / inner, depth - 1)
        finally:
            os.close(below)
