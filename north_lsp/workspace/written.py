"""What became of a text that an editor was to write: editors format what they save, and some write something else."""

import re
from collections import Counter

from north_lsp.workspace.text import dominant_newline, to_newlines

_WORD = re.compile(r"\w+")
_KEPT = 0.5
_ADDED = 200


def is_same(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but how their line ends are spelled."""
    return one == other or to_newlines(one, "\n") == to_newlines(other, "\n")


def in_ends_of(accepted: str, shown: str) -> str:
    """What an editor shows, with the line ends of the accepted text where the editor does not tell any others."""
    return shown if "\r\n" in shown else to_newlines(shown, dominant_newline(accepted))


def why_spoilt(old: str, accepted: str, now: str) -> str | None:
    """Why `now` cannot be what an editor made of `accepted`, which was to replace `old`, in words that go on with "it";
    None if it can be. Formatters move and change a lot, but they keep most of the words, and the change itself."""
    if is_same(now, accepted):
        return None
    if is_same(now, old):
        return "still has the old text"
    if accepted.strip() and not now.strip():
        return "is empty"
    bare, bare_now = "".join(accepted.split()), "".join(now.split())
    if bare.startswith(bare_now) and _WORD.search(bare, len(bare_now)):
        return f"is cut off after {len(now)} of {len(accepted)} characters"
    before, wanted, found = (Counter(_WORD.findall(text)) for text in (old, accepted, now))
    new, gone = wanted - before, before - wanted
    if (new or gone) and not new & (found - before) and not gone & (before - found):
        return "has nothing of the change"
    kept = (wanted & found).total()
    if kept < _KEPT * wanted.total() or found.total() - kept > max(_ADDED, wanted.total()):
        return "has another text"
    return None
