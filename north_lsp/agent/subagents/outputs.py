"""What is kept of agents beside their conversation: their logs in `agents/`, and their outputs as `<id>.md`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from north_lsp.errors import ToolError
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import private_directory, read_regular, write_atomic
from north_lsp.storage.switches import number

_NAME = lazy_pattern(r"((?:\d+-[A-Za-z0-9_-]{1,40}\.)*)(\d+)-([A-Za-z0-9_-]{1,40})")
_MOST_BYTES, _MOST_LINES = 500_000, 5_000
_BYTES, _LINES = "NORTH_TASK_MAX_OUTPUT_BYTES", "NORTH_TASK_MAX_OUTPUT_LINES"
_SHOWN = 10_000


def is_output_id(id: str) -> bool:
    """Tell whether a text has the form of an id."""
    return _NAME.fullmatch(id) is not None


class Outputs:
    """The outputs of one conversation's agents, in its folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._bytes = number(environ, _BYTES, 0) or _MOST_BYTES
        self._lines = number(environ, _LINES, 0) or _MOST_LINES
        self._given: set[str] = set()

    @property
    def logs(self) -> Path:
        """The folder of the agents' own logs."""
        return self._folder / "agents"

    def new_ids(self, names: Iterable[str], parent: str) -> list[str]:
        """Give ids that were never given before: numbers continue after the highest there is. Reads folders: for a
        thread."""
        before = f"{parent}." if parent else ""
        known = {*self._stored(), *self._given}
        numbers = [int(match[2]) for one in known if (match := _NAME.fullmatch(one)) and match[1] == before]
        first = max(numbers, default=-1) + 1
        ids = [f"{before}{first + at}-{name}" for at, name in enumerate(names)]
        self._given.update(ids)
        return ids

    def _stored(self) -> set[str]:
        found: set[str] = set()
        for folder, suffix in ((self._folder, ".md"), (self.logs, ".jsonl")):
            with suppress(OSError):
                found |= {name.removesuffix(suffix) for name in os.listdir(folder) if name.endswith(suffix)}
        return {one for one in found if _NAME.fullmatch(one)}

    def keep(self, id: str, text: str) -> None:
        """Write an output, cut where it is too long. Raises OSError."""
        private_directory(self._folder)
        write_atomic(self._folder / f"{id}.md", self._cut(text).encode("utf-8", "replace"))

    def _cut(self, text: str) -> str:
        lines = text.split("\n")
        whole, size = len(lines), len(text.encode("utf-8", "replace"))
        if whole <= self._lines and size <= self._bytes:
            return text
        kept = "\n".join(lines[: self._lines]).encode("utf-8", "replace")[: self._bytes].decode("utf-8", "ignore")
        return f"{kept}\n[cut: the whole output has {whole:,} lines and {size:,} bytes]"

    def has(self, id: str) -> bool:
        """Tell whether there is an output."""
        return (self._folder / f"{id}.md").exists()

    def read(self, address: str) -> str:
        """Return an output, or a part of one that is JSON: `<id>`, `<id>/<key>/<index>…`. Raises ToolError."""
        id, _, place = address.partition("/")
        known = sorted(one for one in self._stored() if (self._folder / f"{one}.md").exists())
        if id not in known:
            told = ", ".join(f"agent://{one}" for one in known[-20:]) or "none: no agent has handed in anything"
            raise ToolError("NOT_FOUND", f"there is no output agent://{id[:80]}", f"these can be read: {told}")
        try:
            text = read_regular(self._folder / f"{id}.md", _MOST_BYTES * 8).decode("utf-8", "replace")
        except OSError as error:
            raise ToolError("IO_ERROR", f"agent://{id} cannot be read: {error.strerror}") from None
        return _part_of(text, place, id) if place else text


def _part_of(text: str, place: str, id: str) -> str:
    try:
        value: object = json.loads(text)
    except ValueError:
        raise ToolError("INVALID_INPUT", f"agent://{id} is not JSON", f"read it whole: agent://{id}") from None
    for part in place.split("/"):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            names = (
                [*value][:20]
                if isinstance(value, Mapping)
                else f"0 to {len(value) - 1}"
                if isinstance(value, list)
                else "nothing"
            )
            raise ToolError("NOT_FOUND", f"agent://{id} has no {part[:60]!r} there", f"there is: {names}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


def shortened(id: str, text: str) -> str:
    """Return what of an output goes into the conversation."""
    data = text.encode("utf-8", "replace")
    if len(data) <= _SHOWN:
        return text
    kept = data[:_SHOWN].decode("utf-8", "ignore")
    return f"{kept}\n[{len(data) - _SHOWN:,} more bytes: read agent://{id}]"
