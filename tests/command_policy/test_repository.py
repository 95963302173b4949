"""Which keys and hooks of a real repository stop rules for git, and that an ordinary one is no reason to ask."""

import subprocess
from pathlib import Path

import pytest

from north_lsp.command_policy.repository import find_git_programs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def test_an_ordinary_repository_runs_nothing(repository: Path, tmp_path: Path) -> None:
    for key, value in (("user.name", "me"), ("remote.origin.url", "https://x/y"), ("core.fsmonitor", "false")):
        subprocess.run(["git", "config", key, value], cwd=repository, check=True)
    assert find_git_programs(repository, writes=False) is None
    assert find_git_programs(repository, writes=True) is None
    assert find_git_programs(tmp_path, writes=False) is None


@pytest.mark.parametrize(
    "key",
    [
        "core.fsmonitor",
        "core.hooksPath",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.x.textconv",
        "diff.x.command",
        "filter.x.clean",
        "filter.x.smudge",
        "filter.x.process",
        "gpg.program",
        "gpg.ssh.program",
        "pager.log",
        "merge.x.driver",
        "interactive.diffFilter",
        "credential.helper",
        "trailer.x.command",
        "core.worktree",
        "include.path",
        "log.showSignature",
        "core.alternateRefsCommand",
        "remote.x.vcs",
        "remote.x.uploadpack",
    ],
)
def test_a_key_that_names_a_program_is_named(repository: Path, key: str) -> None:
    with (repository / ".git/config").open("a") as file:
        section, _, name = key.rpartition(".")
        group, _, sub = section.partition(".")
        file.write(f'[{group} "{sub}"]\n\t{name} = true\n' if sub else f"[{group}]\n\t{name} = true\n")
    assert find_git_programs(repository, writes=False) is not None


def test_hooks_count_where_they_would_run(repository: Path) -> None:
    hook = repository / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert find_git_programs(repository, writes=True) is None
    hook.chmod(0o755)
    assert find_git_programs(repository, writes=False) is None
    assert find_git_programs(repository, writes=True) == "the hook `pre-commit`"
    hook.rename(hook.with_name("post-index-change"))
    assert find_git_programs(repository, writes=False) == "the hook `post-index-change`"


def test_what_cannot_be_read_counts_as_dangerous(repository: Path) -> None:
    (repository / ".git/config").write_text("[broken\n")
    assert find_git_programs(repository, writes=False) is not None


def test_a_bare_repository_inside_is_not_trusted(repository: Path) -> None:
    inner = repository / "inner"
    subprocess.run(["git", "init", "-q", "--bare", str(inner)], check=True)
    assert find_git_programs(inner, writes=False) is not None


def test_a_nested_repository_that_git_looks_into_counts(repository: Path) -> None:
    inner = repository / "lib" / "inner"
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    who = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "one"], cwd=inner, check=True)
    subprocess.run(["git", "add", "lib"], cwd=repository, check=True, capture_output=True)
    assert find_git_programs(repository, writes=False) is None
    assert find_git_programs(repository / "lib", writes=False) is None
    subprocess.run(["git", "config", "core.fsmonitor", "touch made"], cwd=inner, check=True)
    for cwd in (repository, repository / "lib"):
        found = find_git_programs(cwd, writes=False)
        assert found == "the key `core.fsmonitor` of the nested repository inner"
