"""What is kept of a command's output, for any bytes in any chunks."""

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.shell.output import HEAD_CHARACTERS, TAIL_CHARACTERS, Captured, OutputSink

pieces = st.sampled_from(
    ["line\n", "ä", "€", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "50%\r100%\n", "a\r\n", "\x1b]8;;http://x\x1b\\x"]
)


def run(data: bytes, size: int) -> Captured:
    sink = OutputSink()
    for start in range(0, len(data), size):
        sink.feed(data[start : start + size])
    return sink.finish()


@given(parts=st.lists(pieces, max_size=30), size=st.integers(1, 40))
def test_chunks_make_no_difference_but_for_overwritten_progress(parts: list[str], size: int) -> None:
    data = "".join(part for part in parts if "%" not in part).encode()
    assert run(data, size).text == run(data, len(data) or 1).text


@given(st.binary(max_size=3000), st.integers(1, 500))
def test_any_bytes_are_kept_within_bounds(data: bytes, size: int) -> None:
    captured = run(data, size)
    assert captured.total_bytes == len(data)
    captured.text.encode("utf-8")


def test_escapes_and_overwritten_progress_are_gone() -> None:
    assert run(b"\x1b[1mbold\x1b[0m\r\n10%\r 50%\r100%\ndone\n", 1000).text == "bold\n100%\ndone\n"


def test_a_flood_keeps_its_beginning_and_its_end() -> None:
    sink = OutputSink()
    for number in range(200_000):
        sink.feed(b"line %d\n" % number)
    captured = sink.finish()
    assert captured.truncated
    assert captured.total_lines == 200_000
    assert captured.text.startswith("line 0\n")
    assert captured.text.endswith("line 199999\n")
    assert len(captured.text) < HEAD_CHARACTERS + TAIL_CHARACTERS + 100


class _Spill:
    def __init__(self) -> None:
        self.text = ""
        self.number: int | None = 1
        self.closed = False

    def write(self, text: str) -> None:
        self.text += text

    def close(self) -> None:
        self.closed = True


@given(st.lists(st.integers(1, 30_000), max_size=6))
def test_what_is_too_long_is_spilled_whole(sizes: list[int]) -> None:
    spill = _Spill()
    sink = OutputSink(lambda: spill)
    parts = [f"{number}:" + "x" * size + "\n" for number, size in enumerate(sizes)]
    for part in parts:
        sink.feed(part.encode())
    captured = sink.finish()
    assert spill.text == ("".join(parts) if captured.truncated else "")
    assert (spill.closed, captured.number) == ((True, 1) if captured.truncated else (False, None))
    assert captured.truncated == (sum(map(len, parts)) > HEAD_CHARACTERS + TAIL_CHARACTERS)


def test_a_last_line_without_its_end_counts() -> None:
    assert run(b"a\nb", 10).total_lines == 2
    assert run(b"", 10).total_lines == 0
