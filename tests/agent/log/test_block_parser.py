"""Files in the text of an answer, however the text is cut into pieces."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.log.block_parser import BlockEnd, BlockParser, BlockStart, BlockText, Piece, Prose, parse

OPENING = '<NORTH_FILE path="a.py">'
START = BlockStart("a.py", "write", OPENING)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("Just words.", [Prose("Just words.")]),
        (
            f"Before\n{OPENING}\none\ntwo\n</NORTH_FILE>\nAfter",
            [Prose("Before\n"), START, BlockText("one\ntwo\n"), BlockEnd(True), Prose("After")],
        ),
        (f"   {OPENING}\none</NORTH_FILE>", [START, BlockText("one"), BlockEnd(True)]),
        (f"    {OPENING}\none", [Prose(f"    {OPENING}\none")]),
        (f"Say {OPENING} to open", [Prose(f"Say {OPENING} to open")]),
        (f"```\n{OPENING}\n```\n", [Prose(f"```\n{OPENING}\n```\n")]),
        (f"````\n```\n{OPENING}\n````\n", [Prose(f"````\n```\n{OPENING}\n````\n")]),
        (f"``` `\n{OPENING}\nx", [Prose("``` `\n"), START, BlockText("x"), BlockEnd(False)]),
        (f"{OPENING}\ncut in the mid", [START, BlockText("cut in the mid"), BlockEnd(False)]),
        (f"{OPENING}", [START, BlockEnd(False)]),
        (f"{OPENING}\na </NORTH_FILE> b\n</NORTH_FILE>", [START, BlockText("a </NORTH_FILE> b\n"), BlockEnd(True)]),
        (f"{OPENING}\na </NORTH_FIL", [START, BlockText("a </NORTH_FIL"), BlockEnd(False)]),
        (
            "<NORTH_FILE mode='append' new=\"x\" path='b/c d.py' >\nx\n</NORTH_FILE>",
            [
                BlockStart("b/c d.py", "append", "<NORTH_FILE mode='append' new=\"x\" path='b/c d.py' >"),
                BlockText("x\n"),
                BlockEnd(True),
            ],
        ),
        ("<NORTH_FILE>\nx", [BlockStart("", "write", "<NORTH_FILE>"), BlockText("x"), BlockEnd(False)]),
        ("<NORTH_FILES>\nx", [Prose("<NORTH_FILES>\nx")]),
        ("<NORTH_FILE path=a>\nx", [Prose("<NORTH_FILE path=a>\nx")]),
        ("<NORTH_FILE path=", [Prose("<NORTH_FILE path=")]),
        (f"{OPENING}\n</NORTH_FILE>", [START, BlockEnd(True)]),
        (
            f"{OPENING}\nx\n</NORTH_FILE>\n{OPENING}\ny\n</NORTH_FILE>\n",
            [START, BlockText("x\n"), BlockEnd(True), START, BlockText("y\n"), BlockEnd(True)],
        ),
    ],
)
def test_pieces(text: str, pieces: list[Piece]) -> None:
    assert parse(text) == pieces


PARTS = [
    OPENING,
    "</NORTH_FILE>",
    "<NORTH_",
    "</",
    "\n",
    "   ",
    "```",
    "~~~",
    "x",
    "é",
    '"',
    ">",
    "<NORTH_FILE path='b'>",
]
TEXTS = st.lists(st.sampled_from(PARTS) | st.text(max_size=3), max_size=30).map("".join)


def joined(pieces: list[Piece]) -> list[Piece]:
    out: list[Piece] = []
    for piece in pieces:
        match out[-1] if out else None, piece:
            case Prose(before), Prose(more):
                out[-1] = Prose(before + more)
            case BlockText(before), BlockText(more):
                out[-1] = BlockText(before + more)
            case _:
                out.append(piece)
    return out


@given(TEXTS, st.lists(st.integers(0, 200), max_size=20))
def test_any_cutting_gives_the_same_pieces(text: str, cuts: list[int]) -> None:
    places = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    parser = BlockParser()
    found: list[Piece] = []
    for start, end in itertools.pairwise(places):
        found += parser.feed(text[start:end])
    found += parser.finish()
    assert joined(found) == parse(text)


@given(TEXTS)
def test_nothing_is_lost(text: str) -> None:
    """But for the closing tags and the line ends behind the tags, everything that was written comes out."""
    out = ""
    for piece in parse(text):
        match piece:
            case Prose(part) | BlockText(part):
                out += part
            case BlockStart(tag=tag):
                out += tag
    left = iter(text)
    assert all(character in left for character in out)


@given(st.text(alphabet="<NORTH_FILE pa=>\n x", max_size=3000))
def test_little_is_held_back(text: str) -> None:
    parser = BlockParser()
    shown = sum(len(piece.text) for piece in parser.feed(text) if isinstance(piece, Prose | BlockText))
    if not any(isinstance(piece, BlockStart) for piece in parse(text)):
        assert len(text) - shown <= 1024 + 3
