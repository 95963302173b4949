"""Changing one key in a JSON text that people wrote."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.storage.json_edit import find, with_value, without_key
from north_lsp.storage.relaxed_json import parse
from north_lsp.storage.settings_reader import found_in


@pytest.mark.parametrize(
    ("before", "key", "value", "after"),
    [
        ("{}", "a.b", 1, '{"a.b": 1}'),
        ('{"a": {"b": 1, /* c */ "c": [1, 2]}}', "a.c", None, '{"a": {"b": 1 /* c */ }}'),
        ('{"a": {"b": 1}}', "a.c", True, '{"a": {"c": true, "b": 1}}'),
        ('{"a.b": 1, "a": {"b": 2}}', "a.b", 3, '{"a.b": 3, "a": {"b": 2}}'),
        ('{\n  // why\n  "a": 1,\n  "b": 2,\n}\n', "a", None, '{\n  // why\n  "b": 2,\n}\n'),
        ('{\n  "a": 1,\n  "b": 2\n}\n', "b", None, '{\n  "a": 1\n}\n'),
        ('{\n  "a": 1,\n}\n', "a", None, "{\n}\n"),
        ('{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n', "a", None, '{\r\n  "b": 2\r\n}\r\n'),
        ('{"a": {"x": "}"}, "b": 1}', "b", {"c": "ü"}, '{"a": {"x": "}"}, "b": {"c": "ü"}}'),
        ('{"a": 1, "a": 2}', "a", None, "{}"),
    ],
)
def test_only_the_key_changes(before: str, key: str, value: object, after: str) -> None:
    assert (without_key(before, key) if value is None else with_value(before, key, value)) == after


@pytest.mark.parametrize("text", ["", "[]", "1", "// only words"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an object"):
        find(text, "a")


_NAMES = st.sampled_from(["a", "b", "a.b", "a.b.c", "c", "{", '"', "//"])
_VALUES: Any = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text('a"\\{}:/*,\n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3),
    max_leaves=6,
)


def written(value: object, indent: int | None, comment: str) -> str:
    """Write JSON with a comment and a trailing comma in each object that has members and is on lines of its own."""
    text = json.dumps(value, indent=indent)
    return text.replace("\n", f" {comment}\n") if comment and indent is not None else text


@settings(max_examples=150)
@given(
    st.dictionaries(_NAMES, _VALUES, max_size=4),
    st.sampled_from(["a", "a.b", "a.b.c", "c"]),
    _VALUES,
    st.none() | st.integers(0, 4),
    st.sampled_from(["", "// x", '/* "a": { */']),
)
def test_any_object_says_the_value_and_then_what_it_said_before(
    before: dict[str, Any], key: str, value: object, indent: int | None, comment: str
) -> None:
    text = written(before, indent, comment)
    changed = with_value(text, key, value)
    after = parse(changed.encode())
    assert isinstance(after, dict)
    assert found_in(after, key) == value
    assert comment == "" or indent is None or changed.count(comment) >= 1 or not before
    if found_in(before, key) is None:
        assert parse(without_key(changed, key).encode()) == before
    else:
        left = parse(without_key(text, key).encode())
        assert isinstance(left, dict)
        assert found_in(left, key) is None
