"""What belongs to git in a workspace: repositories' own folders, and the files that git's configuration and its hooks
name, which git then runs or reads."""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from north_lsp.workspace.after import After, before
from north_lsp.workspace.git import configuration, top_level

_TOKEN = re.compile(r"""[^\s;|&()<>'"`$={}!,]+""")
_HARMLESS = re.compile(
    r"^(user|color|branch|url)\.|^remote\..*\.(url|pushurl|fetch|push)$|^submodule\..*\.(url|path|branch)$|^core\.worktree$"
)
_INCLUDE = re.compile(r"^include(if\..*)?\.path$")
_LONGEST = 4096
_HOOK_BYTES = 64 * 1024
_FOLDERS = ("core.hookspath", "init.templatedir")


def looks_like_repository(names: Iterable[str]) -> bool:
    """Whether git takes a folder with these names in it for a repository's own: a whole one, or one half of two."""
    folded = {name.casefold() for name in names}
    has_parts = {"objects", "refs"} <= folded
    return ("head" in folded and (has_parts or "commondir" in folded)) or (has_parts and "config" in folded)


def own_folders(place: Path, after: After) -> Iterator[Path]:
    """The folders that git keeps things in for a work tree at `place`, wherever `.git` says that they are."""
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
    """The files and folders that something else names, real paths, each with what names it."""

    place: Path
    files: dict[Path, str] = field(default_factory=dict)
    folders: dict[Path, str] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def reason(self, path: Path) -> str | None:
        """Why a path decides what is run; None if nothing names it."""
        if (found := self.files.get(path)) is not None:
            return found
        if (folder := next((one for one in (path, *path.parents) if one in self.folders), None)) is not None:
            return self.folders[folder]
        if not path.is_relative_to(self.place):
            return None
        ending = f"/{path.relative_to(self.place).as_posix()}"  # a word may begin with what a variable stands for
        return next((why for word, why in self.words.items() if f"/{word}".endswith(ending)), None)

    def file(self, place: Path, spelled: str, why: str) -> None:
        self.files.setdefault(_real(place, spelled), why)

    def tokens(self, place: Path, text: str, why: str) -> None:
        """Every word that may be a path."""
        for word in (text, *_TOKEN.findall(text)):
            if word not in self.words and "\0" not in word and len(word) < _LONGEST and word.strip("./~"):
                self.words[word] = why
                self.file(place, word, why)


def named_by_git(place: Path) -> Named | None:
    """What git's configuration for a folder and the hooks there name; None if it cannot be known."""
    top = top_level(place) or place
    named = Named(top)
    rows = configuration(top)
    if rows is None:
        return None
    for origin, key, value in rows:
        why = f"is named by git's configuration ({key})"
        if origin:
            file = Path(os.path.realpath(top / origin))
            named.files.setdefault(file, "is read by git as its configuration")
        if _INCLUDE.match(key):
            named.file((top / origin).parent if origin else top, value, "is read by git as its configuration")
        elif key in _FOLDERS:
            named.folders.setdefault(_real(top, value), why)
        elif not _HARMLESS.match(key):
            named.tokens(top, value, why)
    for folder in [*named.folders, *(one / "hooks" for one in own_folders(top, After(())))]:
        _hooks(folder, top, named)
    return named


def _hooks(folder: Path, top: Path, named: Named) -> None:
    with suppress(FileNotFoundError, NotADirectoryError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".sample"):
                continue
            # A hook may be a link to a file of the workspace, or name one.
            why = f"is run by the git hook {name}"
            named.files.setdefault(Path(os.path.realpath(folder / name)), why)
            data = before(folder / name)
            for line in (data or b"")[:_HOOK_BYTES].decode("utf-8", "replace").split("\n"):
                if not line.lstrip().startswith("#"):
                    named.tokens(top, line.strip(), why)


def _real(place: Path, spelled: str) -> Path:
    return Path(os.path.realpath(os.path.join(place, os.path.expanduser(spelled))))
