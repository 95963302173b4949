"""Turns the path that a model or client wrote into a real path inside the workspace. Whatever is in doubt is
refused."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path, PureWindowsPath
from urllib.parse import unquote_to_bytes

from north_lsp import systems
from north_lsp.errors import ErrorCode, ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

_CONTROL = lazy_pattern("[\x00-\x1f\x7f-\x9f]")
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_SCHEME = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4095
_INSIDE = "use a path inside the workspace"
_SHOWN_CHARACTERS = 200
_MAX_LINKS = 40  # as in the kernel


@dataclass(frozen=True, slots=True)
class Resolved:
    """A path that passed. `path` is real and absolute; `relative` is what people and the model read, with `/`: relative
    to the main root, or prefixed by `<root name>/` for a further root. `names` are the absolute paths by which it was
    reached: as it was written, and once more for each link on the way."""

    path: Path
    relative: str
    root: Path
    exists: bool
    names: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class _Walked:
    path: Path
    exists: bool
    names: tuple[str, ...]


class _Stuck(Exception):
    """The file system could not continue from `at`; `linked` if a link had led there."""

    def __init__(self, error: OSError, at: str, *, linked: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.at = at
        self.linked = linked


@dataclass(frozen=True)
class Roots:
    """The folders of the workspace, real and absolute; the first is the main one. `extra` are further folders that can
    only be read, and only through `resolve_readable`."""

    roots: tuple[Path, ...]
    extra: tuple[Path, ...] = ()

    @classmethod
    def of(cls, *paths: Path | str) -> Roots:
        """Make roots from paths as a client writes them. Raises ValueError if there are none."""
        if not paths:
            raise ValueError("a workspace needs at least one root")
        return cls(tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths)))

    @property
    def main(self) -> Path:
        return self.roots[0]

    def names(self) -> dict[str, Path]:
        """Return the further roots by the name that begins a path into them; a number distinguishes folders of the same
        name."""
        named: dict[str, Path] = {}
        for root in self.roots[1:]:
            name, number = root.name or "root", 1
            while (candidate := name if number == 1 else f"{name}-{number}") in named:
                number += 1
            named[candidate] = root
        return named

    def root_of(self, path: Path) -> Path | None:
        """Return the first root that contains a real path, compared by components, or None."""
        return _first(self.roots, path)

    def display_path(self, root: Path, relative: str) -> str:
        """Return how a path relative to one of the roots is written, so that `resolve` leads back to it."""
        names = self.names()
        if root in self.extra and root not in self.roots:
            return str(root / relative)
        if root == self.main:
            # A name that would be mistaken for another root, the home directory or an address needs a `./`.
            first = relative.split("/", 1)[0]
            return f"./{relative}" if first in names or first == "~" or first.endswith(":") else relative
        name = next(name for name, folder in names.items() if folder == root)
        return name if relative == "." else f"{name}/{relative}"

    def resolve(self, raw_path: str) -> Resolved:
        """Resolve a path to its real place; it may be relative, absolute, begin with `~`, or be a `file://` URI.

        Raises ToolError: INVALID_INPUT for what is not a path, OUTSIDE_WORKSPACE for one that leads out of every root
        by name or by link (with the same message whatever is there), IO_ERROR when the file system cannot tell.
        """
        return self._resolve(raw_path, self.roots)

    def resolve_readable(self, raw_path: str) -> Resolved:
        """Resolve a path as `resolve` does, but accept extra folders, too; what is in those is shown by its absolute
        path and must only be read."""
        return self._resolve(raw_path, (*self.roots, *self.extra))

    def _resolve(self, raw_path: str, roots: tuple[Path, ...]) -> Resolved:
        plain = _plain(raw_path)
        if sys.platform == "win32":
            self._check_text(raw_path, plain, roots)
        absolute = self._absolute(plain)
        try:
            walked = _walk(absolute)
        except _Stuck as stuck:
            # Errors outside are all alike: they reveal neither what exists there nor why it cannot be reached.
            inside = _first(roots, Path(stuck.at)) or (not stuck.linked and _first(roots, Path(absolute)))
            if not inside:
                raise self._outside(raw_path, absolute) from None
            raise self._unresolved(raw_path, stuck.error) from stuck.error
        root = _first(roots, walked.path)
        if root is None:
            raise self._outside(raw_path, absolute)
        if root in self.roots:
            relative = self.display_path(root, walked.path.relative_to(root).as_posix())
        else:
            relative = str(walked.path)
        return Resolved(walked.path, relative, root, walked.exists, walked.names)

    def _outside(self, raw_path: str, absolute: str) -> ToolError:
        inside = os.path.splitdrive(absolute)[1].lstrip("/\\" if os.name == "nt" else "/")
        # The model may treat the workspace as the root of the disk.
        known = bool(inside) and os.path.lexists(self.main / inside)
        hint = f"leave out the leading slash if you mean {inside}" if known else _INSIDE
        return self._error("OUTSIDE_WORKSPACE", raw_path, "is outside the workspace", hint)

    def _check_text(self, raw_path: str, plain: str, roots: tuple[Path, ...]) -> None:
        """Refuse what only Windows could say the meaning of, before anything is asked of it. Raises ToolError."""
        from north_lsp.workspace.windows_paths import refused

        why = refused(plain, [PureWindowsPath(root) for root in roots])
        if why is not None:
            inside = plain.lstrip("/")
            hint = f"leave out the leading slash if you mean {inside}" if plain[:1] == "/" != plain[1:2] else _INSIDE
            raise self._error("OUTSIDE_WORKSPACE", raw_path, why, hint)

    def _absolute(self, plain: str) -> str:
        if plain == "~" or plain.startswith("~/"):
            home = os.path.expanduser("~")
            if not os.path.isabs(home):
                raise self._error("INVALID_INPUT", plain, "needs a home directory, but none is known")
            return os.path.normpath(home + plain[1:])
        if os.path.isabs(plain):
            return os.path.normpath(plain)
        first, _, rest = plain.partition("/")
        base = self.names().get(first)
        if base is None:
            base, rest = self.main, plain
        absolute = os.path.normpath(os.path.join(base, "./" + rest))
        # A relative path must not leave by name, even where a link would lead back.
        if self.root_of(Path(absolute)) is None:
            raise self._error("OUTSIDE_WORKSPACE", plain, "is outside the workspace")
        return absolute

    def _unresolved(self, raw_path: str, error: OSError) -> ToolError:
        match error.errno:
            case errno.ELOOP:
                problem = "runs into a loop of links or a broken link"
                return self._error("INVALID_INPUT", raw_path, problem, "name a file itself, not the link")
            case errno.ENAMETOOLONG:
                return self._error("INVALID_INPUT", raw_path, "is too long for a path", "use a shorter path")
            case errno.ENOTDIR:
                problem = "goes through a file as if it were a folder"
                return self._error("INVALID_INPUT", raw_path, problem, "list the folder to see what there is")
            case _:
                return self._error("IO_ERROR", raw_path, f"cannot be resolved: {error.strerror}", "ask the user")

    def _error(self, code: ErrorCode, raw_path: str, problem: str, hint: str = _INSIDE) -> ToolError:
        roots = [str(root) for root in self.roots]
        return ToolError(
            code,
            f"{_shown(raw_path)} {problem}; the workspace is {', '.join(roots)}",
            hint,
            {"path": raw_path, "roots": roots},
        )


def extra_roots(raw_path: Iterable[str]) -> tuple[Path, ...]:
    """Return the folders that the settings open for reading: absolute ones that exist; `~` is the home folder."""
    paths = (os.path.expanduser(path) for path in raw_path)
    return tuple(
        dict.fromkeys(Path(os.path.realpath(path)) for path in paths if os.path.isabs(path) and os.path.isdir(path))
    )


def lies_in(path: Path, folders: Iterable[Path]) -> bool:
    """Return whether a real path is one of the folders or is inside one, whatever links lead to them and whatever other
    names they have (in another case, or through a mount)."""
    return Inside(folders).has(path)


class Inside:
    """Tells of many paths at one moment whether they lie in some folders, as `lies_in` does for one."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._real: list[str] = []
        self._wanted = set[tuple[int, int]]()
        self._known: dict[Path, bool] = {}
        for folder in folders:
            self._real.append(os.path.realpath(folder))
            with suppress(OSError):
                status = os.stat(folder)
                self._wanted.add((status.st_dev, status.st_ino))

    def has(self, path: Path) -> bool:
        """Tell of a real path. The folders around it are looked at once."""
        if any(path.is_relative_to(folder) for folder in self._real):
            return True
        return bool(self._wanted) and (self._is_wanted(path) or any(map(self._is_around, path.parents)))

    def _is_around(self, folder: Path) -> bool:
        if folder not in self._known:
            self._known[folder] = self._is_wanted(folder)
        return self._known[folder]

    def _is_wanted(self, path: Path) -> bool:
        with suppress(OSError):
            status = os.lstat(path)
            return (status.st_dev, status.st_ino) in self._wanted
        return False


def belongs_to_north(resolved: Resolved) -> ToolError:
    """Return the error for a path in one of North's own folders."""
    return ToolError("OUTSIDE_WORKSPACE", f"{resolved.relative} belongs to North itself")


def ensure_regular(path: Path) -> None:
    """Check that a path is a regular file. Raises ToolError: NOT_FOUND, INVALID_INPUT (folder, link, device, pipe …),
    IO_ERROR."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ToolError("NOT_FOUND", f"{path} does not exist") from error
    except OSError as error:
        raise ToolError("IO_ERROR", f"{path} cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise ToolError("INVALID_INPUT", f"{path} is {kind_of(mode)}, not a file")


def kind_of(mode: int) -> str:
    """Return what kind of file a mode stands for, in words."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((words for test, words in kinds if test(mode)), "a device")


def _plain(raw_path: str) -> str:
    """Return the path that is meant, with a `file://` URI decoded. Raises ToolError."""
    _check_characters(raw_path, raw_path)
    if raw_path[:6].lower() == "file:/":
        plain = _from_uri(raw_path)
        _check_characters(plain, raw_path)
    elif _SCHEME.match(raw_path):
        raise _invalid(raw_path, "is an address, not a path")
    else:
        plain = raw_path
    if os.name == "nt":
        plain = plain.replace("\\", "/")
    if any(len(os.fsencode(name)) > _MAX_NAME_BYTES for name in plain.split("/")):
        raise _invalid(raw_path, "has a name that is too long for a file system")
    if len(os.fsencode(plain)) > _MAX_PATH_BYTES:
        raise _invalid(raw_path, "is too long for a path")
    return plain


def _check_characters(path: str, raw_path: str) -> None:
    if not path.strip():
        raise _invalid(raw_path, "is empty")
    if _CONTROL.search(path):
        raise _invalid(raw_path, "contains control characters")
    if _SURROGATE.search(path):
        raise _invalid(raw_path, "contains half of a character (a lone surrogate)")


def _from_uri(uri: str) -> str:
    rest = uri[len("file:") :]
    if "?" in rest or "#" in rest:
        raise _invalid(uri, "has a query or fragment, which a file does not have")
    host = ""
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    if host.lower() not in ("", "localhost"):
        raise ToolError("OUTSIDE_WORKSPACE", f"{_shown(uri)} is on another machine", "name a local file")
    if not rest.startswith("/"):
        raise _invalid(uri, "names no file")
    try:
        plain = unquote_to_bytes(rest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(uri, "is not UTF-8 once decoded") from error
    if os.name != "nt":
        return plain
    from north_lsp.workspace.windows_paths import from_uri

    return from_uri(plain)


def _invalid(raw_path: str, problem: str) -> ToolError:
    return ToolError("INVALID_INPUT", f"the path {_shown(raw_path)} {problem}", details={"path": raw_path})


def _shown(raw_path: str) -> str:
    cut = raw_path if len(raw_path) <= _SHOWN_CHARACTERS else raw_path[:_SHOWN_CHARACTERS] + "…"
    return ascii(cut) if _SURROGATE.search(cut) else repr(cut)


def _first(roots: Iterable[Path], path: Path) -> Path | None:
    return next((root for root in roots if path.is_relative_to(root)), None)


def _walk(absolute: str) -> _Walked:
    """Follow a path name by name: links in the part that exists are resolved, the rest is appended.

    Raises _Stuck for loops, for links that lead nowhere (a write through one would create a file at a place that was
    never checked), and for any other error of the file system.
    """
    if sys.platform == "win32":
        return _walk_on_windows(absolute)
    done, links = "/", 0
    names = [absolute]
    waiting = deque((name, False) for name in absolute.split("/"))  # each part, and whether a link brought it
    while waiting:
        name, brought = waiting.popleft()
        if name in ("", "."):
            continue
        if name == "..":
            done = os.path.dirname(done)
            continue
        here = os.path.join(done, name)
        try:
            target = os.readlink(here) if stat.S_ISLNK(os.lstat(here).st_mode) else None
        except FileNotFoundError as error:
            if brought:
                raise _Stuck(OSError(errno.ELOOP, os.strerror(errno.ELOOP)), done, linked=True) from error
            return _Walked(Path(here, *(rest for rest, _ in waiting)), False, tuple(names))
        except OSError as error:
            raise _Stuck(error, done, linked=links > 0) from error
        if target is None:
            done = here
            continue
        links += 1
        if links > _MAX_LINKS:
            raise _Stuck(OSError(errno.ELOOP, os.strerror(errno.ELOOP)), done, linked=links > 1)
        names.append(os.path.normpath(os.path.join(done, target, *(rest for rest, _ in waiting))))
        waiting.extendleft((part, True) for part in reversed(target.split("/")))
        if target.startswith("/"):
            done = "/"
    return _Walked(Path(done), True, tuple(names))


def _walk_on_windows(absolute: str) -> _Walked:
    from north_lsp.workspace.windows_paths import Stuck, follow

    try:
        found, missing, names = follow(absolute, os.lstat, os.readlink)
    except Stuck as stuck:
        raise _Stuck(OSError(stuck.errno, stuck.strerror), stuck.at, linked=stuck.linked) from stuck
    # What exists is known by its true name, whatever short name or case it was called by.
    return _Walked(Path(systems.true_path(found), *missing), not missing, names)
