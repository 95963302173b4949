"""Decodes server-sent events from bytes, however the network has split them. Pure; knows no vendor."""

from __future__ import annotations

from collections.abc import Iterator

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern

MAX_LINE_BYTES = 16 * 1024 * 1024
_LINE_END = lazy_pattern(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_RETRY_DIGITS = 10


class NoEventStream(ValueError):
    """The bytes cannot be server-sent events; the text completes a sentence for the user."""


def _too_long(most: int) -> NoEventStream:
    return NoEventStream(f"sent a line of more than {most >> 20} MiB")


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event. `name` is empty if the server gave none; `data` is the text of its data lines, `id` where to continue
    after it, and `retry` after how many milliseconds, if the server said so."""

    name: str
    data: str
    id: str = ""
    retry: int | None = None


class SseDecoder:
    """Decodes chunks; lines may end in LF, CR or CRLF, and be split anywhere, even within a character. None, and no
    event, has more than `most` bytes."""

    def __init__(self, most: int = MAX_LINE_BYTES) -> None:
        self._most = most
        self._buffer = bytearray()
        self._at_start = True
        self._skip_line_feed = False
        self._name = self._id = ""
        self._retry: int | None = None
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that a chunk completes. Raises NoEventStream."""
        for line in self._lines(chunk):
            event = self._take(line)
            if event is not None:
                yield event

    def end(self) -> Iterator[ServerEvent]:
        """Yield the event that a server left without its final empty line."""
        if self._buffer:
            self._take(bytes(self._buffer))
            self._buffer.clear()
        event = self._take(b"")
        if event is not None:
            yield event

    def _lines(self, chunk: bytes) -> Iterator[bytes]:
        if self._skip_line_feed and chunk:
            # The chunk before ended in CR, which ended the line; an LF that follows belongs to it.
            self._skip_line_feed = False
            chunk = chunk.removeprefix(b"\n")
        self._buffer += chunk
        if not self._at_start and b"\n" not in chunk and b"\r" not in chunk:
            if len(self._buffer) > self._most:
                raise _too_long(self._most)
            return  # a long line is scanned once, when it is complete
        if self._at_start:
            if len(self._buffer) < len(_BOM) and _BOM.startswith(bytes(self._buffer)):
                return
            self._at_start = False
            if self._buffer.startswith(_BOM):
                del self._buffer[: len(_BOM)]
        text = bytes(self._buffer)
        begin = 0
        for match in _LINE_END.finditer(text):
            yield text[begin : match.start()]
            begin = match.end()
        self._skip_line_feed = begin == len(text) and text.endswith(b"\r")
        del self._buffer[:begin]
        if len(self._buffer) > self._most:
            raise _too_long(self._most)

    def _take(self, line: bytes) -> ServerEvent | None:
        if not line:
            event = ServerEvent(self._name, "\n".join(self._data), self._id, self._retry) if self._data else None
            self._name, self._data, self._size = "", [], 0
            return event
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            self._size += len(text)
            if self._size > self._most:
                raise _too_long(self._most)
            self._data.append(text)
        elif field == b"id":
            self._id = text
        elif field == b"event":
            self._name = text
        elif field == b"retry" and text.isascii() and text.isdigit() and len(text) < _RETRY_DIGITS:
            self._retry = int(text)
        return None
