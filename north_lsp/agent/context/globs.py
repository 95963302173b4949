"""Tells which files a rule is about: wildcards on paths relative to a root, in bounded time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from north_lsp.agent.context.frontmatter import is_quoted, split_at_commas
from north_lsp.workspace.files.wildmatch import SPECIAL, any_matches

_MAX_LENGTH = 1000
_MAX_ALTERNATIVES = 64
_MAX_BRACES = 16
_LISTED = frozenset("\"',")
"""What a list in brackets has, and a set of characters has not."""


def split_globs(text: str) -> list[str]:
    """Split a list at its commas, but not at those in braces; its parts, or all of it, may be quoted or in brackets."""
    whole = text.strip()
    if whole.startswith("[") and whole.endswith("]") and _LISTED & set(whole):
        whole = whole[1:-1]
    found: list[str] = []
    for part in split_at_commas(whole):
        found += split_globs(part[1:-1]) if is_quoted(part) else [part]
    return found


def check_glob(glob: str) -> str | None:
    """Say what is wrong with a wildcard; None for a good one."""
    if not _is_text(glob):
        return "has a character that no path has"
    if len(glob) > _MAX_LENGTH:
        return f"is longer than {_MAX_LENGTH} characters"
    if glob.count("{") > _MAX_BRACES or len(list(_expanded(glob, _MAX_ALTERNATIVES + 1))) > _MAX_ALTERNATIVES:
        return f"has more than {_MAX_ALTERNATIVES} alternatives in braces"
    return None


def _is_text(glob: str) -> bool:
    """Tell whether a wildcard can be compared with paths: JSON and YAML can spell half a character."""
    try:
        glob.encode()
    except UnicodeEncodeError:
        return False
    return True


def matching_glob(globs: Iterable[str], relative: str) -> str | None:
    """Return the first of checked wildcards that a path matches, unless it matches one that begins with `!`. One
    without a slash matches names in any folder, and the name of a folder everything in it."""
    found: str | None = None
    for glob in globs:
        if glob.startswith("!"):
            if _matches(glob[1:], relative):
                return None
        elif found is None and _matches(glob, relative):
            found = glob
    return found


def _matches(glob: str, relative: str) -> bool:
    patterns = (pattern for one in _expanded(glob, _MAX_ALTERNATIVES) for pattern in _patterns(one))
    return any_matches(patterns, relative) is not None


def _patterns(glob: str) -> Iterator[str]:
    plain = glob.removeprefix("./")
    if plain.endswith("/"):
        yield f"{plain}**"
        return
    yield plain
    if plain and not set(plain.rpartition("/")[2].encode()) & set(SPECIAL):
        yield f"{plain}/**"  # it may be a folder


def _expanded(glob: str, most: int) -> Iterator[str]:
    """Yield the wildcards that one with braces stands for, at most so many."""
    waiting, count = [glob], 0
    while waiting and count < most:
        one = waiting.pop()
        if (found := _innermost(one)) is None:
            count += 1
            yield one
        else:
            start, end = found
            options = one[start + 1 : end].split(",")
            waiting += [one[:start] + option + one[end + 1 :] for option in reversed(options)]


def _innermost(glob: str) -> tuple[int, int] | None:
    """Return where the first pair of braces without others inside begins and ends."""
    start = -1
    for at, character in enumerate(glob):
        if character == "{":
            start = at
        elif character == "}" and start >= 0:
            return start, at
    return None
