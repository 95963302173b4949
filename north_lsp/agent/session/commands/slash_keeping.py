"""The slash commands about where conversations are kept, as far as they need a session."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from north_lsp.agent.session.keeping.kept_data import KeptData
from north_lsp.agent.session.library.conversations import Conversations
from north_lsp.agent.session.opening.moved_folders import MovedFolders
from north_lsp.display import counted, fenced, visible
from north_lsp.slash.base import CommandError
from north_lsp.storage.areas import human
from north_lsp.storage.errors import ConversationBusy, UnknownConversation

if TYPE_CHECKING:
    from north_lsp.agent.session.live import LiveSession
    from north_lsp.agent.session.process.environment import Environment


class KeepingHost:
    """The part of a slash command's `Host` that is about storage. Every method may raise CommandError."""

    def __init__(self, session: LiveSession, environment: Environment) -> None:
        self._session = session
        self._environment = environment

    async def move(self, folder: str) -> str:
        root = self._folder(folder)
        if not root.is_dir():
            raise CommandError(f"there is no folder {visible(str(root))}")
        root = Path(os.path.realpath(root))
        if root == self._session.roots[0]:
            raise CommandError(f"this conversation is in {visible(str(root))} already")
        try:
            await self._session.move(root)
        except (ValueError, ConversationBusy) as error:
            raise CommandError(visible(str(error))) from None
        except OSError as error:
            raise CommandError(f"it could not be moved: {error.strerror or error}") from None
        return f"This conversation continues in {visible(str(root))}. To see its files, open that folder in the editor."

    async def follow(self, folder: str) -> str:
        old, root = self._folder(folder), self._session.roots[0]
        moved = MovedFolders(self._environment.locations)
        if old.exists():
            problem = f"{visible(str(old))} is still there: only a folder that is gone can be followed"
            raise CommandError(f"{problem}. `/move <folder>` moves a single conversation.")
        former = await anyio.to_thread.run_sync(moved.former_at, old)
        if former is None:
            raise CommandError(f"there are no conversations about {visible(str(old))}")
        return await anyio.to_thread.run_sync(moved.adopt, root, former)

    async def salvage(self) -> str:
        if self._session.read_only_reason is None:
            raise CommandError("all of this conversation can be read: there is nothing to salvage")
        try:
            got = await Conversations(self._environment.locations).salvage(self._session.id, self._session.roots[0])
        except UnknownConversation as error:
            raise CommandError(visible(str(error))) from None
        except (ValueError, OSError) as error:
            raise CommandError(f"nothing could be copied: {visible(str(error))}") from None
        return (
            f"Copied into a new conversation, `{got.id}`: {counted(got.messages, 'message')}; "
            f"{counted(got.left_out, 'line')} could not be read. Open it from the list of conversations. This one "
            "is unchanged."
        )

    async def log(self, lines: int, level: str, event: str) -> str:
        rows, file = await self._kept.log(lines, level, event), visible(str(self._kept.locations.log_file))
        if not rows:
            return f"{file} has no matching lines."
        return f"The end of {file}:\n\n{fenced(chr(10).join(rows))}"

    @property
    def _kept(self) -> KeptData:
        return KeptData(self._environment.locations)

    async def storage(self) -> str:
        locations, rows = self._kept.locations, await self._kept.areas()
        lines = [f"| {row.title} | {human(row.size)} | {row.count:,} | {row.freed_by} |" for row in rows]
        table = ["| what | size | files | freed by |", "|---|--:|--:|---|", *lines]
        total = human(sum(row.size for row in rows))
        more = "`/storage clean` removes what North can do without, after asking."
        return "\n".join(
            [f"{total} in {visible(str(locations.data))} and {visible(str(locations.state))}.", "", *table, "", more]
        )

    async def clean_storage(self) -> str:
        found = await self._kept.spare()
        question = f"Remove the trash, caches, logs and files that could not be read: {human(found.size)}?"
        answers = (("yes", "Remove them"), ("no", "Keep them"))
        if await self._session.questions.choose(question, answers) != "yes":
            return "Nothing was removed."
        failed = await self._kept.remove(found)
        return f"Removed {human(found.size)}." + "".join(
            f" {visible(str(path))} is still there: {why}." for path, why in failed
        )

    def _folder(self, folder: str) -> Path:
        """Return an absolute path; a relative one begins in the conversation's folder."""
        return Path(os.path.normpath(self._session.roots[0] / Path(folder).expanduser()))
