"""The language in which tests script a model's answers. It knows no vendor."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

_ids = count(1)


@dataclass(frozen=True)
class Say:
    """Text, in `chunks` pieces."""

    text: str
    chunks: int = 3


@dataclass(frozen=True)
class Think:
    text: str
    signature: str = "signature"


@dataclass(frozen=True)
class Call:
    """A tool call; its arguments stream in a few pieces of JSON, the last of them after the gate `held`."""

    name: str
    arguments: dict[str, Any]
    id: str
    held: "Gate | None" = None


@dataclass(frozen=True)
class Gate:
    """The stream stops here until the test opens the gate."""

    name: str


@dataclass(frozen=True)
class Fail:
    """An HTTP error instead of a stream."""

    status: int
    type: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StreamError:
    """An error event in the middle of the stream."""

    type: str
    message: str


@dataclass(frozen=True)
class Cut:
    """The connection ends here, with the block before it still open."""


@dataclass(frozen=True)
class Malformed:
    """Bytes sent unchanged."""

    data: bytes


@dataclass(frozen=True)
class Stop:
    """Ends the answer for this reason, in the vendor's own word."""

    reason: str


@dataclass(frozen=True)
class Tokens:
    """The usage that the answer reports."""

    input: int = 100
    output: int = 20
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Reset:
    """The connection is closed before the first byte of an answer."""


@dataclass(frozen=True)
class Raw:
    """A response sent unchanged, whatever was asked for."""

    body: bytes
    content_type: str = "text/event-stream"
    status: int = 200


Part = Reset | Raw | Say | Think | Call | Gate | Fail | StreamError | Cut | Malformed | Stop | Tokens


@dataclass(frozen=True)
class Answer:
    """One response of the model."""

    parts: tuple[Part, ...]


def answer(*parts: Part) -> Answer:
    return Answer(parts)


def say(text: str, chunks: int = 3) -> Say:
    return Say(text, chunks)


def think(text: str) -> Think:
    return Think(text)


def call(name: str, /, call_id: str | None = None, **arguments: Any) -> Call:
    return Call(name, arguments, call_id or f"toolu_{next(_ids):04}")


def gate(name: str) -> Gate:
    return Gate(name)


def fail(status: int, type: str, message: str, headers: dict[str, str] | None = None) -> Fail:
    return Fail(status, type, message, headers or {})


def stream_error(type: str, message: str) -> StreamError:
    return StreamError(type, message)


def cut() -> Cut:
    return Cut()


def malformed(data: bytes) -> Malformed:
    return Malformed(data)


def reset() -> Reset:
    return Reset()


def raw(body: bytes, content_type: str = "text/event-stream", status: int = 200) -> Raw:
    return Raw(body, content_type, status)


def stop(reason: str) -> Stop:
    return Stop(reason)


def usage(**tokens: int) -> Tokens:
    return Tokens(**tokens)
