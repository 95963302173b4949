"""What belongs to git in a workspace: repositories' own folders, and the files that git's configuration and hooks name,
which git then runs or reads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.git import configuration
from north_lsp.workspace.guards.after_changes import After, content_before
from north_lsp.workspace.guards.protected import folded

_TOKEN = lazy_pattern(r"""[^\s;|&()<>'"`$={}!,]+""")
_HARMLESS = lazy_pattern(
    r"^(user|color|branch|url)\.|^remote\..*\.(url|pushurl|fetch|push)$|^submodule\..*\.(url|path|branch)$|^core\.worktree$"
)
_INCLUDE = lazy_pattern(r"^include(if\..*)?\.path$")
_LONGEST = 4096
_MOST_BYTES = 64 * 1024
_CONFIGURATION = "is read by git as its configuration"
_USERS_FILES = ("~/.gitconfig", "~/.config/git/config", "~/.config/git/attributes")
_FOLDERS = ("core.hookspath", "init.templatedir")


def looks_like_repository(names: Iterable[str]) -> bool:
    """Return whether git would take a folder with these names in it for a repository's own: a complete one, or one of
    the two halves of a linked one."""
    folded = {name.casefold() for name in names}
    has_parts = {"objects", "refs"} <= folded
    return ("head" in folded and (has_parts or "commondir" in folded)) or (has_parts and "config" in folded)


def own_folders(place: Path, after: After) -> Iterator[Path]:
    """Yield the folders in which git keeps the data of a work tree at `place`, wherever `.git` says that they are."""
    entry = place / ".git"
    if os.path.islink(entry) or os.path.isdir(entry):
        first = Path(os.path.realpath(entry))
    else:
        named = _first_line(after.content(entry))
        if named is None or not named.startswith("gitdir:"):
            return
        first = Path(os.path.realpath(place / named.removeprefix("gitdir:").strip()))
    yield first
    common = _first_line(after.content(first / "commondir"))
    if common:
        yield Path(os.path.realpath(first / common))


def _first_line(data: bytes | None) -> str | None:
    return None if data is None else os.fsdecode(data.partition(b"\n")[0].strip()).replace("\0", "")


@dataclass
class Named:
    """The files and folders that something else names, each with what names it; paths are compared regardless of
    case."""

    place: Path
    files: dict[Path, str] = field(default_factory=dict)
    folders: dict[Path, str] = field(default_factory=dict)
    _words: dict[str, str] = field(default_factory=dict)
    _compared: tuple[dict[str, str], dict[str, str]] | None = None

    def reason(self, path: Path) -> str | None:
        """Say why a path decides what is run; None if nothing names it."""
        files, folders = self._as_compared()
        if (found := files.get(folded(str(path)))) is not None:
            return found
        if folders:
            around = {folded(str(one)) for one in (path, *path.parents)}
            if (found := next((why for one, why in folders.items() if one in around), None)) is not None:
                return found
        if not self._words or not path.is_relative_to(self.place):
            return None
        ending = folded(f"/{path.relative_to(self.place).as_posix()}")  # a word may begin with a variable's value
        return next((why for word, why in self._words.items() if f"/{word}".endswith(ending)), None)

    def _as_compared(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the files and the folders as their names are compared; of the same names, the first counts."""
        if self._compared is None:
            files: dict[str, str] = {}
            folders: dict[str, str] = {}
            for found, named in ((files, self.files), (folders, self.folders)):
                for path, why in named.items():
                    found.setdefault(folded(str(path)), why)
            self._compared = files, folders
        return self._compared

    def below(self, root: Path) -> Iterator[Path]:
        """Yield those of them that exist below a folder, a real path."""
        for path in (*self.files, *self.folders):
            if path != root and path.is_relative_to(root) and os.path.lexists(path):
                yield path

    def file(self, place: Path, raw_path: str, why: str) -> None:
        self._compared = None
        self.files.setdefault(_real(place, raw_path), why)

    def folder(self, place: Path, raw_path: str, why: str) -> None:
        """Add everything in a folder."""
        self._compared = None
        self.folders.setdefault(_real(place, raw_path), why)

    def tokens(self, place: Path, text: str, why: str) -> None:
        """Add every word of a text that may be a path."""
        for word in (text, *_TOKEN.findall(text)):
            key = folded(word)
            if key not in self._words and "\0" not in word and len(word) < _LONGEST and word.strip("./~"):
                self._words[key] = why
                self.file(place, word, why)

    def lines(self, place: Path, data: bytes, why: str) -> None:
        """Add every word of a script or a configuration file, without comments."""
        for line in data[:_MOST_BYTES].decode("utf-8", "replace").split("\n"):
            if not line.lstrip().startswith(("#", "//")):
                self.tokens(place, line.strip(), why)


def named_by_git(place: Path) -> Named | None:
    """Return what git's configuration for a folder and the hooks there name; None if that cannot be determined."""
    top = next((one for one in (place, *place.parents) if os.path.lexists(one / ".git")), place)
    named = Named(top)
    rows = configuration(top)
    if rows is None:
        return None
    for spelled in _USERS_FILES:
        named.file(top, spelled, _CONFIGURATION)
    for origin, key, value in rows:
        if origin:
            named.file(top, origin, _CONFIGURATION)
        if _INCLUDE.match(key):
            named.file((top / origin).parent if origin else top, value, _CONFIGURATION)
        elif key in _FOLDERS:
            named.folder(top, value, _by(key))
            _hooks(Path(os.path.join(top, os.path.expanduser(value))), top, named)
        elif not _HARMLESS.match(key):
            named.tokens(top, value, _by(key))
    for own in own_folders(top, After(())):
        for folder in (own, own / "info"):
            for name in _names(folder):
                if os.path.islink(folder / name):
                    named.folder(folder, name, f"is one of git's own files ({name} points there)")
        named.folder(own, "hooks", "is run by git (a hook)")
        _hooks(own / "hooks", top, named)
    return named


def _by(key: str) -> str:
    return f"is named by git's configuration ({key})"


def _hooks(folder: Path, top: Path, named: Named) -> None:
    for name in _names(folder):
        if not name.endswith(".sample"):  # a hook may be a link to a file of the workspace, or name one
            named.file(folder, name, f"is run by the git hook {name}")
            named.lines(top, content_before(folder / name) or b"", f"is run by the git hook {name}")


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _real(place: Path, raw_path: str) -> Path:
    return Path(os.path.realpath(os.path.join(place, os.path.expanduser(raw_path))))
