"""Commands that only look: the short list, and what must not get through it."""

import pytest

from north_lsp.command_policy.looking import only_looks


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
        "node --version x",
        "g?t status",
        "cat x",
        "ls | sh",
        "ls\u200b",
    ],
)
def test_what_may_do_more(command: str) -> None:
    assert not only_looks(command)
