from pathlib import Path

import pytest

from north_lsp.workspace.project_root import find_root, project_hash


@pytest.mark.parametrize("marker", [".git", ".hg", ".north"])
def test_the_nearest_marked_folder_is_the_root(tmp_path: Path, marker: str) -> None:
    inner = tmp_path / "outer" / "inner" / "deep"
    inner.mkdir(parents=True)
    (tmp_path / "outer" / "inner" / marker).mkdir()
    (tmp_path / "outer" / ".git").mkdir()
    assert find_root(inner) == tmp_path / "outer" / "inner"


def test_a_git_file_marks_a_root_and_a_file_starts_at_its_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.py").touch()
    assert find_root(tmp_path / "sub" / "a.py") == tmp_path


def test_home_is_a_root_only_when_asked_for_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    (home / ".north").mkdir()
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("HOME", str(home))
    assert find_root(home / "project") == home / "project"
    assert find_root(home) == home


def test_without_a_marker_the_start_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "plain").mkdir()
    assert find_root(tmp_path / "plain") == tmp_path / "plain"


def test_the_hash_belongs_to_the_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one, two = project_hash(tmp_path / "real"), project_hash(tmp_path / "link")
    assert one == two
    assert len(one) == 16
    assert int(one, 16) >= 0
    assert one != project_hash(tmp_path)
