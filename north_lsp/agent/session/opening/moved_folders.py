"""Finds conversations of a folder that has moved, where its inode does not tell: after a copy, on another disk, in a
new clone. The user is asked once."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.session.process.asking import Questions
from north_lsp.display import counted, one_line
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.conversation import Conversation, ConversationBusy, UnknownConversation
from north_lsp.storage.files import inode_of
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from north_lsp.storage.projects import decline, other_projects
from north_lsp.workspace.identity import remembered
from north_lsp.workspace.project_root import project_hash

_NOT_ALONG = "What you allowed there does not apply here: this folder asks again."


@dataclass(frozen=True)
class Former:
    """A folder that is gone, with conversations; `why` says in words why another one is that folder."""

    hash: str
    root: Path
    ids: tuple[str, ...]
    why: str


class MovedFolders:
    """The folders of one store. What blocks runs on threads."""

    def __init__(self, locations: Locations) -> None:
        self._locations = locations
        self._one_at_a_time = anyio.Lock()
        self._asked: set[Path] = set()

    async def ask(self, root: Path, questions: Questions) -> str | None:
        """Ask, once per process and never again after an answer, whether a folder continues the conversations of one
        that is gone. Returns what to tell the user, if anything."""
        async with self._one_at_a_time:
            if root in self._asked:
                return None
            self._asked.add(root)
            told: list[str] = []
            for former in await anyio.to_thread.run_sync(self.formers, root):
                question = (
                    f"{former.root} is gone, and {root} seems to be the same folder: {former.why}. "
                    f"Continue its {counted(len(former.ids), 'conversation')} here?"
                )
                match await questions.choose(question, _ANSWERS, _NOT_ALONG):
                    case "yes":
                        told.append(await anyio.to_thread.run_sync(self.adopt, root, former))
                    case "no":
                        with suppress(OSError):
                            await anyio.to_thread.run_sync(decline, self._locations, project_hash(root), former.hash)
                    case _:
                        break  # not answered: asked again by the next process
            return " ".join(told) or None

    async def hint(self, root: Path) -> str | None:
        """Say, once per process, that there are such conversations, for a client that cannot be asked out of turn."""
        async with self._one_at_a_time:
            if root in self._asked:
                return None
            self._asked.add(root)
            formers = await anyio.to_thread.run_sync(self.formers, root)
        if not formers:
            return None
        one = formers[0]
        return (
            f"{one.root} is gone, and this seems to be the same folder: {one.why}. "
            f"`/move from {one.root}` continues its {counted(len(one.ids), 'conversation')} here."
        )

    def formers(self, root: Path) -> list[Former]:
        """Remember a folder, and return the folders that it may have been before, with conversations. Blocks."""
        known = remembered(self._locations, root)
        found: list[Former] = []
        for other in other_projects(self._locations, known.hash):
            why = other.identity.same_as(known.identity)
            if why is None or other.hash in known.declined or other.root.exists():
                continue
            if ids := self._conversations_of(other.hash):
                found.append(Former(other.hash, other.root, ids, why))
        return found

    def former_at(self, old: Path) -> Former | None:
        """Return a folder that is gone by its path, if there are conversations about it. Blocks."""
        rows = [row for row in list_conversations(self._locations) if old in (row.cwd, row.repo_root)]
        hash = rows[0].repo_hash if rows else None
        return Former(hash or "", old, tuple(row.id for row in rows), "you said so") if rows else None

    def adopt(self, root: Path, former: Former) -> str:
        """Move the conversations of a former folder to this one. Returns what to tell the user. Blocks."""
        left: list[str] = []
        for id in former.ids:
            try:
                conversation = Conversation.open(self._locations, id)
                if conversation.read_only_reason is not None:
                    left.append(f"{id}: {conversation.read_only_reason}")
                    continue
                Log(conversation).move(root, project_hash(root), inode_of(root))
                conversation.sync()
                problem = conversation.write_error
                conversation.close()
                left += [f"{id}: {problem.strerror or problem}"] if problem is not None else []
            except (ConversationBusy, OSError) as error:
                left.append(f"{id}: {error}")
            except UnknownConversation:
                continue  # deleted meanwhile
        moved = len(former.ids) - len(left)
        told = f"{counted(moved, 'conversation')} of {former.root} continue{'s' if moved == 1 else ''} in {root}."
        return told + (f" Left where they are: {one_line('; '.join(left), 500)}." if left else "")

    def _conversations_of(self, hash: str) -> tuple[str, ...]:
        return tuple(row.id for row in list_conversations(self._locations, repo_hash=hash))


_ANSWERS = (("yes", "Continue them here"), ("no", "No, leave them"))
