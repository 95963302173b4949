"""What of a path is different on Windows: what its text may say, and how its links are followed. Imported there alone,
but for the tests of it."""

from __future__ import annotations

import errno
import ntpath
import os
import stat
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import PureWindowsPath

from north_lsp.systems.windows import rules

SYMLINK, JUNCTION = 0xA000000C, 0xA0000003
_SURROGATE = 0x20000000
_MAX_LINKS = 63  # as in Windows

Status = Callable[[str], os.stat_result]


def refused(path: str, roots: Iterable[PureWindowsPath]) -> str | None:
    """Return why a path is not judged at all, by its text alone: nothing is asked of the disk, or of another machine.
    None for one that may be resolved. A workspace on another machine may be named as such."""
    plain = path.replace("/", "\\")
    if plain.startswith("\\\\") and plain[2:3] not in ("?", "."):
        for root in roots:
            if root.drive.startswith("\\\\") and _lies_in(plain, str(root)):
                plain = "C:\\" + plain[len(str(root)) :].lstrip("\\")
                break
    return rules.refused_path(plain)


def _lies_in(path: str, root: str) -> bool:
    folder = rules.folded(root).rstrip("\\") + "\\"
    return all(f"{rules.folded(one)}\\".startswith(folder) for one in (path, ntpath.normpath(path)))


def from_uri(path: str) -> str:
    """Return the path of a `file:` URI (`/c:/a`) as Windows writes it (`c:/a`)."""
    return path[1:] if path[:1] == "/" and path[2:3] == ":" and path[1:2].isalpha() else path


class Stuck(OSError):
    """A path could not be followed further than `at`; `linked` if a link had led there."""

    def __init__(self, code: int, text: str, at: str, *, linked: bool) -> None:
        super().__init__(code, text)
        self.at = at
        self.linked = linked


def follow(
    absolute: str, status: Status, read_link: Callable[[str], str]
) -> tuple[str, Sequence[str], tuple[str, ...]]:
    """Follow an absolute path name by name. Returns what of it exists, without links, the names below that which do
    not, and the absolute paths by which it was reached.

    Raises Stuck for a loop, for a link that leads nowhere or to another machine, for anything else that is kept in the
    place of a file and leads somewhere, and for other errors of the file system.
    """
    drive, rest = ntpath.splitdrive(absolute.replace("/", "\\"))
    done, links = drive + "\\", 0
    names = [absolute]
    waiting = deque((name, False) for name in rest.split("\\"))
    while waiting:
        name, brought = waiting.popleft()
        if name in ("", "."):
            continue
        if name == "..":
            done = ntpath.dirname(done)
            continue
        here = ntpath.join(done, name)
        if (why := rules.refused_name(name)) is not None:
            raise Stuck(errno.EINVAL, f"{name!r} {why}", done, linked=links > 0)
        try:
            tag = _tag(status(here))
        except FileNotFoundError as error:
            if brought:
                raise Stuck(errno.ELOOP, os.strerror(errno.ELOOP), done, linked=True) from error
            missing = [name, *(rest for rest, _ in waiting if rest not in ("", "."))]
            if any(map(rules.may_be_short, missing)):
                problem = "it looks like the short name (8.3) of another file"
                raise Stuck(errno.EINVAL, problem, done, linked=links > 0) from None
            return done, missing, tuple(names)
        except OSError as error:
            raise Stuck(error.errno or errno.EIO, error.strerror or str(error), done, linked=links > 0) from error
        if not tag & _SURROGATE:
            done = here
            continue
        links += 1
        target = _target(here, tag, done, read_link)
        if target is None or links > _MAX_LINKS:
            raise Stuck(errno.ELOOP, os.strerror(errno.ELOOP), done, linked=links > 1)
        names.append(ntpath.normpath(ntpath.join(target, *(rest for rest, _ in waiting))))
        drive, inner = ntpath.splitdrive(target)
        done = drive + "\\"
        waiting.extendleft((part, True) for part in reversed(inner.split("\\")))
    return done, (), tuple(names)


def _target(here: str, tag: int, folder: str, read_link: Callable[[str], str]) -> str | None:
    """Return the absolute path that a link leads to; None where that is no path on a drive of this machine."""
    if tag not in (SYMLINK, JUNCTION):
        return None
    try:
        written = read_link(here).replace("/", "\\")
    except OSError:
        return None
    raw = rules.without_prefix(written)
    drive, rest = ntpath.splitdrive(raw)
    if raw.startswith("\\\\") or (drive and not rest.startswith("\\")) or (raw != written and not drive):
        return None
    target = ntpath.join(folder, raw)
    return target if len(ntpath.splitdrive(target)[0]) == 2 else None


def _tag(status: os.stat_result) -> int:
    tag: int = getattr(status, "st_reparse_tag", 0)
    return tag or (SYMLINK if stat.S_ISLNK(status.st_mode) else 0)
