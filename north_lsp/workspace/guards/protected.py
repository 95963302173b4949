"""Decides which names a tool may write: never, after asking every time, or freely. The names are data in
`protected.toml`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from north_lsp.lazy_dataclass import dataclass

WriteRule = Literal["never", "ask", "free"]

_BELOW = "/**"


@dataclass(frozen=True, slots=True)
class _Name:
    """A pattern of the list: its components, and whether it includes what is below it. One with `edits_only` does not
    apply to commands; one with `content` applies only to texts in which that is found."""

    rule: WriteRule
    reason: str
    components: tuple[re.Pattern[str], ...]
    below: bool
    edits_only: bool
    content: re.Pattern[str] | None

    def covers(self, path: Sequence[str]) -> bool:
        size = len(self.components)
        starts = range(len(path) - size + 1) if self.below else [len(path) - size]
        return any(
            start >= 0 and all(one.fullmatch(name) for one, name in zip(self.components, path[start:], strict=False))
            for start in starts
        )


def write_rule(resolved_relative: str, raw_path: str) -> WriteRule:
    """Return the rule for a path, judged by what it resolved to and by how it was written; the stricter one wins."""
    return _classify(resolved_relative, raw_path)[0]


def write_reason(resolved_relative: str, raw_path: str) -> str | None:
    """Say why a path is protected, for the question or the refusal; None if it is free."""
    return _classify(resolved_relative, raw_path)[1]


def edit_rule(names: Iterable[str], texts: Callable[[], Sequence[str]]) -> tuple[WriteRule, str | None]:
    """Return the rule for an edit of a file that has all these names, and the reason; `texts` returns what it contains
    before and after, for names whose rule depends on that. The strictest rule wins."""
    return _strictest({_components(name) for name in names}, texts)


def _classify(resolved_relative: str, raw_path: str) -> tuple[WriteRule, str | None]:
    if raw_path[:5].lower() == "file:":
        raw_path = unquote(raw_path[5:])
    return _strictest({_components(resolved_relative), _components(raw_path)}, None)


def _strictest(paths: set[tuple[str, ...]], texts: Callable[[], Sequence[str]] | None) -> tuple[WriteRule, str | None]:
    """Return the strictest rule for the paths, and the reason. Without `texts`, it is a command that may write
    there."""
    if not any(map(_first_of_any().fullmatch, chain.from_iterable(paths))):
        return "free", None
    for name in _names():  # the strictest come first
        if name.edits_only and texts is None:
            continue
        if not any(name.covers(path) for path in paths):
            continue
        content = name.content
        if content is None or texts is None or any(content.search(text) for text in texts()):
            return name.rule, name.reason
    return "free", None


@cache
def _names() -> tuple[_Name, ...]:
    import tomllib

    table = tomllib.loads(Path(__file__).with_name("protected.toml").read_text("utf-8"))
    rules: tuple[WriteRule, ...] = ("never", "ask")
    return tuple(
        _Name(
            rule,
            row["reason"],
            _compiled(pattern),
            pattern.endswith(_BELOW),
            row.get("edits_only", False),
            re.compile(row["content"], re.MULTILINE) if "content" in row else None,
        )
        for rule in rules
        for row in table[rule]
        for pattern in row["patterns"]
    )


@cache
def _first_of_any() -> re.Pattern[str]:
    """Return an expression for the beginning of every name in the list: it quickly rules out most paths, which match
    none."""
    return re.compile("|".join(dict.fromkeys(name.components[0].pattern for name in _names())))


def _compiled(pattern: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(translate(part)) for part in _components(pattern.removesuffix(_BELOW)))


def folded(name: str) -> str:
    """Return a path's name as the least discerning file system would compare it: regardless of case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _components(path: str) -> tuple[str, ...]:
    """Split a path into names as the least discerning file system would compare them: folded, without invisible
    characters, trailing dots and spaces, and stream names."""
    shown = "".join(character for character in folded(path) if unicodedata.category(character) != "Cf")
    names = (name.partition(":")[0].rstrip(". ") for name in shown.replace("\\", "/").split("/"))
    return tuple(name for name in names if name)
