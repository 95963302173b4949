"""A work tree of an agent where files cannot be read, links are in the way, or git tells what is not so."""

import asyncio
import math
import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from north_lsp.agent.session.tasks.trees import _removed
from north_lsp.agent.subagents import tree_changes, work_tree
from north_lsp.agent.subagents.tree_changes import changes_of
from north_lsp.agent.subagents.work_tree import WorkTree, clear_left_trees, make_tree
from north_lsp.background import guarded_tasks
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.text import MAX_WHOLE_FILE
from north_lsp.workspace.workspace import Workspace
from tests.support.patience import PATIENCE
from tests.support.workspaces import make_workspace


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    ended = subprocess.run(("git", *identity, *args), cwd=folder, check=True, capture_output=True, text=True)
    return ended.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "project"
    (root / "d").mkdir(parents=True)
    (root / "d/x").write_text("one\n")
    (root / "a").write_text("a\n")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "first")
    return root


def workspace_of(project: Path) -> Workspace:
    return make_workspace(Roots((project,), ()))


def made(project: Path) -> tuple[Workspace, WorkTree]:
    workspace = workspace_of(project)
    return workspace, make_tree(project.parent / "trees", "one", workspace, {}, lambda _: None)


def unreadable(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Have a file look as in a folder that cannot be entered, also for root."""
    real = Path.lstat

    def lstat(self: Path) -> os.stat_result:
        if self == path:
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "lstat", lstat)


async def test_what_cannot_be_read_is_not_proposed_as_deleted(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, tree = made(project)
    (tree.root / "a").unlink()
    unreadable(monkeypatch, tree.root / "d/x")
    brought = await changes_of(tree, workspace)
    assert [(one.relative, one.action) for one in brought.changes] == [("a", "delete")]
    assert brought.left_out == (f"d/x: Permission denied (the agent's is in the work tree, {tree.root / 'd/x'})",)
    tree.remove()
    assert tree.root.is_dir()


def test_folders_that_cannot_be_entered_are_removed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, tree = made(project)
    outside = project.parent / "outside"
    outside.mkdir(mode=0o500)
    (tree.root / "link").symlink_to(outside)
    (tree.root / "d").chmod(0)
    modes: list[int] = []
    real = shutil.rmtree

    def rmtree(path: Path, ignore_errors: bool) -> None:
        if path == tree.tree:
            modes.append((tree.root / "d").stat().st_mode & 0o777)
        real(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(work_tree, "run_git", lambda *_: None)
    monkeypatch.setattr(shutil, "rmtree", rmtree)
    tree.remove()
    assert modes == [0o700]
    assert outside.stat().st_mode & 0o777 == 0o500
    assert not tree.folder.exists()


async def test_a_base_that_git_tells_otherwise_is_a_conflict(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, tree = made(project)
    (tree.root / "a").write_text("b\n")
    monkeypatch.setattr(work_tree, "read_blob", lambda *_: b"evil\n")
    assert tree.base("a") is None
    brought = await changes_of(tree, workspace)
    assert brought.changes == ()
    assert brought.conflicts == ("a: its earlier contents cannot be read any more; yours are kept",)
    tree.remove()


def test_replaced_objects_of_git_do_not_count(project: Path) -> None:
    (project / "y").write_text("evil\n")
    evil = git(project, "hash-object", "-w", "y").strip()
    git(project, "replace", git(project, "rev-parse", "HEAD:a").strip(), evil)
    _, tree = made(project)
    assert tree.base("a") == b"a\n"
    tree.remove()


async def test_files_below_a_link_and_unreadable_ones_are_skipped_and_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("secret\n")
    shutil.rmtree(project / "d")
    (project / "d").symlink_to(elsewhere)
    unreadable(monkeypatch, project / "a")
    workspace, tree = made(project)
    assert sorted(tree.files) == ["d"]
    assert tree.skipped == ("a: Permission denied", "d/x: its path goes through a symbolic link")
    brought = await changes_of(tree, workspace)
    assert brought.changes == ()
    assert [one.partition(" (")[0] for one in brought.left_out] == list(tree.skipped)
    assert (elsewhere / "x").read_text() == "secret\n"
    tree.remove()


async def test_a_link_that_the_agent_made_of_a_folder_is_not_followed(project: Path) -> None:
    workspace, tree = made(project)
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "x").write_text("secret\n")
    shutil.rmtree(tree.root / "d")
    (tree.root / "d").symlink_to(elsewhere)
    brought = await changes_of(tree, workspace)
    assert brought.changes == ()
    assert "d/x: its path goes through a symbolic link" in brought.left_out
    tree.remove()


def test_names_that_lead_out_of_the_folder_are_dropped(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_tree, "run_git", lambda *_: "../x\0/etc/x\0d/../../x\0..a\0d/x\0")
    assert work_tree._files_of_git(project) == ["..a", "d/x"]


async def test_what_is_more_than_is_read_stays_in_the_tree(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_changes, "_MOST_READ", 10)
    workspace, tree = made(project)
    (tree.root / "a").write_text("short\n")
    (tree.root / "b").write_text("what is longer\n")
    brought = await changes_of(tree, workspace)
    assert [one.relative for one in brought.changes] == ["a"]
    assert "in the work tree" in brought.left_out[0]
    tree.remove()
    clear_left_trees(tree.folder.parent)
    assert (tree.root / "b").read_text() == "what is longer\n"


def test_many_trees_are_made_at_once(project: Path) -> None:
    """Git fails when it finds the tree that another git is about to make."""
    workspace, folder = workspace_of(project), project.parent / "trees"
    with ThreadPoolExecutor(16) as threads:
        trees = list(threads.map(lambda at: make_tree(folder, f"{at}", workspace, {}, lambda _: None), range(16)))
        assert {(tree.root / "d/x").read_text() for tree in trees} == {"one\n"}
        list(threads.map(WorkTree.remove, trees))
    assert git(project, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize("how", ["gone", "no git folder", "a repository", "the project's", "all gone"])
def test_a_tree_that_is_none_for_git_any_more_is_removed_from_its_list(project: Path, how: str) -> None:
    _, tree = made(project)
    mark = tree.tree / ".git"
    match how:
        case "gone":
            mark.unlink()
        case "no git folder":
            mark.write_text("gitdir: /nowhere\n")
        case "a repository":
            mark.unlink()
            git(tree.tree, "init", "--quiet")
        case "the project's":
            mark.write_text(f"gitdir: {project / '.git'}\n")
        case _:
            shutil.rmtree(tree.tree)
    tree.remove()
    assert git(project, "worktree", "list").count("\n") == 1
    assert (project / "d/x").read_text() == "one\n"
    assert list(tree.folder.parent.iterdir()) == []


async def test_what_the_agent_made_is_kept_where_the_users_stays(project: Path) -> None:
    workspace, tree = made(project)
    (tree.root / "a").write_text("the agent's\n")
    (tree.root / "new").write_text("by the agent\n")
    (tree.root / "picture").write_bytes(b"\0agent")
    (tree.root / "inner").mkdir()
    git(tree.root / "inner", "init", "--quiet")
    (project / "a").unlink()
    (project / "new").write_text("by the user\n")
    (project / "picture").write_bytes(b"\0user")
    brought = await changes_of(tree, workspace)
    assert brought.changes == ()
    assert [one.partition(":")[0] for one in brought.conflicts] == ["a", "new", "picture"]
    assert {one.relative: one.new_text for one in brought.lost} == {"a": "the agent's\n", "new": "by the agent\n"}
    where = f"(the agent's is in the work tree, {tree.root / 'inner'})"
    assert brought.left_out == (f"inner/: it is a repository of its own {where}",)
    tree.remove()
    clear_left_trees(tree.folder.parent)
    assert (tree.root / "picture").read_bytes() == b"\0agent"
    assert str(tree.root / "picture") in brought.conflicts[2]


def a_repository(tree: WorkTree) -> str:
    (tree.root / "inner").mkdir()
    git(tree.root / "inner", "init", "--quiet")
    (tree.root / "inner/made").write_text("by the agent\n")
    return "inner"


def a_large_file(tree: WorkTree) -> str:
    with (tree.root / "new").open("wb") as file:
        file.truncate(MAX_WHOLE_FILE + 1)
    return "new"


def a_larger_one(tree: WorkTree) -> str:
    with (tree.root / "large").open("ab") as file:
        file.write(b"more")
    return "large"


def other_content_in_a_large_file(tree: WorkTree) -> str:
    with (tree.root / "large").open("r+b") as file:
        file.write(b"other")
    return "large"


def a_submodule(tree: WorkTree) -> str:
    (tree.root / "sub").mkdir()
    (tree.root / "sub/made").write_text("by the agent\n")
    return "sub"


@pytest.fixture
def with_large(project: Path) -> Path:
    """The project with a file that is too large to review, and a submodule whose files are not there."""
    with (project / "large").open("wb") as file:
        file.truncate(MAX_WHOLE_FILE + 1)
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{git(project, 'rev-parse', 'HEAD').strip()},sub")
    git(project, "commit", "--quiet", "-m", "with a submodule")
    return project


@pytest.mark.parametrize("make", [a_repository, a_large_file, a_larger_one, other_content_in_a_large_file, a_submodule])
async def test_a_tree_stays_that_holds_what_can_be_proposed_by_no_means(
    with_large: Path, make: Callable[[WorkTree], str]
) -> None:
    workspace, tree = made(with_large)
    name = make(tree)
    brought = await changes_of(tree, workspace)
    (row,) = brought.left_out
    assert row.startswith(name)
    assert row.endswith(f" (the agent's is in the work tree, {tree.root / name})")
    tree.remove()
    clear_left_trees(tree.folder.parent)
    assert (tree.root / name).exists()


async def test_a_tree_in_which_nothing_is_new_is_removed_whatever_its_files_are(with_large: Path) -> None:
    (with_large / "link").symlink_to("a")
    workspace, tree = made(with_large)
    (tree.root / "sub").mkdir(exist_ok=True)
    brought = await changes_of(tree, workspace)
    assert (brought.changes, brought.left_out) == ((), ())
    tree.remove()
    assert not tree.folder.exists()


async def test_where_a_link_leads_is_told_and_the_tree_needs_not_stay(project: Path) -> None:
    workspace, tree = made(project)
    (tree.root / "link").symlink_to("d/x")
    brought = await changes_of(tree, workspace)
    assert brought.left_out == ("link: symbolic links are not included (it points to d/x)",)
    tree.remove()
    assert not tree.folder.exists()


async def test_what_a_package_does_not_own_is_kept(project: Path) -> None:
    workspace, tree = made(project)
    (tree.root / "a").write_text("the agent's\n")
    (tree.root / "d/x").write_text("two\n")
    (tree.root / "picture").write_bytes(b"\0agent")
    brought = await changes_of(tree, workspace, ["d/**"])
    assert [one.relative for one in brought.changes] == ["d/x"]
    assert {one.relative: one.new_text for one in brought.lost} == {"a": "the agent's\n"}
    assert brought.left_out == (
        "a: it is not among what the package owns",
        f"picture: it is not among what the package owns (the agent's is in the work tree, {tree.root / 'picture'})",
    )
    tree.remove()
    assert (tree.root / "picture").read_bytes() == b"\0agent"


async def test_a_removal_that_fails_is_told_and_neither_waited_for_nor_locked(project: Path) -> None:
    _, tree = made(project)
    folder, elsewhere = tree.folder.parent, project.parent / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    told: list[BaseException] = []
    async with asyncio.timeout(PATIENCE), guarded_tasks(lambda _, error: told.append(error)) as background:
        await _removed(tree.remove, background, math.inf)
    assert [isinstance(one, OSError) for one in told] == [True]
    folder.unlink()
    elsewhere.rename(folder)
    clear_left_trees(folder)
    assert list(folder.iterdir()) == []
