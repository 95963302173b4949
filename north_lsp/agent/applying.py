"""Applying an accepted proposal: to the editor's open texts and to the disk, or to neither."""

from functools import partial

import anyio.to_thread

from north_lsp.agent.editor import Documents
from north_lsp.errors import ToolError
from north_lsp.tools.base import Workspace
from north_lsp.tools.texts import text_of
from north_lsp.workspace.apply import apply
from north_lsp.workspace.proposal import EditProposal, FileChange


async def apply_proposal(proposal: EditProposal, workspace: Workspace, documents: Documents) -> None:
    """Write all files of a proposal. Raises ToolError when a text has changed since, or cannot be written; then nothing
    is written."""
    for change in proposal.files:
        await _check_fresh(change, workspace)
    with anyio.CancelScope(shield=True):
        written = await documents.apply(proposal.files)  # first, because an editor may refuse
        rest = [change for change in proposal.files if change not in written]
        if rest:
            await anyio.to_thread.run_sync(partial(apply, rest, workspace.roots))


async def _check_fresh(change: FileChange, workspace: Workspace) -> None:
    """The text is the one that was reviewed, and its path leads where it did: a command may have swapped a link."""
    resolved = await anyio.to_thread.run_sync(workspace.roots.resolve, str(change.path))
    if resolved.path != change.path:
        raise ToolError(
            "STALE", f"{change.relative} leads elsewhere now; nothing was written", "look at the folder again"
        )
    try:
        current: str | None = (await text_of(change.path, workspace))[0].text
    except ToolError as error:
        if error.code != "NOT_FOUND":
            raise
        current = None
    if current != change.old_text:
        happened = "was created" if change.old_text is None else "was deleted" if current is None else "has changed"
        raise ToolError(
            "STALE",
            f"{change.relative} {happened} since the edit was prepared; nothing was written",
            "read the place again and prepare the edit anew",
        )
