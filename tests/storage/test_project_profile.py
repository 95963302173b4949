"""A project's profile on the disk: what its user changes is seen and kept."""

from datetime import UTC, date, datetime

from north_lsp.storage.locations import Locations
from north_lsp.storage.project_profile import ProfileFile

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_what_is_written_is_read_back_and_known_as_it_was(store: Locations) -> None:
    file = ProfileFile(store, "p")
    assert file.read() is None
    text = "Intro\n\n# Large\n\n## Other\n\n```md\n## Code\n```\n\n```\nopen"
    file.write({"Summary": text, "Map": "Second."}, COMMIT)
    found = file.read()
    assert found is not None
    assert (found.learned, found.commit, found.is_edited) == (datetime.now(UTC).date(), COMMIT, False)
    below = "Intro\n\n### Large\n\n### Other\n\n```md\n## Code\n```\n\n```\nopen\n```"
    assert found.sections() == {"Summary": below, "Map": "Second."}
    assert "Learned on" not in found.text
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_change_is_seen_and_blanks_are_none(store: Locations) -> None:
    file = ProfileFile(store, "p")
    file.write({"Summary": "One two."}, None)
    written = file.path.read_text()
    for text, is_edited in (
        (written + "\n", False),
        (written.replace("\n", "\r\n"), False),
        (written.replace("One", "Two"), True),
        ("# Project Profile\n\nMine.\n", True),
        (written.replace("digest ", "digest x"), True),
    ):
        file.path.write_text(text)
        found = file.read()
        assert found is not None
        assert found.is_edited is is_edited, text


def test_a_file_without_words_is_none_and_a_wrong_day_is_that_of_the_file(store: Locations) -> None:
    file = ProfileFile(store, "p")
    file.write({"Summary": "Text."}, None)
    file.path.write_text(file.path.read_text().replace(str(datetime.now(UTC).date()), "2026-13-40"))
    found = file.read()
    assert found is not None
    assert found.learned == datetime.now(UTC).date()
    file.path.write_text("# Project Profile\n\n \n")
    assert file.read() is None


def test_what_is_replaced_is_kept_and_the_word_against_it_is_taken_back(store: Locations) -> None:
    file = ProfileFile(store, "p")
    assert not file.is_declined()
    file.decline()
    assert file.is_declined()
    file.accept()
    file.accept()
    assert not file.is_declined()
    file.write({"Summary": "First."}, None)
    file.write({"Summary": "Second."}, None)
    assert "First." in file.path.with_name("profile.md.bak").read_text()
    beside = file.write({"Summary": "Third."}, None, beside=True)
    assert "Second." in file.path.read_text()
    assert "Third." in beside.read_text()


def test_the_day_of_the_mark_counts(store: Locations) -> None:
    file = ProfileFile(store, "p")
    file.write({"Summary": "Text."}, COMMIT)
    file.path.write_text(file.path.read_text().replace(str(datetime.now(UTC).date()), "2020-02-29"))
    found = file.read()
    assert found is not None
    assert found.learned == date(2020, 2, 29)
