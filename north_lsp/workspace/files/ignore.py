"""Decides which files of a root are left out (git's ignore files and a fixed list) or closed to tools
(`.northignore`)."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Container, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from north_lsp import systems
from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.noting import note_problem
from north_lsp.workspace.files.gitignore import EMPTY, PatternFile, everything, load, match_form
from north_lsp.workspace.git import exclude_file, top_level, users_ignore_file
from north_lsp.workspace.opening import open_folder
from north_lsp.workspace.paths import kind_of

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
_OWN_ALONE = frozenset([OWN_IGNORE_FILE])


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that a walk found. `relative` is posix and relative to the rules' root; a link does not count as a
    folder."""

    relative: str
    path: Path
    is_dir: bool


@dataclass(frozen=True)
class _Chain:
    """The ignore files that apply to the entries of folders, the strongest first, each with the number of characters of
    a folder's path that lead into the folder of the file. All folders with the same ignore files share one chain."""

    files: tuple[tuple[int, PatternFile], ...]
    folded: bool

    def with_file(self, folder: str, file: PatternFile) -> _Chain:
        """Return the chain with one more file, which is in `folder`, an absolute path."""
        if not file.patterns:
            return self
        return _Chain(((len(folder.rstrip("/")) + 1, file), *self.files), self.folded)

    def ignored_of(self, folder: str, names: Sequence[str], folders: Container[str]) -> Collection[str]:
        """Return which names in a folder are ignored; `folders` are those of them that are folders."""
        if not self.files or not names:
            return ()
        if self.folded:
            return {name for name in names if self.ignores(folder, name, name in folders)}
        joined = f"/{'/'.join(names)}/".encode("utf-8", "surrogateescape")
        if self._meets_none(folder, names, joined):
            return ()
        files = [(_prefix(folder, start, folded=False), file) for start, file in self.files]
        ignored = set[str]()
        for name in names:
            base, is_dir = name.encode("utf-8", "surrogateescape"), name in folders
            for prefix, file in files:
                verdict = file.verdict(base, prefix + base, is_dir)
                if verdict is not None:
                    if verdict:
                        ignored.add(name)
                    break
        return ignored

    def _meets_none(self, folder: str, names: Sequence[str], joined: bytes) -> bool:
        """Return whether it is certain that no pattern matches any of a folder's names."""
        # Asked file by file: a large file is shared by many chains, and what it knows of itself is made once.
        for start, file in self.files:
            if file.may_meet_names(names, joined):
                return False
            if file.names_only or not file.meets_paths_at(folder.count("/", start - 1)):
                continue
            if file.may_meet_paths(joined, _prefix(folder, start, folded=False)):
                return False
        return True

    def ignores(self, folder: str, name: str, is_dir: bool) -> bool:
        if not self.files:
            return False
        base = match_form(name, folded=self.folded)
        for start, file in self.files:
            exact = None
            if self.folded:
                own = match_form(name, folded=False)
                exact = own, _prefix(folder, start, folded=False) + own
            verdict = file.verdict(base, _prefix(folder, start, folded=self.folded) + base, is_dir, exact)
            if verdict is not None:
                return verdict
        return False


def _prefix(folder: str, start: int, *, folded: bool) -> bytes:
    """Return the path from an ignore file's folder to another folder, with a slash at its end unless it is empty."""
    below = folder[start:]
    return match_form(below, folded=folded) + b"/" if below else b""


@dataclass(frozen=True, slots=True)
class IgnoreChains:
    """The ignore files that apply to the entries of folders, each an absolute path. The user's own list is asked twice,
    exactly and case-folded, because a file system may not distinguish spellings; either may close."""

    git: _Chain
    exact: _Chain
    folded: _Chain

    def closes(self, folder: str, name: str, is_dir: bool) -> bool:
        return self.exact.ignores(folder, name, is_dir) or self.folded.ignores(folder, name, is_dir)

    def named_paths(self, folder: str) -> tuple[str, ...]:
        """Return the paths that the user's list in a folder names without wildcards, relative to it."""
        own = (file for start, file in self.exact.files if start == len(folder.rstrip("/")) + 1)
        return tuple(path for file in own for path in file.paths)

    def leaves_out(self, folder: str, name: str, is_dir: bool) -> bool:
        return name == _GIT or (is_dir and name in ALWAYS_SKIPPED) or self.git.ignores(folder, name, is_dir)

    def closed_of(self, folder: str, names: Sequence[str], folders: Container[str]) -> Collection[str]:
        """Return which names in a folder the user's list closes; `folders` are those of them that are folders."""
        if not self.exact.files:
            return ()
        return {*self.exact.ignored_of(folder, names, folders), *self.folded.ignored_of(folder, names, folders)}

    def shown(
        self, folder: str, names: Sequence[str], folders: Collection[str], closed: Collection[str] = ()
    ) -> list[str]:
        """Return the names in a folder that a walk shows, in order; `folders` are those of them that are folders,
        `closed` those that the user closed."""
        hidden: Collection[str] = self.git.ignored_of(folder, names, folders)
        if closed:
            hidden = {*hidden, *closed}
        if hidden or _GIT in names or (folders and not ALWAYS_SKIPPED.isdisjoint(folders)):
            return sorted(
                name
                for name in names
                if name not in hidden and name != _GIT and not (name in ALWAYS_SKIPPED and name in folders)
            )
        return sorted(names)


NO_CHAINS = IgnoreChains(_Chain((), folded=False), _Chain((), folded=False), _Chain((), folded=True))


class IgnoreRules:
    """The rules of one root. Ignore files are read when needed and again when they change. Threads can share one."""

    def __init__(self, root: Path, top: Path) -> None:
        self.root = root
        self._top = top
        self._read: dict[tuple[str, bool], tuple[tuple[int, ...], PatternFile]] = {}

    @classmethod
    def of(cls, root: Path) -> IgnoreRules:
        """Make the rules of a real, absolute root, including git's rules above it and those of the user."""
        return cls(root, top_level(root) or root)

    @cached_property
    def _shared(self) -> tuple[Path, ...]:
        """The files of git's that are in no folder of the repository, the strongest first."""
        own = users_ignore_file(self._top)
        return (exclude_file(self._top),) if own is None else (exclude_file(self._top), own)

    def ignored(self, relative: str, is_dir: bool) -> bool:
        """Return whether walks leave a path out: because of the fixed list, git or the user's own list."""
        parts = _parts(relative)
        if parts is None:
            return True
        folder, chains = self.root.as_posix(), self.at_root()
        for at, name in enumerate(parts):
            folder_here = is_dir or at < len(parts) - 1
            if chains.leaves_out(folder, name, folder_here) or chains.closes(folder, name, folder_here):
                return True
            folder = join(folder, name)
            chains = self.enter(chains, folder)
        return False

    def closed(self, relative: str) -> bool:
        """Return whether the user's `.northignore` files close a path to tools. A string that is not a relative path is
        closed."""
        return self.closing(relative) is not None

    def closing(self, relative: str, known: dict[str, IgnoreChains] | None = None) -> str | None:
        """Say what closes a path: the part of it that a list names or, if a list's meaning is unknown, which list and
        why. None for a path that is open. `known` are the lists that were read for other paths at this moment, by
        folder; it gets those that are read for this one."""
        parts = _parts(relative)
        if parts is None:
            return f"{relative} is not a relative path"
        known = {} if known is None else known
        folder = self.root.as_posix()
        if (chains := known.get(folder)) is None:
            chains = known[folder] = self.at_root(with_git=False)
        for at, name in enumerate(parts):
            path = join(folder, name)
            is_last = at == len(parts) - 1
            has_lists = chains.exact.files or chains.folded.files
            if has_lists and chains.closes(folder, name, not is_last or os.path.isdir(path)):
                unknown = next((file.problem for _, file in chains.exact.files if file.problem is not None), None)
                return f"{'/'.join(parts[: at + 1])} is named by {OWN_IGNORE_FILE}" if unknown is None else unknown
            if is_last:
                break
            if (inner := known.get(path)) is None:
                inner = known[path] = self.enter(chains, path, _OWN_ALONE)
            folder, chains = path, inner
        return None

    def walk_from(self, start: Path) -> Iterator[Entry]:
        """Walk a root or a folder in it; see `walk`."""
        relative = "" if start == self.root else start.relative_to(self.root).as_posix()
        if relative and self.closed(relative):
            return
        # To start a walk in an ignored folder is to ask for what is in it.
        everything = bool(relative) and self.ignored(relative, True)
        folder, chains = self.root.as_posix(), self.at_root()
        for name in relative.split("/") if relative else ():
            folder = join(folder, name)
            chains = self.enter(chains, folder)
        yield from self._walk(folder, chains, f"{relative}/" if relative else "", everything)

    def _walk(self, first: str, chains: IgnoreChains, prefix: str, everything: bool) -> Iterator[Entry]:
        stack = [(iter(self._entries(first, chains, prefix, everything)), chains)]
        while stack:
            entries, chains = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
                continue
            yield entry
            if entry.is_dir:
                folder = entry.path.as_posix()
                below = self.enter(chains, folder)
                stack.append((iter(self._entries(folder, below, f"{entry.relative}/", everything)), below))

    def _entries(self, folder: str, chains: IgnoreChains, prefix: str, everything: bool) -> list[Entry]:
        try:
            with open_folder(folder) as descriptor, systems.scan(descriptor) as listing:
                found = sorted((item.name, item.is_dir(follow_symlinks=False)) for item in listing)
        except OSError:
            return []
        return [
            Entry(prefix + name, Path(join(folder, name)), is_dir)
            for name, is_dir in found
            if not (name == _GIT if everything else chains.leaves_out(folder, name, is_dir))
            and not chains.closes(folder, name, is_dir)
        ]

    def at_root(self, *, with_git: bool = True) -> IgnoreChains:
        """Return what applies to the entries of the root, for a caller that walks by itself; without git's own files,
        of which git itself may have to be asked, for one that only wants to know what is closed."""
        git = _Chain((), folded=False)
        for path in reversed(self._shared if with_git else ()):
            git = git.with_file(self._top.as_posix(), self._git_file(path, follow=True))
        chains = IgnoreChains(git, NO_CHAINS.exact, NO_CHAINS.folded)
        place, names = self._top, IGNORE_FILES if with_git else _OWN_ALONE
        for name in self.root.relative_to(self._top).parts:
            chains = self.enter(chains, place.as_posix(), names)
            place /= name
        return self.enter(chains, self.root.as_posix(), names)

    def enter(self, chains: IgnoreChains, folder: str, names: Container[str] = IGNORE_FILES) -> IgnoreChains:
        """Return what applies to the entries of a folder, given what applies in the folder around it. With the `names`
        in the folder, ignore files that are not there need not be looked for."""
        if _GITIGNORE not in names and OWN_IGNORE_FILE not in names:
            return chains
        git, exact, folded = chains.git, chains.exact, chains.folded
        if _GITIGNORE in names:
            git = git.with_file(folder, self._git_file(Path(folder, _GITIGNORE)))
        if OWN_IGNORE_FILE in names:
            own = Path(folder, OWN_IGNORE_FILE)
            exact = exact.with_file(folder, self._own_file(own, folded=False))
            folded = folded.with_file(folder, self._own_file(own, folded=True))
        return IgnoreChains(git, exact, folded)

    def watched(self) -> list[Path]:
        """Return the ignore files that apply to the root but are not in it."""
        above = [Path(*self._top.parts, *parts) for parts in self._above()]
        return [*self._shared, *(folder / name for folder in above for name in sorted(IGNORE_FILES))]

    def _above(self) -> list[tuple[str, ...]]:
        names = self.root.relative_to(self._top).parts
        return [names[:depth] for depth in range(len(names))]

    def _git_file(self, path: Path, *, follow: bool = False) -> PatternFile:
        try:
            return self._file(path, folded=False, follow=follow)
        except OSError:
            return EMPTY

    def _own_file(self, path: Path, *, folded: bool) -> PatternFile:
        """Read the user's list. If it is unknown what it closes, it closes everything in its folder."""
        try:
            mode = os.stat(path).st_mode
            problem = None if stat.S_ISREG(mode) else f"is {kind_of(mode)}, not a file"
            file = self._file(path, folded=folded, follow=True) if problem is None else EMPTY
            problem = problem if problem is not None else file.problem
        except (FileNotFoundError, NotADirectoryError):
            if not os.path.islink(path):
                return EMPTY
            problem = "is a broken link"
        except OSError as error:
            problem = f"cannot be read ({error.strerror})"
        if problem is None:
            return file
        shown = path.relative_to(self.root) if path.is_relative_to(self.root) else path
        told = f"{shown} {problem}, so everything in its folder is closed"
        note_problem(Problem(told, path, event="capability_warning"))
        return everything(told)

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
    """Walk the rules' root, or a folder in it, in path order, a folder before its contents.

    Links are listed but not followed. What is ignored is left out, unless the walk starts in an ignored folder; `.git`
    and what the user closed are always left out. Folders that cannot be read look empty.
    """
    shown = rules.walk_from(root)
    if hidden:
        return shown
    skip = len(root.relative_to(rules.root).parts)
    return (entry for entry in shown if not any(part.startswith(".") for part in entry.relative.split("/")[skip:]))


def join(folder: str, name: str) -> str:
    """Return the path of an entry of a folder, which is an absolute path with slashes, on every system."""
    return f"{folder}/{name}" if folder[-1:] != "/" else f"{folder}{name}"


def slashed(path: str) -> str:
    """Return a path of the system's as it is written here: with slashes, so that it can be compared."""
    return path.replace(os.sep, "/")


def _parts(relative: str) -> list[str] | None:
    """Split a relative path into its components; None if it is not a relative path or goes up."""
    if relative.startswith("/") or "\0" in relative:
        return None
    parts = [part for part in relative.split("/") if part not in ("", ".")]
    return None if ".." in parts else parts
