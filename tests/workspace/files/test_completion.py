from pathlib import Path

import pytest

from north_lsp.workspace.files import tree
from north_lsp.workspace.files.completion import Completion, PathCompletion
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots


def project(root: Path, *names: str) -> Path:
    for name in names:
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{name}\n")
    return root


def shown(found: Completion) -> list[str]:
    return [f"{one.shown}/" if one.is_folder else one.shown for one in found.found]


def completion(*roots: Path) -> PathCompletion:
    return PathCompletion(Trees.of(Roots.of(*roots)))


def test_files_and_folders_come_by_how_well_they_match(tmp_path: Path) -> None:
    project(tmp_path, "src/app.py", "src/app_test.py", "lib/my_app.py", "docs/application.md", "app/x.txt")
    found = completion(tmp_path).complete("app", 10)
    assert shown(found)[0] == "app/"
    assert set(shown(found)) >= {"src/app.py", "src/app_test.py", "lib/my_app.py", "docs/application.md"}
    assert not found.is_incomplete
    assert found.found[0].path == tmp_path / "app"


def test_what_is_ignored_or_closed_is_not_there_by_any_name(tmp_path: Path) -> None:
    project(tmp_path, "a/secret.txt", "a/open.txt", "build/secret.o", "node_modules/secret/index.js", ".git/secret")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / ".northignore").write_text("a/secret.txt\n")
    (tmp_path / "secret-link").symlink_to("a/secret.txt")
    (tmp_path / "hard-secret").hardlink_to(tmp_path / "a/secret.txt")
    assert shown(completion(tmp_path).complete("secret", 50)) == []
    assert shown(completion(tmp_path).complete("open", 50)) == ["a/open.txt"]


def test_further_roots_are_named(tmp_path: Path) -> None:
    main = project(tmp_path / "main", "same.py", "main/only.py")
    other = project(tmp_path / "other", "same.py")
    both = completion(main, other)
    assert set(shown(both.complete("same", 10))) == {"same.py", "other/same.py"}
    assert shown(both.complete("other/same", 10))[0] == "other/same.py"


def test_a_root_inside_another_is_listed_once(tmp_path: Path) -> None:
    project(tmp_path, "sub/deep.py")
    assert len(completion(tmp_path, tmp_path / "sub").complete("deep", 10).found) == 1


def test_nothing_typed_gives_what_lies_at_the_top(tmp_path: Path) -> None:
    project(tmp_path, "b.py", "deep/below/c.py")
    assert shown(completion(tmp_path).complete("", 2)) == ["b.py", "deep/"]


def test_while_folders_are_read_for_another_the_answer_is_incomplete(tmp_path: Path) -> None:
    slow = completion(project(tmp_path, "a.py"))
    slow.patience = 0.01
    with slow.lock:
        assert slow.complete("a", 10) == Completion(is_incomplete=True)
    assert shown(slow.complete("a", 10)) == ["a.py"]


def test_new_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = completion(project(tmp_path, "a.py"))
    assert shown(known.complete("fresh", 10)) == []
    project(tmp_path, "fresh.py")
    known.complete("", 1)
    monkeypatch.setattr(tree, "_RECENT_SECONDS", 0.0)
    assert shown(known.complete("fresh", 10)) == ["fresh.py"]
