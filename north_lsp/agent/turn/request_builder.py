"""Builds the requests of a turn, and makes room in the conversation where they need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import anyio.to_thread

from north_lsp.agent.compaction.compactor import Compactor, NothingToCompact, Occasion
from north_lsp.agent.compaction.limits import has_limit, limits_of
from north_lsp.agent.log.compactions import CompactionEntry
from north_lsp.agent.log.images import has_images, with_images
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.turn.context_window import MIN_OUTPUT_TOKENS, remaining_output_tokens, too_long
from north_lsp.agent.turn.history import History
from north_lsp.providers.base import Failed, ModelRequest, Usage
from north_lsp.providers.model import Model
from north_lsp.storage.compaction_settings import CompactionSettings


class RequestBuilder:
    """Makes the requests of one turn. `read_picture` returns the bytes of a picture by its digest. `read` is how many
    input tokens the last request has."""

    def __init__(
        self,
        context: TurnContext,
        history: History,
        read_picture: Callable[[str], bytes | None],
        compactor: Compactor,
    ) -> None:
        self._context = context
        self._history = history
        self._read_picture = read_picture
        self._compactor = compactor
        self._request: ModelRequest | None = None
        self._stays_long = False  # it could not be shortened in this turn
        self.read = 0

    async def build(self, model: Model) -> ModelRequest | Failed:
        """Build a request, after the conversation was shortened if it nearly fills the window. For a longer history of
        the same conversation, it begins with all of this one, as long as that was not shortened. Returns a failure if
        the request would leave no room for an answer."""
        request = self._built(model)
        if self._fills(model, self.read) and not self._stays_long:
            self._stays_long = not await self._make_room(Occasion(model, self.read, "threshold", self._settings))
            request = self._built(model)
        room = remaining_output_tokens(model, self.read)
        if room is not None and room < MIN_OUTPUT_TOKENS:
            return too_long(model, room)
        return replace(request, max_output=room) if room is not None and room < request.max_output else request

    async def shorten_refused(self, model: Model) -> bool:
        """Shorten a conversation that a model refused for its length; returns whether it is shorter now."""
        return await self._make_room(Occasion(model, self.read, "overflow", self._settings))

    async def shorten_for_next(self, model: Model) -> None:
        """Shorten the conversation after a turn if it nearly fills the window of the model that is asked next."""
        usage = self._history.usage(model.window)
        if usage is not None and self._fills(model, usage.used) and not self._stays_long:
            await self._make_room(Occasion(model, usage.used, "threshold", self._settings))

    def check_summary(self, model: Model, keep_last: int | None) -> None:
        """Check that the user can have something summarized. Raises NothingToCompact."""
        if self._compactor.find_cut(self._asked(model, "", keep_last)) is None:
            raise NothingToCompact

    async def summarize_now(self, model: Model, instructions: str, keep_last: int | None) -> None:
        """Have the older part summarized since the user asks for it. Raises NothingToCompact."""
        if await self._compactor.compact(self._asked(model, instructions, keep_last)):
            self._context.workspace.seen.restart(self._history.sightings())

    async def hand_over(self, model: Model, focus: str, id: str) -> CompactionEntry:
        """Return the entry with which another conversation can continue from this one. Raises ValueError,
        LimitReached."""
        self._built(model)
        return await self._compactor.hand_over(Occasion(model, self.read, "handoff", self._settings, focus), id)

    def note_counted(self, model: Model, counted: Usage) -> None:
        """Note what the vendor counted of the last request, for better estimates."""
        if self._request is not None:
            self._history.sizes.learn(self._request, model, counted)

    @property
    def _settings(self) -> CompactionSettings:
        return self._context.settings.compaction

    def _asked(self, model: Model, instructions: str, keep_last: int | None) -> Occasion:
        self._built(model)
        return Occasion(model, self.read, "manual", self._settings, instructions, keep_last)

    def _fills(self, model: Model, used: int) -> bool:
        settings = self._settings
        return settings.enabled and has_limit(model) and used >= limits_of(model, settings).threshold

    def _built(self, model: Model) -> ModelRequest:
        context = self._context
        messages, last = self._history.messages(model), self._history.last_usage()
        tools, conversation = context.tools.specs(context.mode), self._history.conversation_id
        most, reasoning = model.output_limit, model.reasoning
        request = ModelRequest(model.id, context.system, messages, tools, most, conversation, reasoning)
        self.read, self._request = self._history.sizes.read_tokens(last, request, model), request
        return request

    async def _make_room(self, occasion: Occasion) -> bool:
        """Shorten the conversation if that can be done. The model then knows only what it still gets of files."""
        is_shorter = await self._compactor.make_room(occasion)
        if is_shorter:
            self._context.workspace.seen.restart(self._history.sightings())
        return is_shorter

    async def with_pictures(self, request: ModelRequest, model: Model) -> ModelRequest:
        """Fill in the pictures of a request, for sending it."""
        if not has_images(request):
            return request
        fill = partial(with_images, request, self._read_picture, takes_images=model.images)
        return await anyio.to_thread.run_sync(fill)
