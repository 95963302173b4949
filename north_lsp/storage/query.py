"""What people type to search: its words, and what SQLite is asked for each. Pure."""

from __future__ import annotations

import re

from north_lsp.lazy_pattern import lazy_pattern

_MOST = 16
UNSPACED = "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
"""The letters of scripts without blanks between words, of which SQLite's index knows no words."""
_UNSPACED = lazy_pattern(UNSPACED)


def words_of(query: str) -> list[str]:
    """Return the words of a query, the first ones of a very long one."""
    return query.encode("utf-8", "replace").decode().replace("\0", " ").split()[:_MOST]


def is_indexed(word: str) -> bool:
    """Tell whether an index of words can find it; a sign such as `=>` is only found in the texts."""
    return any(map(str.isalnum, word)) and _UNSPACED.search(word) is None


def prefix(*words: str) -> str:
    """Return the FTS5 query for texts with words that begin with these."""
    return " AND ".join('"' + word.replace('"', '""') + '"*' for word in words)


def like(word: str) -> str:
    """Return the pattern for `LIKE … ESCAPE '\\'` of texts with this in them."""
    return "%" + re.sub(r"[\\%_]", r"\\\g<0>", word) + "%"
