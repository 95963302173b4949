"""Both framings under any chunking, and what comes out of broken input."""

import itertools
import json
import re
from collections.abc import Callable, Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from north_lsp.rpc import framing
from north_lsp.rpc.fragments import read_fragment
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


_BODY = b'{"jsonrpc":"2.0","id":7,"method":"m"}'
_WRONG = {
    "no length": b"Content-Type: x\r\n\r\n" + _BODY,
    "a word": b"Content-Length: many\r\n\r\n" + _BODY,
    "a negative length": b"Content-Length: -5\r\n\r\n" + _BODY,
    "a fraction": b"Content-Length: 37.0\r\n\r\n" + _BODY,
    "far too long": b"Content-Length: 99999999999999\r\n\r\n" + _BODY,
    "more digits than any length": b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + _BODY,
    "too short by one": b"Content-Length: %d\r\n\r\n" % (len(_BODY) - 1) + _BODY,
    "too short": b"Content-Length: 5\r\n\r\n" + _BODY,
    "nothing": b"Content-Length: 0\r\n\r\n" + _BODY,
    "too long by one": b"Content-Length: %d\r\n\r\n" % (len(_BODY) + 1) + _BODY,
    "too long by a message": b"Content-Length: %d\r\n\r\n" % (len(_BODY) + 60) + _BODY,
    "no header": _BODY,
    "a line as in the other framing": _BODY + b"\n",
    "no end of headers": b"x" * 70_000,
    "a header twice": b"Content-Length: 3\r\nContent-Length: %d\r\n\r\n" % len(_BODY) + _BODY,
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes": bytes(range(256)),
    "an invalid body": b"Content-Length: 4\r\n\r\n\xff\xfe{}",
}


@pytest.mark.parametrize("wrong", _WRONG.values(), ids=_WRONG)
@pytest.mark.parametrize("size", [1, 7, 1_000_000])
def test_behind_what_makes_no_sense_the_stream_finds_back(wrong: bytes, size: int) -> None:
    good = [{"id": n, "text": "Content-Length: 5\r\n\r\n"} for n in range(3)]
    data = wrong + b"".join(HeaderFraming().encode(message) for message in good)
    decoder = HeaderFraming()
    frames = [frame for at in range(0, len(data), size) for frame in decoder.feed(data[at : at + size])]
    assert [frame for frame in frames if frame in good] == good
    assert any(isinstance(frame, Malformed) for frame in frames)


def test_line_ends_without_a_carriage_return_do() -> None:
    assert list(HeaderFraming().feed(b"Content-Length: %d\n\n" % len(_BODY) + _BODY)) == [json.loads(_BODY)]


@given(noise=st.binary(max_size=300), sent=st.lists(messages, min_size=1, max_size=3))
@example(b"Content-Length: 70\r\n\r\n{", [{}])
def test_whatever_came_before_the_last_messages_are_read(noise: bytes, sent: list[object]) -> None:
    """A header inside the noise may take bytes of what follows for its own: it is found out at the latest by then."""
    decoder = HeaderFraming()
    filler = HeaderFraming().encode({"text": "x" * 400})
    data = noise + filler + b"".join(HeaderFraming().encode(message) for message in sent)
    received = list(decoder.feed(data))
    announced = re.search(rb"(?i)content-length[ \t]*:[ \t]*(\d+)", noise)
    if announced is None or int(announced[1]) < 400:
        assert received[-len(sent) :] == sent


@pytest.mark.parametrize("make", FRAMINGS)
@pytest.mark.parametrize(
    ("message", "id", "is_answer"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "m", "params": {"id": 8, "text": "x" * 3000}}, 7, False),
        ({"jsonrpc": "2.0", "method": "m", "params": {"id": 8, "text": "x" * 3000}, "id": "a"}, "a", False),
        ({"id": "n5", "result": {"content": "x" * 3000}}, "n5", True),
        ({"id": 5, "error": {"code": 1, "message": "x" * 3000}}, 5, True),
        ({"method": "m", "params": {"id": 8, "text": "x" * 3000}}, None, False),
        ({"id": None, "method": "m", "params": {"text": "x" * 3000}}, None, False),
        ({"id": '\u00e4"}', "method": "m", "params": {"text": "x" * 3000}}, 'ä"}', False),
    ],
)
def test_of_a_frame_that_is_too_long_it_is_known_whose_it_is(
    make: Callable[[], Framing], monkeypatch: pytest.MonkeyPatch, message: object, id: object, is_answer: bool
) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME_BYTES", 2000)
    data = make().encode(message) + make().encode({"id": 1})
    for size in (1, 999, 100_000):
        decoder = make()
        frames = [frame for at in range(0, len(data), size) for frame in decoder.feed(data[at : at + size])]
        assert isinstance(frames[0], Malformed)
        assert (frames[0].fragment.id, frames[0].fragment.is_answer) == (id, is_answer)
        assert frames[1:] == [{"id": 1}]


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "1" * 5000, "[" * 5000, '"\x01"', '{"a":}'])
def test_what_json_does_not_allow_is_refused_under_the_id_of_its_request(text: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{{"n":{text}}}}}\n'.encode()
    [frame] = NewlineFraming().feed(line)
    assert isinstance(frame, Malformed)
    assert frame.fragment.id == 7


@given(head=st.binary(max_size=100), tail=st.binary(max_size=100))
def test_any_fragment_is_read(head: bytes, tail: bytes) -> None:
    read_fragment(b'{"id":' + head, tail)
