"""Pages, prompts and messages are in plain English: none of the idioms of `tests/support/wording.txt`."""

from pathlib import Path

from tests.support.wording import ROOT, hits, idioms, in_module, in_page


def test_nothing_that_people_or_models_read_has_a_house_idiom() -> None:
    assert [str(hit) for hit in hits()] == []


def test_an_idiom_is_found_in_prose_and_in_messages_not_in_code_and_docstrings() -> None:
    page = "It goes on.\n\n`goes on`\n\n```sh\necho goes on\n```\nAnd [so](goes on) it is asked about each time.\n"
    assert [(hit.line, hit.idiom) for hit in in_page(ROOT / "x.md", page)] == [
        (1, "goes on"),
        (8, "is asked about each"),
    ]
    source = '"""It goes on."""\n\nx = f"what {1} goes on"\ny = "taken back"\nz = "it was taken back"\n'
    assert [(hit.line, hit.idiom) for hit in in_module(ROOT / "x.py", source)] == [(5, "taken back")]
    source = 'raise ValueError(f"this conversation goes on with {1}")\n'
    (hit,) = in_module(Path(ROOT / "x.py"), source)
    assert str(hit) == "x.py:1: 'goes on': write continues, resumes, keeps running"


def test_each_idiom_has_plain_words() -> None:
    assert all(plain for _, plain in idioms())
