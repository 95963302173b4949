"""Both framings under any chunking, and what comes out of broken input."""

import itertools
import json
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.rpc import framing
from north_lsp.rpc.framing import Framing, HeaderFraming, Malformed, NewlineFraming

FRAMINGS: list[Callable[[], Framing]] = [NewlineFraming, HeaderFraming]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)
messages = st.dictionaries(st.text(max_size=8), json_values, max_size=4)


def chunks(data: bytes, cuts: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


@pytest.mark.parametrize("make", FRAMINGS)
@given(sent=st.lists(messages, max_size=5), cuts=st.lists(st.integers(0, 10_000), max_size=20))
def test_any_chunking_gives_the_same_messages(make: Callable[[], Framing], sent: list[object], cuts: list[int]) -> None:
    data = b"".join(make().encode(message) for message in sent)
    decoder = make()
    received = [frame for chunk in chunks(data, cuts) for frame in decoder.feed(chunk)]
    assert received == [json.loads(json.dumps(message)) for message in sent]


@pytest.mark.parametrize("make", FRAMINGS)
@given(noise=st.binary(max_size=200), cuts=st.lists(st.integers(0, 200), max_size=5))
def test_any_bytes_are_survived(make: Callable[[], Framing], noise: bytes, cuts: list[int]) -> None:
    decoder = make()
    for chunk in chunks(noise, cuts):
        list(decoder.feed(chunk))


def test_a_line_that_is_no_json_does_not_hide_the_next() -> None:
    frames = list(NewlineFraming().feed(b'{broken\n\xff\xfe\n\n{"id":1}\n' + b"[" * 100_000 + b'\n{"id":2}\n'))
    assert [isinstance(frame, Malformed) for frame in frames] == [True, True, False, True, False]
    assert frames[-1] == {"id": 2}


@pytest.mark.parametrize("make", FRAMINGS)
def test_a_frame_that_is_too_long_is_skipped_without_being_kept(
    make: Callable[[], Framing], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 100)
    decoder = make()
    data = make().encode({"text": "x" * 500}) + make().encode({"id": 1})
    frames = [frame for chunk in chunks(data, range(0, len(data), 7)) for frame in decoder.feed(chunk)]
    assert isinstance(frames[0], Malformed)
    assert frames[1:] == [{"id": 1}]


@pytest.mark.parametrize("make", FRAMINGS)
def test_a_lone_surrogate_is_sent_as_an_escape(make: Callable[[], Framing]) -> None:
    data = make().encode({"text": "\ud800ä"})
    data.decode("utf-8")
    assert list(make().feed(data)) == [{"text": "\ud800ä"}]


def test_headers_may_come_in_any_case_and_order() -> None:
    body = b'{"id":1}'
    data = b"content-type: x\r\ncontent-LENGTH: %d\r\n\r\n%b" % (len(body), body)
    assert list(HeaderFraming().feed(data)) == [{"id": 1}]


@pytest.mark.parametrize(
    "head", [b"Content-Length: -1", b"Content-Length: x", b"Nothing: 1", b"Content-Length: " + b"9" * 40]
)
def test_headers_without_a_length_are_said_to_be_wrong(head: bytes) -> None:
    decoder = HeaderFraming()
    frames = list(decoder.feed(head + b"\r\n\r\n"))
    assert len(frames) == 1
    assert isinstance(frames[0], Malformed)
    assert list(decoder.feed(HeaderFraming().encode({"id": 1}))) == [{"id": 1}]
