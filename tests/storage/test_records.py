import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage.entries import (
    new_conversation_id,
    new_entry_id,
    timestamp,
    valid_conversation_id,
)
from north_lsp.storage.records import DEEP_MARK, encode, storable

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner) | st.tuples(inner),
)


@settings(max_examples=60)
@given(st.dictionaries(ANY_TEXT, ANYTHING))
def test_every_record_is_one_line_that_reads_back_as_kept_in_memory(record: dict[str, object]) -> None:
    kept = storable(record)
    line = encode(kept)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert json.loads(line.decode()) == kept
    assert storable(kept) == kept


def test_long_strings_stay_whole() -> None:
    record = {"a": [{"content": "x\n" * 400_000, "lineCount": 400_000}], "b": "é" * 700_000}
    assert storable(record) == record


def test_transient_keys_are_dropped_everywhere() -> None:
    assert storable({"partialJson": 1, "a": [{"jsonlEvents": [], "b": 2}]}) == {"a": [{"b": 2}]}


def test_what_json_cannot_say_becomes_something_that_it_can() -> None:
    kept = storable({"path": Path("/a"), "nan": float("nan"), "tuple": (1,), "surrogate\ud800": "\udfff"})
    assert kept == {"path": "/a", "nan": None, "tuple": [1], "surrogate\ufffd": "\ufffd"}


def test_deep_nesting_is_cut() -> None:
    value: object = "end"
    for _ in range(900):
        value = [value]
    assert DEEP_MARK in encode(storable({"value": value})).decode()


def test_timestamps_are_utc_with_milliseconds() -> None:
    assert timestamp(datetime(2025, 12, 10, 10, 20, 30, 999, UTC)) == "2025-12-10T10:20:30.000Z"
    assert timestamp(datetime.fromisoformat("2025-12-10T10:20:30.456+02:00")) == "2025-12-10T08:20:30.456Z"


def test_ids_are_hexadecimal_and_not_taken() -> None:
    assert len(new_entry_id(())) == 8
    int(new_entry_id(()), 16)
    tried: list[str] = []

    def all_short_ones_exist(id: str) -> bool:
        tried.append(id)
        return len(id) == 6

    assert len(new_conversation_id(all_short_ones_exist)) == 8
    assert [len(id) for id in tried] == [6] * 20 + [8]


@pytest.mark.parametrize("id", ["a1b2c3", "A_-9", "x" * 64])
def test_ids_of_conversations(id: str) -> None:
    assert valid_conversation_id(id)


@pytest.mark.parametrize("id", ["", "x" * 65, "a/b", "..", "a.b", "é", "a\n", "trash", "Trash"])
def test_no_ids_of_conversations(id: str) -> None:
    assert not valid_conversation_id(id)
