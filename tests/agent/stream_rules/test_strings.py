"""The strings in arguments that arrive in pieces."""

import json

from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.stream_rules.strings import OBJECT_END, ArrivingStrings

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def strings_of(value: object, key: str = "") -> list[tuple[str, str]]:
    match value:
        case str():
            return [(key, value)]
        case list():
            return [one for item in value for one in strings_of(item, key)]
        case dict():
            return [one for name, item in value.items() for one in strings_of(item, name)]
        case _:
            return []


def read(pieces: list[str]) -> list[tuple[str, str]]:
    found, strings, so_far = [], ArrivingStrings(), ""
    for piece in pieces:
        for part in strings.feed(piece):
            if part is OBJECT_END:
                continue
            so_far += part.text
            if part.ended:
                found.append((part.key, so_far))
                so_far = ""
    return found


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=30) | st.integers(), max_size=5), st.booleans(), st.data())
def test_strings_are_the_same_however_they_are_cut(value: object, ascii: bool, data: st.DataObject) -> None:
    text = json.dumps(value, ensure_ascii=ascii)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(pieces) == strings_of(value)


@given(VALUES)
def test_every_character_may_come_alone(value: object) -> None:
    text = json.dumps({"a": value})
    assert [words for _, words in read(list(text))] == [words for _, words in strings_of(value)]


@given(st.text(alphabet='{}[]",:\\u0dDaA \n', max_size=60))
def test_what_is_no_json_ends_in_no_error(text: str) -> None:
    read([text])
    read(list(text))
