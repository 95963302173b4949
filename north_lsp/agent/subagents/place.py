"""Where an agent works: in the user's files, or in a work tree of its own, whose edits nobody is asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.agent.ports.editor import CommandDecision, CommandReview
from north_lsp.agent.subagents.agent_editor import AgentEditor
from north_lsp.agent.subagents.services import AgentEdits
from north_lsp.agent.subagents.work_tree import WorkTree, without_tree
from north_lsp.lazy_dataclass import dataclass
from north_lsp.vocabulary import Kind
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import EditProposal, FileChange
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import NoneUnsaved, Workspace

_UNSEEN = "runs in the agent's own work tree, with changes of its files that you have not seen"


@dataclass(frozen=True, slots=True)
class Place:
    """The workspace of an agent, and its work tree, if it has one."""

    workspace: Workspace
    tree: WorkTree | None = None

    def resolved(self, path: str) -> str:
        """Return where a file of the user's is in this place."""
        if self.tree is None or not Path(path).is_relative_to(self.tree.source):
            return path
        return str(self.tree.root / Path(path).relative_to(self.tree.source))


def place_in(tree: WorkTree, workspace: Workspace) -> Place:
    """Return the place of an agent in its work tree. Reads the disk: for a thread."""
    roots = Roots((tree.root,), workspace.roots.extra)
    private = without_tree(workspace.private, tree.tree)
    trees = Trees.of(roots, private, workspace.settings.reading.index_limit)
    return Place(replace(workspace, trees=trees, editor=NoneUnsaved(), seen=Seen(), language=None), tree)


class TreeEditor(NoneUnsaved, AgentEditor):
    """The editor of an agent in a work tree: no file of that is open in it, and single edits there are not shown."""

    shown_kinds: frozenset[Kind] = frozenset({"execute", "other"})

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return ()

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        """Do nothing: none of them is open."""

    async def review_command(self, review: CommandReview) -> CommandDecision:
        return await super().review_command(replace(review, warnings=(*review.warnings, _UNSEEN)))


class TreeEdits(AgentEdits):
    """Applies the edits in a work tree without asking; what is never written is refused there, too."""

    def asks_about(self, proposal: EditProposal) -> bool:
        return False
