"""Where exports may be written: the user's own choice, but for what is protected; nothing is replaced unseen."""

import os
from pathlib import Path

import pytest

from north_lsp.agent.exports.target import Target, find_target, write_target
from north_lsp.errors import ToolError

NAME = "north-a1b2c3-2026-01-02.html"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


def find(base: Path, raw_path: str) -> Target:
    return find_target(raw_path, NAME, base, (base.parent / "data",))


def code(base: Path, raw_path: str) -> str:
    with pytest.raises(ToolError) as refused:
        find(base, raw_path)
    assert refused.value.hint
    return refused.value.code


def test_a_path_is_relative_to_the_project_or_absolute_or_of_the_home_folder(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (base / "out").mkdir()
    monkeypatch.setenv("HOME", str(base / "out"))
    found = [
        find(base, raw).path for raw in ("a b.html", "out", "out/", str(base.parent / "x.md"), "~/y.txt", "out/..")
    ]
    assert found == [
        base / "a b.html",
        base / "out" / NAME,
        base / "out" / NAME,
        base.parent / "x.md",
        base / "out" / "y.txt",
        base / NAME,
    ]


@pytest.mark.parametrize("raw", ["", "  ", "a\nb", "a\0b", "nowhere/a.html", "nowhere/", "a.html/b.html"])
def test_what_is_no_place_is_refused(base: Path, raw: str) -> None:
    (base / "a.html").write_text("")
    assert code(base, raw) in ("INVALID_INPUT", "NOT_FOUND", "IO_ERROR")


@pytest.mark.parametrize(
    "raw",
    [".git/hooks/pre-commit", ".git/x.html", ".GIT/x.html", ".env", ".vscode/tasks.json", "package.json", ".bashrc"],
)
def test_a_protected_file_is_refused_whatever_leads_there(base: Path, raw: str) -> None:
    (base / raw).parent.mkdir(parents=True, exist_ok=True)
    assert code(base, raw) == "DENIED"
    (base / "link").symlink_to((base / raw).parent)
    assert code(base, f"link/{Path(raw).name}") == "DENIED"


def test_a_bare_repository_and_north_s_own_folders_are_refused(base: Path) -> None:
    bare = base / "repository"
    for name in ("objects", "refs"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    assert code(base, "repository/config") == "DENIED"
    (base.parent / "data" / "conversations").mkdir(parents=True)
    assert code(base, "../data/conversations/a1b2c3.jsonl") == "DENIED"


def test_a_link_and_what_is_no_file_are_refused(base: Path) -> None:
    (base / "real.html").write_text("mine")
    (base / "link.html").symlink_to("real.html")
    (base / "dangling.html").symlink_to("nowhere.html")
    os.mkfifo(base / "pipe.html")
    for name in ("link.html", "dangling.html", "pipe.html"):
        assert code(base, name) == "INVALID_INPUT"


def test_a_file_is_written_for_this_user_alone_and_replaced_only_if_wanted(base: Path) -> None:
    target = find(base, "a.html")
    assert not target.exists
    write_target(target, "one\n", replace=False)
    assert target.path.read_text() == "one\n"
    assert target.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ToolError) as refused:
        write_target(target, "two\n", replace=False)
    assert (refused.value.code, target.path.read_text()) == ("CONFLICT", "one\n")
    assert find(base, "a.html").exists
    write_target(target, "two\n", replace=True)
    assert target.path.read_text() == "two\n"
    assert [path.name for path in base.iterdir()] == ["a.html"]


def test_a_folder_exchanged_for_a_link_is_not_followed(base: Path) -> None:
    (base / "out").mkdir()
    (base / "elsewhere").mkdir()
    target = find(base, "out/a.html")
    (base / "out").rmdir()
    (base / "out").symlink_to("elsewhere")
    with pytest.raises(ToolError, match="cannot be written"):
        write_target(target, "x", replace=True)
    assert list((base / "elsewhere").iterdir()) == []


def test_nothing_is_left_of_what_could_not_be_written(base: Path) -> None:
    target = Target(base, "n" * 256, False)
    for replace in (False, True):
        with pytest.raises(ToolError, match="cannot be written"):
            write_target(target, "x", replace=replace)
    assert list(base.iterdir()) == []
