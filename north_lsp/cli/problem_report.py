"""`north-lsp doctor --report`: what a report of a problem begins with, as Markdown to paste. It has no secrets, and no
name of the home folder."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import north_lsp
from north_lsp import systems
from north_lsp.cli.bundle import Masking
from north_lsp.cli.finding import Finding, report
from north_lsp.display import fenced
from north_lsp.server.options import Options
from north_lsp.storage.locations import Locations

_GIT_SECONDS = 5.0
_PACKAGE = Path(north_lsp.__file__).parent


def problem_report(options: Options, findings: Sequence[Finding], package: Path = _PACKAGE) -> str:
    """Return the versions, where North comes from, and what the doctor found."""
    commit = _commit(package.parent)
    rows = (
        f"- North {north_lsp.__version__}{f', commit {commit}' if commit else ''}, in `{package}`",
        f"- Python {platform.python_version()}, `{sys.executable}`",
        f"- {platform.platform()}",
    )
    masking = Masking.of(options, Locations.from_environment(options.environ))
    return masking.masked("\n".join([*rows, "", fenced(report(findings), "text")]))


def _commit(folder: Path) -> str:
    """Return the commit that a clone is at; empty for what was installed from elsewhere."""
    if not (folder / ".git").exists():
        return ""
    git = systems.find_program("git", os.environ)
    if git is None:
        return ""
    command = [git, "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()
