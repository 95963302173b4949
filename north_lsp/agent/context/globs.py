"""Tells which files a rule is about: wildcards on paths relative to a root, in bounded time. Pure."""

from collections.abc import Iterable, Iterator

from north_lsp.workspace.files.wildmatch import any_matches

_MAX_LENGTH = 1000
_MAX_ALTERNATIVES = 64
_MAX_BRACES = 16


def split_globs(text: str) -> list[str]:
    """Split a list at its commas, but not at those in braces."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def check_glob(glob: str) -> str | None:
    """Say what is wrong with a wildcard; None for a good one."""
    if len(glob) > _MAX_LENGTH:
        return f"is longer than {_MAX_LENGTH} characters"
    if glob.count("{") > _MAX_BRACES or len(list(_expanded(glob, _MAX_ALTERNATIVES + 1))) > _MAX_ALTERNATIVES:
        return f"has more than {_MAX_ALTERNATIVES} alternatives in braces"
    return None


def matching_glob(globs: Iterable[str], relative: str) -> str | None:
    """Return the first of checked wildcards that a path matches. One without a slash matches names in any folder, and
    one that ends with a slash everything in that folder."""
    for glob in globs:
        if any_matches((_plain(one) for one in _expanded(glob, _MAX_ALTERNATIVES)), relative) is not None:
            return glob
    return None


def _plain(glob: str) -> str:
    plain = glob.removeprefix("./")
    return f"{plain}**" if plain.endswith("/") else plain


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
