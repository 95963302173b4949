"""What became of a text that an editor was asked to write: editors format what they save, and some write something
else."""

from __future__ import annotations

from collections import Counter

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.edit.lines import changed_blocks
from north_lsp.workspace.text import dominant_newline, split_lines, to_newlines

_WORD = lazy_pattern(r"\w+")
_KEPT = 0.5
_ADDED = 200


def is_same(one: str, other: str) -> bool:
    """Return whether two texts are the same apart from their line ends."""
    return one == other or to_newlines(one, "\n") == to_newlines(other, "\n")


def in_ends_of(accepted: str, shown: str) -> str:
    """Return what an editor shows, with the line ends of the accepted text unless the editor reports CRLF itself."""
    return shown if "\r\n" in shown else to_newlines(shown, dominant_newline(accepted))


def has_nothing_of(old: str, accepted: str, now: str) -> bool:
    """Return whether `now` differs from `old` but contains nothing of what `accepted` changes: the change was left out,
    and something else has changed the text."""
    if is_same(now, old) or is_same(now, accepted):
        return False
    lines, wanted, found = (split_lines(to_newlines(text, "\n")) for text in (old, accepted, now))
    there = changed_blocks(lines, found)
    if not any(
        one.old_start <= other.old_end and other.old_start <= one.old_end
        for one in changed_blocks(lines, wanted)
        for other in there
    ):
        return True
    had, new, has = (Counter(_WORD.findall(text.casefold())) for text in (old, accepted, now))
    return not (new - had) & (has - had) if new - had else _lacks_words(old, accepted, now)


def _lacks_words(old: str, accepted: str, now: str) -> bool:
    """Return whether words were to be added or removed, and none of them was."""
    before, wanted, found = (Counter(_WORD.findall(text)) for text in (old, accepted, now))
    new, gone = wanted - before, before - wanted
    return bool(new or gone) and not new & (found - before) and not gone & (before - found)


def why_altered(old: str, accepted: str, now: str) -> str | None:
    """Say why `now` cannot be what an editor made of `accepted`, which was to replace `old`, in words that continue
    after "it"; None if it can be. Formatters move and change a lot, but they keep most of the words, and the change
    itself."""
    if is_same(now, accepted):
        return None
    if accepted.strip() and not now.strip() and not old.strip():
        return "is empty"
    if is_same(now, old):
        return "still has the old text"
    if accepted.strip() and not now.strip():
        return "is empty"
    bare, bare_now = "".join(accepted.split()), "".join(now.split())
    if bare.startswith(bare_now) and _WORD.search(bare, len(bare_now)):
        return f"is cut off after {len(now)} of {len(accepted)} characters"
    if _lacks_words(old, accepted, now):
        return "does not contain the change"
    wanted, found = (Counter(_WORD.findall(text)) for text in (accepted, now))
    kept = (wanted & found).total()
    if kept < _KEPT * wanted.total() or found.total() - kept > max(_ADDED, wanted.total()):
        return "has a different text"
    return None
