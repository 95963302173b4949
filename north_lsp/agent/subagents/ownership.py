"""What an agent may change while a workflow of its conversation is active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.agent.log.log import Log
from north_lsp.agent.planning.workflow_hold import hold_on
from north_lsp.agent.ports.holds import Hold
from north_lsp.workspace.files.wildmatch import any_matches
from north_lsp.workspace.workspace import Workspace


def agent_hold(log: Log, workspace: Workspace, owns: Sequence[str] | None) -> Hold | None:
    """Return what keeps an agent from changing anything now. `log` is that of the conversation; an agent writes none of
    the workflow's documents."""
    hold = hold_on(log, None)
    if hold is not None:  # what agents look up is not counted, so they look nothing up where it has to be
        left = hold.allowance
        return replace(hold, allowance=replace(left, web=0)) if left.web is not None else hold
    if owns is None:
        return None
    root = workspace.roots.main

    def may_write(path: Path) -> bool:
        return path.is_relative_to(root) and is_owned(owns, path.relative_to(root).as_posix())

    way_out = f"change only {', '.join(owns)}; say in your result what else would have to change"
    return Hold("this package owns other files", way_out, may_write, closes=False)


def hold_behind(log: Log, workspace: Workspace, owns: Sequence[str] | None) -> Hold | None:
    """Return what keeps an agent in the background from changing anything now: also the mode that the conversation is
    in by then."""
    if log.mode != "agent":
        return Hold(f"the conversation is in {log.mode} mode now", "hand in what you have found", lambda path: False)
    return agent_hold(log, workspace, owns)


def is_owned(owns: Sequence[str], relative: str) -> bool:
    """Tell whether a file is among those that a package owns; a folder stands for all that is in it."""
    folders = [one.rstrip("/") for one in owns]
    return any_matches(owns, relative) is not None or any(relative.startswith(f"{one}/") for one in folders)
