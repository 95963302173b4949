"""Reads ignore files in git's syntax and tells which of their patterns matches a path last. Knows nothing of trees.

This does not use `pathspec` (1.1 was tried). Its expressions backtrack: eight `*a` and a `b` against a name of 60
letters take it 42 seconds, and ignore files come with projects; RE2, which would bound them, has no wheels for musl. It
compares characters where git compares bytes, raises for lines that git ignores (one in eleven of the random lines that
the tests compare with `git check-ignore`), matches whole paths where git goes from folder to folder, and does not fold
case.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.files.wildmatch import SPECIAL, translate

_MAX_BYTES = 1024 * 1024
_MAX_PATTERNS = 10_000
_MAX_PATTERN_BYTES = 8 * 1024


@dataclass(frozen=True, slots=True)
class _Pattern:
    """One line. `by_name` patterns are matched against the last component, others against the path. `depth` is the
    number of slashes in the paths that it matches, None if that is not fixed; `name` is the only name that it matches,
    `path` the only path. A pattern that begins with its only star matches names whose end matches `ending`; one that
    `reaches` may span any number of folders."""

    expression: re.Pattern[bytes]
    source: bytes
    negated: bool
    folders_only: bool
    by_name: bool
    depth: int | None = None
    name: bytes | None = None
    path: bytes | None = None
    ending: bytes | None = None
    reaches: bool = False


@dataclass(frozen=True)
class PatternFile:
    """The patterns of one ignore file. `folded` compares regardless of case and Unicode composition; `problem` says why
    these are not all that the file means."""

    patterns: tuple[_Pattern, ...]
    folded: bool
    problem: str | None = None

    def verdict(self, name: bytes, path: bytes, is_dir: bool, exact: tuple[bytes, bytes] | None = None) -> bool | None:
        """Return whether the last pattern that matches a path ignores it; None if none matches it.

        `path` is relative to the folder of the ignore file, `name` its last component. If both are folded, `exact` is
        how they are actually written: a negated line applies only to its exact spelling.
        """
        if not self._any_name.fullmatch(name) and (self.names_only or not self._any_path.fullmatch(path)):
            return None
        for pattern in reversed(self.patterns):
            spelled_name, spelled_path = exact if exact is not None and pattern.negated else (name, path)
            held = spelled_name if pattern.by_name else spelled_path
            if (is_dir or not pattern.folders_only) and pattern.expression.fullmatch(held):
                return not pattern.negated
        return None

    def may_meet_names(self, names: Sequence[str], joined: bytes) -> bool:
        """Return whether a pattern that is matched against names may match any of a folder's: in most folders nothing
        is ignored, and this finds out in a few steps. `joined` is the names with a slash before, between and after
        them. The file is not folded."""
        plain, among = self._met_names
        return not plain.isdisjoint(names) or (among is not None and among.search(joined) is not None)

    def may_meet_paths(self, joined: bytes, prefix: bytes) -> bool:
        """Return the same for patterns that are matched against paths. `prefix` leads to the folder, with a slash at
        its end."""
        among = self._among_paths
        return among is None or bool(among.search(b"\0" + prefix + joined[1:-1].replace(b"/", b"/\0" + prefix)))

    def meets_paths_at(self, depth: int) -> bool:
        """Return whether any pattern is matched against paths with this many slashes."""
        return not self.names_only and (self._depths is None or depth in self._depths)

    @cached_property
    def paths(self) -> tuple[str, ...]:
        """The paths that patterns name without wildcards, relative to the file's folder; negated ones excluded."""
        plain = (pattern.path for pattern in self.patterns if pattern.path is not None and not pattern.negated)
        return tuple(path.decode("utf-8", "surrogateescape") for path in plain)

    @cached_property
    def _met_names(self) -> tuple[frozenset[str], re.Pattern[bytes] | None]:
        """The patterns that are just names, and an expression for the others that are matched against names, None if
        there are none."""
        plain = (pattern.name for pattern in self.patterns if pattern.name is not None)
        names = frozenset(name.decode("utf-8", "surrogateescape") for name in plain)
        others = [pattern for pattern in self.patterns if pattern.by_name and pattern.name is None]
        if not others:
            return names, None
        # What may begin with anything is not matched at every beginning: where it ends is enough.
        any_start = [pattern.ending for pattern in others if pattern.ending is not None]
        same_start = [b"/(?:" + pattern.source + b")" for pattern in others if pattern.ending is None]
        either = b"|".join((*any_start, *same_start))  # one may be empty: the end of any name
        return names, re.compile(rb"(?:" + either + rb")(?=/)", _flags(folded=False))

    @cached_property
    def _among_paths(self) -> re.Pattern[bytes] | None:
        """An expression for all path patterns; None if a pattern spans slashes, since it would take in one path after
        another."""
        if any(pattern.reaches for pattern in self.patterns):
            return None
        return re.compile(rb"\0(?:" + self._any_path.pattern + rb")(?=/\0|\Z)", _flags(self.folded))

    @cached_property
    def _depths(self) -> frozenset[int | None] | None:
        """How many slashes the paths have that path patterns match; None if any number."""
        depths = frozenset(pattern.depth for pattern in self.patterns if not pattern.by_name)
        return None if None in depths else depths

    @cached_property
    def names_only(self) -> bool:
        """Whether every pattern is matched against names alone, wherever they are."""
        return all(pattern.by_name for pattern in self.patterns)

    @cached_property
    def _any_name(self) -> re.Pattern[bytes]:
        return self._union(by_name=True)

    @cached_property
    def _any_path(self) -> re.Pattern[bytes]:
        return self._union(by_name=False)

    def _union(self, *, by_name: bool) -> re.Pattern[bytes]:
        """Return one expression for all patterns: most paths match none of them, and this finds out in one step."""
        sources = [b"(?:" + pattern.source + b")" for pattern in self.patterns if pattern.by_name == by_name]
        return re.compile(b"|".join(sources) or b"(?!)", _flags(self.folded))


EMPTY = PatternFile((), folded=False)
EVERYTHING = PatternFile((_Pattern(re.compile(b".*", re.DOTALL), b".*", False, False, True),), folded=False)


def everything(problem: str) -> PatternFile:
    """Return a list that ignores everything, in place of one whose meaning is unknown; `problem` says why."""
    return replace(EVERYTHING, problem=problem)


def parse(data: bytes, *, folded: bool = False) -> PatternFile:
    """Parse an ignore file's contents into patterns; lines that can match nothing are dropped, as git does."""
    lines = data[:_MAX_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    found = (_pattern(line, folded) for line in lines if len(line) <= _MAX_PATTERN_BYTES)
    patterns = tuple(islice((one for one in found if one is not None), _MAX_PATTERNS + 1))
    problem = None
    if len(data) > _MAX_BYTES:
        problem = f"is longer than {_MAX_BYTES // 1024} KB"
    elif len(patterns) > _MAX_PATTERNS:
        problem = f"has more than {_MAX_PATTERNS} patterns"
    elif max(map(len, lines)) > _MAX_PATTERN_BYTES:
        problem = f"has a line of more than {_MAX_PATTERN_BYTES} bytes"
    elif b"\0" in data:
        problem = "is not UTF-8 text (it contains NUL bytes)"
    elif any(b"\r" in line.removesuffix(b"\r") for line in lines):
        problem = "has carriage returns within its lines"
    return PatternFile(patterns[:_MAX_PATTERNS], folded, problem)


def match_form(name: str, *, folded: bool) -> bytes:
    """Return a file name or relative path in the form that patterns are matched against."""
    if folded:
        plain = name.isascii()
        name = name.lower() if plain else unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return name.encode("utf-8", "surrogateescape")


def load(path: Path, *, folded: bool = False, follow: bool = False) -> PatternFile:
    """Read an ignore file. Anything but a regular file has no patterns. Raises OSError if it cannot be opened or
    read."""
    flags = os.O_RDONLY | systems.NONBLOCK | systems.CLOEXEC | (0 if follow else systems.NOFOLLOW)
    descriptor = systems.open_file(path, flags)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return EMPTY
        return parse(file.read(_MAX_BYTES + 1), folded=folded)


def _pattern(line: bytes, folded: bool) -> _Pattern | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_blanks(line.removesuffix(b"\r"))
    negated = line.startswith(b"!")
    line = line[negated:]
    folders_only = line.endswith(b"/")
    if folders_only:
        line = line[:-1]
    by_name = b"/" not in line
    body = line.removeprefix(b"/")
    if body.startswith(b"**/") and b"/" not in body[3:]:  # means the same
        by_name, body = True, body[3:]
    own = translate(body) if folded and negated and body else None
    if folded:
        body = match_form(body.decode("utf-8", "surrogateescape"), folded=True)
    source = translate(body) if body else None
    if source is None:
        return None
    depth = None if b"**" in body or b"[" in body or b"\\" in body else body.count(b"/")
    plain = body if not any(byte in body for byte in SPECIAL) else None
    name, path = (plain, None) if by_name else (None, plain)
    behind = body.lstrip(b"*")
    ending = translate(behind) if by_name and behind != body and b"*" not in behind else None
    expression = re.compile(source, _flags(folded)) if own is None else re.compile(own, _flags(folded=False))
    return _Pattern(
        expression, source, negated, folders_only, by_name, depth, name, path, ending, not by_name and b"**" in body
    )


def _without_trailing_blanks(line: bytes) -> bytes:
    """Strip trailing spaces from a line; a space after a backslash stays."""
    end = at = 0
    while at < len(line):
        if line[at : at + 1] == b"\\":
            at += 2
            end = at
        else:
            at += 1
            if line[at - 1 : at] != b" ":
                end = at
    return line[:end]


def _flags(folded: bool) -> int:
    return re.DOTALL | (re.IGNORECASE if folded else 0)
