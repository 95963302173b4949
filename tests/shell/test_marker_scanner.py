"""Where a command's output begins and ends in the terminal's stream, however the stream is cut into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.shell.marker_scanner import MarkerScanner, mark

NONCE = "0123456789abcdef"
START, END = mark("START", NONCE), mark("END", NONCE)
WORDS = st.lists(st.sampled_from([b"a", b"\n", b"_", b"__NORTH_", b"__NORTH_END_", END[:-1], b"__"]), max_size=6).map(
    b"".join
)


def without(data: bytes) -> bool:
    return END not in data


@given(WORDS, WORDS.filter(without), WORDS.filter(without), WORDS.filter(without), st.data())
def test_a_command_has_what_lies_between_its_marks(
    before: bytes, inside: bytes, between: bytes, behind: bytes, data: st.DataObject
) -> None:
    stream = before + START + inside + END + between + END + behind
    if (inside + END).find(END) != len(inside) or (between + END + behind).find(END) != len(between):
        return  # words that make a mark together with their neighbour
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    lingers = data.draw(st.integers(0, len(cuts)))
    cutter = MarkerScanner(NONCE)
    told = b""
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(stream)], strict=True)):
        told += cutter.feed(stream[start:end])
        if cutter.ended and number >= lingers:
            told += cutter.linger()
    told += cutter.linger() + cutter.rest()
    assert told == inside + between + behind


@given(WORDS.filter(without), st.data())
def test_without_processes_left_behind_nothing_follows_the_end(inside: bytes, data: st.DataObject) -> None:
    stream = START + inside + END + b"noise" + END
    if (inside + END).find(END) != len(inside):
        return
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    cutter = MarkerScanner(NONCE)
    pieces = [cutter.feed(stream[a:b]) for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert b"".join(pieces) + cutter.rest() == inside
