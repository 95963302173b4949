"""What the user has changed lately."""

from pathlib import Path

from north_lsp.lsp.recent_edits import RecentEdits

A, B = Path("/p/a.py"), Path("/p/b.py")
GAP = "#\n" * 20


def noted(*texts: tuple[Path, str], opened: str = "one\n") -> list[tuple[Path, str, str]]:
    recent = RecentEdits()
    for path, text in texts:
        recent.note(path, text, opened)
    return [(edit.path, edit.before, edit.after) for edit in recent.all()]


def test_what_is_typed_on_in_one_place_is_one_edit() -> None:
    assert noted((A, "one t\n"), (A, "one tw\n"), (A, "one two\n")) == [(A, "one\n", "one two\n")]


def test_edits_in_other_places_and_files_are_others() -> None:
    text = f"one\n{GAP}two\n"
    first, second = text.replace("one", "ONE"), text.replace("one", "ONE").replace("two", "TWO")
    assert noted((A, first), (A, second), (B, first), opened=text) == [
        (A, text, first),
        (A, first, second),
        (B, text, first),
    ]


def test_what_is_taken_back_was_no_edit() -> None:
    assert noted((A, "one t\n"), (A, "one\n")) == []


def test_a_text_that_is_as_it_was_opened_has_no_edit_and_few_are_kept() -> None:
    assert noted((A, "one\n")) == []
    many = [(Path(f"/p/{number}.py"), "two\n") for number in range(9)]
    assert [path for path, _, _ in noted(*many)] == [path for path, _ in many[-5:]]
