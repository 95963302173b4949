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


def test_what_others_do_to_a_closed_file_is_no_edit_of_the_user() -> None:
    recent = RecentEdits()
    recent.note(A, "one\n", "one\n")
    recent.note(A, "from elsewhere\n", "from elsewhere\n")
    assert recent.all() == ()


def test_texts_that_the_editor_does_not_show_are_not_kept() -> None:
    recent = RecentEdits()
    for number in range(9):
        path = Path(f"/p/{number}.py")
        recent.keep({path})
        recent.note(path, "two\n", "one\n")
    recent.keep({A})
    recent.note(Path("/p/0.py"), "three\n", "two\n")
    assert [(edit.before, edit.after) for edit in recent.all()][-1] == ("two\n", "three\n")
    assert len(recent._texts) == 1


def test_a_text_that_was_changed_all_over_is_no_edit() -> None:
    text = "".join(f"line {number}\n" for number in range(9000))
    assert noted((A, text.replace("7", "seven")), opened=text) == []
    with_import = "import os\n" + "".join(f"line {number}\n" for number in range(1500))
    assert len(noted((A, with_import + "os.getcwd()\n"), opened=with_import.removeprefix("import os\n"))) == 1
