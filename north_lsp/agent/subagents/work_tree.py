"""A git work tree in which one agent works alone: the user's files as they are now, in a folder of North's own.

A copy of everything that git knows or would add, unsaved texts too; closed files are left out. What each file held is
kept, so that what the agent changed can be told from what the user changed meanwhile. Blocks: for a thread."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.files import private_directory
from north_lsp.workspace.git import read_blob, run_git, top_level
from north_lsp.workspace.opening import open_regular
from north_lsp.workspace.text import decode, encode
from north_lsp.workspace.workspace import Workspace

_NONE = 'give it isolation "none": its edits are reviewed like any other'
_TREE, _BASE, _OWNER, _KEPT = "tree", "base", "owner", "kept"
_MOST_FILES = 200_000
_MOST_BYTES = 4 << 30
_CHUNK = 1 << 20
_GIT_SECONDS = 60.0
_EXECUTABLE = 0o111
_STEP = 200


@dataclass(frozen=True, slots=True)
class Base:
    """What a file held when the tree was made: its digest and size, whether it could be executed, and the name of its
    content in git; "" where only North's own copy has it."""

    digest: str
    size: int
    executable: bool
    blob: str


@dataclass(frozen=True, slots=True)
class WorkTree:
    """A tree: North's `folder` for it, the `root` in it that stands for the `source`, the user's own root, and what its
    `files` held; `skipped` names the files that could not be copied, and why. The `descriptor` holds the folder, so
    that no other process removes it."""

    folder: Path
    top: Path
    source: Path
    root: Path
    files: Mapping[str, Base]
    descriptor: int
    skipped: tuple[str, ...] = ()

    @property
    def tree(self) -> Path:
        return self.folder / _TREE

    def base(self, relative: str) -> bytes | None:
        """Return what a file held when the tree was made; None if it was not there, or cannot be read any more."""
        known = self.files.get(relative)
        if known is None:
            return None
        data = read_blob(known.blob, self.top, _GIT_SECONDS) if known.blob else _bytes(self.folder / _BASE / relative)
        return data if data is not None and hashlib.sha256(data).hexdigest() == known.digest else None

    def listed(self) -> list[str]:
        """List the files of the tree, those that git ignores only if they were copied. Raises ToolError."""
        return sorted({*self.files, *_files_of_git(self.root)})

    def repositories(self) -> list[str]:
        """List the folders that were made repositories of their own: git does not say what is in them. Raises
        ToolError."""
        return sorted(name for name in _told_by_git(self.root) if name.endswith("/"))

    def keep(self) -> None:
        """Have the tree stay when it would be removed: nothing else has what is in it."""
        (self.folder / _KEPT).touch()

    def remove(self) -> None:
        """Remove the tree, from git as well, unless it is kept. Raises OSError."""
        try:
            if not (self.folder / _KEPT).exists():
                _remove(self.folder, self.top)
        finally:
            os.close(self.descriptor)


def ensure_possible(source: Path) -> Path:
    """Return the folder of the repository that a root is in. Raises ToolError UNAVAILABLE where there can be no
    tree."""
    top = top_level(source)
    if top is None:
        raise _cannot(f"{source.name} is not in a git repository, so an agent can have no work tree of its own")
    if run_git(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], source) is None:
        raise _cannot("git has no commit to make a work tree from (or cannot be used here)")
    return top


def make_tree(
    folder: Path, name: str, workspace: Workspace, unsaved: Mapping[Path, str], step: Callable[[int], None]
) -> WorkTree:
    """Make a tree in North's folder for trees. `step` is told how many files have been copied, and may raise to end it;
    what there is by then is for `clear_left_trees`. Raises ToolError, OSError."""
    source = workspace.roots.main
    top = ensure_possible(source)
    own, descriptor = _own_folder(folder, name)
    try:
        (own / _OWNER).write_bytes(os.fsencode(top))
        wanted = ["worktree", "add", "--detach", "--no-checkout", str(own / _TREE), "HEAD"]
        with _one_at_a_time(own.parent):
            added = run_git(wanted, top, _GIT_SECONDS)
        if added is None:
            raise _cannot("git could not make a work tree")
        if run_git(["reset", "--quiet"], own / _TREE, _GIT_SECONDS) is None:
            raise _cannot("git could not read the last commit into a work tree")
        root = own / _TREE / source.relative_to(top)
        root.mkdir(parents=True, exist_ok=True)
        files: dict[str, Base] = {}
        copy = _Copy(workspace, root, own / _BASE, _names_in_git(source), unsaved)
        for number, relative in enumerate(_files_of_git(source)):
            if number % _STEP == 0:
                step(number)
            if (base := copy.file(relative)) is not None:
                files[relative] = base
    except BaseException:
        os.close(descriptor)
        raise
    return WorkTree(own, top, source, root, files, descriptor, tuple(copy.skipped))


def clear_left_trees(folder: Path) -> None:
    """Remove the trees of processes that are gone."""
    with suppress(OSError):
        for name in os.listdir(folder):
            own = folder / name
            if (own / _KEPT).exists() or (descriptor := _held(own)) is None:
                continue
            try:
                owner = _bytes(own / _OWNER)
                _remove(own, Path(os.fsdecode(owner)) if owner is not None else None)
            finally:
                os.close(descriptor)


def without_tree(private: tuple[Path, ...], tree: Path) -> tuple[Path, ...]:
    """Return North's own folders with a hole for one tree: what is beside the way to it stays closed."""
    found: list[Path] = []
    real = Path(os.path.realpath(tree))
    for folder in private:
        at = Path(os.path.realpath(folder))
        if not real.is_relative_to(at):
            found.append(folder)
            continue
        for name in real.relative_to(at).parts:
            with suppress(OSError):
                found += [at / one for one in sorted(os.listdir(at)) if one != name]
            at /= name
    return tuple(found)


class _Copy:
    """Copies the files of a root, one after the other."""

    def __init__(
        self, workspace: Workspace, root: Path, base: Path, blobs: Mapping[str, str], unsaved: Mapping[Path, str]
    ) -> None:
        self._workspace = workspace
        self._source = workspace.roots.main
        self._root = root
        self._base = base
        self._blobs = blobs
        self._unsaved = unsaved
        self._files = 0
        self._left = _MOST_BYTES
        self._straight: dict[Path, bool] = {}
        self.skipped: list[str] = []

    def file(self, relative: str) -> Base | None:
        """Copy a file; None for what is not copied: closed files, folders of other repositories, special files, and
        what cannot be read, which is named in `skipped`. Raises ToolError."""
        path, to = self._source / relative, self._root / relative
        if not leads_straight(self._source, relative, self._straight):
            self.skipped.append(f"{relative}: its path goes through a symbolic link")
            return None
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None  # git knows it, but it was deleted
        except OSError as error:
            self.skipped.append(f"{relative}: {error.strerror}")
            return None
        if stat.S_ISDIR(status.st_mode) or self._workspace.trees.closed(path) is not None:
            return None
        self._files, self._left = self._files + 1, self._left - status.st_size
        if self._files > _MOST_FILES or self._left < 0:
            raise _cannot(f"the project has more than {_MOST_FILES:,} files or {_MOST_BYTES >> 30} GB to copy")
        to.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(path)
            to.symlink_to(target)
            return self._known(relative, to, hashlib.sha256(os.fsencode(target)).hexdigest(), "", executable=False)
        if not stat.S_ISREG(status.st_mode):
            return None
        executable = bool(status.st_mode & _EXECUTABLE)
        try:
            opened = None if path in self._unsaved else open_regular(path)[0]
        except ToolError as error:
            self.skipped.append(f"{relative}: {error}")
            return None
        digest, blob = self._copied(path, to, opened)
        to.chmod(0o700 if executable else 0o600)
        return self._known(relative, to, digest, blob, executable=executable)

    def _copied(self, path: Path, to: Path, opened: int | None) -> tuple[str, str]:
        """Copy a content from the opened file, None for an unsaved text; returns its digest, and its name in git if it
        were there."""
        if opened is None:
            data = _as_saved(path, self._unsaved[path])
            to.write_bytes(data)
            return hashlib.sha256(data).hexdigest(), _blob_name(data, self._digits)
        with open(opened, "rb") as source, to.open("xb") as target:
            return _copy(source, target, os.fstat(opened).st_size, self._digits)

    @property
    def _digits(self) -> int:
        return len(next(iter(self._blobs.values()), ""))

    def _known(self, relative: str, to: Path, digest: str, blob: str, *, executable: bool) -> Base:
        size = to.lstat().st_size
        if blob and self._blobs.get(relative) == blob:
            return Base(digest, size, executable, blob)
        kept = self._base / relative
        kept.parent.mkdir(parents=True, exist_ok=True)
        if to.is_symlink():
            kept.write_bytes(os.fsencode(os.readlink(to)))
        else:
            shutil.copyfile(to, kept)
        return Base(digest, size, executable, "")


def _copy(source: BinaryIO, target: BinaryIO, size: int, digits: int) -> tuple[str, str]:
    digest, blob = hashlib.sha256(), _blob_hash(size, digits)
    while part := source.read(_CHUNK):
        digest.update(part)
        blob.update(part)
        target.write(part)
    return digest.hexdigest(), blob.hexdigest()


def _blob_hash(size: int, digits: int) -> hashlib._Hash:
    made = hashlib.sha256() if digits == 64 else hashlib.sha1(usedforsecurity=False)
    made.update(b"blob %d\0" % size)
    return made


def _blob_name(data: bytes, digits: int) -> str:
    made = _blob_hash(len(data), digits)
    made.update(data)
    return made.hexdigest()


def _as_saved(path: Path, text: str) -> bytes:
    """Return the bytes that a text would have on the disk."""
    try:
        disk, form = decode(path.read_bytes())
    except OSError:
        return text.encode("utf-8", "replace")
    if "\r\n" in disk and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    return encode(text, form)


def _files_of_git(folder: Path) -> list[str]:
    """List what git knows in a folder or would add. Raises ToolError."""
    return sorted({name for name in _told_by_git(folder) if _is_inside(name) and "\ufffd" not in name})


def _told_by_git(folder: Path) -> list[str]:
    told = run_git(["ls-files", "-z", "--cached", "--others", "--exclude-standard"], folder, _GIT_SECONDS)
    if told is None:
        raise _cannot("git could not list the files")
    return told.split("\0")


def _is_inside(name: str) -> bool:
    """Tell whether a name from git is that of a file below the folder: an index may be made to say anything."""
    return bool(name) and not name.startswith("/") and not name.endswith("/") and ".." not in name.split("/")


def leads_straight(root: Path, relative: str, known: dict[Path, bool]) -> bool:
    """Tell whether the way from a root to a file leads over no link. `known` holds what was found for folders."""
    folder = (root / relative).parent
    if folder not in known:
        inner = folder.relative_to(root)
        known[folder] = os.path.realpath(folder) == str(Path(os.path.realpath(root)) / inner)
    return known[folder]


def _names_in_git(folder: Path) -> dict[str, str]:
    """Return the name of each file's content in git's index."""
    told = run_git(["ls-files", "-z", "--stage"], folder, _GIT_SECONDS) or ""
    found: dict[str, str] = {}
    for row in told.split("\0"):
        head, _, name = row.partition("\t")
        parts = head.split(" ")
        if len(parts) == 3 and parts[0].startswith("100"):
            found[name] = parts[1]
    return found


def _own_folder(folder: Path, name: str) -> tuple[Path, int]:
    folder = Path(os.path.realpath(private_directory(folder)))
    for number in range(100):
        own = folder / (name if not number else f"{name}-{number}")
        try:
            own.mkdir(mode=0o700)
        except FileExistsError:
            continue
        descriptor = _held(own)
        if descriptor is not None:
            return own, descriptor
    raise _cannot(f"no folder could be made in {folder}")


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Keep other threads and other Norths from changing git's list of trees: git fails when it comes upon a tree that
    another git has only half made."""
    descriptor = systems.lock_folder(folder, wait=True)
    try:
        yield
    finally:
        os.close(descriptor)


def _held(own: Path) -> int | None:
    """Take a folder that nobody holds; returns what holds it."""
    try:
        descriptor = systems.lock_folder(own)
    except OSError:
        return None
    if systems.is_locked_by(own, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _let_enter(own: Path) -> None:
    """Make folders that cannot be entered so that they can be removed; no link is followed."""
    for at, folders, _ in os.walk(own):
        for name in folders:
            path = os.path.join(at, name)
            with suppress(OSError):
                mode = os.lstat(path).st_mode
                if stat.S_ISDIR(mode) and mode & 0o700 != 0o700:
                    os.chmod(path, stat.S_IMODE(mode) | 0o700)


def _remove(own: Path, top: Path | None) -> None:
    """Remove a folder of North's with its tree, from the repository at `top` as well, if that is known. The tree goes
    first: git refuses to remove one that an agent has made another repository of, but not one that is gone."""
    _let_enter(own)
    shutil.rmtree(own / _TREE, ignore_errors=True)
    if top is not None:
        with _one_at_a_time(own.parent):
            run_git(["worktree", "remove", "--force", "--force", str(own / _TREE)], top, _GIT_SECONDS)
    shutil.rmtree(own, ignore_errors=True)


def _bytes(path: Path) -> bytes | None:
    with suppress(OSError):
        return path.read_bytes()
    return None


def _cannot(why: str) -> ToolError:
    return ToolError("UNAVAILABLE", why, _NONE)
