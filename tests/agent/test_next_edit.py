"""Which edit an answer of a model stands for."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.agent.session.completion.next_edit import NextEdit, RecentEdit, part_around, predicted, question

TEXT = "def total(items):\n    return sum(items)\n\n\nprint(sum_of([1]))\n"
RENAMED = TEXT.replace("sum_of", "total")


def edited(text: str, edit: NextEdit | None) -> str:
    return text if edit is None else text[: edit.start] + edit.text + text[edit.end :]


def test_the_least_that_differs_is_the_edit() -> None:
    edit = predicted(TEXT, 5, RENAMED, ())
    assert edit is not None
    assert edited(TEXT, edit) == RENAMED
    assert (TEXT[edit.start : edit.end], edit.text) == ("sum_of", "total")


def test_of_several_places_the_nearest_is_taken() -> None:
    text = "".join(f"old({number})\n" for number in range(12))
    assert edited(
        text, predicted(text, text.index("old(7)"), text.replace("old(2)", "new(2)").replace("old(9)", "new(9)"), ())
    ) == (text.replace("old(9)", "new(9)"))


@pytest.mark.parametrize(
    "answer", ["", "NONE", "```\nNONE\n```", TEXT, "I would not change anything here.", "x\ny\nz\n"]
)
def test_an_answer_that_is_no_new_form_of_the_part_is_no_edit(answer: str) -> None:
    assert predicted(TEXT, 5, answer, ()) is None


def test_what_the_user_has_done_is_not_taken_back() -> None:
    assert predicted(RENAMED, 5, TEXT, (RecentEdit(Path("/a.py"), TEXT, RENAMED),)) is None


def test_what_the_user_has_done_is_not_taken_back_with_other_line_ends() -> None:
    before = "first = 1\r\none = 2\r\ntwo = 3\r\nlast = 4\r\n"
    after = before.replace("one = 2\r\ntwo = 3", "ONE = 2\r\nTWO = 3")
    assert predicted(after, 12, before.replace("\r", ""), ()) is not None
    assert predicted(after, 12, before.replace("\r", ""), (RecentEdit(Path("/a.py"), before, after),)) is None


def test_no_more_is_told_of_long_lines_than_of_others() -> None:
    recent = (("a.js", RecentEdit(Path("/a.js"), "x\n", "y\n")),)
    for text in ("x" * 2_000_000, f"short\n{'x' * 2_000_000}\n"):
        assert (asked := question("a.js", text, 2, recent)) is None or len(asked) < 20_000
        assert predicted("x" * 2_000_000, 2, "y", ()) is None
    assert "<|cursor|>" in (question("a.js", f"short\n{'x' * 2_000_000}\n", 2, recent) or "")


def test_a_fence_and_the_mark_of_the_cursor_are_left_out() -> None:
    answer = f"```python\n{RENAMED.replace('total(items)', 'total<|cursor|>(items)')}```"
    assert edited(TEXT, predicted(TEXT, 9, answer, ())) == RENAMED


def test_lines_far_from_the_cursor_are_told_of_in_part_and_stay() -> None:
    text = "".join(f"line {number}\n" for number in range(400))
    part = part_around(text, text.index("line 200"))
    assert part is not None
    assert (part.first, part.count) == (180, 41)
    asked = question("a.py", text, text.index("line 200"), (("a.py", RecentEdit(Path("/a.py"), "x\n", "y\n")),))
    assert asked is not None
    assert "-x\n+y\n" in asked
    assert "<|cursor|>line 200" in asked
    assert "line 399" not in asked
    shown = text[part.start : part.end]
    assert edited(text, predicted(text, text.index("line 200"), shown.replace("line 205", "LINE 205"), ())) == (
        text.replace("line 205", "LINE 205")
    )


lines = st.lists(st.sampled_from(["a", "b", "", "    c", "é😀"]), min_size=1, max_size=8)


@given(lines, lines, st.sampled_from(["\n", "\r\n"]), st.integers(0, 40))
def test_an_edit_leads_toward_the_answer_and_lies_in_the_part(
    before: list[str], after: list[str], end: str, offset: int
) -> None:
    text = end.join(before)
    edit = predicted(text, min(offset, len(text)), "\n".join(after), ())
    if edit is not None:
        assert 0 <= edit.start <= edit.end <= len(text)
        made = edited(text, edit).replace("\r\n", "\n").split("\n")
        assert made != before
