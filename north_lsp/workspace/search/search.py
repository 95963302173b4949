"""Searches the texts of a workspace: which files match, how many matches each has, and the matches that were asked for.

ripgrep counts where it is certain to count as this module does; everything that is shown is found here.

There are two engines, because using ripgrep alone, with its own dialect and unsaved texts through its standard input,
was tried and is worse. The wheel's ripgrep is built without PCRE2: of 28 expressions such as models write it refuses 12
(look-around, back references, a plain `{`). It reads bytes where this reads text: of 800 random searches 93 differed in
files that are not UTF-8 or contain NULs. It opens files by name, so a line that is shown might come through a link that
was there for a moment. And it is no faster: it must print what is only counted here.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.file_list import Listing
from north_lsp.workspace.files.listing import readable
from north_lsp.workspace.files.stamps import is_older
from north_lsp.workspace.files.tree import FileTree
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.paths import Resolved, Roots
from north_lsp.workspace.search.bytes_pattern import BytesPattern, translate
from north_lsp.workspace.search.find_files import below_a_root
from north_lsp.workspace.search.matching import Found, Match, find_in
from north_lsp.workspace.search.query import Query, compile_glob
from north_lsp.workspace.search.request import Expression, Means, Selection, Within
from north_lsp.workspace.search.ripgrep import TELLS_SEARCHED, CannotSearch, Stopped, count_lines
from north_lsp.workspace.text import decode, is_binary

MAX_FILE = 4 * 1024 * 1024
MAX_SECONDS = 20.0
_FEW_FILES = 200
_MAX_COUNTED = 64 * 1024 * 1024
_COUNTING_SHARE = 0.6
_WORD = 4  # so long matches are too few in a line for counting each to take long
_MARKED = r"[\x00\r\x80-\xff]"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches that were asked for. `total_matches` counts the matching lines of all files searched, `counts` those
    of each file that has any; `truncated` says that there are more, or that the search did not finish. `files_searched`
    counts the regular files that were searched."""

    matches: list[Match]
    total_matches: int
    files_searched: int
    truncated: bool
    notices: list[str]
    counts: dict[str, int]


def search(
    roots: Roots,
    expression: Expression,
    within: Within = Within(),  # noqa: B008 - frozen
    selection: Selection = Selection(),  # noqa: B008
    means: Means = Means(),  # noqa: B008
) -> SearchResult:
    """Search the files of all roots, or some of them, in path order, main root first.

    Raises ToolError: INVALID_INPUT for an empty text or a broken glob, NOT_FOUND for a missing path, and whatever
    `Trees.resolve_readable` raises; and NeedsChildProcess unless `means` are patient.
    """
    wanted = expression.compiled(patient=means.patient)
    meant = compile_glob(below_a_root(roots, within.glob)) if within.glob is not None else None
    trees = means.trees if means.trees is not None else Trees.of(roots, within.private)
    allowed = MAX_SECONDS if means.seconds is None else means.seconds
    deadline = time.monotonic() + allowed
    found = Found(selection.offset, selection.limit, selection.lines)
    should_stop, ripgrep = means.should_stop, means.ripgrep

    def over() -> bool:
        return should_stop() or time.monotonic() > deadline

    def counted() -> bool:
        """Tell whether counting must end; it leaves time to look at what it has found."""
        return should_stop() or time.monotonic() > deadline - allowed * (1 - _COUNTING_SHARE)

    place = _place(trees, within.path) if within.path is not None else None
    below = f"{place.path.relative_to(place.root).as_posix()}/" if place is not None else ""
    ended = True
    for root, listing in _listings(trees, place):
        files: Sequence[str] = listing.files
        if within.suffixes is not None:
            files = [relative for relative in files if relative.lower().endswith(within.suffixes)]
        if meant is not None:
            files = [relative for relative in files if meant(relative) or meant(relative.removeprefix(below))]
        texts = {other for other in means.unsaved if other.is_relative_to(root)}
        known: Mapping[str, int | None] | None = None
        if ripgrep is not None and selection.lines is None and len(files) > 1:
            whole = listing.whole if files is listing.files else None
            counter = _Counter(ripgrep, trees.tree(root), wanted, found, counted)
            known, ended = counter.count(files, whole, texts)
        searcher = _Searcher(roots, root, wanted, selection.context_lines, means.read, found, over)
        if known is None:
            ended = all(searcher.search(relative) for relative in files)
        else:
            ended = searcher.pick(known) and ended
        if not ended:
            break
    truncated = not ended or found.total > selection.offset + selection.limit
    notices = [*wanted.notices, *_notices(found, ended, allowed, should_stop), *trees.problems()]
    return SearchResult(found.matches, found.total, found.searched, truncated, notices, found.counts)


def search_in_text(
    shown: str,
    text: str,
    expression: Expression,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    *,
    patient: bool = False,
) -> SearchResult:
    """Search one text that is not a file, `shown` as its name. Raises ToolError INVALID_INPUT, and NeedsChildProcess
    unless `patient`."""
    wanted = expression.compiled(patient=patient)
    found = Found(selection.offset, selection.limit, selection.lines, searched=1)
    find_in(text, shown, wanted, selection.context_lines, found, lambda: False)
    truncated = found.total > selection.offset + selection.limit
    return SearchResult(found.matches, found.total, 1, truncated, list(wanted.notices), found.counts)


def _notices(found: Found, ended: bool, allowed: float, should_stop: Callable[[], bool]) -> list[str]:
    notices: list[str] = []
    if found.shortened:
        names = ", ".join(found.shortened[:10])
        notices.append(f"only the first {MAX_FILE // 1024 // 1024} MiB of these files were searched: {names}")
    if found.unreadable:
        notices.append(f"{found.unreadable} files could not be read")
    if not ended:
        why = "was stopped" if should_stop() else f"took longer than {allowed:.0f} seconds"
        notices.append(f"the search {why}")
    return notices


def _place(trees: Trees, path: str) -> Resolved:
    """Resolve the place to search. Raises ToolError."""
    place = trees.resolve_readable(path)
    if not place.exists:
        raise ToolError("NOT_FOUND", f"{place.relative} does not exist", "search without a path, or list the root")
    return place


def _listings(trees: Trees, place: Resolved | None) -> Iterable[tuple[Path, Listing]]:
    """Yield what to search, by root."""
    if place is None:
        yield from trees.outermost()
        return
    relative = place.path.relative_to(place.root).as_posix()
    below = trees.below(place.root, relative) if os.path.isdir(place.path) else Listing((relative,), (), ())
    yield place.root, below


@dataclass(frozen=True, slots=True)
class _Counter:
    """Counts matches in the files of one root with ripgrep."""

    binary: Path
    tree: FileTree
    wanted: Query
    found: Found
    over: Callable[[], bool]

    def count(
        self, files: Sequence[str], whole: Sequence[str] | None, texts: set[Path]
    ) -> tuple[Mapping[str, int | None] | None, bool]:
        """Return the files that have any matches, with how many, or None where only searching the text tells; None for
        all if ripgrep cannot be used here. Also returns whether ripgrep finished. `whole` is the list of all files if
        they are all to be searched, `texts` are the files with unsaved texts."""
        pattern = _for_ripgrep(self.wanted)
        if pattern is None:
            return None, True
        root = self.tree.rules.root
        open_files = {path.relative_to(root).as_posix() for path in texts}
        open_files &= set(files)
        saved = [relative for relative in files if relative not in open_files] if open_files else files
        named = saved if whole is None else whole
        named_huge = _huge(root, named)  # ripgrep searches what is named, whatever its size
        counting = [name for name in named if name not in named_huge] if named_huge else named
        options = ["--no-unicode", f"--max-filesize={_MAX_COUNTED}"]
        options += ["--multiline"] if self.wanted.multiline else []
        unnamed: Sequence[str] = () if named is saved else saved
        tells_searched = self.wanted.shortest >= _WORD
        options += [TELLS_SEARCHED] if tells_searched else []
        ended, searched = True, None
        begun = time.time_ns()
        with ThreadPoolExecutor(1) as beside:  # asking for the size of each file takes long, and ripgrep, too
            sizes = None if tells_searched else beside.submit(_huge, root, unnamed)
            try:
                counts, searched = count_lines(
                    self.binary, root, counting, pattern.source, options=options, over=self.over
                )
            except Stopped as stopped:
                counts, ended = stopped.counts, False
            except CannotSearch:
                return None, True
        if sizes is not None:
            huge = named_huge | sizes.result()
        elif searched == len(saved if whole is None else files) - len(named_huge) and self._are_all(files, whole):
            huge = named_huge  # it has left out none for its size
        else:
            huge = named_huge | _huge(root, unnamed)
        # In their order, and without those to be left out that appeared after the listing.
        known: dict[str, int | None] = {
            relative: counts.get(relative) for relative in saved if relative in counts or relative in huge
        }
        looked_at = _moved(root, known, begun) | huge
        if ended:
            try:
                looked_at |= self._to_look_at([one for one in known if one not in huge], pattern)
            except (Stopped, CannotSearch):
                looked_at = set(known)
        self.found.searched += len(saved) - len(looked_at)  # the others are counted when they are searched
        known.update(dict.fromkeys(looked_at))
        if open_files:
            known.update(dict.fromkeys(open_files))
            known = {relative: known[relative] for relative in files if relative in known}
        return known, ended

    def _are_all(self, files: Sequence[str], whole: Sequence[str] | None) -> bool:
        """Tell whether no file has appeared since `whole` was to stand for `files`: it would count for one of them."""
        return whole is None or self.tree.named()[0].files is files

    def _to_look_at(self, files: Sequence[str], pattern: BytesPattern) -> set[str]:
        """Return the files in which bytes and text may differ on what a match is. What is found out about files is
        remembered."""
        if not pattern.exact or len(files) <= _FEW_FILES:
            return set(files)
        literal = self.wanted.literal is not None and self.wanted.pattern.pattern.isascii()
        fact = "ASCII can be found in it" if literal else "nothing but ASCII"
        unknown = self.tree.facts.unknown(fact, files, MAX_FILE)
        signatures = self.tree.facts.signatures(unknown)
        root = self.tree.rules.root
        if literal:
            marked = {relative for relative in unknown if _differs(f"{root}/{relative}")}
        else:
            options = ["--no-unicode", "--max-count=1"]
            marked = set(count_lines(self.binary, root, unknown, _MARKED, options=options, over=self.over).lines)
        plain = {relative: signatures[relative] for relative in unknown if relative not in marked}
        self.tree.facts.learn(fact, plain)
        large = {relative for relative, signature in plain.items() if signature is None or signature[1] > MAX_FILE}
        return marked | large


def _huge(root: Path, files: Iterable[str]) -> set[str]:
    """Return the files that no program can search in time; only their beginnings are searched."""
    found, prefix, lstat = set[str](), f"{root}/", os.lstat
    for relative in files:
        try:
            if lstat(prefix + relative).st_size > _MAX_COUNTED:
                found.add(relative)
        except OSError:
            continue
    return found


def _moved(root: Path, files: Iterable[str], since: int) -> set[str]:
    """Return the files with a folder above them that changed since a time, or just before. Another program opens files
    by name: what it counted there may be from another file, through a link that was there for a moment."""
    quiet: dict[str, bool] = {}

    def is_quiet(folder: str) -> bool:
        known = quiet.get(folder)
        if known is None:
            known = (not folder or is_quiet(folder.rpartition("/")[0])) and _is_quiet(f"{root}/{folder}", since)
            quiet[folder] = known
        return known

    return {relative for relative in files if not is_quiet(relative.rpartition("/")[0])}


def _is_quiet(folder: str, since: int) -> bool:
    try:
        status = os.lstat(folder.removesuffix("/") or "/")
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and is_older(status.st_ctime_ns, since)


def _for_ripgrep(wanted: Query) -> BytesPattern | None:
    if any(ord(character) < 0x20 or character == "\x7f" for character in wanted.pattern.pattern if character != "\n"):
        return None
    return translate(wanted.pattern, multiline=wanted.multiline)


def _differs(path: str) -> bool:
    """Return whether a file is something other than text in an encoding that contains ASCII."""
    try:
        descriptor = open_real(path)
        try:
            head = os.read(descriptor, 8192)
            return b"\0" in head or head[:2] in (b"\xff\xfe", b"\xfe\xff")
        finally:
            os.close(descriptor)
    except OSError:
        return True


@dataclass(frozen=True)
class _Searcher:
    """Searches the files of one root."""

    roots: Roots
    root: Path
    wanted: Query
    context: int
    read: Callable[[Path], str | None] | None
    found: Found
    over: Callable[[], bool]

    def shown(self, relative: str) -> str:
        """Return the path as people and the model read it."""
        if self.simple and relative.isascii() and relative[0] != "~" and ":" not in relative:
            return relative
        return readable(self.roots.display_path(self.root, relative))

    @cached_property
    def simple(self) -> bool:
        return self.roots.roots == (self.root,)

    def pick(self, known: Mapping[str, int | None]) -> bool:
        """Add what is known of each file; search those for which that is not enough. Returns False if it had to end
        early."""
        found, shown = self.found, self.shown
        for relative, count in known.items():
            if count is not None and not found.wants_any_of(count):
                found.counts[shown(relative)] = count
                found.total += count
                continue
            if count is not None:
                self.found.searched -= 1  # `search` counts it again
            if not self.search(relative):
                return False
        return True

    def search(self, relative: str) -> bool:
        """Search one file. Returns False if the search must end."""
        if self.over():
            return False
        shown = self.shown(relative)
        text = self._text_of(f"{self.root}/{relative}", shown)
        if text is None:
            return True
        return find_in(text, shown, self.wanted, self.context, self.found, self.over)

    def _text_of(self, file: str, shown: str) -> str | None:
        """Return the text to search; None if there is nothing to find in it."""
        unsaved = self.read(Path(file)) if self.read is not None else None
        if unsaved is not None:
            self.found.searched += 1
            return unsaved
        try:
            data = _read(file)
        except OSError:
            self.found.unreadable += 1
            return None
        if data is None:
            return None
        self.found.searched += 1
        if is_binary(data):
            return None
        if len(data) > MAX_FILE:
            self.found.shortened.append(shown)
            data = _beginning(data)
        return decode(data)[0] if self.wanted.may_be_in(data) else None


def _read(file: str) -> bytes | None:
    """Read up to one byte more than is searched; None for anything but a regular file. Raises OSError."""
    if not stat.S_ISREG(os.lstat(file).st_mode):
        return None
    descriptor = open_real(file)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        # Reads without a file object, which costs more than reading a small file.
        parts, missing = list[bytes](), MAX_FILE + 1
        while part := os.read(descriptor, min(missing, max(status.st_size + 1, 4096))):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _beginning(data: bytes) -> bytes:
    """Return the first part of a file, cut so that no character is split: after a line, if there is one."""
    part = data[:MAX_FILE]
    if part[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return part
    line = part.rfind(b"\n") + 1
    if line:
        return part[:line]
    try:
        part.decode("utf-8")
    except UnicodeDecodeError as error:
        return part[: error.start] if error.start >= len(part) - 3 else part
    return part
