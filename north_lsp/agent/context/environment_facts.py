"""What a model is told of the machine and the project from the start. What cannot be found out is left out."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from north_lsp import __version__
from north_lsp.agent.prompts import render
from north_lsp.display import one_line
from north_lsp.workspace.git import git_folder, run_git, top_level

_MANAGERS: Mapping[str, str] = {
    "package-lock.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "deno.lock": "deno",
    "uv.lock": "uv",
    "poetry.lock": "poetry",
    "pdm.lock": "pdm",
    "Pipfile.lock": "pipenv",
    "requirements.txt": "pip",
    "Cargo.toml": "cargo",
    "go.mod": "go",
    "Gemfile": "bundler",
    "composer.json": "composer",
    "mix.exs": "mix",
    "pom.xml": "maven",
    "build.gradle": "gradle",
    "build.gradle.kts": "gradle",
}
_BRANCH = "ref: refs/heads/"
_GIT_SECONDS = 0.5


def environment_text(roots: Sequence[Path], started: date, shell: str, editor: str) -> str:
    """Render the facts of the environment, the same for a whole conversation."""
    found = dict.fromkeys(name for root in roots for file, name in _MANAGERS.items() if (root / file).is_file())
    return render(
        "environment",
        system=f"{platform.system()} {platform.release()}",
        shell=one_line(os.path.basename(shell), 60),
        root=one_line(str(roots[0]), 1000),
        other_roots=", ".join(one_line(str(root), 1000) for root in roots[1:]) or "none",
        editor=one_line(editor, 80),
        managers=", ".join(found),
        date=started.isoformat(),
        version=__version__,
    )


def branch_of(root: Path) -> str | None:
    """Return the git branch of a folder, or the beginning of the commit; None outside of a repository."""
    top = top_level(root)
    folder = git_folder(top) if top is not None else None
    if folder is None:
        return None
    try:
        with (folder / "HEAD").open("r", encoding="utf-8", errors="replace") as file:
            head = file.readline(1000).strip()
    except OSError:
        return None
    return one_line(head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else f"commit {head[:12]}", 120)


def has_changes(root: Path) -> bool | None:
    """Tell whether the work tree has changes that are not committed; None if git does not say so in time."""
    told = run_git(["status", "--porcelain", "--untracked-files=no"], root, timeout=_GIT_SECONDS)
    return None if told is None else bool(told.strip())
