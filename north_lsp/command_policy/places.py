"""Checks where a command would run, and what its words reach there as paths: outside, closed files, protected names,
links.

Looks at the disk: call it on a thread.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from pathlib import Path

from north_lsp.command_policy.grammar import SYSTEM_FOLDERS, Part, Reading
from north_lsp.command_policy.parsing import Simple, Word
from north_lsp.command_policy.repository import find_git_programs, is_outside
from north_lsp.command_policy.tables import is_builtin
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.files.ignore import OWN_IGNORE_FILE
from north_lsp.workspace.git import run_git
from north_lsp.workspace.guards.protected import write_reason
from north_lsp.workspace.paths import Roots

_MAX_ENTRIES = 5000
_MAX_FOLDERS = 500
_MAX_LOOKED_AT = 20_000
_MAX_TRACKED = 200_000
_OF_PROCESS = lazy_pattern(r"/+(?:proc/+(?:self|thread-self|\d+)|dev/+fd)(?:/|\Z)")
_GIT_PRINTS = frozenset(
    [
        *("show", "diff", "diff-tree", "diff-index", "diff-files", "difftool", "range-diff", "grep", "cat-file"),
        *("whatchanged", "stash", "archive", "bundle", "fast-export", "format-patch", "merge-tree", "request-pull"),
        *("unpack-file", "checkout-index", "clone"),
    ]
)
_GIT_NAMED = ("blame", "annotate")  # print only what their words name
_GIT_PATCHES = frozenset(
    [
        *("-p", "-u", "-c", "-U", "-L", "-m", "--patch", "--cc", "--dd", "--patch-with-raw", "--patch-with-stat"),
        *("--unified", "--binary", "--check", "--color-words", "--word-diff", "--word-diff-regex", "--remerge-diff"),
        "--diff-merges",
    ]
)
_GIT = lazy_pattern(r"\bgit\b", re.IGNORECASE)
_QUOTES = str.maketrans("", "", "'\"\\")
_GLOB = lazy_pattern(r"[*?\[\]]")


@dataclass(frozen=True)
class Place:
    """Where a command would run, and what is known about that place. `contained` says that there is a sandbox that
    holds: one that keeps to the workspace, has no network and can be relied on. `closed` tells whether the user's
    `.northignore` closes a real path inside the workspace, `first_closed` which of many paths it closes first,
    `has_lists` whether there is any such list."""

    cwd: Path
    roots: Roots
    contained: bool
    environ: Mapping[str, str]
    git_check: Callable[[Path, bool], str | None] = field(
        default=lambda cwd, writes: find_git_programs(cwd, writes=writes)
    )
    closed: Callable[[Path], bool] = field(default=lambda path: False)
    first_closed: Callable[[Sequence[Path]], Path | None] | None = None
    has_lists: Callable[[], bool] = field(default=lambda: True)


def real_place(text: str, cwd: Path, roots: Roots) -> Path | None:
    """Return where a path leads, if that is inside; None otherwise. It must be the same place by its words and by the
    file system: `..` after a link is not the folder around the link."""
    path = text if os.path.isabs(text) else os.path.join(cwd, text)
    if path.startswith(("/proc/", "/dev/")):
        return None  # these lead to something else in each process
    try:
        resolved = roots.resolve_readable(path).path
        followed = Path(os.path.realpath(path))
    except (ToolError, OSError, ValueError):
        return None
    if ".." not in text.split("/") or followed == resolved:
        return resolved
    return None


def is_inside(word: Word, roots: Roots, cwd: Path, *, globs: bool = False) -> bool:
    if globs and word.is_glob:
        return _glob_is_inside(word, roots, cwd)
    if word.is_glob or word.starts_open or not word.text:
        return False
    pieces = [word.text] if "=" not in word.text else [word.text, word.text.partition("=")[2]]
    return all(real_place(piece, cwd, roots) is not None for piece in pieces if piece or len(pieces) == 1)


def value_is_inside(text: str, roots: Roots, cwd: Path) -> bool:
    """Return whether the text joined to a flag stays inside. It is unknown where its value begins, so every way to read
    it as a path must lead inside."""
    return all(is_inside(Word(text[at:], text[at:]), roots, cwd) for at in range(len(text)))


def _glob_is_inside(word: Word, roots: Roots, cwd: Path) -> bool:
    """Return whether everything that a pattern of names in one folder could match is inside, links included."""
    folder, _, name = word.text.rpartition("/")
    if _GLOB.search(folder) or name.startswith(".") or word.text.startswith(("~", "-", "/")):
        return False
    place = real_place(folder or ".", cwd, replace(roots, extra=()))
    if place is None:
        return False
    try:
        with os.scandir(place) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES or (entry.is_symlink() and real_place(entry.path, cwd, roots) is None):
                    return False
    except OSError:
        return False
    return True


def why_closed(reading: Reading, place: Place, cwd: Path) -> str | None:
    """Return which path of a command is closed to tools; None if none is. In the sandbox, closed files below a folder
    cannot be read anyway."""
    if cwd not in place.roots.roots and place.closed(cwd):
        return f"{cwd.name} is closed by `{OWN_IGNORE_FILE}`"
    for part in reading.parts:
        for text in _texts(part, cwd):
            if _OF_PROCESS.match(text):
                return f"{text} is a different place in each process"
            if any(place.closed(found) for found in _inside(text, cwd, place.roots)):
                return f"{text} is closed by `{OWN_IGNORE_FILE}`"
    if reading.is_git and _prints_contents(reading) and (found := _closed_in_git(cwd, place)) is not None:
        return f"git may print {found}, which `{OWN_IGNORE_FILE}` closes"
    if place.contained or not (reading.goes_below or any(part.path and part.path.is_glob for part in reading.parts)):
        return None
    starts = [
        found for part in reading.parts for text in _texts(part, cwd) for found in _inside(text, cwd, place.roots)
    ]
    return _closed_below([folder for folder in starts if folder.is_dir()] or [cwd], place)


def _inside(text: str, cwd: Path, roots: Roots) -> list[Path]:
    """Return where in the workspace a path leads, by its words and by the file system."""
    path = os.path.join(cwd, os.path.expanduser(text))
    found: list[Path] = []
    for spelled in (path, os.path.normpath(path)):
        try:
            real = Path(os.path.realpath(spelled))
        except (OSError, ValueError):
            continue
        found += [real] if roots.root_of(real) is not None and real not in found else []
    return found


def _texts(part: Part, cwd: Path) -> list[str]:
    """Return what in a word could be a path: also the text after a colon (git's `HEAD:file`) or an equals sign; for a
    pattern, what it matches."""
    if part.path is None:
        return []
    text = part.path.text
    if part.path.is_glob:
        pattern = os.path.join(glob.escape(str(cwd)), os.path.expanduser(text))
        folder = os.path.dirname(_GLOB.split(text)[0])
        return [folder or ".", *sorted(islice(glob.iglob(pattern, recursive=True), _MAX_ENTRIES))]
    return [text, *(text.partition(sign)[2] for sign in ":=" if text.partition(sign)[2])]


def _command(reading: Reading) -> str:
    return next((part.word.text for part in reading.parts if part.role == "command"), "")


def _prints_contents(reading: Reading) -> bool:
    """Return whether git may print the contents of files that its words do not name."""
    flags = {
        part.word.text[:2] if not part.word.text.startswith("--") else part.word.text.partition("=")[0]
        for part in reading.parts
        if part.role == "flag"
    }
    return _command(reading) in _GIT_PRINTS or bool(flags & _GIT_PATCHES)


def why_git_prints(command: str, commands: Sequence[tuple[Simple, Reading | None]] | None, place: Place) -> str | None:
    """Return why git may print closed files from its own copies: the sandbox hides a file, but not what git has
    recorded of it. `commands` are the parts of a line with what is known of them; None for a line that cannot be
    read."""
    bare = command.translate(_QUOTES)
    if not _GIT.search(bare) or not place.has_lists():
        return None
    concerned = commands is None
    for simple, reading in commands or ():
        if reading is None:
            concerned = concerned or any(_GIT.search(word.text.translate(_QUOTES)) for word in simple.words)
        elif reading.is_git and (_prints_contents(reading) or _command(reading) in _GIT_NAMED):
            named = (text for part in reading.parts for text in _texts(part, place.cwd))
            closed = (text for text in named if any(map(place.closed, _inside(text, place.cwd, place.roots))))
            if (text := next(closed, None)) is not None:
                return f"may print {text} out of git's own files, which `{OWN_IGNORE_FILE}` closes"
            concerned = concerned or _command(reading) not in _GIT_NAMED
    if not concerned:
        return None
    words = (os.path.join(place.cwd, os.path.expanduser(word)) for word in bare.split() if "\0" not in word)
    for folder in dict.fromkeys([str(place.cwd), *(os.path.realpath(word) for word in words if os.path.isdir(word))]):
        if (found := _closed_in_git(Path(folder), place)) is not None:
            return f"may print {found} out of git's own files, which `{OWN_IGNORE_FILE}` closes"
    return None


def _closed_in_git(cwd: Path, place: Place) -> str | None:
    """Return the first closed file that git tracks; None if there is none. Files that it only tracked in the past are
    not looked for."""
    if not place.has_lists():
        return None
    if run_git(["rev-parse", "--git-dir"], cwd) is None:
        return None if is_outside(cwd) else "files that cannot be listed"
    top = (run_git(["rev-parse", "--show-toplevel"], cwd) or "").rstrip("\n")
    listed = run_git(["ls-files", "-z", "--full-name", ":/"], cwd) if top else None
    if listed is None:
        return "files that cannot be listed"
    names = [name for name in listed.split("\0") if name]
    if len(names) > _MAX_TRACKED:
        return "some of too many files to look through"
    paths = [path for name in names if place.roots.root_of(path := Path(top, name)) is not None]
    first = place.first_closed(paths) if place.first_closed is not None else next(filter(place.closed, paths), None)
    return None if first is None else os.path.relpath(first, top)


def _closed_below(folders: list[Path], place: Place) -> str | None:
    """Return why something could be closed in these folders: there is a list in or above them, or too much to look
    at."""
    for root in place.roots.roots:
        for folder in folders:
            if not folder.is_relative_to(root):
                continue
            for above in (folder, *folder.parents):
                if (above / OWN_IGNORE_FILE).exists():
                    return f"it goes through folders in which `{OWN_IGNORE_FILE}` closes files"
                if above == root:
                    break
    seen = 0
    for here, names, found in (row for folder in folders for row in os.walk(folder)):
        seen += 1 + len(names) + len(found)
        if OWN_IGNORE_FILE in found:
            return f"{os.path.relpath(here, place.roots.main)} has a `{OWN_IGNORE_FILE}`, and it goes through it"
        if seen > _MAX_LOOKED_AT:
            return f"it goes through too many files to know whether a `{OWN_IGNORE_FILE}` closes some"
    return None


def why_protected(simple: Simple, reading: Reading | None, roots: Roots, cwd: Path) -> str | None:
    """Return which word of a program that may write names a protected file, or would create one where it copies to."""
    for word in simple.words[1:]:
        for text in _forms(word.text):
            if (reason := _write_reason(text, roots, cwd)) is not None:
                return f"{text} {reason}"
    if reading is None or reading.name not in ("cp", "mv"):
        return None
    paths = [part.path.text for part in reading.parts if part.path is not None]
    target = os.path.join(cwd, paths[-1]) if paths else str(cwd)
    into = os.path.isdir(target) or len(paths) > 2 or paths[-1:] == [paths[-1].rstrip("/") + "/"]
    for source in paths[:-1]:
        start = os.path.join(cwd, source)
        base = os.path.join(target, os.path.basename(source.rstrip("/"))) if into else target
        if real_place(base, cwd, replace(roots, extra=())) is None:
            return f"{os.path.relpath(base, cwd)} points outside the workspace"
        if (reason := _write_reason(base, roots, cwd)) is not None:
            return f"{os.path.relpath(base, cwd)} {reason}"
        if os.path.isdir(start) and (reason := _protected_below(start, base, roots, cwd)) is not None:
            return reason
    return None


def _write_reason(text: str, roots: Roots, cwd: Path) -> str | None:
    """Return why a path may not be written, by the path as it is written and by where it leads."""
    path = text if os.path.isabs(text) else os.path.join(cwd, text)
    try:
        resolved = roots.resolve(path)
    except ToolError:
        return None
    real = Path(os.path.realpath(path))
    for place in (resolved.path, real):
        root = roots.root_of(place)
        if root is None or place == root:
            continue
        relative = place.relative_to(root).as_posix()
        if (reason := write_reason(relative, text)) is not None:
            return reason
    return None


def _protected_below(folder: str, target: str, roots: Roots, cwd: Path) -> str | None:
    """Return what in a copied or moved folder would be protected, or outside the workspace, where it ends up."""
    for seen, (here, folders, names) in enumerate(os.walk(folder)):
        if seen > _MAX_FOLDERS:
            return f"{os.path.basename(folder)} has too many folders to look at"
        for name in (*folders, *names):
            below = os.path.relpath(os.path.join(here, name), folder)
            goal = os.path.normpath(os.path.join(target, below))
            reason = _write_reason(goal, roots, cwd) or write_reason(name, name)
            if reason is not None:
                return f"{below} in {os.path.basename(folder)} {reason}"
            if real_place(goal, cwd, replace(roots, extra=())) is None:
                return f"{below} in {os.path.basename(folder)} would end up outside the workspace"
    return None


def _forms(text: str) -> list[str]:
    """Return a word, and the parts of it that could be a path if it is a flag with a value."""
    _, has_value, value = text.partition("=")
    joined = [value] if has_value and value else []
    if not text.startswith("-"):
        return [text, *joined]
    return [text, *joined, *(text[at:] for at in range(2, len(text)) if text[1] != "-")]


def leads_outside(reading: Reading, roots: Roots, cwd: Path) -> str | None:
    """Return why the links in the folders that a program goes through are a reason to ask; None if they are not."""
    named = [os.path.join(cwd, text) for part in reading.parts for text in _texts(part, cwd)]
    starts, seen = [path for path in named if os.path.isdir(path)], 0
    if reading.reads_here or not named:
        starts.append(str(cwd))
    walked = set[str]()
    while starts:
        start = os.path.realpath(starts.pop())
        if start in walked:
            continue
        walked.add(start)
        for here, folders, names in os.walk(start):
            seen += 1 + len(folders) + len(names)
            if seen > _MAX_LOOKED_AT:
                return "it follows links, and there are too many to check whether some point outside the workspace"
            for path in (os.path.join(here, name) for name in (*folders, *names)):
                if not os.path.islink(path):
                    continue
                if roots.root_of(Path(os.path.realpath(path))) is None:
                    return f"it follows links, and {os.path.relpath(path, cwd)} points outside the workspace"
                if os.path.isdir(path):
                    starts.append(path)  # it may contain further links
    return None


def find_unknown_program(simple: Simple, reading: Reading, place: Place, cwd: Path) -> str | None:
    """Return why a program is not the one North knows: one inside the workspace is project code, and one that is found
    by a relative path could be anything."""
    name = simple.program
    if "/" not in name and is_builtin(name):
        return None
    if "/" in name:
        folder = os.path.dirname(name)
        found: str | None = os.path.join(cwd, name)
        if folder not in SYSTEM_FOLDERS and real_place(name, cwd, replace(place.roots, extra=())) is None:
            # A link in the project's environment to an interpreter elsewhere is still inside by its path.
            spelled = Path(os.path.normpath(os.path.join(cwd, name)))
            inner = real_place(folder or ".", cwd, replace(place.roots, extra=()))
            if inner is None or spelled.parent != inner:
                return f"{name} is a program outside the workspace that North does not know"
    else:
        path = place.environ.get("PATH", "")
        if any(not os.path.isabs(entry) for entry in path.split(os.pathsep)):
            return "PATH has an entry that is not an absolute path"
        found = shutil.which(name, path=path)
    if found is None or (place.contained and reading.kind == "project"):
        return None
    real = Path(os.path.realpath(found))
    if place.roots.root_of(real) is not None or place.roots.root_of(Path(os.path.abspath(found))) is not None:
        return f"{name} is a program inside the workspace, not the one North knows"
    return None
