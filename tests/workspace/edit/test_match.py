import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.copy_mistakes import find_mistake
from north_lsp.workspace.edit.match import find_occurrences, replace_exact

_PIECES = st.text(st.sampled_from("ab \t\r\n\x0cé"), max_size=40)


def failed(text: str, old: str, expected: int = 1, code: str = "NO_MATCH") -> ToolError:
    with pytest.raises(ToolError) as caught:
        replace_exact(text, old, "new", expected)
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize(
    ("text", "needle", "starts"),
    [
        ("abcabc", "abc", [0, 3]),
        ("aaa", "aa", [0, 1]),
        ("a\r\nb\na\r\nb", "a\nb", [0, 5]),
        ("a\nb", "a\r\nb", [0]),
        ("x\r\ny\n", "\n", [1, 4]),
        ("a.c", "a.", [0]),
        ("", "a", []),
    ],
)
def test_occurrences_are_found_whatever_the_line_ends(text: str, needle: str, starts: list[int]) -> None:
    assert find_occurrences(text, needle) == starts


def test_an_empty_text_is_not_looked_for() -> None:
    failed("a", "", code="INVALID_INPUT")


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\nb\n", "a\r\nb", "a\r\nx\r\ny", "a\nx\ny\n"),
        ("a\r\nb\r\nc\nd\n", "c\nd", "c\ne\nd", "a\r\nb\r\nc\ne\nd\n"),
        ("a\nb\r\nc\r\n", "a\nb\nc", "a\nB\nc", "a\nB\r\nc\r\n"),
        ("a\r\nb\r\nc\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\n"),
        ("one line", "line", "a\r\nb", "one a\r\nb"),
        ("no end", "end", "end\n", "no end\n"),
        ("a\nb\n", "b\n", "", "a\n"),
        ("a\r\n\r\nb\r\n", "a\n\nb", "a\n\nb", "a\r\n\r\nb\r\n"),
    ],
)
def test_inserted_text_takes_the_line_ends_of_its_place(text: str, old: str, new: str, after: str) -> None:
    assert replace_exact(text, old, new, 1) == after


def test_all_expected_occurrences_are_replaced() -> None:
    assert replace_exact("a b a", "a", "xy", 2) == "xy b xy"


@given(_PIECES, _PIECES, st.text(st.sampled_from("xy\n"), max_size=8))
def test_all_other_bytes_stay(before: str, after: str, new: str) -> None:
    text = before + "KEY" + after
    assume(not (before.endswith("\r") or new.endswith("\r")))
    result = replace_exact(text, "KEY", new, 1)
    assert result.startswith(before)
    assert result.endswith(after)
    inserted = result[len(before) : len(result) - len(after)]
    assert inserted.replace("\r\n", "\n") == new


@given(_PIECES, st.lists(st.sampled_from(["a\n", "b\r\n", "c\n"]), min_size=1, max_size=6), _PIECES)
def test_replacing_a_text_by_itself_changes_nothing(before: str, lines: list[str], after: str) -> None:
    text = f"{before}<{''.join(lines)}>{after}"
    old = f"<{''.join(lines)}>".replace("\r\n", "\n")
    assert replace_exact(text, old, old, 1) == text


def test_another_number_of_occurrences_is_reported_with_places() -> None:
    error = failed("x = 1\ny = 2\r\nx = 1\n", "x = 1", code="AMBIGUOUS")
    assert error.details["count"] == 2
    assert error.details["candidates"] == [
        {"occurrence": 1, "line": 1, "preview": "x = 1"},
        {"occurrence": 2, "line": 3, "preview": "x = 1"},
    ]
    assert "line 3: x = 1" in error.message
    assert failed("a", "a", expected=2, code="AMBIGUOUS").details["count"] == 1
    many = failed("a\n" * 30, "a", code="AMBIGUOUS")
    assert many.details["count"] == 30
    candidates = many.details["candidates"]
    assert isinstance(candidates, list)
    assert len(candidates) == 20
    assert "10 more" in many.message


def test_overlapping_occurrences_are_ambiguous() -> None:
    assert "overlapping" in failed("}\n}\n}\n", "}\n}\n", code="AMBIGUOUS").message
    assert "overlapping" in failed("aaa", "aa", expected=2, code="AMBIGUOUS").message


@pytest.mark.parametrize(
    ("text", "old", "says"),
    [
        ("def f():\n\treturn 1\n", "def f():\n    return 1\n", "the file is indented with tabs"),
        ("class A:\n    def f():\n        return 1\n", "def f():\n\treturn 1", "the text is indented with tabs"),
        ("def f():\n    return 1\n", "def f():\n  return 1\n", "indentation differs"),
        ("a = 1  \nb = 2\n", "a = 1\nb = 2\n", "trailing spaces"),
        ("x =\xa01\n", "x = 1\n", "non-breaking"),
        ("x  = 1\n", "x = 1\n", "within a line"),
    ],
)
def test_white_space_that_differs_is_named(text: str, old: str, says: str) -> None:
    error = failed("first\n\n" + text, old)
    assert says in error.message
    assert error.details["whitespace"] == [error.message.split("\n")[1]]


def test_the_nearest_places_are_shown_with_their_first_difference() -> None:
    lines = [f"value_{at} = compute({at * 31})" for at in range(200)]
    text = "\n".join([*lines, "def total(items):", "    return sum(item.price for item in items)", *lines])
    error = failed(text, "def total(items):\n    return sum(item.cost for item in items)")
    near = error.details["near"]
    assert isinstance(near, list)
    assert (near[0]["startLine"], near[0]["endLine"]) == (201, 202)
    assert near[0]["difference"] == "line 202 differs at position 21: 'p' vs 'c'"
    assert "item.price" in error.message
    assert len(near) <= 3


def test_a_piece_of_a_long_line_is_found_nearby() -> None:
    error = failed("x\n" + "long = " * 10 + "call(first, second) + " + "more" * 10, "call(first, secund)")
    near = error.details["near"]
    assert isinstance(near, list)
    assert near[0]["startLine"] == 2
    assert "'o' vs 'u'" in near[0]["difference"]


def test_the_part_that_does_stand_in_the_file_is_named() -> None:
    error = failed("a\nb one\nc two\nd\n", "nothing like it at all here\nb one\nc two\nquite another ending, too")
    assert error.details["partial"] == {"from": 2, "to": 3, "startLine": 2, "endLine": 3}


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("value = compute(1, 2, 3)  # the same again and again\n" * 19_000, "value = compute(1, 2, 4)"),
        ("\n".join(f"word{at} " * 6 for at in range(19_000)), "\n".join(f"other{at} " * 6 for at in range(60))),
        ("x" * 2_000_000, "y" * 10_000),
        ("short\n" * 50_000, "shart"),
    ],
)
def test_diagnosis_takes_bounded_time(text: str, old: str) -> None:
    start = time.process_time()
    failed(text, old)
    assert time.process_time() - start < 10


LOADER = """class Loader:
    def load(self, name):
        path = os.path.join(self.root, name)

        return "it's a path" if path else None

    def clear(self):
        self.cache = {}
"""


@pytest.mark.parametrize(
    ("old", "says", "meant"),
    [
        ("    return \u201cit\u2019s a path\u201d", "quotes or dashes", "line 5"),
        ("it\u2019s", "quotes or dashes", "line 5"),
        ("Def Clear(Self):", "upper and lower case", "line 7"),
        ("path = os.path.join(self.root, name)\\n\\n        return", "escaped one time too many", "lines 3-5"),
        ('return \\"it', "escaped one time too many", "line 5"),
        ("7|    def clear(self):\n8|        self.cache = {}\n", "line numbers", "lines 7-8"),
        ("```python\n    def clear(self):\n```", "code block fences", "line 7"),
        ("-    def clear(self):\n-        self.cache = {}\n", "signs of a diff", "lines 7-8"),
        ("-    def clear(self):\n+    def purge(self):\n         self.cache = {}\n", "signs of a diff", "lines 7-8"),
        ("it&#x27;s a path", "HTML entities", "line 5"),
        ("\n\n\n    def clear(self):", "around the text", "line 7"),
        ("name)\n        return", "empty lines within", "lines 3-5"),
        ("class Loader:\n\n    def load(self, name):\n", "empty lines within", "lines 1-2"),
        ("    def load(self, name):\n        # ... existing code ...\n    def clear(self):\n", "left out", "lines 2-7"),
        ("class Loader:\n    ...\n        self.cache = {}\n", "left out", "lines 1-8"),
    ],
)
def test_what_models_get_wrong_is_named_with_the_lines_that_are_meant(old: str, says: str, meant: str) -> None:
    error = failed(LOADER, old)
    first, _, last = meant.partition(" ")[2].partition("-")
    real = "\n".join(LOADER.split("\n")[int(first) - 1 : int(last or first)])
    assert says in error.message
    assert f"you probably mean {meant}:\n{real}" in error.message
    # What is shown is enough to succeed with.
    assert replace_exact(LOADER, real, "new", 1)


def test_an_edit_that_was_made_before_is_recognised() -> None:
    with pytest.raises(ToolError) as caught:
        replace_exact(LOADER, "    def purge(self):\n", "    def clear(self):\n", 1)
    assert "is already at line 7" in caught.value.message
    assert caught.value.details["alreadyAt"] == 7


@given(_PIECES, _PIECES)
def test_no_text_makes_a_message_that_is_not_true(text: str, needle: str) -> None:
    assume(needle)
    found = find_mistake(text.replace("\r\n", "\n"), needle.replace("\r\n", "\n"))
    if found is not None and found.lines is not None:
        first, last = found.lines
        assert 1 <= first <= last <= text.count("\n") + 1
