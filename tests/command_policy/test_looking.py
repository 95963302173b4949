"""Commands that only look: the short list, and what must not get through it."""

import pytest

from north_lsp.command_policy.looking import changes_files, only_looks


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --oneline -5 -- src",
        "git diff HEAD~1 && git show HEAD",
        "ls -la src",
        "node --version; cargo -V",
        "go version",
        "git diff | git status",
    ],
)
def test_what_only_looks(command: str) -> None:
    assert only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "git",
        "git commit -m x",
        "git -C .. status",
        "git -c core.pager=sh log",
        "git diff --output=x",
        "git diff --outp=x",
        "git diff --ext-diff",
        "git show --textconv",
        "git log -Osh",
        "ls > x",
        "ls $(touch x)",
        "ls; touch x",
        "ls && (touch x)",
        "X=1 ls",
        "./node --version",
        "sh version",
        "make version",
        "python3 version",
        "yarn version",
        "node --version x",
        "g?t status",
        "cat x",
        "ls | sh",
        "ls\u200b",
    ],
)
def test_what_may_do_more(command: str) -> None:
    assert not only_looks(command)


@pytest.mark.parametrize(
    "command",
    [
        "touch x",
        "true && mkdir out",
        "cp a b",
        "git commit -m x",
        "rm -rf build",
        "tee x",
        "git push",
        "apt-get install x",
        "echo x > y",
        "pytest 2>> log",
    ],
)
def test_what_changes_files_for_certain(command: str) -> None:
    assert changes_files(command)


@pytest.mark.parametrize(
    "command", ["test -f x", "pytest -q", "make test", "git diff --quiet", "grep -q x y 2>/dev/null", "cat < x", "$(x)"]
)
def test_what_may_only_check(command: str) -> None:
    assert changes_files(command) == ""
