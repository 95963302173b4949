"""Whether a project is trusted: kept with the user's data, never loosened by an editor or a damaged file."""

from pathlib import Path

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.storage.trust import Trust

HASH = "0" * 16


def trust(folder: Path) -> Trust:
    return Trust(Locations(folder / "config", folder / "data", folder / "state"), HASH)


def test_a_decision_counts_for_others_at_once_and_says_whose_it_is(tmp_path: Path) -> None:
    one, other = trust(tmp_path), trust(tmp_path)
    assert one.decided() is None
    assert not one.is_distrusted()
    assert one.decide(False, "editor") is None
    assert other.decided() == (False, "editor")
    assert other.is_distrusted()
    assert one.decide(True, "editor") is None
    assert other.decided() == (True, "editor")


def test_an_editor_does_not_lift_what_the_user_said(tmp_path: Path) -> None:
    one = trust(tmp_path)
    one.decide(False, "user")
    one.decide(True, "editor")
    assert one.decided() == (False, "user")
    one.decide(True, "user")
    assert one.decided() == (True, "user")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"trusted": "yes"}', '{"trusted": 1}', "null"])
def test_a_damaged_file_is_distrust(tmp_path: Path, content: str) -> None:
    one = trust(tmp_path)
    one.decide(True, "user")
    (file,) = (tmp_path / "data" / "projects" / HASH).glob("trust.json")
    assert file.stat().st_mode & 0o077 == 0
    file.write_text(content)
    assert one.is_distrusted()


def test_what_cannot_be_stored_holds_for_now(tmp_path: Path) -> None:
    (tmp_path / "data" / "projects").mkdir(parents=True)
    (tmp_path / "data" / "projects" / HASH).write_text("in the way")
    one = trust(tmp_path)
    assert one.decide(True, "user") is not None
    assert one.decided() == (True, "user")
    assert trust(tmp_path).is_distrusted()
