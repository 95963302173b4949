"""Searching the texts of a workspace: which files, how many matches in each, and the matches that were asked for.

ripgrep counts where it can be trusted to count as this module does; everything that is shown is found here.
"""

import os
import stat
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.bytes_pattern import BytesPattern, translate
from north_lsp.workspace.finding import below_a_root
from north_lsp.workspace.listing import readable
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.paths import Resolved, Roots
from north_lsp.workspace.query import Query, compile_glob, compile_query
from north_lsp.workspace.ripgrep import CannotSearch, Stopped, count_lines
from north_lsp.workspace.text import decode, is_binary
from north_lsp.workspace.tree import FileTree, Listing
from north_lsp.workspace.trees import Trees

MAX_FILE = 4 * 1024 * 1024
MAX_SECONDS = 20.0
MAX_LINE = 500
_CUT = "..."
_LINES_BETWEEN_CHECKS = 512
_FEW_FILES = 200
_MARKED = r"[\x00\r\x80-\xff]"


@dataclass(frozen=True, slots=True)
class Match:
    """A line with a match. `line` and `column` (of the first match in it) are 1-based, the column in characters; `text`
    is the line, cut around the match if it is long; `before` and `after` are the lines around it."""

    path: str
    line: int
    column: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The matches asked for. `total_matches` counts the matching lines of all files searched, `counts` those of each
    file that has any; `truncated` says that there are more, or that the search did not come to its end.
    `files_searched` counts the regular files that were looked into."""

    matches: list[Match]
    total_matches: int
    files_searched: int
    truncated: bool
    notices: list[str]
    counts: dict[str, int]


@dataclass
class _Found:
    offset: int
    limit: int
    lines: tuple[int, int] | None = None
    matches: list[Match] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    total: int = 0
    searched: int = 0
    unreadable: int = 0
    shortened: list[str] = field(default_factory=list)

    def wants(self) -> bool:
        return self.offset <= self.total < self.offset + self.limit

    def wants_any_of(self, count: int) -> bool:
        return self.total < self.offset + self.limit and self.total + count > self.offset

    def add(self, shown: str, count: int) -> None:
        if count:
            self.counts[shown] = count


def search(
    roots: Roots,
    query: str,
    *,
    regex: bool = False,
    path: str | None = None,
    glob: str | None = None,
    suffixes: tuple[str, ...] | None = None,
    case_sensitive: bool = False,
    multiline: bool = False,
    lines: tuple[int, int] | None = None,
    context_lines: int = 0,
    limit: int = 50,
    offset: int = 0,
    read: Callable[[Path], str | None] | None = None,
    unsaved: Iterable[Path] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    trees: Trees | None = None,
    private: tuple[Path, ...] = (),
    ripgrep: Path | None = None,
    seconds: float | None = None,
) -> SearchResult:
    """Search the files of all roots, or of the file or folder `path`, in path order, main root first.

    `suffixes` are endings of names, lower-case. `lines` is an inclusive range to which matches are kept. `read` gives
    the unsaved text of a file, if there is one; `unsaved` names the files that have one (needed with `ripgrep`, the
    binary that counts). `should_stop` is asked before every file and now and then within one; after `seconds` there is
    what was found till then. Without `trees`, the files outside of `private` folders are listed. Raises ToolError:
    INVALID_INPUT for an empty query or a broken glob, NOT_FOUND for a missing `path`, IGNORED for one that the user
    closed, and whatever `Roots.resolve_readable` raises.
    """
    wanted = compile_query(query, regex=regex, case_sensitive=case_sensitive, multiline=multiline)
    meant = compile_glob(below_a_root(roots, glob)) if glob is not None else None
    trees = trees if trees is not None else Trees.of(roots, private)
    allowed = MAX_SECONDS if seconds is None else seconds
    deadline = time.monotonic() + allowed
    found = _Found(offset, limit, lines)

    def over() -> bool:
        return should_stop() or time.monotonic() > deadline

    place = _place(trees, path) if path is not None else None
    below = f"{place.path.relative_to(place.root).as_posix()}/" if place is not None else ""
    ended = True
    for root, listing in _listings(trees, place):
        files: Sequence[str] = listing.files
        if suffixes is not None:
            files = [relative for relative in files if relative.lower().endswith(suffixes)]
        if meant is not None:
            files = [relative for relative in files if meant(relative) or meant(relative.removeprefix(below))]
        texts = {other for other in unsaved or () if other.is_relative_to(root)}
        known: Mapping[str, int | None] | None = None
        if ripgrep is not None and lines is None and len(files) > 1:
            whole = listing.whole if files is listing.files else None
            known, ended = _count(ripgrep, trees.tree(root), files, whole, wanted, texts, found, over)
        searcher = _Searcher(roots, root, wanted, context_lines, read, found, over)
        if known is None:
            ended = all(searcher.search(relative) for relative in files)
        else:
            ended = searcher.pick(known) and ended
        if not ended:
            break
    truncated = not ended or found.total > offset + limit
    notices = [*wanted.notices, *_notices(found, ended, allowed, should_stop)]
    return SearchResult(found.matches, found.total, found.searched, truncated, notices, found.counts)


def search_in_text(shown: str, text: str, query: str, **options: object) -> SearchResult:
    """Search one text that is no file: `regex`, `case_sensitive`, `multiline`, `lines`, `context_lines`, `limit` and
    `offset` as in `search`. Raises ToolError INVALID_INPUT."""
    wanted = compile_query(
        query,
        regex=bool(options.get("regex")),
        case_sensitive=bool(options.get("case_sensitive")),
        multiline=bool(options.get("multiline")),
    )
    lines = options.get("lines")
    offset, limit = int(str(options.get("offset", 0))), int(str(options.get("limit", 50)))
    found = _Found(offset, limit, lines if isinstance(lines, tuple) else None, searched=1)
    context = int(str(options.get("context_lines", 0)))
    _search_text(text, shown, wanted, context, found, lambda: False)
    truncated = found.total > offset + limit
    return SearchResult(found.matches, found.total, 1, truncated, list(wanted.notices), found.counts)


def _notices(found: _Found, ended: bool, allowed: float, should_stop: Callable[[], bool]) -> list[str]:
    notices: list[str] = []
    if found.shortened:
        names = ", ".join(found.shortened[:10])
        notices.append(f"only the first {MAX_FILE // 1024 // 1024} MiB were searched of: {names}")
    if found.unreadable:
        notices.append(f"{found.unreadable} files could not be read")
    if not ended:
        why = "was stopped" if should_stop() else f"took longer than {allowed:.0f} seconds"
        notices.append(f"the search {why}")
    return notices


def _place(trees: Trees, path: str) -> Resolved:
    """Where to search. Raises ToolError."""
    place = trees.resolve_readable(path)
    if not place.exists:
        raise ToolError("NOT_FOUND", f"{place.relative} does not exist", "search without a path, or list the root")
    return place


def _listings(trees: Trees, place: Resolved | None) -> Iterable[tuple[Path, Listing]]:
    """What to search, by root."""
    if place is None:
        yield from trees.outermost()
        return
    relative = place.path.relative_to(place.root).as_posix()
    below = trees.below(place.root, relative) if os.path.isdir(place.path) else Listing((relative,), (), ())
    yield place.root, below


def _count(
    binary: Path,
    tree: FileTree,
    files: Sequence[str],
    whole: Sequence[str] | None,
    wanted: Query,
    texts: set[Path],
    found: _Found,
    over: Callable[[], bool],
) -> tuple[Mapping[str, int | None] | None, bool]:
    """Which files have matches, and how many, or None where only looking tells. None for all if ripgrep is of no use
    here. And whether it came to its end."""
    pattern = _for_ripgrep(wanted)
    if pattern is None:
        return None, True
    root = tree.rules.root
    open_files = {path.relative_to(root).as_posix() for path in texts}
    open_files &= set(files)
    saved = [relative for relative in files if relative not in open_files] if open_files else files
    options = ["--no-unicode", *(("--multiline",) if wanted.multiline else ())]
    ended = True
    try:
        counts = count_lines(
            binary, root, saved if whole is None else whole, pattern.source, options=options, over=over
        )
    except Stopped as stopped:
        counts, ended = stopped.counts, False
    except CannotSearch:
        return None, True
    # In their order, and without those that are to be left out and have come since they were listed.
    known: dict[str, int | None] = {relative: counts[relative] for relative in saved if relative in counts}
    looked_at: set[str] = set()
    if ended:
        try:
            looked_at = _to_look_at(binary, tree, list(known), wanted, pattern, over)
        except (Stopped, CannotSearch):
            looked_at = set(known)
    found.searched += len(saved) - len(looked_at)  # the others are counted when they are looked at
    known.update(dict.fromkeys(looked_at))
    if open_files:
        known.update(dict.fromkeys(open_files))
        known = {relative: known[relative] for relative in files if relative in known}
    return known, ended


def _for_ripgrep(wanted: Query) -> BytesPattern | None:
    if any(ord(character) < 0x20 or character == "\x7f" for character in wanted.pattern.pattern if character != "\n"):
        return None
    return translate(wanted.pattern, multiline=wanted.multiline)


def _to_look_at(
    binary: Path, tree: FileTree, files: Sequence[str], wanted: Query, pattern: BytesPattern, over: Callable[[], bool]
) -> set[str]:
    """The files in which bytes and text may differ on what a match is. What is known of files is remembered."""
    if not pattern.exact or len(files) <= _FEW_FILES:
        return set(files)
    literal = wanted.literal is not None and wanted.pattern.pattern.isascii()
    fact = "ASCII can be found in it" if literal else "nothing but ASCII"
    unknown = tree.unknown(fact, files, MAX_FILE)
    signatures = tree.signatures(unknown)
    root = tree.rules.root
    if literal:
        marked = {relative for relative in unknown if _differs(f"{root}/{relative}")}
    else:
        options = ["--no-unicode", "--max-count=1"]
        marked = set(count_lines(binary, root, unknown, _MARKED, options=options, over=over))
    plain = {relative: signatures[relative] for relative in unknown if relative not in marked}
    tree.learn(fact, plain)
    large = {relative for relative, signature in plain.items() if signature is None or signature[1] > MAX_FILE}
    return marked | large


def _differs(path: str) -> bool:
    """Whether a file is something else than text in an encoding that contains ASCII."""
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
    """Looks into the files of one root."""

    roots: Roots
    root: Path
    wanted: Query
    context: int
    read: Callable[[Path], str | None] | None
    found: _Found
    over: Callable[[], bool]

    def shown(self, relative: str) -> str:
        """As people and the model read it."""
        if self.simple and relative.isascii() and relative[0] != "~" and ":" not in relative:
            return relative
        return readable(self.roots.spell(self.root, relative))

    @cached_property
    def simple(self) -> bool:
        return self.roots.roots == (self.root,)

    def pick(self, known: Mapping[str, int | None]) -> bool:
        """Add what is known of each file; look into those where that is not enough. False if it had to end early."""
        found, shown = self.found, self.shown
        for relative, count in known.items():
            if count is not None and not found.wants_any_of(count):
                found.counts[shown(relative)] = count
                found.total += count
                continue
            if count is not None:
                self.found.searched -= 1  # it is counted again
            if not self.search(relative):
                return False
        return True

    def search(self, relative: str) -> bool:
        """Look into one file. False if the search has to end."""
        if self.over():
            return False
        shown = self.shown(relative)
        text = self._text_of(f"{self.root}/{relative}", shown)
        if text is None:
            return True
        return _search_text(text, shown, self.wanted, self.context, self.found, self.over)

    def _text_of(self, file: str, shown: str) -> str | None:
        """The text to search, None if there is nothing in it to find."""
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
    """Up to one byte more than is searched; None for what is no regular file. Raises OSError."""
    if not stat.S_ISREG(os.lstat(file).st_mode):
        return None
    descriptor = open_real(file)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        # Read without a file object, which costs more than reading a small file.
        parts, missing = list[bytes](), MAX_FILE + 1
        while part := os.read(descriptor, min(missing, max(status.st_size + 1, 4096))):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _beginning(data: bytes) -> bytes:
    """The first part of a file, cut where no character is torn: behind a line, if there is one."""
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


def _search_text(text: str, shown: str, wanted: Query, context: int, found: _Found, over: Callable[[], bool]) -> bool:
    """Add a text's matches to what was found. False if the search has to end before the text does."""
    if wanted.multiline:
        return _search_whole(text.replace("\r\n", "\n"), shown, wanted, context, found, over)
    if wanted.literal is not None and not wanted.pattern.search(text):
        return True
    lines = _lines(text)
    first, last = found.lines or (1, len(lines))
    count = 0
    for at in range(first - 1, min(last, len(lines))):
        if at % _LINES_BETWEEN_CHECKS == _LINES_BETWEEN_CHECKS - 1 and over():
            found.add(shown, count)
            return False
        hit = wanted.pattern.search(lines[at].removesuffix("\r"))
        if hit is None:
            continue
        if found.wants():
            found.matches.append(_match(shown, lines, at, at, hit.start(), hit.end(), context))
        found.total += 1
        count += 1
    found.add(shown, count)
    return True


def _search_whole(text: str, shown: str, wanted: Query, context: int, found: _Found, over: Callable[[], bool]) -> bool:
    """As `_search_text`, with matches that may go over several lines; those that begin in one line are one."""
    lines = _lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    first, last = found.lines or (1, len(lines))
    count, previous = 0, -1
    for number, hit in enumerate(wanted.pattern.finditer(text)):
        if number % _LINES_BETWEEN_CHECKS == _LINES_BETWEEN_CHECKS - 1 and over():
            found.add(shown, count)
            return False
        at = bisect_right(starts, hit.start()) - 1
        if at == previous or not first <= at + 1 <= last or at >= len(lines):
            continue
        previous = at
        if found.wants():
            end = max(at, min(bisect_right(starts, max(hit.end() - 1, hit.start())) - 1, len(lines) - 1))
            begin = starts[at]
            found.matches.append(_match(shown, lines, at, end, hit.start() - begin, hit.end() - begin, context))
        found.total += 1
        count += 1
    found.add(shown, count)
    return True


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def _match(shown: str, lines: list[str], at: int, end: int, start: int, stop: int, context: int) -> Match:
    """The match in the lines `at` to `end`, which stands at `start` to `stop` of them."""
    whole = "\n".join(line.removesuffix("\r") for line in lines[at : end + 1])
    before = tuple(_short(other) for other in lines[max(at - context, 0) : at])
    after = tuple(_short(other) for other in lines[end + 1 : end + 1 + context])
    return Match(shown, at + 1, start + 1, _short(whole, (start, stop)), before, after)


def _short(line: str, around: Sequence[int] = (0, 0)) -> str:
    """A line of at most `MAX_LINE` characters besides the marks, with as much of the match in it as fits."""
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE:
        return line
    spare = max(MAX_LINE - (around[1] - around[0]), 0)
    start = min(max(around[0] - spare // 2, 0), len(line) - MAX_LINE)
    end = start + MAX_LINE
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
