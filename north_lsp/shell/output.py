"""The output of a running command: cleaned, counted, and limited to its beginning and its end."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable
from typing import Protocol

from north_lsp.display import unfinished_escape, without_escapes
from north_lsp.lazy_dataclass import dataclass

HEAD_CHARACTERS = 16_000
TAIL_CHARACTERS = 34_000
_LIVE_LINES = 40
_LONGEST_HELD_ESCAPE = 4096


@dataclass(frozen=True, slots=True)
class Captured:
    """What is kept of an output. `truncated` says that the middle was dropped (`text` says how much); `number` is the
    number of the artifact with the whole output, if there is one."""

    text: str
    truncated: bool
    total_lines: int
    total_bytes: int
    number: int | None = None


class Spill(Protocol):
    """Where the whole of a long output is written."""

    number: int | None

    def write(self, text: str) -> None: ...

    def close(self) -> None: ...


class OutputSink:
    """Takes chunks of bytes and keeps a bounded part of them. What does not fit is written to what `spill` creates:
    first the output so far, then everything."""

    def __init__(self, spill: Callable[[], Spill] | None = None) -> None:
        self._make_spill = spill
        self._spill: Spill | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._dropped = 0
        self._lines = 0
        self._bytes = 0
        self._last = "\n"
        self._finished: Captured | None = None

    @property
    def total_bytes(self) -> int:
        return self._bytes

    @property
    def total_lines(self) -> int:
        return self._lines

    @property
    def number(self) -> int | None:
        """The number of the artifact with the whole output; None if there is none."""
        return None if self._spill is None else self._spill.number

    def spill_now(self) -> None:
        """Start to write the whole output now, without waiting until it no longer fits."""
        if self._spill is None and self._make_spill is not None:
            self._spill = self._make_spill()
            self._spill.write(self.text())

    def feed(self, data: bytes) -> None:
        self._bytes += len(data)
        self._take(self._held + self._decoder.decode(data), final=False)

    def finish(self, hidden: str = "\0") -> Captured:
        """End the output and return it; once more the same. `hidden` is removed everywhere: the name of the file that
        bash read the command from."""
        if self._finished is not None:
            return self._finished
        self._take(self._held + self._decoder.decode(b"", True), final=True)
        if self._spill is not None:
            self._spill.close()
        lines = self._lines + (self._last != "\n")
        text = self.text().replace(hidden, "") if hidden != "\0" else self.text()
        self._finished = Captured(text, self._dropped > 0, lines, self._bytes, self.number)
        return self._finished

    def text(self) -> str:
        tail = "".join(self._tail)
        if not self._dropped:
            return self._head + tail
        return f"{self._head}\n… {self._dropped} characters left out …\n{tail}"

    def live(self, lines: int = _LIVE_LINES) -> str:
        """Return the last lines, to show progress."""
        return "\n".join(self.text().rstrip("\n").split("\n")[-lines:])

    def _take(self, raw: str, *, final: bool) -> None:
        self._held = ""
        if not final:
            start = unfinished_escape(raw)
            if start < len(raw) and len(raw) - start < _LONGEST_HELD_ESCAPE:
                raw, self._held = raw[:start], raw[start:]
            elif raw.endswith("\r"):
                raw, self._held = raw[:-1], "\r"
        text = without_escapes(raw)
        if "\r" in text:
            text = _last_states(text.replace("\r\n", "\n"))
        if not text:
            return
        if self._spill is None and len(self._head) + self._tail_size + len(text) > HEAD_CHARACTERS + TAIL_CHARACTERS:
            self.spill_now()
        if self._spill is not None:
            self._spill.write(text)
        self._last = text[-1]
        self._lines += text.count("\n")
        if not self._dropped and len(self._head) < HEAD_CHARACTERS and not self._tail:
            room = HEAD_CHARACTERS - len(self._head)
            self._head += text[:room]
            text = text[room:]
        if not text:
            return
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > TAIL_CHARACTERS:
            excess = self._tail_size - TAIL_CHARACTERS
            first = self._tail.popleft()
            if len(first) > excess:
                self._tail.appendleft(first[excess:])
            dropped = min(len(first), excess)
            self._dropped += dropped
            self._tail_size -= dropped


def _last_states(text: str) -> str:
    """Keep only the last state of each line: progress bars overwrite their line with a carriage return."""
    return "\n".join(line[line.rfind("\r") + 1 :] for line in text.split("\n"))
