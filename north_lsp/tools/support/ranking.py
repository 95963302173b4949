"""Ranks short texts by how well they fit a query (BM25)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from north_lsp.lazy_pattern import lazy_pattern

_WORD = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_K, _B = 1.5, 0.75


def tokenize(text: str) -> list[str]:
    """Split a text or a name (`read_file`, `readFile`) into words, in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def ranked(query: str, texts: Mapping[str, str]) -> list[str]:
    """Return the keys of the texts that have any word of the query, the best first."""
    asked = set(tokenize(query))
    counts = {key: Counter(tokenize(text)) for key, text in texts.items()}
    average = sum(count.total() for count in counts.values()) / max(len(counts), 1)
    rarity = {}
    for word in asked:
        having = sum(1 for count in counts.values() if word in count)
        rarity[word] = math.log(1 + (len(counts) - having + 0.5) / (having + 0.5))
    scores = {}
    for key, count in counts.items():
        length = _K * (1 - _B + _B * count.total() / (average or 1))
        score = sum(rarity[word] * count[word] * (_K + 1) / (count[word] + length) for word in asked if word in count)
        if score > 0:
            scores[key] = score
    return sorted(scores, key=lambda key: (-scores[key], key))
