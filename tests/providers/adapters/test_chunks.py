"""However the network cuts a vendor's bytes, the events are the same."""

import asyncio
import atexit
import itertools
import json
import time
from collections.abc import AsyncIterator
from functools import cache

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent, SseDecoder
from north_lsp.providers.base import Done, StreamEvent
from tests.providers.adapters.vendors import CONVERSE, VENDORS, Vendor, ask
from tests.support import anthropic_format, chat_format, converse_format, google_format, responses_format
from tests.support.rules.check import check_http
from tests.support.script import Answer, Malformed, answer, call, malformed, say, think, usage

_FORMATS = {
    "anthropic": anthropic_format,
    "responses": responses_format,
    "chat": chat_format,
    "google": google_format,
    "converse": converse_format,
}
_ANSWER = answer(
    think("Überlegen … 🤔"),
    say("Grüße, 世界! 🎉\r\nnext", 4),
    malformed(b": keep-alive\r\n\r\n"),
    call("read_file", "t1", path="ä/€.py", lines=[1, 2]),
    call("list_root", "t2"),
    usage(input=10, output=5, cache_read=3),
)
_WITHOUT_COMMENTS = Answer(tuple(part for part in _ANSWER.parts if not isinstance(part, Malformed)))


class _Bytes(httpx2.AsyncByteStream):
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


class _Transport(httpx2.AsyncBaseTransport):
    """A network that cuts exactly here. What the vendor would have refused is kept: adapters swallow errors."""

    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = chunks
        self.refused: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        refusal = check_http(request.url.path, json.loads(await request.aread()))
        self.refused += [refusal.message] if refusal is not None else []
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=_Bytes(self._chunks), request=request)


def whole_stream(vendor: Vendor) -> bytes:
    request = {"model": "m", "stream_options": {"include_usage": True}}
    scripted = _ANSWER if vendor is not CONVERSE else _WITHOUT_COMMENTS  # its frames are not lines of text
    pieces = _FORMATS[vendor.name].stream(scripted, request)
    return b"".join(piece for piece in pieces if isinstance(piece, bytes))


@cache
def _runner() -> asyncio.Runner:
    """One event loop for all that is asked here: making and closing one takes longer than the question."""
    runner = asyncio.Runner()
    atexit.register(runner.close)
    return runner


def events_of_chunks(vendor: Vendor, chunks: list[bytes]) -> list[StreamEvent]:
    network = _Transport(chunks)

    async def run() -> list[StreamEvent]:
        return await ask(vendor.make("http://server.invalid", transport=network))

    events = _runner().get_loop().run_until_complete(run())  # `Runner.run` handles signals, too, which takes longer
    assert network.refused == []
    return events


def _cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % len(data) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges) if end > start]


@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
def test_any_split_gives_the_sameevents_of_chunks(vendor: Vendor) -> None:
    data = whole_stream(vendor)
    expected = events_of_chunks(vendor, [data])
    assert isinstance(expected[-1], Done)
    assert expected[-1].message.text == "Grüße, 世界! 🎉\r\nnext"
    assert [call.arguments for call in expected[-1].message.calls] == [{"path": "ä/€.py", "lines": [1, 2]}, {}]

    @settings(max_examples=25, deadline=None)
    @given(st.lists(st.integers(0, 10**6), max_size=30))
    def check(places: list[int]) -> None:
        assert events_of_chunks(vendor, _cut(data, places)) == expected
        if vendor is CONVERSE:
            return
        carriage = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        assert events_of_chunks(vendor, _cut(carriage, places)) == expected

    check()
    assert events_of_chunks(vendor, [data[at : at + 1] for at in range(len(data))]) == expected


def _decode(chunks: list[bytes]) -> list[ServerEvent]:
    decoder = SseDecoder()
    found = [event for chunk in chunks for event in decoder.feed(chunk)]
    return [*found, *decoder.end()]


_PIECES = [b"\r", b"\n", b"\r\n", b"data: a", b"data:", b"event: e", b": c", b"\xef\xbb\xbf", b"\xc3"]


@given(st.lists(st.sampled_from(_PIECES)), st.lists(st.integers(0, 10**6), max_size=8))
def test_the_decoder_depends_on_bytes_alone(parts: list[bytes], places: list[int]) -> None:
    data = b"".join(parts)
    if data:
        assert _decode(_cut(data, places)) == _decode([data])


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_events_in_any_line_ending(end: bytes) -> None:
    lines = [b"\xef\xbb\xbfevent: a", b"data: one", b"data:two", b"", b": comment", b"data: three", b""]
    assert _decode([end.join([*lines, b""])]) == [ServerEvent("a", "one\ntwo"), ServerEvent("", "three")]
    assert _decode([b"data: no empty line"]) == [ServerEvent("", "no empty line")]


def test_a_line_without_end_is_given_up() -> None:
    decoder = SseDecoder()
    megabyte = b"x" * 1024 * 1024
    for _ in range(16):
        assert list(decoder.feed(megabyte)) == []
    with pytest.raises(NoEventStream):
        list(decoder.feed(megabyte))


def test_a_long_line_in_many_pieces_is_looked_at_once() -> None:
    """Looked at with each piece, these 8,000 would be 32 GB of copies."""
    piece, count = b"x" * 1000, 8000
    began = time.process_time()
    [event] = _decode([b"data: ", *[piece] * count, b"\n\n"])
    assert len(event.data) == len(piece) * count
    assert time.process_time() - began < 2
