"""How the index of words keeps what was said in a conversation: as pages of several passages each, so that a word that
every conversation has is found in few rows; and with words for signs, of which SQLite knows none. Pure."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable, Iterator

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.passages import LONGEST, Passage
from north_lsp.storage.query import UNSPACED

_BETWEEN = "\u200b"  # SQLite takes it for no part of a word, and nobody sees it
_AT_A_LETTER = lazy_pattern(f"(?<={UNSPACED})|(?={UNSPACED})")
_SIGNS = lazy_pattern(rf"(?:[^\w\s{UNSPACED[1:-1]}]|_)+")
_WITHOUT_WORDS = str.maketrans(dict.fromkeys(string.ascii_letters + string.digits + "\0", " "))
_MOST_SIGNS = 32  # of a run, such as a line of dashes
_SIGN = "\ue000"  # of no script: SQLite takes it for a letter, and nobody types it


@dataclass(frozen=True, slots=True)
class Page:
    """A row of the index: `text` and `signs` as it splits them into words, and which entry said what of the text."""

    text: str
    signs: str
    entries: str


def pages_of(passages: Iterable[Passage]) -> Iterator[Page]:
    """Lay passages on pages, in their order."""
    held: list[Passage] = []
    size = 0
    for passage in passages:
        if held and size + len(passage.text) > LONGEST:
            yield page_of(held)
            held, size = [], 0
        held.append(passage)
        size += len(passage.text)
    if held:
        yield page_of(held)


def page_of(passages: Iterable[Passage]) -> Page:
    """Lay passages on one page."""
    rows = [(passage.text.replace(_BETWEEN, ""), passage.entry_id) for passage in passages]
    whole = "\n".join(text for text, _ in rows)
    entries = json.dumps([(len(text), id) for text, id in rows], separators=(",", ":"))
    return Page(_parted(whole), _signs_in(whole), entries)


def passages_on(text: str, entries: str) -> Iterator[Passage]:
    """Yield the passages of a page."""
    text, start = text.replace(_BETWEEN, ""), 0
    for length, id in json.loads(entries):
        yield Passage(id, text[start : start + length])
        start += length + 1


def phrase(word: str) -> str:
    """Return the FTS5 query for pages that have a word of a query: as the beginning of a word, or, in a script without
    spaces and for signs alone, anywhere."""
    if any(map(str.isalnum, word)):
        return '"' + _parted(word).replace('"', '""') + '"*'
    return f'"{_spelled(word)}"'


def _parted(text: str) -> str:
    """Part the letters of scripts without spaces, so that each is a word to SQLite."""
    return text if text.isascii() else _AT_A_LETTER.sub(_BETWEEN, text)


def _signs_in(text: str) -> str:
    """Spell each run of signs in a text once, so that a part of it is found as a phrase."""
    runs = text.translate(_WITHOUT_WORDS).split() if text.isascii() else _SIGNS.findall(text)
    return f" {_SIGN} ".join(_spelled(run[:_MOST_SIGNS]) for run in dict.fromkeys(runs))


def _spelled(signs: str) -> str:
    return " ".join(f"{_SIGN}{ord(sign):x}" for sign in signs)
