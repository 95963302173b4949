"""Which files of a root are left out (git's ignore files and a fixed list) or closed to tools (`.northignore`)."""

import os
import stat
from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from north_lsp.workspace.git import exclude_file, top_level
from north_lsp.workspace.gitignore import EMPTY, EVERYTHING, PatternFile, load, spelled

ALWAYS_SKIPPED = frozenset(
    [
        ".git",
        ".hg",
        ".svn",
        "node_modules",
        "__pycache__",
        ".venv",
        "venv",
        "dist",
        "build",
        "target",
        ".next",
        ".cache",
        "coverage",
        ".mypy_cache",
        ".pytest_cache",
        ".idea",
        ".gradle",
    ]
)
_GIT = ".git"
_GITIGNORE = ".gitignore"
OWN_IGNORE_FILE = ".northignore"
IGNORE_FILES = frozenset([_GITIGNORE, OWN_IGNORE_FILE])


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that a walk met. `relative` is posix and relative to the rules' root; a link is no folder."""

    relative: str
    path: Path
    is_dir: bool


@dataclass(frozen=True, slots=True)
class _Chain:
    """The ignore files that speak for the entries of one folder, the strongest first, each with the number of bytes of
    `prefix` (the folder's own path below the first of them, ending in a slash) that lead to its place."""

    prefix: bytes
    files: tuple[tuple[int, PatternFile], ...]
    folded: bool

    def with_file(self, file: PatternFile) -> "_Chain":
        if not file.patterns:
            return self
        return _Chain(self.prefix, ((len(self.prefix), file), *self.files), self.folded)

    def below(self, name: str) -> "_Chain":
        if not self.files:  # nobody asks for a path from here
            return self
        return _Chain(self.prefix + spelled(name, folded=self.folded) + b"/", self.files, self.folded)

    def ignored_of(self, names: Mapping[str, bool]) -> Collection[str]:
        """Which of a folder's names, given with whether they are folders, are ignored."""
        if not self.files or not names:
            return ()
        if self.folded:
            return {name for name, is_dir in names.items() if self.ignores(name, is_dir)}
        ignored, prefix, files = set[str](), self.prefix, self.files
        joined = f"/{'/'.join(names)}/".encode("utf-8", "surrogateescape")
        if not any(file.may_meet(joined, prefix[start:]) for start, file in files):
            return ()
        for name, is_dir in names.items():
            base = name.encode("utf-8", "surrogateescape")
            path = prefix + base
            for start, file in files:
                verdict = file.verdict(base, path[start:], is_dir)
                if verdict is not None:
                    if verdict:
                        ignored.add(name)
                    break
        return ignored

    def ignores(self, name: str, is_dir: bool) -> bool:
        if not self.files:
            return False
        base = spelled(name, folded=self.folded)
        path = self.prefix + base
        for start, file in self.files:
            verdict = file.verdict(base, path[start:], is_dir)
            if verdict is not None:
                return verdict
        return False


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk stands. The user's own list is asked twice, exactly and folded, because a file system may not tell
    spellings apart; either may close."""

    path: str
    git: _Chain
    exact: _Chain
    folded: _Chain

    def closes(self, name: str, is_dir: bool) -> bool:
        return self.exact.ignores(name, is_dir) or self.folded.ignores(name, is_dir)

    def leaves_out(self, name: str, is_dir: bool) -> bool:
        return name == _GIT or (is_dir and name in ALWAYS_SKIPPED) or self.git.ignores(name, is_dir)

    def shown(self, names: Mapping[str, bool]) -> list[str]:
        """What of a folder's names, given with whether they are folders, a walk meets, in order."""
        hidden: Collection[str] = self.git.ignored_of(names)
        if self.exact.files:
            hidden = {*hidden, *self.exact.ignored_of(names), *self.folded.ignored_of(names)}
        if hidden or not ALWAYS_SKIPPED.isdisjoint(names):
            return sorted(
                name
                for name, is_dir in names.items()
                if name not in hidden and name != _GIT and not (is_dir and name in ALWAYS_SKIPPED)
            )
        return sorted(names)


class IgnoreRules:
    """The rules of one root. Ignore files are read when needed and again when they change. Threads may share one."""

    def __init__(self, root: Path, top: Path, shared: tuple[Path, ...]) -> None:
        self.root = root
        self._top = top
        self._shared = shared
        self._read: dict[tuple[str, bool], tuple[tuple[int, ...], PatternFile]] = {}

    @classmethod
    def of(cls, root: Path) -> "IgnoreRules":
        """The rules of a real, absolute root, with those that git has above it and for the user."""
        top = top_level(root) or root
        return cls(root, top, (exclude_file(top), _global_file()))

    def ignored(self, relative: str, is_dir: bool) -> bool:
        """Whether walks leave a path out: by the fixed list, by git or by the user's own list."""
        parts = _parts(relative)
        if parts is None:
            return True
        folder = self.first_place()
        for at, name in enumerate(parts):
            folder_here = is_dir or at < len(parts) - 1
            if folder.leaves_out(name, folder_here) or folder.closes(name, folder_here):
                return True
            folder = self.enter(folder, name)
        return False

    def closed(self, relative: str) -> bool:
        """Whether the user's `.northignore` files close a resolved path to tools. What is no path is closed."""
        parts = _parts(relative)
        if parts is None:
            return True
        folder = self.first_place()
        for at, name in enumerate(parts):
            is_dir = at < len(parts) - 1 or os.path.isdir(f"{folder.path}/{name}")
            if folder.closes(name, is_dir):
                return True
            folder = self.enter(folder, name)
        return False

    def walk_from(self, start: Path) -> Iterator[Entry]:
        """See `walk`."""
        relative = "" if start == self.root else start.relative_to(self.root).as_posix()
        if relative and self.closed(relative):
            return
        # Someone who names an ignored folder means what is in it.
        everything = bool(relative) and self.ignored(relative, True)
        folder = self.first_place()
        for name in relative.split("/") if relative else ():
            folder = self.enter(folder, name)
        yield from self._walk(folder, f"{relative}/" if relative else "", everything)

    def _walk(self, first: Place, prefix: str, everything: bool) -> Iterator[Entry]:
        stack = [iter(self._entries(first, prefix, everything))]
        folders = [first]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
                folders.pop()
                continue
            yield entry
            if entry.is_dir:
                folder = self.enter(folders[-1], entry.path.name)
                folders.append(folder)
                stack.append(iter(self._entries(folder, f"{entry.relative}/", everything)))

    def _entries(self, folder: Place, prefix: str, everything: bool) -> list[Entry]:
        try:
            with os.scandir(folder.path) as listing:
                found = sorted((item.name, item.is_dir(follow_symlinks=False)) for item in listing)
        except OSError:
            return []
        return [
            Entry(prefix + name, Path(f"{folder.path}/{name}"), is_dir)
            for name, is_dir in found
            if not (name == _GIT if everything else folder.leaves_out(name, is_dir)) and not folder.closes(name, is_dir)
        ]

    def first_place(self) -> Place:
        """The root, for a walk of one's own."""
        git = _Chain(b"", (), folded=False)
        for path in reversed(self._shared):
            git = git.with_file(self._git_file(path, follow=True))
        place = self._top
        for name in self.root.relative_to(self._top).parts:
            git = git.with_file(self._git_file(place / _GITIGNORE)).below(name)
            place /= name
        empty = _Chain(b"", (), folded=False)
        return self._read_folder(Place(str(self.root), git, empty, _Chain(b"", (), folded=True)))

    def enter(self, folder: Place, name: str, names: Container[str] = IGNORE_FILES) -> Place:
        """The place of a sub-folder. Who knows the `names` in it saves looking for ignore files that are not there."""
        git, exact, folded = folder.git.below(name), folder.exact.below(name), folder.folded.below(name)
        return self._read_folder(Place(f"{folder.path}/{name}", git, exact, folded), names)

    def watched(self) -> list[Path]:
        """Ignore files that speak for the root but do not lie in it."""
        above = [Path(*self._top.parts, *parts) for parts in self._above()]
        return [*self._shared, *(folder / _GITIGNORE for folder in above)]

    def _above(self) -> list[tuple[str, ...]]:
        names = self.root.relative_to(self._top).parts
        return [names[:depth] for depth in range(len(names))]

    def _read_folder(self, folder: Place, names: Container[str] = IGNORE_FILES) -> Place:
        if _GITIGNORE not in names and OWN_IGNORE_FILE not in names:
            return folder
        git, exact, folded = folder.git, folder.exact, folder.folded
        if _GITIGNORE in names:
            git = git.with_file(self._git_file(Path(folder.path, _GITIGNORE)))
        if OWN_IGNORE_FILE in names:
            own = Path(folder.path, OWN_IGNORE_FILE)
            exact = exact.with_file(self._own_file(own, folded=False))
            folded = folded.with_file(self._own_file(own, folded=True))
        return Place(folder.path, git, exact, folded)

    def _git_file(self, path: Path, *, follow: bool = False) -> PatternFile:
        try:
            return self._file(path, folded=False, follow=follow)
        except OSError:
            return EMPTY

    def _own_file(self, path: Path, *, folded: bool) -> PatternFile:
        try:
            return self._file(path, folded=folded, follow=True)
        except OSError:
            return EVERYTHING  # what the user wanted closed cannot be known

    def _file(self, path: Path, *, folded: bool, follow: bool) -> PatternFile:
        try:
            status = os.stat(path, follow_symlinks=follow)
        except (FileNotFoundError, NotADirectoryError):
            return EMPTY
        if not stat.S_ISREG(status.st_mode):
            return EMPTY
        signature = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        known = self._read.get((str(path), folded))
        if known is not None and known[0] == signature:
            return known[1]
        file = load(path, folded=folded, follow=follow)
        self._read[str(path), folded] = (signature, file)
        return file


def walk(root: Path, rules: IgnoreRules, hidden: bool = True) -> Iterator[Entry]:
    """What is in the rules' root, or in a folder of it, in path order, a folder before its contents.

    Links are met but not followed. What is ignored is left out, unless it is the folder that the walk starts in; `.git`
    and what the user closed always are. Folders that cannot be read look empty.
    """
    shown = rules.walk_from(root)
    if hidden:
        return shown
    skip = len(root.relative_to(rules.root).parts)
    return (entry for entry in shown if not any(part.startswith(".") for part in entry.relative.split("/")[skip:]))


def _parts(relative: str) -> list[str] | None:
    """The components of a relative path; None for what is none."""
    if relative.startswith("/") or "\0" in relative:
        return None
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    return None if ".." in parts else parts


def _global_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path(os.path.expanduser("~"), ".config")) / "git" / "ignore"
