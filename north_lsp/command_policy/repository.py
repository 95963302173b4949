"""Decides whether git can be run in a repository without running something that the repository brought along."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.git import run_git

# Keys that name a program, or another place to read such keys from.
_EXECUTING = lazy_pattern(
    r"core\.(?:fsmonitor|hookspath|pager|editor|askpass|sshcommand|gitproxy|alternaterefscommand|worktree|attributesfile)"
    r"|diff\.external|diff\..+\.(?:command|textconv)|filter\..+\.(?:clean|smudge|process)|merge\..+\.driver"
    r"|gpg\.(?:.+\.)?program|gpg\.ssh\.defaultkeycommand|pager\..+|interactive\.difffilter|sequence\.editor"
    r"|credential\.(?:.+\.)?helper|trailer\..+\.(?:command|cmd)|include\.path|includeif\..+\.path|log\.showsignature"
    r"|commit\.gpgsign|tag\.gpgsign|remote\..+\.(?:uploadpack|receivepack|vcs|promisor|partialclonefilter)"
    r"|uploadpack\..+|submodule\..+\.update|tar\..+\.command|man\..+|browser\..+|web\.browser|help\.browser"
    r"|protocol\.(?:.+\.)?allow|difftool\..+|mergetool\..+|extensions\.(?:worktreeconfig|partialclone)"
)
_OFF = {"core.fsmonitor": ("false", "0", "no", ""), "log.showsignature": ("false",), "commit.gpgsign": ("false",),
        "tag.gpgsign": ("false",)}  # fmt: skip
_MAX_NESTED = 20
_READ_HOOKS = ("post-index-change", "fsmonitor-watchman", "reference-transaction")

Ask = Callable[[list[str], Path], str | None]


def find_git_programs(cwd: Path, *, writes: bool, ask: Ask = run_git) -> str | None:
    """Return the first configuration key or hook that names a program, in the repository at `cwd` or in one nested in
    it that git looks into; None if there is none. A repository that git cannot read counts as having one. Runs git:
    call it on a thread."""
    if (found := _would_run(cwd, writes, ask)) is not None:
        return found
    nested = _nested(cwd, ask)
    if len(nested) > _MAX_NESTED:
        return f"more than {_MAX_NESTED} repositories are nested in this one"
    for folder in nested:
        if (found := _would_run(folder, writes, ask)) is not None:
            return f"{found} of the nested repository {folder.name}"
    return None


def _nested(cwd: Path, ask: Ask) -> list[Path]:
    """Return the nested repositories that `status` and `diff` look into, at any depth."""
    found: list[Path] = []
    waiting = [cwd]
    while waiting and len(found) <= _MAX_NESTED:
        here = waiting.pop()
        top = (ask(["rev-parse", "--show-toplevel"], here) or "").rstrip("\n")
        listed = ask(["ls-files", "--stage", "-z", "--full-name", ":/"], here) if top else None
        for row in (listed or "").split("\0"):
            if row.startswith("160000 ") and os.path.lexists(folder := Path(top) / row.partition("\t")[2] / ".git"):
                found.append(folder.parent)
                waiting.append(folder.parent)
    return found


def _would_run(cwd: Path, writes: bool, ask: Ask) -> str | None:
    if (where := ask(["rev-parse", "--git-dir", "--git-common-dir"], cwd)) is None:
        return None if is_outside(cwd) else "a configuration that cannot be read"
    listed = ask(["config", "-z", "--list", "--show-scope", "--includes"], cwd)
    if listed is None:
        return "a configuration that cannot be read"
    fields = listed.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope in ("local", "worktree") and _EXECUTING.fullmatch(key.lower()):
            if value.lower() in _OFF.get(key.lower(), ()):
                continue
            return f"the key `{key}`"
    for folder in dict.fromkeys(where.split("\n")):
        if folder and (hook := _hook(cwd / folder / "hooks", writes=writes)) is not None:
            return f"the hook `{hook}`"
    return None


def _hook(folder: Path, *, writes: bool) -> str | None:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return None
    for name in names:
        if name.endswith(".sample") or not os.access(folder / name, os.X_OK):
            continue
        if writes or name in _READ_HOOKS:
            return name
    return None


def is_outside(cwd: Path) -> bool:
    """Return whether `cwd` is in no repository, so that git does nothing but report that."""
    return not any(
        os.path.lexists(place / ".git") or ((place / "HEAD").exists() and (place / "objects").exists())
        for place in (cwd, *cwd.parents)
    )
