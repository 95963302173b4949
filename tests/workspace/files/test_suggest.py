"""What is offered instead of a path that does not exist, and when it is certain enough to be taken."""

import pytest

from north_lsp.workspace.files.suggest import suggest

FILES = ["src/settings_reader.py", "src/settings.py", "src/step1.py", "src/step12.py", "docs/guide.md", "ab"]


@pytest.mark.parametrize(
    ("missing", "certain"),
    [
        ("src/setings.py", "src/settings.py"),
        ("src/settnigs.py", "src/settings.py"),
        ("src/settings", "src/settings.py"),
        ("src/stepx1.py", "src/step1.py"),
        ("src/step2.py", None),
        ("src/step13.py", None),
        ("src/step.py", None),
        ("src/setngs.py", None),
        ("docs/settings.py", None),
        ("a", None),
    ],
)
def test_one_mistake_is_certain_and_another_number_is_another_file(missing: str, certain: str | None) -> None:
    assert suggest(missing, FILES).certain == certain


@pytest.mark.parametrize(
    ("missing", "found"),
    [
        ("src/setings_raeder.py", ["src/settings_reader.py"]),
        ("lib/Setngs.py", ["src/settings.py"]),
        ("src/step2.py", ["src/step12.py", "src/step1.py"]),
        ("nothing.like.it", []),
    ],
)
def test_names_with_several_mistakes_are_offered(missing: str, found: list[str]) -> None:
    assert list(suggest(missing, FILES).paths) == found
