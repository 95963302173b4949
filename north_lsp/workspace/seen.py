"""What the model has been shown of files in a conversation, and what of that is recorded besides the calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.edit.conflicts import Conflicts
from north_lsp.workspace.recent import RecentTexts
from north_lsp.workspace.text import tag_of


@dataclass(frozen=True, slots=True)
class Sighting:
    """The tag of a text, and the lines of it (1-based, inclusive) that the model was shown in full."""

    tag: str
    ranges: tuple[tuple[int, int], ...] = ()


@dataclass
class Seen:
    """Which files the model has been shown in this conversation, by resolved path, with the tag of the text and the
    lines; and the conflicts in them. `earlier` is what the log says of the time before the conversation was reopened:
    it counts for a file that still has the same text."""

    tags: dict[Path, str] = field(default_factory=dict)
    ranges: dict[Path, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    conflicts: Conflicts = field(default_factory=Conflicts)
    texts: RecentTexts = field(default_factory=RecentTexts)
    earlier: dict[Path, Sighting] = field(default_factory=dict)
    _fresh: Noted = field(default_factory=dict)

    def restart(self, earlier: dict[Path, Sighting]) -> None:
        """Forget what was shown, but for `earlier`: the conversation continues after another entry."""
        self.tags.clear()
        self.ranges.clear()
        self._fresh.clear()
        self.earlier = earlier

    def note(self, path: Path, tag: str, ranges: Sequence[tuple[int, int]]) -> None:
        """Record that the model was shown these lines (1-based, inclusive) of a text; without lines, a part or an
        outline of it. What it saw of another text of the file is forgotten."""
        self.recall(path, tag)
        before = self.ranges.get(path, ()) if self.tags.get(path) == tag else ()
        self.tags[path] = tag
        self.ranges[path] = (*before, *ranges)
        noted = self._noted()
        fresh = noted.get(path)
        told = fresh.ranges if fresh is not None and fresh.tag == tag else ()
        noted[path] = Sighting(tag, (*told, *ranges))

    def wrote(self, path: Path, tag: str) -> None:
        """Record that the file now has a text that comes from the model, or from a change that the model was told
        of."""
        self.tags[path] = tag
        self.ranges[path] = ()
        self._noted()[path] = Sighting(tag)

    def forget(self, path: Path) -> None:
        """Record that the file no longer exists."""
        self.tags.pop(path, None)
        self.ranges.pop(path, None)
        self.earlier.pop(path, None)
        self._noted()[path] = None

    def recall(self, path: Path, tag: str) -> str | None:
        """Return the tag of the text that was shown last, or None if none was; `tag` is that of the present text."""
        if path not in self.tags and (before := self.earlier.get(path)) is not None and before.tag == tag:
            self.tags[path], self.ranges[path] = before.tag, before.ranges
        return self.tags.get(path)

    def meant(self, path: Path, text: str) -> None:
        """Take it that the model means this text of a file, if it was shown the file before the conversation was
        reopened: an edit of it was stored, and is prepared again."""
        before = self.earlier.get(path)
        if before is None or path in self.tags:
            return
        self.tags[path], self.ranges[path] = before.tag, before.ranges
        if tag_of(text.encode("utf-8", "surrogatepass")) == before.tag:
            self.texts.keep(before.tag, text)

    def paths(self) -> list[Path]:
        """Return all files of which something was shown."""
        return list(self.tags | self.earlier)

    def drain(self) -> Noted:
        """Return what was recorded outside of calls since the last time, and clear it."""
        fresh, self._fresh = self._fresh, {}
        return fresh

    def _noted(self) -> Noted:
        noted = _noting.get()
        return self._fresh if noted is None else noted


Noted = dict[Path, Sighting | None]
"""What was shown of files; None for files that no longer exist."""
_noting: ContextVar[Noted | None] = ContextVar("noting", default=None)


@contextmanager
def noting(noted: Noted) -> Iterator[None]:
    """Record in `noted` what tools show in this task during the context: calls run in parallel, and one may be
    cancelled."""
    before = _noting.set(noted)
    try:
        yield
    finally:
        _noting.reset(before)
