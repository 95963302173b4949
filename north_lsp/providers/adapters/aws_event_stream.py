"""Decodes Amazon's event streams (`application/vnd.amazon.eventstream`) from bytes, however the network has split them.
Each message is framed by its length and two checksums; what a model says is JSON: the payload itself, or base64 in it.
Pure."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Callable, Iterator

from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent
from north_lsp.providers.json_values import as_object, as_text

MOST_BYTES = 24 * 1024 * 1024
"""Amazon's own limit for a message."""
_PRELUDE, _CHECKSUM = 12, 4
_STRING = 7
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
"""How many bytes the value of a header has, by its type; types 6 and 7 say that themselves."""


def event_in_chunk(name: str, payload: bytes) -> ServerEvent | None:
    """Return the event of another vendor's API that Amazon passes on in a chunk."""
    if name != "chunk":
        return None
    try:
        said = b64decode(as_text(_json(payload).get("bytes"))).decode()
    except ValueError:
        return ServerEvent("", "")  # counted as an event that cannot be read
    return ServerEvent("", said)


def named_event(name: str, payload: bytes) -> ServerEvent:
    """Return an event of Amazon's own APIs: its name is a header."""
    return ServerEvent(name, payload.decode("utf-8", "replace"))


class AwsEventStreamDecoder:
    """Decodes bytes into events, each by `read` from its name and payload; an exception of Amazon's is an event
    `error`."""

    def __init__(self, read: Callable[[str, bytes], ServerEvent | None] = event_in_chunk) -> None:
        self._buffer = bytearray()
        self._read = read

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Yield the events that a chunk completes. Raises NoEventStream."""
        self._buffer += chunk
        while len(self._buffer) >= _PRELUDE:
            prelude = bytes(self._buffer[:_PRELUDE])
            size, headers = _number(prelude[:4]), _number(prelude[4:8])
            if binascii.crc32(prelude[:8]) != _number(prelude[8:]):
                raise NoEventStream("is not an event stream of Amazon's (a checksum is wrong)")
            if not _PRELUDE + headers + _CHECKSUM <= size <= MOST_BYTES:
                raise NoEventStream("has a message of an impossible size")
            if len(self._buffer) < size:
                return
            message = bytes(self._buffer[:size])
            del self._buffer[:size]
            if binascii.crc32(message[:-_CHECKSUM]) != _number(message[-_CHECKSUM:]):
                raise NoEventStream("was damaged on its way (a checksum is wrong)")
            event = self._event(message[_PRELUDE : _PRELUDE + headers], message[_PRELUDE + headers : -_CHECKSUM])
            if event is not None:
                yield event

    def end(self) -> Iterator[ServerEvent]:
        """Yield nothing: a message that is not complete is none."""
        return iter(())

    def _event(self, head: bytes, payload: bytes) -> ServerEvent | None:
        headers = _headers(head)
        kind = headers.get(":message-type", "event")
        if kind == "event":
            return self._read(headers.get(":event-type", ""), payload)
        code = headers.get(":exception-type") or headers.get(":error-code") or kind
        message = as_text(_json(payload).get("message")) or headers.get(":error-message", "")
        return ServerEvent("error", json.dumps({"type": "error", "error": {"type": code, "message": message}}))


def _json(payload: bytes) -> dict[str, object]:
    try:
        return as_object(json.loads(payload))
    except (ValueError, RecursionError):
        return {}


def _headers(raw: bytes) -> dict[str, str]:
    """Read the headers that are texts. Raises NoEventStream."""
    found: dict[str, str] = {}
    at = 0
    while at < len(raw):
        name_end = at + 1 + raw[at]
        name = raw[at + 1 : name_end].decode("utf-8", "replace")
        kind = raw[name_end] if name_end < len(raw) else -1
        size = _SIZES.get(kind)
        begin = name_end + 1
        if size is None and kind in (_STRING - 1, _STRING):
            size, begin = _number(raw[begin : begin + 2]), begin + 2
        if size is None or begin + size > len(raw):
            raise NoEventStream("has a message with headers that cannot be read")
        if kind == _STRING:
            found[name] = raw[begin : begin + size].decode("utf-8", "replace")
        at = begin + size
    return found


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, "big")
