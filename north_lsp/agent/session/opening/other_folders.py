"""Conversations that are opened in another folder than their own: which are refused, which are asked about first."""

from __future__ import annotations

from pathlib import Path

from north_lsp.agent.log.header import Header
from north_lsp.agent.session.process.asking import Questions
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.files import inode_of
from north_lsp.storage.locations import Locations
from north_lsp.workspace.identity import is_same_folder
from north_lsp.workspace.project_root import project_hash

_DETAIL = (
    "What it says about files refers to the other folder; from now on, files are read and changed here. What you "
    "allowed there does not apply here. If you leave it, nothing about it changes."
)
_ANSWERS = (("take", "Continue it here"), ("leave", "Leave it as it is"))


class OtherProject(ValueError):
    """The conversation belongs to another project than the one that is open; `root` is that project's."""

    def __init__(self, id: str, root: str) -> None:
        super().__init__(f"the conversation {id} belongs to {root}: open that folder, or fork the conversation here")
        self.root = root


class UnlikeFolder(ValueError):
    """The conversation's folder is gone, and nothing tells that the open one has taken its place: the user has to say
    that it continues there. `root` is the former folder, `here` the open one; `is_other`: they are known to differ."""

    def __init__(self, id: str, root: str, here: Path, *, is_other: bool) -> None:
        super().__init__(
            f"the conversation {id} is about {root}, which is gone, and was not taken over into {here}: open it again "
            "and agree to continue it here"
        )
        self.root = root
        self.here = here
        self.is_other = is_other


@dataclass(frozen=True, slots=True)
class Place:
    """Where a conversation is opened: whether it `moves` there, and from which folder, if that one is gone."""

    moves: bool = False
    former: str | None = None


def place_of(locations: Locations, conversation: Conversation, root: Path, *, agreed: bool) -> Place:
    """Work out whether a conversation may be opened in a folder; `agreed`: the user wants it to continue there. Blocks.
    Raises OtherProject, UnlikeFolder."""
    header, hash = Header.from_json(conversation.header), project_hash(root)
    if header.project in (None, hash):
        return Place()
    former = header.root
    if conversation.belongs_to(hash):
        return Place(True, former)
    if Path(former).is_dir():
        raise OtherProject(conversation.id, former)
    same = is_same_folder(locations, header.project, root)
    if same is None and header.inode is not None and header.inode == inode_of(root):
        same = True  # it was renamed, or moved on the same disk
    if not same and not agreed:
        raise UnlikeFolder(conversation.id, former, root, is_other=same is False)
    return Place(True, former if same else f"{former}, which was not like this folder" if same is False else former)


async def is_agreed(unlike: UnlikeFolder, questions: Questions) -> bool:
    """Ask whether a conversation continues in a folder that is not like its own; no answer is a no."""
    why = "is another folder" if unlike.is_other else "may be another folder"
    question = f"This conversation is about {unlike.root}, which is gone; {unlike.here} {why}. Continue it here?"
    return await questions.choose(question, _ANSWERS, _DETAIL) == "take"
