"""Texts that tools have read recently, by their tags, so that North can tell what has changed since."""

from __future__ import annotations

from collections import OrderedDict

from north_lsp.workspace.edit.diff import hunks_between

_MAX_TEXTS = 64
_MAX_CHARACTERS = 8_000_000
_MAX_RANGES = 20


class RecentTexts:
    """The most recent texts, a few million characters at most."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._size = 0

    def keep(self, tag: str, text: str) -> None:
        if tag in self._texts:
            self._texts.move_to_end(tag)
            return
        if len(text) > _MAX_CHARACTERS // 2:
            return
        self._texts[tag] = text
        self._size += len(text)
        while self._size > _MAX_CHARACTERS or len(self._texts) > _MAX_TEXTS:
            self._size -= len(self._texts.popitem(last=False)[1])

    def changed_lines(self, tag: str, now: str) -> list[tuple[int, int]] | None:
        """Return the first and last lines (1-based) in `now` of what differs from the text of a tag, at most twenty
        places; a place without lines ends before it starts. None if that text is no longer kept."""
        before = self._texts.get(tag)
        if before is None:
            return None
        ranges: list[tuple[int, int]] = []
        for hunk in hunks_between(before, now)[0][:_MAX_RANGES]:
            lines = [line for line in hunk.text.split("\n") if not line.startswith("\\")]
            lead = next((at for at, line in enumerate(lines) if line[:1] in "+-"), 0)
            trail = next((at for at, line in enumerate(reversed(lines[:-1])) if line[:1] in "+-"), 0)
            ranges.append((hunk.new_start + lead, hunk.new_start + hunk.new_lines - 1 - trail))
        return ranges
