"""The two framings as pure decoders: bytes in, JSON-RPC values out. No I/O here, so any chunking can be tested."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

MAX_FRAME_BYTES = 16 * 1024 * 1024
"""A longer frame is skipped and answered with a parse error (the limit for frames that every carrier keeps)."""

_MAX_HEADER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Malformed:
    """A frame that is no JSON value; the connection lives on."""

    reason: str


Frame = object
"""A decoded JSON value, or `Malformed`."""


class Framing(Protocol):
    """A stateful decoder and a pure encoder."""

    def feed(self, data: bytes) -> Iterator[Frame]: ...

    def encode(self, message: object) -> bytes: ...


def _decode(body: bytes) -> Frame:
    try:
        return json.loads(body.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Malformed(f"the message is not UTF-8 (byte {error.start})")
    except RecursionError:
        return Malformed("the message is nested too deeply")
    except ValueError as error:
        return Malformed(f"the message is not JSON: {error}")


def _dump(message: object) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form, only a JSON escape
        return json.dumps(message, ensure_ascii=True, separators=(",", ":"), allow_nan=False).encode("ascii")


class NewlineFraming:
    """One JSON value a line (ACP on stdio)."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[Frame]:
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = self._take(data[start:end])
            start = end + 1
            if line is None:
                yield Malformed(f"the message is longer than {MAX_FRAME_BYTES} bytes")
            elif line.strip():
                yield _decode(line)
        self._keep(data[start:])

    def _keep(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_FRAME_BYTES:
            self._parts.clear()
            self._skipping = True

    def _take(self, last: bytes) -> bytes | None:
        self._keep(last)
        line = None if self._skipping else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        self._skipping = False
        return line

    def encode(self, message: object) -> bytes:
        return _dump(message) + b"\n"


class HeaderFraming:
    """`Content-Length` headers, a blank line, the body (LSP)."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._body_size: int | None = None
        self._to_skip = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._buffer += data
        while True:
            if self._to_skip:
                dropped = min(self._to_skip, len(self._buffer))
                del self._buffer[:dropped]
                self._to_skip -= dropped
                if self._to_skip:
                    return
            if self._body_size is None:
                problem = self._read_headers()
                if problem is not None:
                    yield problem
                    continue
                if self._body_size is None:
                    return
            if len(self._buffer) < self._body_size:
                return
            body = bytes(self._buffer[: self._body_size])
            del self._buffer[: self._body_size]
            self._body_size = None
            yield _decode(body)

    def _read_headers(self) -> Malformed | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEADER_BYTES:
                self._buffer.clear()
                return Malformed("no end of headers found")
            return None
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit() and len(value.strip()) <= 15:
                size = int(value)
                if size > MAX_FRAME_BYTES:
                    self._to_skip = size
                    return Malformed(f"the message is longer than {MAX_FRAME_BYTES} bytes")
                self._body_size = size
                return None
        return Malformed("a message without a valid Content-Length header")

    def encode(self, message: object) -> bytes:
        body = _dump(message)
        return b"Content-Length: %d\r\n\r\n" % len(body) + body
