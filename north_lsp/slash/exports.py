"""The commands that write the conversation to a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.slash.base import Command, Reply, UsageError

_FORMATS = ("html", "md", "txt", "json")
_HINT = "[path] [--format html|md|txt|json] [--raw]"
_MASKED = "Keys that North knows, or that look like one, and your home folder are masked."
_RAW = "Nothing is masked: it has your keys, if they were in the conversation, and your paths."


class HostForExports(Protocol):
    """What commands about exports ask of a session. Every method may raise CommandError."""

    async def export(self, path: str | None, format: str | None, only: str | None, *, raw: bool) -> str:
        """Write the conversation to a file, after asking if there is one already; returns the file's path. Without
        a format, the file's ending says it; it must be that of the `only` one, if there is one."""
        ...


@dataclass(frozen=True, slots=True)
class _What:
    path: str | None = None
    format: str | None = None
    raw: bool = False


def _what(words: Sequence[str], formats: Sequence[str] = ()) -> _What:
    """Read the words after a command: a path (in quotation marks if it has spaces), and options."""
    path: str | None = None
    format: str | None = None
    raw = False
    left = list(words)
    while left:
        word = left.pop(0)
        given, _, value = word.partition("=")
        if word == "--raw" and not raw:
            raw = True
        elif given == "--format" and formats and format is None:
            format = value or (left.pop(0) if left else "")
            if format not in formats:
                raise UsageError(f"There is no format {format[:40]!r}.")
        elif word.startswith("--") or path is not None or not word.strip():
            raise UsageError("A path with spaces needs quotation marks.")
        else:
            path = word
    return _What(path, format, raw)


async def _export(host: HostForExports, words: Sequence[str]) -> Reply:
    what = _what(words, _FORMATS)
    return Reply(_written(await host.export(what.path, what.format, None, raw=what.raw), what.raw))


async def _dump(host: HostForExports, words: Sequence[str]) -> Reply:
    what = _what(words)
    return Reply(_written(await host.export(what.path, None, "txt", raw=what.raw), what.raw))


async def _share(host: HostForExports, words: Sequence[str]) -> Reply:
    what = _what(words)
    path = await host.export(what.path, None, "html", raw=what.raw)
    text = "It is one file that any browser shows, also without a network. Read it before you pass it on: it has "
    text += "everything that was said, and what was read of files. North sends it nowhere."
    return Reply(f"{_written(path, what.raw)}\n\n{text}")


def _written(path: str, raw: bool) -> str:
    return f"Written to `{path}`. {_RAW if raw else _MASKED}"


EXPORTS = (
    Command(
        "dump",
        "Write everything that the model was told and said to a text file",
        _dump,
        "[path] [--raw]",
        is_harmless=True,
    ),
    Command("export", "Write this conversation to a file", _export, _HINT, is_harmless=True),
    Command(
        "share",
        "Write this conversation to an HTML file that can be passed on",
        _share,
        "[path] [--raw]",
        is_harmless=True,
    ),
)
