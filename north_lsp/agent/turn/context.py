"""Builds what the model sees, in a cache-stable order: the tools, the system text, the conversation."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import anyio.to_thread

from north_lsp.agent.log.images import has_images, with_images
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.turn.context_window import MIN_OUTPUT_TOKENS, read_tokens, remaining_output_tokens, too_long
from north_lsp.agent.turn.history import History
from north_lsp.providers.base import Failed, ModelRequest
from north_lsp.providers.model import Model


class RequestBuilder:
    """Makes the requests of one turn. `read_picture` returns the bytes of a picture by its digest. `read` is how many
    input tokens the last request has."""

    def __init__(self, context: TurnContext, history: History, read_picture: Callable[[str], bytes | None]) -> None:
        self._context = context
        self._history = history
        self._read_picture = read_picture
        self.read = 0

    def build(self, model: Model) -> ModelRequest | Failed:
        """Build a request; for a longer history of the same conversation, it begins with all of this one. Returns a
        failure if the request would leave no room for an answer."""
        context = self._context
        messages, last = self._history.messages(model), self._history.last_usage()
        tools, conversation = context.tools.specs(context.mode), self._history.conversation_id
        most, reasoning = model.output_limit, model.reasoning
        request = ModelRequest(model.id, context.system, messages, tools, most, conversation, reasoning)
        self.read = read_tokens(last, request)
        room = remaining_output_tokens(model, self.read)
        if room is not None and room < MIN_OUTPUT_TOKENS:
            return too_long(model, room)
        return replace(request, max_output=room) if room is not None and room < most else request

    async def with_pictures(self, request: ModelRequest, model: Model) -> ModelRequest:
        """Fill in the pictures of a request, for sending it."""
        if not has_images(request):
            return request
        fill = partial(with_images, request, self._read_picture, takes_images=model.images)
        return await anyio.to_thread.run_sync(fill)
