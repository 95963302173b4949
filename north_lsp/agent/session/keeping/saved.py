"""The conversation as the user finds it again: saved, and under a title."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.log.marks import StopEntry
from north_lsp.agent.log.projection import stop_shown
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice, TitleChanged
from north_lsp.display import one_line
from north_lsp.storage.conversation import Conversation, ConversationBusy, ConversationClosed
from north_lsp.storage.files import inode_of
from north_lsp.workspace.project_root import project_hash

_TITLE_LENGTH = 60
_GOES_ON = "It continues in memory, and saving is retried with every step."


class SavedConversation:
    """Saves one conversation, retries failed saves, and reports both to the user."""

    def __init__(self, conversation: Conversation, log: Log, editor: Editor, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._conversation = conversation
        self._log = log
        self._editor = editor
        self._failed = False
        self._is_silent = False

    @property
    def title(self) -> str | None:
        return self._conversation.title

    async def sync(self) -> None:
        """Flush the conversation to the disk. If it cannot be saved, the user is told once, and again when it can."""
        await anyio.to_thread.run_sync(self._conversation.sync)
        error = self._conversation.write_error
        if self._is_silent or (error is not None) == self._failed:
            return
        self._failed = error is not None
        if error is not None:
            self._diagnostics.warning("session_persist_error", errno=error.errno, file=self._conversation.path.name)
            why = error.strerror or str(error)
            told = Notice("error", f"this conversation cannot be saved at the moment: {why}. {_GOES_ON}")
        else:
            told = Notice("info", "this conversation is saved again, including everything that was missing")
        await self._editor.show(told)

    def be_silent(self) -> None:
        """Tell the user nothing from now on: the conversation is being closed."""
        self._is_silent = True

    async def note_stop(self) -> None:
        """Record that the user stopped the turn, and show it; not where it ends because the conversation is closed."""
        if not self._is_silent:
            for event in stop_shown(self._log.append(StopEntry())):
                await self._editor.show(event)

    async def name(self, text: str) -> None:
        """Give a conversation without a title one from a text."""
        if self.title is None:
            title = one_line(text, _TITLE_LENGTH) or "Untitled"
            self._log.set_title(title)
            await self._show_title(title)

    @property
    def is_named_by_north(self) -> bool:
        """Whether its title is one that a better one may replace."""
        return self._conversation.title_source == "auto"

    async def suggest(self, text: str) -> None:
        """Give it a better title, unless the user has chosen one, or it has been closed."""
        title = one_line(text, _TITLE_LENGTH)
        with suppress(ConversationBusy, ConversationClosed):
            if title and title != self.title:
                self._log.set_title(title)
                if self.title == title:
                    await self._show_title(title)

    async def move(self, old: Path, new: Path) -> None:
        """Have the conversation be about another folder from now on. Raises ValueError if that cannot be saved."""
        self._log.move(new, project_hash(new), inode_of(new))
        await self.sync()
        if (error := self._conversation.write_error) is not None:
            self._log.move(old, project_hash(old), inode_of(old))
            raise ValueError(f"this conversation cannot be saved ({error.strerror or error}), so it stays in {old}")

    async def archive(self, archived: bool) -> None:
        """Hide it from lists, or show it there again."""
        self._log.archive(archived)
        await self.sync()

    async def rename(self, title: str) -> str:
        """Give the conversation the user's own title, on one line. Returns it. Raises ValueError for an empty one."""
        name = title_of(title)
        self._log.rename(name)
        await self._show_title(name)
        await self.sync()
        return name

    async def _show_title(self, title: str) -> None:
        await self._editor.show(TitleChanged(title, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")))


def title_of(text: str) -> str:
    """Return a title as it is stored: one line, not too long. Raises ValueError for an empty one."""
    name = one_line(text, _TITLE_LENGTH)
    if not name:
        raise ValueError("a title needs at least one letter")
    return name
