"""What is kept of a session so that the user finds it again: its prompts, its place in the index, its title, and where
the beginning of its log is.

All of it is done in the background: no turn waits for it, and none fails with it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

import anyio
import anyio.to_thread

from north_lsp.agent.log.log import Log
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.keeping.titles import Titles
from north_lsp.agent.session.process.environment import Environment
from north_lsp.providers.model import Model
from north_lsp.storage.conversation import ConversationBusy, ConversationClosed
from north_lsp.storage.conversation_index import ConversationIndex
from north_lsp.storage.log_snapshot import keep_snapshot
from north_lsp.storage.masking import MASK, PLACEHOLDER
from north_lsp.storage.prompt_history import PromptHistory
from north_lsp.storage.windows import remember_last

_INDEX_AFTER_SECONDS = 0.3
"""Lists bring the index up to date by themselves; a prompt that follows at once does not share the interpreter."""
_SNAPSHOT_AFTER_SECONDS = 60.0
"""A snapshot of a long log is not made more often."""
_LAST = "/continue"


class Remembering:
    """Updates the index, history, title and snapshot of one session after each turn. `window` returns the editor window
    that shows the session, if the client has said."""

    def __init__(
        self,
        log: Log,
        saved: SavedConversation,
        choice: ModelChoice,
        environment: Environment,
        diagnostics: Diagnostics,
        root: Path,
        window: Callable[[], str | None],
    ) -> None:
        self._log = log
        self._environment = environment
        self._diagnostics = diagnostics
        self._root = root
        self._window = window
        self._one_at_a_time = anyio.Lock()
        self._under_way: set[anyio.Event] = set()
        self._snapshot_at: float | None = None
        self._titles = Titles(log, saved, choice, environment.models, environment.costs)

    def prompt(self, text: str) -> None:
        """Keep a prompt that the user has sent; empty for one that must not be stored."""
        store = self._environment.locations
        self._environment.process.switches.is_in(self._log.id)
        if not self._log.conversation.is_saved:
            return
        if text.strip() and self._environment.settings.sessions.prompt_history:
            kept = anyio.Event()
            self._under_way.add(kept)
            keep = PromptHistory(store).add
            self._later("keeping the prompt", lambda: keep(self._without_secrets(text), self._root), done=kept)
        window = self._window()
        if window is not None and text.strip() != _LAST:  # which asks for the one before
            self._later("keeping the window", partial(remember_last, store, window, self._root, self._log.id))

    def _without_secrets(self, text: str) -> str:
        """Mask a prompt for all conversations: the placeholders of this one mean nothing in another."""
        return PLACEHOLDER.sub(MASK, self._log.conversation.masked(text))

    async def prompts_kept(self) -> None:
        """Wait until the prompts sent so far are in the history, or could not be kept."""
        for event in tuple(self._under_way):
            await event.wait()

    def turn_ended(self) -> None:
        """Bring the index up to date, and name the conversation after its first answer."""
        if not self._log.conversation.is_saved:
            return
        index = ConversationIndex(self._environment.locations)
        self._later("keeping the index", partial(index.note, self._log.id), _INDEX_AFTER_SECONDS)
        if self._snapshot_at is None or monotonic() - self._snapshot_at > _SNAPSHOT_AFTER_SECONDS:
            self._snapshot_at = monotonic()
            self._later("keeping a snapshot", self._keep_snapshot, _INDEX_AFTER_SECONDS)
        if not self._environment.settings.sessions.auto_title:
            return
        if (wanted := self._titles.wanted(self._environment.environ)) is not None:
            self._environment.background.start_soon(self._name, *wanted)

    def _keep_snapshot(self) -> None:
        with suppress(FileNotFoundError):  # it has been deleted meanwhile, or could not be written
            keep_snapshot(self._log.conversation.path)

    async def _name(self, model: Model, text: str) -> None:
        with suppress(ConversationBusy, ConversationClosed):
            await self._titles.name(model, text)

    def _later(self, what: str, action: Callable[[], None], after: float = 0, done: anyio.Event | None = None) -> None:
        self._environment.background.start_soon(self._done, what, action, after, done)

    async def _done(self, what: str, action: Callable[[], None], after: float, done: anyio.Event | None) -> None:
        """Do something that may fail, one thing after the other, so that prompts stay in order; also at the end of the
        connection, and at once then."""
        try:
            await anyio.sleep(after)
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    async with self._one_at_a_time:
                        await anyio.to_thread.run_sync(action)
            except OSError as error:
                name = error.strerror or type(error).__name__
                self._diagnostics.event("not_remembered", what=what, error=name)
            finally:
                if done is not None:
                    self._under_way.discard(done)
                    done.set()
