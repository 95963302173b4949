"""What tells a folder from others, wherever it is."""

import shutil
import subprocess
from pathlib import Path

import pytest

from north_lsp.workspace.identity import identity_of


def git(folder: Path, *args: str) -> None:
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *args], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "a.txt").write_text(text)
    git(folder, "init")
    git(folder, "add", ".")
    git(folder, "commit", "-m", text)
    return folder


def test_a_copy_of_a_repository_is_the_same_and_others_are_not(tmp_path: Path) -> None:
    first, other = repository(tmp_path / "first", "one"), repository(tmp_path / "other", "two")
    copy = tmp_path / "copy"
    shutil.copytree(first, copy)
    (copy / "a.txt").write_text("changed")
    git(copy, "commit", "-am", "later")
    assert identity_of(first).same_as(identity_of(copy)) == "it has the same git history"
    assert identity_of(first).same_as(identity_of(other)) is None


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("https://user:secret@example.com/team/app.git", "git@example.com:team/app.git", True),
        ("ssh://git@example.com/team/app", "https://example.com/team/app/", True),
        ("https://example.com/team/app", "https://example.com/fork/app", False),
    ],
)
def test_a_fork_has_another_remote(tmp_path: Path, one: str, two: str, same: bool) -> None:
    first = repository(tmp_path / "first", "one")
    shutil.copytree(first, tmp_path / "second")
    git(first, "remote", "add", "origin", one)
    git(tmp_path / "second", "remote", "add", "origin", two)
    identity = identity_of(first)
    assert "secret" not in str(identity)
    assert (identity.same_as(identity_of(tmp_path / "second")) is not None) == same


def test_a_part_of_a_repository_is_another_folder(tmp_path: Path) -> None:
    first = repository(tmp_path / "first", "one")
    for name in ("left", "right"):
        (first / name).mkdir()
    assert identity_of(first / "left").same_as(identity_of(first / "right")) is None
    assert identity_of(first / "left").same_as(identity_of(first)) is None


def test_a_repository_without_commits_is_told_by_its_remote(tmp_path: Path) -> None:
    for name in ("first", "second", "third"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init")
        git(tmp_path / name, "remote", "add", "origin", f"https://example.com/{name == 'third'}")
    first, second, third = (identity_of(tmp_path / name) for name in ("first", "second", "third"))
    assert first.same_as(second) == "it is pushed to the same place, example.com/False"
    assert first.same_as(third) is None


def test_without_git_three_files_decide(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        for name in ("a.py", "b.py", "c.py", "empty"):
            (folder / name).write_text(name if name != "empty" else "")
    assert identity_of(first).same_as(identity_of(second)) == "it has the same files (a.py, b.py, c.py …)"
    (second / "a.py").write_text("other")
    assert identity_of(first).same_as(identity_of(second)) is None
    assert identity_of(tmp_path / "nowhere").same_as(identity_of(tmp_path / "nowhere")) is None
