"""Results as people see them: a few lines of text, made of the JSON that models get. Knows no single tool, only the
names that results of all of them share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from north_lsp.lazy_pattern import lazy_pattern

_LINES = 60
_WIDTH = 300
_CHARACTERS = 4_000
_NUMBERED = lazy_pattern(r"(>?\s*)(\d+)→(.*)")
_ROWS = (
    "matches",
    "files",
    "counts",
    "entries",
    "symbols",
    "blocks",
    "locations",
    "diagnostics",
    "languages",
    "tools",
)
_WORDS = ("text", "snippet", "signature", "label", "message", "name", "description")
_COUNTS = {"count": "", "changes": " changes", "percent": " %", "size": " bytes"}


def shown_result(data: object) -> str:
    """Return what people see of a result; empty where there is nothing to see."""
    if not isinstance(data, Mapping):
        return ""
    lines = list(_lines(data))
    left, length = [], 0
    for line in lines[:_LINES]:
        short = line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…"
        length += len(short) + 1
        if length > _CHARACTERS:
            break
        left.append(short)
    more = len(lines) - len(left)
    return "\n".join([*left, *([f"… {more} more"] if more else [])])


def _lines(data: Mapping[str, object]) -> Iterator[str]:
    content, text = data.get("content"), data.get("text")
    rows = next((data[key] for key in _ROWS if isinstance(data.get(key), Sequence)), None)
    if isinstance(content, str):
        yield from _numbered(content.splitlines())
    elif isinstance(rows, Sequence) and not isinstance(rows, str):
        yield from (_row(row, data.get("path")) for row in rows)
    elif isinstance(text, str):
        yield from text.splitlines()
    else:
        yield from (f"{key}: {value}" for key, value in data.items() if isinstance(value, str | int | float))


def _numbered(lines: list[str]) -> Iterator[str]:
    """Lines with their numbers in a column of their own."""
    found = [_NUMBERED.fullmatch(line) for line in lines]
    width = max((len(one[2]) for one in found if one is not None), default=0)
    for line, one in zip(lines, found, strict=True):
        yield line if one is None else f"{one[1]}{one[2]:>{width}}  {one[3]}".rstrip()


def _row(row: object, path: object) -> str:
    """One thing that was found: where, and what it is."""
    if not isinstance(row, Mapping):
        return " ".join(str(row).split())
    path, line = row.get("path", path), row.get("line", row.get("startLine"))
    place = str(path) if isinstance(path, str) and ("path" in row or line is not None) else ""
    if place and isinstance(line, int):
        place = f"{place}:{line}"
    words = next((str(row[key]) for key in _WORDS if row.get(key)), "")
    words = words.strip("\n").split("\n", 1)[0].strip()
    if row.get("type") == "dir":
        words += "/"
    counts = [f"{row[key]}{unit}" for key, unit in _COUNTS.items() if isinstance(row.get(key), int | float)]
    return ": ".join(part for part in (place, words, ", ".join(counts)) if part)
