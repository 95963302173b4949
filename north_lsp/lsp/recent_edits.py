"""What the user has changed lately, as far as it can be told from the texts at each pause. Knows no protocol."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path

from north_lsp.agent.session.next_edit import RecentEdit
from north_lsp.workspace.edit.diff import hunks_between

_MOST = 5


class RecentEdits:
    """The last edits of a connection, in all its files. What is typed on in one place is one edit."""

    def __init__(self) -> None:
        self._texts: dict[Path, str] = {}
        self._edits: deque[RecentEdit] = deque(maxlen=_MOST)

    def all(self) -> Sequence[RecentEdit]:
        """Return the edits, the oldest first."""
        return tuple(self._edits)

    def note(self, path: Path, text: str, opened: str) -> None:
        """Take notice of a file's text, which was `opened` when the editor began to show it."""
        before = self._texts.get(path, opened)
        self._texts[path] = text
        if text == before:
            return
        last = self._edits[-1] if self._edits else None
        if last is not None and last.path == path and last.after == before and _is_one_place(last.before, text):
            self._edits.pop()
            before = last.before
        if text != before:
            self._edits.append(RecentEdit(path, before, text))


def _is_one_place(before: str, after: str) -> bool:
    return len(hunks_between(before, after)[0]) <= 1
