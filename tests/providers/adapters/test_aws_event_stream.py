"""Amazon's event streams: read whatever the network does to them, and refused when they are damaged."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.providers.adapters.aws_event_stream import AwsEventStreamDecoder, named_event
from north_lsp.providers.adapters.sse import NoEventStream, ServerEvent
from tests.support.bedrock_format import chunk, exception, message

TEXTS = ['{"type": "ping"}', '{"type": "x", "text": "äöü"}', "{}"]
STREAM = b"".join(chunk(text.encode()) for text in TEXTS)


def decoded(*chunks: bytes) -> list[ServerEvent]:
    decoder = AwsEventStreamDecoder()
    return [event for one in chunks for event in decoder.feed(one)] + list(decoder.end())


@given(st.lists(st.integers(0, len(STREAM)), max_size=6))
def test_messages_may_be_split_anywhere(places: list[int]) -> None:
    cuts = [0, *sorted(places), len(STREAM)]
    parts = [STREAM[begin:end] for begin, end in pairwise(cuts)]
    assert [event.data for event in decoded(*parts)] == TEXTS


@given(st.integers(0, len(STREAM) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_noticed_and_nothing_after_it_is_believed(place: int, change: int) -> None:
    damaged = bytearray(STREAM)
    damaged[place] ^= change
    try:
        found = [event.data for event in decoded(bytes(damaged))]
    except NoEventStream:
        return
    assert found == TEXTS[: len(found)]  # a message whose length has grown is never complete


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with suppress(NoEventStream):
        decoded(raw)


def test_exceptions_are_errors_of_the_stream() -> None:
    (event,) = decoded(exception("throttlingException", "Too many requests"))
    assert event == ServerEvent(
        "error", '{"type": "error", "error": {"type": "throttlingException", "message": "Too many requests"}}'
    )


def test_what_is_no_chunk_is_skipped_and_what_cannot_be_read_is_counted() -> None:
    (event,) = decoded(
        message(b"{}", event_type="metadata", message_type="event"),
        message(b"no JSON", event_type="chunk", message_type="event"),
    )
    assert event.data == ""


def test_amazons_own_events_have_their_names_in_a_header() -> None:
    decoder = AwsEventStreamDecoder(named_event)
    stream = message(b'{"a": 1}', event_type="metadata", message_type="event") + exception("x", "y")
    first, second = decoder.feed(stream)
    assert first == ServerEvent("metadata", '{"a": 1}')
    assert second.name == "error"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"event: message_start\ndata: {}\n\n", "is not an event stream of Amazon's"),
        (message(b"{}", event_type="chunk")[:-1] + b"x", "damaged on its way"),
    ],
)
def test_other_streams_are_named(raw: bytes, says: str) -> None:
    with pytest.raises(NoEventStream, match=says):
        decoded(raw)
