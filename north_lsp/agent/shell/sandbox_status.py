"""Finds out whether there is a sandbox that holds, and tells the user if there is none."""

from __future__ import annotations

import anyio.to_thread

from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.shell.port import Runner
from north_lsp.shell.sandbox import ActiveRestrictions, probe
from north_lsp.workspace.files.ignore import OWN_IGNORE_FILE
from north_lsp.workspace.workspace import Workspace

COST = (
    "Commands that you have allowed permanently still ask, except for plain commands that only read. "
    "Run `north-lsp doctor` for details."
)


class Walls:
    """The sandbox as one session sees it."""

    def __init__(self, runner: Runner, editor: Editor) -> None:
        self._runner = runner
        self._editor = editor
        self._told = False

    async def missing(self) -> str | None:
        """Return why there is no sandbox that holds, as shown to people; None if there is one. The user is told of the
        consequences once. Takes a while the first time."""
        missing = await self._missing()
        if missing is not None and not self._told:
            self._told = True
            await self._editor.show(Notice("warning", f"{missing[0].upper()}{missing[1:]}. {COST}"))
        return missing

    async def _missing(self) -> str | None:
        if self._runner.always_asks is not None:
            return None
        held = await anyio.to_thread.run_sync(probe)
        if isinstance(held, str):
            return f"there is no sandbox here ({held})"
        if not held.holds:
            return f"the sandbox of this machine cannot guard protected and closed names ({held.why})"
        box = self._runner.containment
        if box is None:
            return "there is no sandbox here"
        problem = await box.problem()
        return f"the sandbox cannot protect the workspace: {problem}" if problem else None


def has_closed_names(workspace: Workspace) -> bool:
    """Tell whether a command that only reads could show files that the user keeps closed. Looks at the disk."""
    return any(
        (root / OWN_IGNORE_FILE).exists()
        or any(path.rpartition("/")[2] == OWN_IGNORE_FILE for path in workspace.trees.tree(root).listing().files)
        for root in workspace.roots.roots
    )


def held_words(held: ActiveRestrictions | str | None) -> str | None:
    """Describe what contains a command that the user is asked about; None if nothing does."""
    if not isinstance(held, ActiveRestrictions):
        return None
    network = "no network" if held.holds else "no sockets at all"
    gaps = "".join(f" Not blocked here: {gap}." for gap in held.gaps())
    return f"In the sandbox: it can write only to the workspace and its own temporary folder, {network}.{gaps}"
