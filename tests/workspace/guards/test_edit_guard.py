"""A set of changes is judged as a whole, on the disk as it will be, by whatever makes a file decide what is run."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from north_lsp.errors import ToolError
from north_lsp.workspace.edit.diff import make_change, make_deletion, make_folder_change, make_rename
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.guards.edit_guard import questions, refusal
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange, TextEncoding


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home, root = Path(os.path.realpath(tmp_path)) / "home", Path(os.path.realpath(tmp_path)) / "home" / "repo"
    root.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    git(root, "init", "-q")
    return root


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def put(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def new(root: Path, name: str, text: str = "text\n", old: str | None = None) -> FileChange:
    return make_change(root / name, name, old, text, TextEncoding())


def moved(root: Path, name: str, to: str, text: str = "text\n") -> FileChange:
    return make_rename(root / name, name, root / to, to, text, text, TextEncoding())


def refused(root: Path, *changes: FileChange) -> bool:
    return refusal(changes, Roots.of(root)) is not None


def asked(root: Path, *changes: FileChange, raw_path: tuple[str, ...] = ()) -> str:
    return "; ".join(questions(changes, Trees.of(Roots.of(root)), raw_path))


# -- a repository is not planted ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ("HEAD", "config", "objects/x", "refs/x"),
        ("refs/heads/x", "objects/x", "HEAD"),
        ("head", "Config", "Objects/x", "REFS/x"),
        ("HEAD", "commondir"),
        ("commondir", "HEAD", "config"),
        ("config", "objects/x", "refs/x"),
        ("HEAD/x", "objects/x", "refs/x"),
    ],
)
@pytest.mark.parametrize("folder", ["", "deep/store/", "x.git/"])
def test_no_batch_makes_a_repository(repo: Path, folder: str, names: tuple[str, ...]) -> None:
    changes = [new(repo, folder + name) for name in names]
    assert refused(repo, *changes)
    assert not refused(repo, *changes[:1])


@pytest.mark.parametrize("last", ["HEAD", "objects/x", "refs/x"])
def test_no_single_file_completes_a_repository(repo: Path, last: str) -> None:
    for name in {"HEAD", "objects/x", "refs/x"} - {last}:
        put(repo, f"store/{name}", "x")
    assert refused(repo, new(repo, f"store/{last}"))
    assert not refused(repo, new(repo, "store/other"))


def test_moves_and_empty_folders_make_no_repository(repo: Path) -> None:
    for name in ("a", "b", "c"):
        put(repo, f"store/{name}", "text\n")
    assert refused(repo, moved(repo, "store/a", "store/HEAD"), moved(repo, "store/b", "store/commondir"))
    folders = [make_folder_change(repo / "store" / name, f"store/{name}", "create") for name in ("objects", "refs")]
    assert refused(repo, *folders, moved(repo, "store/a", "store/HEAD"))
    assert not refused(repo, *folders)


def test_a_batch_that_takes_a_part_away_first_still_touches_a_repository(repo: Path) -> None:
    git(repo, "init", "-q", "--bare", "bare")
    config = (repo / "bare/config").read_text()
    gone = make_deletion(repo / "bare/HEAD", "bare/HEAD", (repo / "bare/HEAD").read_text(), TextEncoding())
    assert refused(repo, gone)
    assert refused(repo, gone, new(repo, "bare/config", "evil", config))
    assert refused(repo, moved(repo, "bare/config", "cfg", config))


def test_where_a_git_file_leads_nothing_is_written(repo: Path) -> None:
    git(repo, "init", "-q", "--separate-git-dir=store", "sub")
    assert refused(repo, new(repo, "store/hooks/pre-commit"))
    put(repo, "half/.git", "gitdir: ../own\n")
    put(repo, "own/commondir", "../shared\n")
    (repo / "linked").mkdir()
    (repo / "linked/.git").symlink_to("../elsewhere")
    for name in ("own/x", "shared/config", "elsewhere/x"):
        with pytest.raises(ToolError) as caught:
            asked(repo, new(repo, name))
        assert caught.value.code == "OUTSIDE_WORKSPACE"
    assert asked(repo, new(repo, "other/config")) == ""


def test_a_work_tree_whose_own_folder_is_in_the_workspace(repo: Path) -> None:
    root = repo / "inner"
    root.mkdir()
    (repo / ".git").rename(root / "meta")
    (repo / ".git").write_text("gitdir: inner/meta\n")
    assert refused(root, new(root, "meta/config", "x", (root / "meta/config").read_text()))


# -- what git's configuration and its hooks name -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "file"),
    [
        ("core.hooksPath", "tools/hooks", "tools/hooks/pre-commit"),
        ("core.hooksPath", "./tools/../tools/hooks/", "tools/hooks/deep/x"),
        ("include.path", "../extra.cfg", "extra.cfg"),
        ("includeIf.onbranch:x.path", "../other.cfg", "other.cfg"),
        ("core.fsmonitor", "tools/watch.sh", "tools/watch.sh"),
        ("diff.x.textconv", "./tools/conv.sh --all", "tools/conv.sh"),
        ("filter.x.clean", "sh -c 'tools/clean.sh \"$1\"'", "tools/clean.sh"),
        ("alias.up", "!tools/up.sh", "tools/up.sh"),
        ("core.sshCommand", "python3 tools/ssh.py", "tools/ssh.py"),
        ("credential.helper", "!$PWD/tools/helper.sh", "tools/helper.sh"),
        ("core.attributesFile", "attrs", "attrs"),
        ("submodule.x.update", "!tools/up.sh", "tools/up.sh"),
    ],
)
def test_what_the_configuration_names_asks(repo: Path, key: str, value: str, file: str) -> None:
    assert asked(repo, new(repo, file)) == ""
    git(repo, "config", key, value)
    assert "git" in asked(repo, new(repo, file))
    assert asked(repo, new(repo, "src/other.py")) == ""


def test_what_an_included_file_names_asks(repo: Path) -> None:
    put(repo, "extra.cfg", "[core]\n\thooksPath = more/hooks\n[include]\n\tpath = third.cfg\n")
    git(repo, "config", "include.path", "../extra.cfg")
    put(repo, "third.cfg", "[diff]\n\texternal = run/diff.sh\n")
    for name in ("extra.cfg", "third.cfg", "more/hooks/post-checkout", "run/diff.sh"):
        assert "git" in asked(repo, new(repo, name)), name


def test_the_users_own_configuration_counts(repo: Path) -> None:
    put(repo.parent, ".gitconfig", f"[include]\n\tpath = {repo}/team.cfg\n[core]\n\thooksPath = ~/repo/shared\n")
    assert "configuration" in asked(repo, new(repo, "team.cfg"))
    assert "hookspath" in asked(repo, new(repo, "shared/pre-push"))


def test_a_nested_repositorys_configuration_counts(repo: Path) -> None:
    git(repo, "init", "-q", "sub")
    git(repo / "sub", "config", "core.hooksPath", "my")
    git(repo / "sub", "config", "core.fsmonitor", "../watch.sh")
    assert "hookspath" in asked(repo, new(repo, "sub/my/pre-commit"))
    assert "fsmonitor" in asked(repo, new(repo, "watch.sh"))


def test_what_hooks_are_and_name_asks(repo: Path) -> None:
    put(
        repo,
        ".git/hooks/pre-commit",
        '#!/bin/sh\n# see docs/hooks.md\nexec "$(git rev-parse --show-toplevel)/ci/x.sh"\n',
    )
    (repo / ".git/hooks/post-merge").symlink_to("../../ci/merge.sh")
    assert "hook pre-commit" in asked(repo, new(repo, "ci/x.sh"))
    assert "hook post-merge" in asked(repo, new(repo, "ci/merge.sh"))
    assert asked(repo, new(repo, "docs/hooks.md")) == ""


def test_a_configuration_that_cannot_be_read_asks(repo: Path) -> None:
    put(repo, ".git/config", "[core\nbroken")
    assert "cannot be read" in asked(repo, new(repo, "a.py"))


@pytest.mark.parametrize("name", ["postinstall", "prepare", "preinstall", "install"])
def test_what_installing_packages_runs_asks(repo: Path, name: str) -> None:
    put(repo, "web/package.json", json.dumps({"scripts": {name: "node ./tools/setup && echo", "test": "node t.js"}}))
    assert name in asked(repo, new(repo, "web/tools/setup.js"))
    assert asked(repo, new(repo, "web/t.js")) == ""


def test_what_a_batch_makes_an_installation_run_asks_for_both(repo: Path) -> None:
    package = new(repo, "package.json", json.dumps({"scripts": {"postinstall": "sh x.sh"}}))
    assert asked(repo, new(repo, "x.sh"), package).count("asks every time") == 2


# -- by contents -------------------------------------------------------------------------------------------------------


def test_attributes_ask_only_where_they_name_what_git_runs(repo: Path) -> None:
    assert asked(repo, new(repo, ".gitattributes", "* text=auto\n*.png binary\n*.py -diff\n")) == ""
    for text in ("*.bin filter=lfs\n", "*.x text diff=words\n", "*.y merge=ours", "[attr]mine text\n"):
        assert "names filters" in asked(repo, new(repo, ".gitattributes", text)), text
    old = put(repo, ".gitattributes", "*.bin filter=crypt\n").read_text()
    assert "names filters" in asked(repo, new(repo, ".gitattributes", "* text\n", old))
    assert "names filters" in asked(repo, make_deletion(repo / ".gitattributes", ".gitattributes", old, TextEncoding()))


# -- by all its names --------------------------------------------------------------------------------------------------


def test_where_a_link_of_a_protected_name_leads_asks(repo: Path) -> None:
    (repo / ".vscode").symlink_to("conf/editor")
    (repo / "sub").mkdir()
    (repo / "sub/.idea").symlink_to("../ideas")
    put(repo, ".gitignore", ".vscode\n")
    assert ".vscode/tasks.json" in asked(repo, new(repo, "conf/editor/tasks.json"))
    assert "sub/.idea/x.xml" in asked(repo, new(repo, "ideas/x.xml"))
    assert asked(repo, new(repo, "conf/other.json")) == ""


def test_links_through_links_count(repo: Path) -> None:
    put(repo, "cfg/keep", "x")
    (repo / "cfg/more").symlink_to("../other")
    (repo / ".zed").symlink_to("cfg")
    assert ".zed/more/tasks.json" in asked(repo, new(repo, "other/tasks.json"))


def test_links_from_the_users_own_folder_count(repo: Path) -> None:
    (repo.parent / ".bashrc").symlink_to("repo/dots/bashrc")
    assert ".bashrc" in asked(repo, new(repo, "dots/bashrc"))


def test_a_link_to_what_is_never_written_refuses(repo: Path) -> None:
    (repo / ".hg").symlink_to("store")
    with pytest.raises(ToolError) as caught:
        asked(repo, new(repo, "store/hgrc"))
    assert caught.value.code == "OUTSIDE_WORKSPACE"


@pytest.mark.parametrize("raw_path", ["link/tasks.json", "file://{root}/link/tasks.json", "./x/../link/tasks.json"])
def test_a_spelling_counts_with_each_link_followed_or_not(repo: Path, raw_path: str) -> None:
    (repo / "deep/.vscode").mkdir(parents=True)
    (repo / "link").symlink_to("deep/.vscode")
    change = new(repo, "deep/.vscode/tasks.json")
    assert "asks every time" in asked(repo, change, raw_path=(raw_path.format(root=repo),))


def test_a_file_with_several_names_asks(repo: Path) -> None:
    os.link(repo / ".git/config", repo / "notes.txt")
    text = (repo / "notes.txt").read_text()
    assert "2 names (hard links)" in asked(repo, new(repo, "notes.txt", "x", text))
    assert "2 names (hard links)" in asked(repo, moved(repo, "notes.txt", "other.txt", text))


def test_ordinary_files_are_free(repo: Path) -> None:
    for name in (
        "src/a.py",
        "Makefile",
        "conftest.py",
        "build.rs",
        "docs/git.md",
        "AGENTS.md",
        "HEAD",
        "refs/x",
        "config",
    ):
        assert not refused(repo, new(repo, name))
        assert asked(repo, new(repo, name)) == "", name


# -- further ways ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "file"),
    [
        (".husky/pre-commit", "sh tools/lint.sh\n", "tools/lint.sh"),
        (".envrc", "source_env ./env/dev.sh\n", "env/dev.sh"),
        (".pre-commit-config.yaml", "    entry: ci/check.sh\n", "ci/check.sh"),
        (".devcontainer/devcontainer.json", '{"postCreateCommand": "bash setup/dev.sh"}', "setup/dev.sh"),
        (".claude/settings.json", '{"hooks": [{"command": "$CLAUDE_PROJECT_DIR/tools/h.py"}]}', "tools/h.py"),
        (".vscode/tasks.json", '{"runOn": "folderOpen", "command": "${workspaceFolder}/x.sh"}', "x.sh"),
        ("package.json", '{"scripts": {"postinstall": "node ./scripts"}}', "scripts/index.js"),
        ("package.json", '{"simple-git-hooks": {"pre-commit": "sh a/b.sh"}}', "a/b.sh"),
    ],
)
def test_what_start_files_name_asks(repo: Path, name: str, text: str, file: str) -> None:
    assert asked(repo, new(repo, file)) == ""
    put(repo, name, text)
    assert "asks every time" in asked(repo, new(repo, file))
    assert asked(repo, new(repo, "src/other.py")) == ""


@pytest.mark.parametrize("inner", ["hooks", "info/attributes", "config"])
def test_where_links_in_gits_own_folder_lead_asks(repo: Path, inner: str) -> None:
    place = repo / ".git" / inner
    text = place.read_text() if place.is_file() else ""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    put(repo, "mine/x", text)
    place.symlink_to(repo / "mine" if inner == "hooks" else repo / "mine/x")
    assert "git" in asked(repo, new(repo, "mine/x", "y\n", text))


def test_a_hooks_folder_is_known_by_every_case(repo: Path) -> None:
    git(repo, "config", "core.hooksPath", "Hooks")
    assert "hookspath" in asked(repo, new(repo, "hooks/pre-commit"))


@pytest.mark.parametrize("name", [".idea/workspace.xml", "q/.vscode/tasks.json", ".vscode/deep/x"])
def test_links_in_protected_folders_that_walks_leave_out_count(repo: Path, name: str) -> None:
    put(repo, ".gitignore", ".vscode/\n.idea/\n")
    link = repo / name
    link.parent.mkdir(parents=True)
    link.symlink_to(repo / "w.txt")
    assert name in asked(repo, new(repo, "w.txt"))


def test_start_files_in_the_users_folder_count_before_they_exist(repo: Path) -> None:
    (repo.parent / ".config/git").mkdir(parents=True)
    (repo.parent / ".config/git/config").symlink_to(repo / "gc")
    (repo.parent / ".config/nvim").symlink_to(repo / "nv")
    assert "asks every time" in asked(repo, new(repo, "gc"))
    assert ".config/nvim/init.lua" in asked(repo, new(repo, "nv/init.lua"))


def test_a_repository_around_the_workspace_counts(repo: Path) -> None:
    shutil.rmtree(repo / ".git")
    git(repo.parent, "init", "-q")
    git(repo.parent, "config", "core.hooksPath", "repo/hk")
    assert "hookspath" in asked(repo, new(repo, "hk/pre-commit"))
