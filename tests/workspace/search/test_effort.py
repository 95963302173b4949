"""No expression of a model's or a user's holds the process up: long ones are matched where they can be killed."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from north_lsp.workspace.search.effort import longest_text, needed_text


@pytest.mark.parametrize(
    "expression",
    [
        r"foo.*bar",
        r"def \w+\(",
        r"\w+\s*=\s*\w+",
        r"class\s+(\w+)\s*[(:]",
        r".*error.*",
        r"[a-z]+@[a-z]+\.com",
        r"(get|set)_\w+",
        r"(?:foo|bar)+",
        r"(?i)todo|fixme",
        r"rm\s+-rf.*",
    ],
)
def test_what_is_usual_is_matched_in_lines_of_usual_length(expression: str) -> None:
    longest = longest_text(expression)
    assert longest is None or longest > 1000


@pytest.mark.parametrize(
    "expression",
    [
        r"(a+)+b",
        r"(a|aa)+$",
        r"(x+x+)+y",
        r"(?:a?){20}(?:a?){20}a{40}",
        r"(\w+\s?)+$",
        r"(a*)*b",
        r"((ab)*c?)*d",
        r"(.*,){20}x",
        r"\s*\s*\s*\s*x",
        r".*.*.*.*.*x",
        r"(?=(a+)+b)",
        r"^(a|b|ab)*c$",
        r"(?i:(k|K|\u212a)+)+$",
        r"(",
    ],
)
def test_what_may_take_for_ever_is_matched_in_short_texts_only(expression: str) -> None:
    longest = longest_text(expression)
    assert longest is not None
    assert longest < 100


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        (r"def \w+\(Self", "(self"),
        (r"x*Abc", "abc"),
        (r"(abc)d?", ""),
        (r"a|b", ""),
        (r"", ""),
        (r"a{3}bc", "bc"),
        ("(", ""),
    ],
)
def test_what_stands_in_every_match(expression: str, needed: str) -> None:
    assert needed_text(expression, re.IGNORECASE) == needed


_ATOMS = st.sampled_from(["a", "b", ".", r"\w", r"\s", "[ab]", "[^b]", "x"])
_REPEATS = st.sampled_from(["", "", "*", "+", "?", "*?", "{0,5}", "{2}", "+?", "{1,30}"])
_SEQUENCES = st.recursive(
    st.lists(st.tuples(_ATOMS, _REPEATS).map("".join), min_size=1, max_size=4).map("".join),
    lambda inner: st.tuples(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"), _REPEATS
    ).map("".join),
    max_leaves=5,
)


@settings(max_examples=200)
@given(expression=_SEQUENCES, end=st.sampled_from(["", "$", r"\b", "!"]))
def test_a_text_that_is_short_enough_is_done_with(expression: str, end: str) -> None:
    """Nothing is measured: what the estimate is wrong about would not come back."""
    try:
        pattern = re.compile(expression + end)
    except re.error:
        return
    longest = longest_text(expression + end)
    size = 5000 if longest is None else min(longest, 5000)
    for text in ("a" * size, "ab" * (size // 2), "a b" * (size // 3)):
        pattern.search(text)
