"""Where an export is written: a file that the user names, by the rules that hold for every file that North writes. What
is protected is refused, links are not followed, and nothing is replaced unless the user said so."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import replace as replaced
from pathlib import Path

from north_lsp import systems
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.guards.protected import edit_rule
from north_lsp.workspace.opening import FOLDER, open_real
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import TextEncoding

_MODE = 0o600
_ELSEWHERE = "name another file"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that may be written; `folder` is real. `exists`: it would be replaced."""

    folder: Path
    name: str
    exists: bool

    @property
    def path(self) -> Path:
        return self.folder / self.name


def find_target(raw_path: str, default_name: str, base: Path, private: Sequence[Path]) -> Target:
    """Find the file that a path of the user's means: relative to `base`, `~` is the home folder, and an existing folder
    gets a file of the default name. `private` are North's own folders.

    Raises ToolError INVALID_INPUT, NOT_FOUND, DENIED, IO_ERROR.
    """
    shown = one_line(raw_path, 300)
    if not raw_path.strip() or any(ord(character) < 32 or ord(character) == 127 for character in raw_path):
        raise ToolError("INVALID_INPUT", f"{shown!r} is not a path", _ELSEWHERE)
    path = base / os.path.expanduser(raw_path)
    try:
        if path.is_dir():
            path /= default_name
        elif raw_path.endswith("/"):
            raise ToolError("NOT_FOUND", f"there is no folder {visible(str(path))}", "create it, or name another one")
        folder = Path(os.path.realpath(path.parent, strict=True))
    except FileNotFoundError:
        missing = visible(str(path.parent))
        raise ToolError("NOT_FOUND", f"there is no folder {missing}", "create it, or name another one") from None
    except (OSError, ValueError) as error:
        raise ToolError("IO_ERROR", f"{shown} cannot be accessed: {_reason(error)}", _ELSEWHERE) from None
    if path.name in ("", ".", ".."):
        raise ToolError("INVALID_INPUT", f"{shown!r} is not a file's name", _ELSEWHERE)
    target = Target(folder, path.name, _exists(folder / path.name))
    _check(target, path, private)
    return target


def _exists(path: Path) -> bool:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise ToolError("IO_ERROR", f"{visible(str(path))} cannot be accessed: {_reason(error)}", _ELSEWHERE) from None
    if stat.S_ISLNK(mode):
        raise ToolError("INVALID_INPUT", f"{visible(str(path))} is a link, which is not followed", _ELSEWHERE)
    if not stat.S_ISREG(mode):
        raise ToolError("INVALID_INPUT", f"{visible(str(path))} is not a file", _ELSEWHERE)
    return True


def _check(target: Target, spelled: Path, private: Sequence[Path]) -> None:
    """Refuse what no tool writes, and what North would ask about every time: a conversation has no reason to be
    there."""
    path = target.path
    change = make_change(path, visible(str(path)), None, "", TextEncoding())
    if (why := refusal([change], Roots((Path(path.anchor),)), private)) is not None:
        raise ToolError("DENIED", why, _ELSEWHERE)
    rule, reason = edit_rule([str(path), str(spelled)], tuple)
    if rule != "free":
        raise ToolError("DENIED", f"{visible(str(path))} is a protected file ({reason})", _ELSEWHERE)


def must_not_exist(target: Target) -> None:
    """Raise ToolError CONFLICT if there is such a file already."""
    if target.exists:
        told = f"{visible(str(target.path))} exists already"
        raise ToolError("CONFLICT", told, "name another file, or say that it may be replaced")


def write_target(target: Target, text: str, *, replace: bool) -> None:
    """Write a file, readable by this user alone; one that is there is replaced as a whole, if that is wanted.

    Raises ToolError CONFLICT if there is one and it is not, IO_ERROR.
    """
    data = text.encode("utf-8", "replace")
    try:
        folder = open_real(target.folder, FOLDER)  # what has become a link since it was checked is not followed
        try:
            _write(folder, target.name, data, replace=replace)
        finally:
            os.close(folder)
    except FileExistsError:
        must_not_exist(replaced(target, exists=True))
    except OSError as error:
        raise ToolError("IO_ERROR", f"{visible(str(target.path))} cannot be written: {_reason(error)}") from None


def _write(folder: int, name: str, data: bytes, *, replace: bool) -> None:
    made = f".{name[:100]}.{os.urandom(4).hex()}.tmp" if replace else name
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.NOFOLLOW | systems.CLOEXEC
    descriptor = systems.open_file(made, flags, _MODE, folder=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            systems.rename_in(folder, made, name)
    except BaseException:
        systems.unlink_in(folder, made)
        raise


def _reason(error: Exception) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
