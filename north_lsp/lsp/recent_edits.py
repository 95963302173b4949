"""What the user has changed lately, as far as it can be told from the texts at each pause. Knows no protocol."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from pathlib import Path

from north_lsp.agent.session.completion.next_edit import RecentEdit
from north_lsp.workspace.edit.positions import lines_of

_MOST = 5
_ONE_PLACE = 12
_LONGEST = 2000
"""How many lines an edit may span: what spans more was not typed, and takes seconds to compare."""


class RecentEdits:
    """The last edits of a connection, in all its files. What is typed on in one place is one edit."""

    def __init__(self) -> None:
        self._texts: dict[Path, tuple[str, str]] = {}
        self._edits: deque[RecentEdit] = deque(maxlen=_MOST)

    def all(self) -> Sequence[RecentEdit]:
        """Return the edits, the oldest first."""
        return tuple(self._edits)

    def keep(self, shown: Collection[Path | None]) -> None:
        """Forget the texts of files that the editor does not show any more."""
        self._texts = {path: texts for path, texts in self._texts.items() if path in shown}

    def note(self, path: Path, text: str, opened: str) -> None:
        """Take notice of a file's text, which was `opened` when the editor began to show it."""
        known_opened, before = self._texts.get(path, (opened, opened))
        if known_opened != opened:  # it was closed meanwhile, and others may have changed it
            before = opened
        self._texts[path] = opened, text
        if text == before:
            return
        last = self._edits[-1] if self._edits else None
        if last is not None and last.path == path and last.after == before and _span(last.before, text) <= _ONE_PLACE:
            self._edits.pop()
            before = last.before
        if text != before and _span(before, text) <= _LONGEST:
            self._edits.append(RecentEdit(path, before, text))


def _span(before: str, after: str) -> int:
    """Count the lines from the first to the last that differ, in the text that has fewer of them there."""
    old, new = lines_of(before), lines_of(after)
    fewest = min(len(old), len(new))
    head = next((at for at in range(fewest) if old[at] != new[at]), fewest)
    tail = next((at for at in range(fewest - head) if old[-1 - at] != new[-1 - at]), fewest - head)
    return fewest - head - tail
