"""What can be read of arguments that are still arriving."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.calls.preflight import StreamingCall
from north_lsp.agent.log.partial_json import read_partial

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=4)


@pytest.mark.parametrize(
    ("text", "values", "complete"),
    [
        ("", {}, set()),
        ("[1]", {}, set()),
        ('{"path": "a.p', {"path": "a.p"}, set()),
        ('{"path": "a.py"', {"path": "a.py"}, {"path"}),
        ('{"path": "a.py", "ol', {"path": "a.py"}, {"path"}),
        ('{"a": "x\\', {"a": "x"}, set()),
        ('{"a": "x\\u26', {"a": "x"}, set()),
        ('{"n": 12', {}, set()),
        ('{"n": 12,', {"n": 12}, {"n"}),
        ('{"t": tru', {}, set()),
        ('{"l": [1, {"b": "c', {"l": [1, {"b": "c"}]}, set()),
        ('{"a": "line\nbreak"}', {"a": "line\nbreak"}, {"a"}),
        ('{\n"a": "\\\\u0009 \t\\ud83d \\ud83d\\ude00"', {"a": "\\u0009 \t\ufffd 😀"}, {"a"}),
        ('{"l": [1, 5.', {"l": [1]}, set()),
        ('{"a": "5.', {"a": "5."}, set()),
        ('{"a": 1, "b": ', {"a": 1}, {"a"}),
        ('{"a": [1], "b": [2, 3]', {"a": [1], "b": [2, 3]}, {"a", "b"}),
        ('{"a": 1}, {"b": 2}', {"a": 1}, {"a"}),
        ('{"a": NaN, "b": 1', {}, set()),
    ],
)
def test_prefixes(text: str, values: dict[str, Any], complete: set[str]) -> None:
    found = read_partial(text)
    assert (dict(found.values), set(found.complete)) == (values, complete)


@given(OBJECTS, st.booleans())
def test_a_whole_object_is_read_whole(value: dict[str, Any], ascii: bool) -> None:
    found = read_partial(json.dumps(value, ensure_ascii=ascii))
    assert found.ended
    assert dict(found.values) == value
    assert found.complete == set(value)


@given(OBJECTS, st.integers(0, 400), st.booleans())
def test_what_is_complete_in_a_prefix_stays(value: dict[str, Any], size: int, ascii: bool) -> None:
    found = read_partial(json.dumps(value, ensure_ascii=ascii)[:size])
    assert {key: found.values[key] for key in found.complete} == {key: value[key] for key in found.complete}
    assert found.complete_fields == {key: value[key] for key in found.complete if value[key] is not None}
    assert set(found.values) <= set(value)


@given(st.text(max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    read_partial(text)
    read_partial("{" + text)


@given(OBJECTS, st.integers(1, 7))
def test_a_call_knows_what_is_complete_without_reading_everything_again(value: dict[str, Any], size: int) -> None:
    text = json.dumps(value)
    call = StreamingCall("c", None)
    for end in range(size, len(text) + size, size):
        call.take(text[end - size : end])
        assert call.partial.complete <= read_partial(text[:end]).complete
    assert call.text == text
    assert call.partial.complete == read_partial(text).complete
