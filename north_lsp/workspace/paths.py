"""The one function that turns a spelled path into a real one inside the workspace. Any doubt is a refusal."""

import errno
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote_to_bytes

from north_lsp.errors import ErrorCode, ToolError

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4095
_INSIDE = "use a path inside the workspace"
_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Resolved:
    """A path that passed. `path` is real and absolute; `relative` is what people and the model read, with `/`: relative
    to the main root, or prefixed by `<root name>/` for a further one."""

    path: Path
    relative: str
    root: Path
    exists: bool


@dataclass(frozen=True)
class Roots:
    """The folders of the workspace, real and absolute; the first is the main one. `extra` are further folders that may
    only be read, and only by who asks for it."""

    roots: tuple[Path, ...]
    extra: tuple[Path, ...] = ()

    @classmethod
    def of(cls, *paths: Path | str) -> "Roots":
        """Roots from paths as a client spells them. Raises ValueError without any."""
        if not paths:
            raise ValueError("a workspace needs at least one root")
        return cls(tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in paths)))

    @property
    def main(self) -> Path:
        return self.roots[0]

    def names(self) -> dict[str, Path]:
        """The further roots by the name that leads a path into them; a number tells folders of the same name apart."""
        named: dict[str, Path] = {}
        for root in self.roots[1:]:
            name, number = root.name or "root", 1
            while (candidate := name if number == 1 else f"{name}-{number}") in named:
                number += 1
            named[candidate] = root
        return named

    def root_of(self, path: Path) -> Path | None:
        """The first root that a real path lies in, compared by components."""
        return next((root for root in self.roots if path.is_relative_to(root)), None)

    def spell(self, root: Path, relative: str) -> str:
        """How a path relative to one of the roots is written, so that `resolve` leads back to it."""
        names = self.names()
        if root in self.extra and root not in self.roots:
            return str(root / relative)
        if root == self.main:
            # A name that would be taken for another root, for the home directory or for an address needs a mark.
            first = relative.split("/", 1)[0]
            return f"./{relative}" if first in names or first == "~" or first.endswith(":") else relative
        name = next(name for name, folder in names.items() if folder == root)
        return name if relative == "." else f"{name}/{relative}"

    def resolve(self, spelled: str) -> Resolved:
        """The real place of a path: relative, absolute, with `~`, or a `file://` URI.

        Raises ToolError: INVALID_INPUT for what is no path, OUTSIDE_WORKSPACE for one that leads out of every root by
        name or by link, IO_ERROR when the file system would not say.
        """
        absolute = self._absolute(_plain(spelled))
        try:
            path, exists = _real(absolute)
        except OSError as error:
            raise self._unresolved(spelled, error) from error
        root = self.root_of(path)
        if root is None:
            inside = absolute.lstrip("/")
            known = bool(inside) and os.path.lexists(self.main / inside)  # as if the workspace were the whole disk
            hint = f"leave out the first slash if {inside} is meant" if known else _INSIDE
            raise self._error("OUTSIDE_WORKSPACE", spelled, "leads outside the workspace", hint)
        return Resolved(path, self.spell(root, path.relative_to(root).as_posix()), root, exists)

    def resolve_readable(self, spelled: str) -> Resolved:
        """As `resolve`, also for what lies in an extra folder, which is shown by its absolute path; to read only."""
        try:
            return self.resolve(spelled)
        except ToolError as error:
            if error.code != "OUTSIDE_WORKSPACE" or not self.extra:
                raise
            try:
                path, exists = _real(self._absolute(_plain(spelled)))
            except OSError as problem:
                raise self._unresolved(spelled, problem) from problem
            root = next((root for root in self.extra if path.is_relative_to(root)), None)
            if root is None:
                raise
            return Resolved(path, str(path), root, exists)

    def as_spelled(self, spelled: str) -> Path | None:
        """The absolute path that is spelled, links left as they are; None for what is none."""
        try:
            return Path(self._absolute(_plain(spelled)))
        except ToolError:
            return None

    def _absolute(self, plain: str) -> str:
        if plain == "~" or plain.startswith("~/"):
            home = os.path.expanduser("~")
            if not os.path.isabs(home):
                raise self._error("INVALID_INPUT", plain, "needs a home directory, and none is known")
            return os.path.normpath(home + plain[1:])
        if os.path.isabs(plain):
            return os.path.normpath(plain)
        first, _, rest = plain.partition("/")
        base = self.names().get(first)
        if base is None:
            base, rest = self.main, plain
        absolute = os.path.normpath(os.path.join(base, "./" + rest))
        # A relative path may not leave by name, even where a link would lead back.
        if self.root_of(Path(absolute)) is None:
            raise self._error("OUTSIDE_WORKSPACE", plain, "leads outside the workspace")
        return absolute

    def _unresolved(self, spelled: str, error: OSError) -> ToolError:
        match error.errno:
            case errno.ELOOP:
                problem = "runs into a loop of links or a link that leads nowhere"
                return self._error("INVALID_INPUT", spelled, problem, "name a file itself, not the link")
            case errno.ENAMETOOLONG:
                return self._error("INVALID_INPUT", spelled, "is longer than a path can be", "use a shorter path")
            case errno.ENOTDIR:
                problem = "goes through a file as if it were a folder"
                return self._error("INVALID_INPUT", spelled, problem, "list the folder to see what there is")
            case _:
                return self._error("IO_ERROR", spelled, f"cannot be resolved: {error.strerror}", "ask the user")

    def _error(self, code: ErrorCode, spelled: str, problem: str, hint: str = _INSIDE) -> ToolError:
        roots = [str(root) for root in self.roots]
        return ToolError(
            code,
            f"{_shown(spelled)} {problem}; the workspace is {', '.join(roots)}",
            hint,
            {"path": spelled, "roots": roots},
        )


def extra_roots(spelled: Iterable[str]) -> tuple[Path, ...]:
    """The folders that settings open for reading: absolute ones that exist, `~` for the home folder."""
    paths = (os.path.expanduser(path) for path in spelled)
    return tuple(
        dict.fromkeys(Path(os.path.realpath(path)) for path in paths if os.path.isabs(path) and os.path.isdir(path))
    )


def ensure_regular(path: Path) -> None:
    """Pass a regular file. Raises ToolError: NOT_FOUND, INVALID_INPUT (folder, link, device, pipe …), IO_ERROR."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ToolError("NOT_FOUND", f"{path} does not exist") from error
    except OSError as error:
        raise ToolError("IO_ERROR", f"{path} cannot be opened: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise ToolError("INVALID_INPUT", f"{path} is {kind_of(mode)}, not a file")


def kind_of(mode: int) -> str:
    """What a file mode stands for, in words."""
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((words for test, words in kinds if test(mode)), "a device")


def _plain(spelled: str) -> str:
    """The path that is meant, with URI spelling undone. Raises ToolError."""
    _check_characters(spelled, spelled)
    if spelled[:6].lower() == "file:/":
        plain = _from_uri(spelled)
        _check_characters(plain, spelled)
    elif _SCHEME.match(spelled):
        raise _invalid(spelled, "is an address, not a path")
    else:
        plain = spelled
    if any(len(os.fsencode(name)) > _MAX_NAME_BYTES for name in plain.split("/")):
        raise _invalid(spelled, "has a name that is longer than a file system takes")
    if len(os.fsencode(plain)) > _MAX_PATH_BYTES:
        raise _invalid(spelled, "is longer than a path can be")
    return plain


def _check_characters(path: str, spelled: str) -> None:
    if not path.strip():
        raise _invalid(spelled, "is empty")
    if _CONTROL.search(path):
        raise _invalid(spelled, "contains control characters")
    if _SURROGATE.search(path):
        raise _invalid(spelled, "contains half of a character (a lone surrogate)")


def _from_uri(uri: str) -> str:
    rest = uri[len("file:") :]
    if "?" in rest or "#" in rest:
        raise _invalid(uri, "has a query or fragment, which a file has not")
    host = ""
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    if host.lower() not in ("", "localhost"):
        raise ToolError("OUTSIDE_WORKSPACE", f"{_shown(uri)} is on another machine", "name a local file")
    if not rest.startswith("/"):
        raise _invalid(uri, "names no file")
    try:
        return unquote_to_bytes(rest).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _invalid(uri, "is not UTF-8 once decoded") from error


def _invalid(spelled: str, problem: str) -> ToolError:
    return ToolError("INVALID_INPUT", f"the path {_shown(spelled)} {problem}", details={"path": spelled})


def _shown(spelled: str) -> str:
    cut = spelled if len(spelled) <= _SHOWN_CHARACTERS else spelled[:_SHOWN_CHARACTERS] + "…"
    return ascii(cut) if _SURROGATE.search(cut) else repr(cut)


def _real(absolute: str) -> tuple[Path, bool]:
    """The real path and whether it exists: links in the part that exists are resolved, the rest is put behind it.

    Raises OSError for loops, for links that lead nowhere, and for whatever else keeps the file system from answering.
    """
    present, missing = absolute, list[str]()
    while True:
        try:
            real = os.path.realpath(present, strict=True)
            break
        except FileNotFoundError:
            if os.path.islink(present):  # a write through it would create a file at a place nobody has checked
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), present) from None
            present, name = os.path.split(present)
            if not name:
                raise
            missing.append(name)
    return Path(real, *reversed(missing)), not missing
