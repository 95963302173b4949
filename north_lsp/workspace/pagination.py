"""Pages of a text for the model: numbered lines within limits, with every gap and cut marked."""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.workspace.opening import open_regular
from north_lsp.workspace.proposal import TextEncoding
from north_lsp.workspace.text import TAG_DIGITS, Text, decode_part, is_binary

MAX_LINES = 500
MAX_BYTES = 100 * 1024
_CHUNK = 1 << 20
_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 50
_LONGEST_KEPT = 2 * 1024 * 1024  # more than any page takes

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of lines. `ranges` are the lines shown (1-based, inclusive), `next` the lines that were asked for and did
    not fit."""

    ranges: tuple[Range, ...]
    content: str
    next: Range | None
    notices: tuple[str, ...] = ()


def plain_lines(text: str) -> list[str]:
    """Return the lines of a text without their line ends."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def merged(ranges: Iterable[Range], total: int) -> list[Range]:
    """Return the ranges clipped to `total` lines and in order, with those that overlap or touch merged into one."""
    result: list[Range] = []
    for start, end in sorted((max(start, 1), min(end, total)) for start, end in ranges):
        if start > end:
            continue
        if result and start <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def make_page(
    lines: Sequence[str],
    ranges: Sequence[Range],
    *,
    numbered: bool = True,
    marked: int | None = None,
    first: int = 1,
    max_lines: int = MAX_LINES,
    max_bytes: int = MAX_BYTES,
) -> Page:
    """Show merged `ranges` of lines, the first of which has the number `first`. The line `marked` gets a `>`."""
    shown: list[str] = []
    kept: list[Range] = []
    notices: list[str] = []
    left: Range | None = None
    count = size = 0
    previous: int | None = None
    for start, end in ranges:
        if previous is not None and start > previous + 1:
            shown.append(f"⋯ (lines {previous + 1}–{start - 1})\n")
        last = start - 1
        for number in range(start, end + 1):
            line = lines[number - first]
            mark = ("> " if number == marked else "  ") if marked is not None else ""
            text = f"{mark}{number}→{line}\n" if numbered else f"{line}\n"
            weight = len(text.encode("utf-8", "replace"))
            if count == max_lines or (size + weight > max_bytes and count):
                left = (number, end)
                break
            if weight > max_bytes:
                text = text.encode("utf-8", "replace")[:max_bytes].decode("utf-8", "ignore") + "…\n"
                notices.append(f"line {number} is cut: it is longer than {max_bytes} bytes")
            shown.append(text)
            count, size, last = count + 1, size + weight, number
        if last >= start:
            kept.append((start, last))
        previous = last
        if left is not None:
            break
    return Page(tuple(kept), "".join(shown), left, tuple(notices))


def next_range(left: Range, max_lines: int = MAX_LINES) -> dict[str, int]:
    return {"startLine": left[0], "endLine": min(left[1], left[0] + max_lines - 1)}


@dataclass(frozen=True, slots=True)
class Streamed:
    """A part of a large file. `text.text` is empty: only the lines from `start` on are kept."""

    text: Text
    total: int
    start: int
    lines: tuple[str, ...]


def stream_part(
    path: Path,
    start: int,
    end: int | None,
    max_lines: int = MAX_LINES,
    should_stop: Callable[[], bool] = lambda: False,
) -> Streamed:
    """Read through a file that is too large to be held in memory, keeping at most one page of lines from `start` on; if
    the file ends before `start`, its last lines.

    Raises ToolError: BINARY_FILE, TOO_LARGE for UTF-16, NOT_FOUND, INVALID_INPUT, IO_ERROR, CANCELLED.
    """
    digest = hashlib.sha256()
    size = newlines = returns = 0
    kept: list[bytes] = []
    tail = b""
    kept_bytes, number = 0, 0
    last_wanted = min(end if end is not None else start + max_lines, start + max_lines)
    rest = b""
    ended_with_newline = True
    descriptor, status = open_regular(path)
    with open(descriptor, "rb", buffering=0) as file:
        first = True
        while chunk := file.read(_CHUNK):
            if should_stop():
                raise ToolError("CANCELLED", "the read was cancelled")
            if first:
                first = False
                if chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                    raise ToolError("TOO_LARGE", f"{path} is UTF-16 and too large to be read", "search it instead")
                if is_binary(chunk):
                    length = status.st_size
                    raise ToolError("BINARY_FILE", f"{path} is not text ({length} bytes)", details={"size": length})
            digest.update(chunk)
            size += len(chunk)
            here = chunk.count(b"\n")
            newlines += here
            returns += chunk.count(b"\r\n") + (tail.endswith(b"\r") and chunk.startswith(b"\n"))
            ended_with_newline = chunk.endswith(b"\n")
            if number + here + 1 >= start and number < last_wanted:
                parts = (rest + chunk).split(b"\n")
                rest = parts.pop()[:_LONGEST_KEPT]
                for part in parts:
                    number += 1
                    if start <= number <= last_wanted and kept_bytes <= _LONGEST_KEPT:
                        kept.append(part[:_LONGEST_KEPT])
                        kept_bytes += len(part)
            else:
                number += here
                rest = chunk[chunk.rfind(b"\n") + 1 :][:_LONGEST_KEPT] if here else (rest + chunk)[:_LONGEST_KEPT]
            tail = (tail + chunk)[-_TAIL_BYTES:]
    total = newlines + (0 if ended_with_newline else 1)
    if not ended_with_newline and start <= total <= last_wanted and kept_bytes <= _LONGEST_KEPT:
        kept.append(rest)
    begin = start
    if start > total:
        ends = tail.removesuffix(b"\n").split(b"\n")
        kept = ends[1:][-_TAIL_LINES:] if len(ends) > 1 else ends
        begin = total - len(kept) + 1
    data = b"\n".join(kept)
    decoded, encoding = decode_part(data)
    form = TextEncoding(encoding)
    style = "none" if not newlines else "lf" if not returns else "crlf" if returns == newlines else "mixed"
    text = Text("", form, style, size, digest.hexdigest()[:TAG_DIGITS])  # type: ignore[arg-type]  # one of the literals
    return Streamed(text, total, begin, tuple(line.removesuffix("\r") for line in decoded.split("\n")) if kept else ())
