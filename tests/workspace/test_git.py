import os
import subprocess
from pathlib import Path

import pytest

from north_lsp.workspace import git
from north_lsp.workspace.git import run_git


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    root = tmp_path / "repo"
    root.mkdir()
    for command in ("init -q -b trunk", "config user.name x", "config user.email x@example.org"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    (root / "a.txt").write_text("one\n")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "first"], cwd=root, check=True)
    return root


def test_a_repository_answers(repo: Path) -> None:
    assert run_git(["symbolic-ref", "--short", "HEAD"], repo) == "trunk\n"
    (repo / "a.txt").write_text("two\n")
    assert run_git(["status", "--porcelain"], repo) == " M a.txt\n"
    assert "+two" in (run_git(["diff"], repo) or "")
    assert "one" in (run_git(["blame", "HEAD", "a.txt"], repo) or "")


def test_failure_is_none(repo: Path, tmp_path: Path) -> None:
    assert run_git(["rev-parse", "nothing"], repo) is None
    assert run_git(["status"], tmp_path) is None
    assert run_git(["status"], tmp_path / "missing") is None


@pytest.mark.parametrize("args", [[], ["-c", "x=y"], ["--exec-path=x", "status"], ["!sh"]])
def test_only_commands_are_run(repo: Path, args: list[str]) -> None:
    with pytest.raises(ValueError, match="git command"):
        run_git(args, repo)


def test_nothing_that_the_repository_names_is_run(repo: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $@" >> {tmp_path}/sprung\ncat 2>/dev/null\n')
    trap.chmod(0o755)
    settings = {
        "core.fsmonitor": str(trap),
        "core.pager": str(trap),
        "diff.external": str(trap),
        "diff.own.textconv": str(trap),
        "diff.own.command": str(trap),
        "filter.own.clean": str(trap),
        "filter.own.smudge": str(trap),
        "filter.other one.process": str(trap),
        "filter.own.required": "true",
        "gpg.program": str(trap),
        "log.showSignature": "true",
        "core.hooksPath": str(tmp_path / "hooks"),
        "alias.status": f"!{trap}",
    }
    for key, value in settings.items():
        subprocess.run(["git", "config", key, value], cwd=repo, check=True)
    (tmp_path / "hooks").mkdir()
    for hook in ("post-index-change", "post-checkout", "pre-commit"):
        (tmp_path / "hooks" / hook).symlink_to(trap)
    (repo / ".gitattributes").write_text("*.txt diff=own filter=own\n*.md filter=other one\n")
    (repo / "a.txt").write_text("two\n")
    os.utime(repo / "a.txt", (1, 1))
    for args in (
        ["status", "--porcelain"],
        ["diff"],
        ["diff", "--stat", "HEAD"],
        ["show"],
        ["log", "-p"],
        ["blame", "a.txt"],
        ["diff-files", "-p"],
        ["rev-parse", "HEAD"],
    ):
        assert run_git(args, repo) is not None, args
    assert not (tmp_path / "sprung").exists()


def test_a_filter_that_cannot_be_switched_off_stops_the_call(repo: Path) -> None:
    subprocess.run(["git", "config", "filter.a=b.clean", "false"], cwd=repo, check=True)
    assert run_git(["status"], repo) is None


def test_the_environment_does_not_reach_git(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("GIT_DIR", "GIT_WORK_TREE", "GIT_EXTERNAL_DIFF", "GIT_CONFIG_PARAMETERS"):
        monkeypatch.setenv(key, str(tmp_path / "elsewhere"))
    assert run_git(["symbolic-ref", "--short", "HEAD"], repo) == "trunk\n"


def test_time_runs_out(repo: Path) -> None:
    assert run_git(["cat-file", "--batch"], repo, timeout=0.0) is None


def test_a_git_inside_the_repository_is_not_used(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_git", lambda: str(repo / "bin" / "git"))
    assert run_git(["status"], repo) is None
