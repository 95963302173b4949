"""The two framings as pure decoders: bytes in, JSON-RPC values out. No I/O here, so any chunking can be tested."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Protocol

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.rpc.fragments import NOTHING, Fragment, read_fragment

MAX_FRAME_BYTES = 64 * 1024 * 1024
"""A longer frame is skipped, and answered with an error under its own id."""

_MAX_HEADER_BYTES = 64 * 1024
_MOST_SKIPPED = 16 * MAX_FRAME_BYTES  # a header that announces more is wrong: its body is not waited for
_KEPT = 1024  # how many of the first and of the last bytes of a frame that is too long
_HEADER = lazy_pattern(rb"content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?\n", re.IGNORECASE)
_HEADER_BYTES = 64  # no header is longer
_ANY_HEADER = lazy_pattern(rb"[\w-]+[ \t]*:[^\r\n]*")
_END_OF_HEADERS = lazy_pattern(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that is not a JSON value; the connection continues. `fragment` is what could still be read of it, so that
    the side that waits for an answer gets an error."""

    reason: str
    fragment: Fragment = NOTHING


Frame = object
"""A decoded JSON value, or `Malformed`."""


class Framing(Protocol):
    """A stateful decoder and a pure encoder."""

    def feed(self, data: bytes) -> Iterator[Frame]: ...

    def encode(self, message: object) -> bytes: ...


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError("a number is too large")
    return number


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a JSON number")


_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number)


def decode_message(body: bytes) -> Frame:
    """Decode one message that something else has framed."""
    try:
        return _DECODER.decode(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        reason = f"the message is not UTF-8 (byte {error.start})"
    except RecursionError:
        reason = "the message is nested too deeply"
    except ValueError as error:
        reason = f"the message is not JSON: {error}"
    return Malformed(reason, read_fragment(body[:_KEPT], body[-_KEPT:]))


def _too_long(head: bytes, tail: bytes, most: int) -> Malformed:
    return Malformed(f"the message is longer than {most} bytes", read_fragment(head, tail))


def _dump(message: object) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, only a JSON escape
        return json.dumps(message, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


class _Skipped:
    """A frame that is too long, of which only the beginning and the end are kept."""

    def __init__(self) -> None:
        self._head = self._tail = b""

    def add(self, data: bytes) -> None:
        self._head += data[: _KEPT - len(self._head)]
        self._tail = (self._tail + data[-_KEPT:])[-_KEPT:]

    def frame(self, most: int) -> Malformed:
        return _too_long(self._head, self._tail, most)


class NewlineFraming:
    """One JSON value per line (ACP on stdio), of at most `most` bytes if that is given."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most or MAX_FRAME_BYTES
        self._parts: list[bytes] = []
        self._size = 0
        self._skipped: _Skipped | None = None

    @property
    def unfinished(self) -> int:
        """How many bytes have arrived of a line whose end has not."""
        return self._size

    def feed(self, data: bytes) -> Iterator[Frame]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            frame = self._take(data[start:end])
            start = end + 1
            if frame is not None:
                yield frame
        self._keep(data[start:])

    def _keep(self, part: bytes) -> None:
        if self._skipped is not None:
            self._skipped.add(part)
        elif part:
            self._parts.append(part)
            self._size += len(part)
            if self._size > self._most:
                self._skipped = _Skipped()
                for one in self._parts:
                    self._skipped.add(one)
                self._parts.clear()

    def _take(self, last: bytes) -> Frame | None:
        self._keep(last)
        skipped, line = self._skipped, b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        self._skipped = None
        if skipped is not None:
            return skipped.frame(self._most)
        return decode_message(line) if line.strip() else None

    def encode(self, message: object) -> bytes:
        return _dump(message) + b"\n"


class HeaderFraming:
    """`Content-Length` headers, a blank line, the body (LSP). After invalid headers or an invalid body, it continues at
    the next header: its line end cannot occur inside a JSON value."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body_size: int | None = None
        self._to_skip = 0
        self._skipped: _Skipped | None = None
        self._is_lost = False
        self._searched = 0  # for the end of the headers

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while True:
            if self._is_lost and not self._find_back():
                return
            if self._skipped is not None:
                if not self._skip(self._skipped):
                    return
                yield self._skipped.frame(MAX_FRAME_BYTES)
                self._skipped = None
            if self._body_size is None:
                problem = self._read_headers()
                if problem is not None:
                    yield problem
                    continue
                if self._body_size is None:
                    if self._skipped is not None:
                        continue
                    return
            if len(self._buffer) < self._body_size:
                return
            yield self._take_body(self._body_size)

    def _take_body(self, size: int) -> Frame:
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        self._body_size = None
        frame = decode_message(body)
        if isinstance(frame, Malformed):
            # The length was wrong: a header inside the body begins the next message, and what is left of a body comes
            # before the next header.
            inside = _HEADER.search(body)
            self._buffer[:0] = body[-_HEADER_BYTES:] if inside is None else body[inside.start() :]
            self._is_lost = True
        return frame

    def _skip(self, skipped: _Skipped) -> bool:
        """Skip what has arrived of a frame that is too long; return whether all of it has been skipped."""
        dropped = min(self._to_skip, len(self._buffer))
        skipped.add(bytes(self._buffer[:dropped]))
        del self._buffer[:dropped]
        self._to_skip -= dropped
        return not self._to_skip

    def _find_back(self) -> bool:
        """Drop everything before the next header; return whether there is one."""
        found = _HEADER.search(self._buffer)
        if found is None:
            del self._buffer[: max(0, len(self._buffer) - _HEADER_BYTES)]  # it may begin here
            return False
        del self._buffer[: found.start()]
        self._is_lost = False
        return True

    def _read_headers(self) -> Malformed | None:
        end = _END_OF_HEADERS.search(self._buffer, self._searched)
        if end is None:
            self._searched = max(0, len(self._buffer) - 3)
            if len(self._buffer) > _MAX_HEADER_BYTES:
                self._searched, self._is_lost = 0, True
                return Malformed("no end of headers found")
            return None
        self._searched = 0
        lines = bytes(self._buffer[: end.start()]).splitlines()
        sizes = [int(found[1]) for line in lines if (found := _HEADER.fullmatch(line + b"\n"))]
        if not sizes or sizes[0] > _MOST_SKIPPED or not all(map(_ANY_HEADER.fullmatch, lines)):
            # There may be a valid header among the invalid ones.
            del self._buffer[:1]
            self._is_lost = True
            return Malformed("a message without a valid Content-Length header")
        del self._buffer[: end.end()]
        if sizes[0] > MAX_FRAME_BYTES:
            self._to_skip, self._skipped = sizes[0], _Skipped()
        else:
            self._body_size = sizes[0]
        return None

    def encode(self, message: object) -> bytes:
        body = _dump(message)
        return b"Content-Length: %d\r\n\r\n" % len(body) + body
