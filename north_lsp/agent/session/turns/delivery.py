"""Prompts become part of the conversation: stored in the log and shown, with the news that the model needs besides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import anyio
import anyio.to_thread

from north_lsp.agent.edits.undo import news_for_model
from north_lsp.agent.log.editor_state import EditorState
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.images import loaded_events
from north_lsp.agent.log.messages import News, PromptEntry, PromptPart, Words
from north_lsp.agent.log.projection import prompt_shown
from north_lsp.agent.log.prompt import Part
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.planning.plan_news import plan_news
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.turns.prompt_reading import PromptReader
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.agent.turn.queue import PromptQueue, QueuedPrompt
from north_lsp.providers.base import Image
from north_lsp.storage.entries import now_ms

_Said = tuple[tuple[Part, ...], str]
"""What a prompt says: its parts with what they mention, and the template that it calls."""


class PromptDelivery:
    """Delivers the prompts of one session. `news` is what happened between two turns and the next model must know."""

    def __init__(
        self,
        stored: Stored,
        queue: PromptQueue,
        reader: PromptReader,
        choice: ModelChoice,
        editor: Editor,
        saved: SavedConversation,
        templates: ConversationTemplates,
    ) -> None:
        self.news = news_for_model(stored.checkpoints)
        self._log = stored.log
        self._context = stored.context
        self._queue = queue
        self._reader = reader
        self._checkpoints = stored.checkpoints
        self._choice = choice
        self._editor = editor
        self._saved = saved
        self.templates = templates
        queue.stands_alone = templates.stands_alone
        self._joined: list[QueuedPrompt] = []
        self._looked_up: dict[str, _Said] = {}

    async def begin_turn(self, batch: Sequence[QueuedPrompt]) -> str:
        """Add the prompt of a new turn to the conversation, which is named after its first one (a branch: after the
        first that is not copied). Returns its id."""
        content = await self._to_log(batch, [await self._mentioning(queued_prompt) for queued_prompt in batch])
        content[:0] = map(News, dict.fromkeys(self.news))
        self.news.clear()
        is_nameless = self._saved.title is None
        first = self._first_prompt() if is_nameless and self._log.header.parent.relation != "branch" else None
        with anyio.CancelScope(shield=True):  # a cancel must not give back what is in the conversation
            logged = self._append(content, batch)
            await self._saved.sync()
            if not all(queued_prompt.is_owned for queued_prompt in batch):
                await self._show(logged)
            await self._tell_of_blindness(content)
            if is_nameless:
                typed = "\n\n".join(part.text for part in content if isinstance(part, Words))
                await self._saved.name(first.typed if first is not None else typed)
        return logged.id

    def _first_prompt(self) -> PromptEntry | None:
        said = (one.entry for one in self._log.path() if isinstance(one.entry, PromptEntry))
        return next((prompt for prompt in said if not prompt.by_north), None)

    async def look_up(self, queued_prompt: QueuedPrompt) -> None:
        """Find what a queued prompt mentions, for `join_turn`."""
        self._looked_up[queued_prompt.id] = await self._mentioning(queued_prompt)

    async def join_turn(self, queued_prompt: QueuedPrompt) -> None:
        """Add a queued prompt to the running turn, with what was looked up of it. The client itself shows a prompt for
        which it made a request."""
        said = self._looked_up.pop(queued_prompt.id, None) or self.templates.taken(queued_prompt.parts)
        content = await self._to_log([queued_prompt], [said])
        logged = self._append(content, [queued_prompt])
        if queued_prompt.is_owned:
            self._joined.append(queued_prompt)
        else:
            await self._show(logged)
        await self._tell_of_blindness(content)

    def take_joined(self) -> list[QueuedPrompt]:
        """Return, once, the prompts that somebody waits for and that became part of the turn."""
        joined, self._joined = self._joined, []
        return joined

    async def _mentioning(self, queued_prompt: QueuedPrompt) -> _Said:
        parts, called = self.templates.taken(queued_prompt.parts)
        return await self._reader.with_mentions(parts), called

    async def _to_log(self, batch: Sequence[QueuedPrompt], said: Iterable[_Said]) -> list[PromptPart]:
        content: list[PromptPart] = []
        for parts, called in said:
            content += await self._reader.to_log(parts)
            content += [News(called)] if called else []
        states = [part for queued_prompt in batch for part in queued_prompt.parts if isinstance(part, EditorState)]
        news = await self._context.news(content, states[-1] if states else None)
        return [*await anyio.to_thread.run_sync(plan_news, self._log, batch[-1].mode), *news, *content]

    def _append(self, content: Sequence[PromptPart], words: Sequence[QueuedPrompt]) -> Logged:
        """Append a prompt to the log; the same entry takes it out of the queue."""
        waited = tuple(self._queue.stored(words))
        logged = self._log.append(PromptEntry(Content(tuple(content)), at_ms=now_ms(), from_queue=waited))
        for one in words:
            if (skill := self.templates.skill_in(one.parts)) is not None:
                from north_lsp.agent.templates.active_skill import begin_skill  # most prompts call none

                begin_skill(self._log, skill)
        self._queue.delivered(words)
        return logged

    async def _show(self, logged: Logged) -> None:
        shown = list(prompt_shown(logged))
        for event in await anyio.to_thread.run_sync(loaded_events, shown, self._checkpoints.content):
            await self._editor.show(event)

    async def _tell_of_blindness(self, content: Iterable[PromptPart]) -> None:
        """Say that the model does not see the pictures that the user has just sent."""
        model = self._choice.model
        if not model.images and any(isinstance(part, Image) for part in content):
            text = f"{model.title} cannot see pictures: it is only told that there is one. `/model` switches the model."
            await self._editor.show(Notice("warning", text))
