import pytest

from north_lsp.workspace.edit.positions import characters_of, digest_of, lines_of, offset_of, replaced, units_of
from north_lsp.workspace.language_features import Position, Replacement


def replacement(line: int, start: int, end: int, text: str) -> Replacement:
    return Replacement(Position(line, start), Position(line, end), text)


def test_all_places_are_replaced_whatever_their_order() -> None:
    text = "lamp = 1\r\nprint(lamp, lamp)\n"
    places = [replacement(1, 6, 10, "torch"), replacement(0, 0, 4, "torch"), replacement(1, 12, 16, "torch")]
    assert replaced(text, places) == "torch = 1\r\nprint(torch, torch)\n"


def test_texts_at_one_place_come_in_their_order() -> None:
    places = [replacement(0, 1, 1, "z"), replacement(0, 1, 1, "b"), replacement(0, 1, 2, "-")]
    assert replaced("a c", places) == "azb-c"


def test_a_digest_does_not_depend_on_line_ends() -> None:
    assert digest_of("a\r\nb\rc\n") == digest_of("a\nb\nc\n") != digest_of("a\nb\nc")


def test_positions_count_utf_16_units() -> None:
    assert replaced("🔥 lamp", [replacement(0, 3, 7, "torch")]) == "🔥 torch"
    assert (units_of("🔥 "), characters_of("🔥 lamp", 3)) == (3, 2)


def test_lines_end_where_lsp_ends_them() -> None:
    assert lines_of("a\x0cb\u2028c\nd\re\r\nf") == ["a\x0cb\u2028c", "d", "e", "f"]
    assert replaced("a\x0cb\nc", [replacement(1, 0, 1, "d")]) == "a\x0cb\nd"


@pytest.mark.parametrize(
    "places",
    [
        [replacement(0, 0, 3, "x"), replacement(0, 2, 4, "y")],
        [replacement(5, 0, 1, "x")],
        [Replacement(Position(0, 3), Position(0, 1), "x")],
    ],
)
def test_what_overlaps_or_lies_outside_changes_nothing(places: list[Replacement]) -> None:
    with pytest.raises(ValueError, match=r"overlap|outside"):
        replaced("lamp\n", places)


def test_places_behind_the_end_of_a_line_mean_its_end() -> None:
    assert replaced("ab\nc", [replacement(0, 2, 99, "!")]) == "ab!\nc"


def test_positions_behind_the_end_mean_the_end() -> None:
    assert offset_of("ab\ncd", Position(0, 99)) == 2
    assert offset_of("ab\ncd", Position(9, 0), "utf-8") == 5


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 5), ("utf-16", 3), ("utf-32", 2)])
def test_columns_count_the_units_of_the_encoding(encoding: str, character: int) -> None:
    assert offset_of("x\n🔥 lamp", Position(1, character), encoding) == 4
    assert units_of("🔥 ", encoding) == character
