"""Variables of the environment: the same words for on and off everywhere, and whole numbers."""

import pytest

from north_lsp.storage.switches import is_number, is_off, is_on, is_switch, number


@pytest.mark.parametrize("value", ["1", "true", "YES", " on "])
def test_words_for_on(value: str) -> None:
    for name in ("NORTH_TIMING", "NORTH_NO_TITLE"):
        assert is_on({name: value}, name)
        assert not is_off({name: value}, name)
    assert is_switch(value)


@pytest.mark.parametrize("value", ["0", "false", "No", " OFF "])
def test_words_for_off(value: str) -> None:
    for name in ("NORTH_TIMING", "NORTH_NO_TITLE"):
        assert not is_on({name: value}, name)
        assert is_off({name: value}, name)
    assert is_switch(value)


def test_what_is_not_set_is_neither() -> None:
    for environ in ({}, {"NORTH_NO_TITLE": ""}, {"NORTH_NO_TITLE": " "}):
        assert not is_on(environ, "NORTH_NO_TITLE")
        assert not is_off(environ, "NORTH_NO_TITLE")


def test_another_word_switches_on_what_forbids_and_nothing_else() -> None:
    assert is_on({"NORTH_NO_NETWORK": "please"}, "NORTH_NO_NETWORK")
    assert not is_on({"NORTH_BEDROCK": "please"}, "NORTH_BEDROCK")
    assert not is_off({"NORTH_DISCOVERY": "please"}, "NORTH_DISCOVERY")
    assert not is_switch("please")


def test_numbers() -> None:
    for value, meant in (("7", 7), (" 0 ", 0), ("", 5), ("-1", 5), ("1e3", 5), ("٣", 5), ("²", 5), ("9" * 5000, 5)):
        assert number({"N": value}, "N", 5) == meant
        assert is_number(value) == (meant != 5)
    assert number({}, "N", 5) == 5
