"""Foreign text made safe to show."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.display import counted, one_line, titled, tokens_shown, visible, without_escapes


@given(st.text())
def test_nothing_invisible_is_left_but_line_ends_tabs_and_emoji_spelling(text: str) -> None:
    shown = visible(text)
    hidden = [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t\u200d"]
    assert not [c for c in hidden if c not in shown.encode("utf-8", "replace").decode()]
    assert not [c for c in hidden if unicodedata.category(c) != "Cf"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm -rf x\u202e fdp.", "rm -rf x<U+202E> fdp."),
        ("a\u200bb", "a<U+200B>b"),
        ("\x1b]52;c;aGk=\x07", "<U+001B>]52;c;aGk=<U+0007>"),
        ("tag\U000e0041", "tag<U+E0041>"),
        ("line\r\nline\rover", "line\nline<U+000D>over"),
        ("warn \u26a0\ufe0f and \U0001f468\u200d\U0001f469", "warn \u26a0\ufe0f and \U0001f468\u200d\U0001f469"),
        ("x\ufe0fy", "x<U+FE0F>y"),
        ("tab\tstays\n", "tab\tstays\n"),
    ],
)
def test_hidden_characters_become_marks(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_a_title_is_one_short_line(text: str) -> None:
    assert "\n" not in one_line(text)
    assert len(one_line(text, 30)) <= 30


def test_escape_sequences_are_removed_from_output() -> None:
    assert without_escapes("\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07\x1b(B") == "red link"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Finding *.py - 3 files", "Finding *.py - 3 files"),
        ("Searching " + "x" * 100 + " - 3 matches", "Searching " + "x" * 57 + "… - 3 matches"),
        ("no count " + "y" * 100, "no count " + "y" * 70 + "…"),
        ("a - " + "z" * 100, "a - " + "z" * 75 + "…"),
        ("two\nlines - 1\nfile", "two lines - 1 file"),
    ],
)
def test_a_long_title_keeps_its_count(title: str, shown: str) -> None:
    assert titled(title) == shown
    assert len(titled(title)) <= 80


def test_a_number_of_things_has_their_name_in_the_plural_unless_there_is_one() -> None:
    assert [counted(number, "file") for number in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (950, "950"), (1_000, "1K"), (42_480, "42.5K"), (200_000, "200K"), (1_240_000, "1.2M")],
)
def test_tokens_are_short_in_a_narrow_place(count: int, shown: str) -> None:
    assert tokens_shown(count) == shown
