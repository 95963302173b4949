"""Searching the texts of a workspace, line by line."""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.workspace.ignore import IgnoreRules, walk
from north_lsp.workspace.listing import readable
from north_lsp.workspace.paths import Resolved, Roots
from north_lsp.workspace.query import Query, compile_glob, compile_query
from north_lsp.workspace.text import OPEN_FLAGS, decode, is_binary

MAX_FILE = 4 * 1024 * 1024
MAX_SECONDS = 20.0
MAX_LINE = 500
_CUT = "..."
_LINES_BETWEEN_CHECKS = 512


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
    """The matches asked for. `total_matches` counts the matching lines of all files searched; `truncated` says that
    there are more, or that the search did not come to its end."""

    matches: list[Match]
    total_matches: int
    files_searched: int
    truncated: bool
    notices: list[str]


@dataclass
class _Found:
    offset: int
    limit: int
    matches: list[Match] = field(default_factory=list)
    total: int = 0
    searched: int = 0
    unreadable: int = 0
    shortened: list[str] = field(default_factory=list)

    def wants(self) -> bool:
        return self.offset <= self.total < self.offset + self.limit


def search(
    roots: Roots,
    query: str,
    *,
    regex: bool = False,
    path: str | None = None,
    glob: str | None = None,
    case_sensitive: bool = False,
    context_lines: int = 0,
    limit: int = 50,
    offset: int = 0,
    read: Callable[[Path], str | None] | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> SearchResult:
    """Search the files of all roots, or of the file or folder `path`, in path order, main root first.

    `read` gives the unsaved text of a file, if there is one. `should_stop` is asked before every file and now and then
    within one. Raises ToolError: INVALID_INPUT for an empty query or a broken glob, NOT_FOUND for a missing `path`,
    IGNORED for one that the user closed, and whatever `Roots.resolve` raises.
    """
    wanted = compile_query(query, regex=regex, case_sensitive=case_sensitive)
    meant = compile_glob(glob) if glob is not None else None
    deadline = time.monotonic() + MAX_SECONDS
    found = _Found(offset, limit)

    def over() -> bool:
        return should_stop() or time.monotonic() > deadline

    place = _place(roots, path) if path is not None else None
    below = f"{place.path.relative_to(place.root).as_posix()}/" if place is not None else ""
    ended = True
    for root, relative, file in _files(roots) if place is None else _files_at(place):
        if over():
            ended = False
            break
        if meant is not None and not meant(relative) and not meant(relative.removeprefix(below)):
            continue
        shown = readable(roots.spell(root, relative))
        text = _text_of(file, shown, wanted, read, found)
        if text is not None and not _search_text(text, shown, wanted, context_lines, found, over):
            ended = False
            break
    notices = list(wanted.notices)
    if found.shortened:
        notices.append(
            f"only the first {MAX_FILE // 1024 // 1024} MiB were searched of: {', '.join(found.shortened[:10])}"
        )
    if found.unreadable:
        notices.append(f"{found.unreadable} files could not be read")
    if not ended:
        stopped = should_stop()
        notices.append(
            "the search was stopped" if stopped else f"the search took longer than {MAX_SECONDS:.0f} seconds"
        )
    truncated = not ended or found.total > offset + limit
    return SearchResult(found.matches, found.total, found.searched, truncated, notices)


def _place(roots: Roots, path: str) -> Resolved:
    """Where to search. Raises ToolError."""
    place = roots.resolve(path)
    if IgnoreRules.of(place.root).closed(place.path.relative_to(place.root).as_posix()):
        raise ToolError("IGNORED", f"{place.relative} is named by .northignore", "the user keeps it closed to tools")
    if not place.exists:
        raise ToolError("NOT_FOUND", f"{place.relative} does not exist", "search without a path, or list the root")
    return place


def _files(roots: Roots) -> Iterator[tuple[Path, str, Path]]:
    """The files of all roots: root, path relative to it, and real path; those of a root within another come once."""
    for at, root in enumerate(roots.roots):
        if any(root.is_relative_to(other) for other in roots.roots[:at]):
            continue
        for entry in walk(root, IgnoreRules.of(root)):
            if not entry.is_dir and not any(entry.path.is_relative_to(other) for other in roots.roots[:at]):
                yield root, entry.relative, entry.path


def _files_at(place: Resolved) -> Iterator[tuple[Path, str, Path]]:
    if not place.path.is_dir():
        yield place.root, place.path.relative_to(place.root).as_posix(), place.path
        return
    for entry in walk(place.path, IgnoreRules.of(place.root)):
        if not entry.is_dir:
            yield place.root, entry.relative, entry.path


def _text_of(
    file: Path, shown: str, wanted: Query, read: Callable[[Path], str | None] | None, found: _Found
) -> str | None:
    """The text to search, None if there is nothing in it to find."""
    unsaved = read(file) if read is not None else None
    if unsaved is not None:
        found.searched += 1
        return unsaved
    try:
        data = _read(file)
    except OSError:
        found.unreadable += 1
        return None
    if data is None or is_binary(data):
        return None
    found.searched += 1
    if len(data) > MAX_FILE:
        found.shortened.append(shown)
        data = _beginning(data)
    return decode(data)[0] if wanted.may_be_in(data) else None


def _read(file: Path) -> bytes | None:
    """Up to one byte more than is searched; None for what is no regular file. Raises OSError."""
    if not stat.S_ISREG(os.lstat(file).st_mode):
        return None
    descriptor = os.open(file, OPEN_FLAGS)
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
    if wanted.literal is not None and not wanted.pattern.search(text):
        return True
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    for at, line in enumerate(lines):
        if at % _LINES_BETWEEN_CHECKS == _LINES_BETWEEN_CHECKS - 1 and over():
            return False
        hit = wanted.pattern.search(line.removesuffix("\r"))
        if hit is None:
            continue
        if found.wants():
            before = tuple(_short(other) for other in lines[max(at - context, 0) : at])
            after = tuple(_short(other) for other in lines[at + 1 : at + 1 + context])
            found.matches.append(Match(shown, at + 1, hit.start() + 1, _short(line, hit.span()), before, after))
        found.total += 1
    return True


def _short(line: str, around: Sequence[int] = (0, 0)) -> str:
    """A line of at most `MAX_LINE` characters besides the marks, with as much of the match in it as fits."""
    line = line.removesuffix("\r")
    if len(line) <= MAX_LINE:
        return line
    spare = max(MAX_LINE - (around[1] - around[0]), 0)
    start = min(max(around[0] - spare // 2, 0), len(line) - MAX_LINE)
    end = start + MAX_LINE
    return f"{_CUT if start else ''}{line[start:end]}{_CUT if end < len(line) else ''}"
