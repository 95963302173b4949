"""A workspace for edit tools: real files, an editor that holds texts in memory, and a conversation of its own."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from north_lsp.agent.edits.apply import Applied, apply_proposal
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.undo import UndoHistory
from north_lsp.agent.log.log import Log
from north_lsp.errors import ToolError
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.storage.locations import Locations
from north_lsp.tools.base import WriteTool
from north_lsp.tools.builtin import builtin_tools
from north_lsp.workspace.proposal import EditProposal, FileChange
from north_lsp.workspace.text import read_text, to_newlines
from north_lsp.workspace.workspace import ToolSettings
from tests.support.workspaces import make_workspace


@dataclass
class MemoryEditor:
    """Open texts by path. If `refuses` is set, every change is refused with `code`, and the texts stay as they were."""

    texts: dict[Path, str] = field(default_factory=dict)
    refuses: str | None = None
    code: Any = "STALE"
    applied: list[tuple[str, ...]] = field(default_factory=list)

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return dict(self.texts)

    async def read_unsaved(self, path: Path) -> str | None:
        return self.texts.get(path)

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return [change for change in changes if change.path in self.texts and change.action == "update"]

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        before = dict(self.texts)
        for change in changes:
            if self.refuses is not None:
                self.texts = before
                raise ToolError(self.code, "the editor refused")
            assert to_newlines(self.texts[change.path], "\n") == to_newlines(change.old_text or "", "\n")
            self.texts[change.path] = change.new_text
        self.applied.append(tuple(change.relative for change in changes))
        return changes

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        pass


class World:
    """One conversation about one folder."""

    def __init__(self, folder: Path, settings: EditSettings | None = None) -> None:
        self.root = Path(os.path.realpath(folder)) / "repo"
        self.root.mkdir(parents=True, exist_ok=True)
        self.locations = Locations(folder / "config", folder / "data", folder / "state")
        self.editor = MemoryEditor()
        self.tools = builtin_tools()
        self.conversation = Conversation.create(
            self.locations,
            repo_root=self.root,
            repo_hash="0" * 16,
            cwd=self.root,
            model="test",
            client=None,
            north_version="0",
        )
        self.say("go")
        self.log = Log(self.conversation)
        self.checkpoints = Checkpoints(self.log, Blobs(self.locations.blobs), self.locations.journals("0"))
        self.workspace = make_workspace(self.root, self.editor, settings=ToolSettings(settings or EditSettings()))
        self.undo_history = UndoHistory(self.checkpoints, self.workspace, self.editor)

    def say(self, text: str) -> str:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return str(self.conversation.append("message", message=message)["id"])

    def write(self, name: str, content: bytes | str, *, shown: bool = True) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if shown:
            self.show(name)
        return path

    def show(self, name: str) -> None:
        """Mark a file as read by the model."""
        self.workspace.seen.tags[self.root / name] = read_text(self.root / name).tag

    def read(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    def files(self) -> dict[str, bytes]:
        found = self.root.rglob("*")
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found if path.is_file()}

    async def prepare(self, tool: str, /, **arguments: Any) -> Sequence[FileChange]:
        found, args = self.tools.check(tool, arguments, "agent")
        assert isinstance(found, WriteTool)
        return await found.prepare(args, self.workspace)

    async def apply(self, changes: Sequence[FileChange]) -> Applied:
        proposal = EditProposal("p", "call", tuple(change for change in changes if not change.is_empty), "an edit")
        applied = await apply_proposal(proposal, self.workspace, self.editor, self.checkpoints)
        for change in applied.files:
            if change.action != "delete" and not change.binary and change.target not in self.editor.texts:
                self.workspace.seen.tags[change.target] = read_text(change.target).tag
        return applied

    async def edit(self, tool: str, /, **arguments: Any) -> Sequence[FileChange]:
        changes = await self.prepare(tool, **arguments)
        await self.apply(changes)
        return changes

    async def undo(self, steps: int = 1, **more: Any) -> dict[str, str]:
        plan = await self.undo_history.apply(
            await self.undo_history.prepare(self.undo_history.last(steps), **more), "Undo"
        )
        return {one.relative: one.outcome for one in plan.files}

    async def redo(self, steps: int = 1) -> dict[str, str]:
        plan = await self.undo_history.apply(
            await self.undo_history.prepare(self.undo_history.last_undone(steps)), "Redo"
        )
        return {one.relative: one.outcome for one in plan.files}


def commit(root: Path) -> None:
    """Make a folder a git repository with everything in it committed."""
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
        subprocess.run(["git", *command], cwd=root, check=True)
