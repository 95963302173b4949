"""The sizes of one session's requests: estimated, and corrected by what vendors counted before."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from operator import is_

from north_lsp.agent.costs.estimates import fixed_tokens, message_tokens
from north_lsp.agent.log.usage import StoredUsage
from north_lsp.providers.base import AssistantMessage, Message, ModelRequest, ToolSpec, Usage
from north_lsp.providers.model import Model

_LEAST, _MOST = 0.5, 2.0


class RequestSizes:
    """Estimates requests. How far an estimate is off depends on the model's tokeniser, so each model has a correction:
    what its vendor counted of the last request, against the estimate."""

    def __init__(self) -> None:
        self._corrections: dict[str, float] = {}
        self._messages: list[Message] = []
        self._sums: list[int] = []
        self._measured_for = ""
        self._system = ""
        self._tools: Sequence[ToolSpec] = ()
        self._fixed = 0

    def read_tokens(self, last: StoredUsage | None, request: ModelRequest, model: Model) -> int:
        """Return how many tokens a model reads of a request: those counted for the last answer (`last`), plus an
        estimate of what is new since."""
        correction = self.correction(model)
        if last is not None and (total := last.all_tokens):
            newest = takewhile(lambda message: not isinstance(message, AssistantMessage), reversed(request.messages))
            return total + round(message_tokens(newest, model) * correction)
        return round(self._estimate(request, model) * correction)

    def learn(self, request: ModelRequest, model: Model, counted: Usage) -> None:
        """Correct the estimates for a model by what its vendor counted of a request."""
        read = counted.input + counted.cache_read + counted.cache_write
        if read > 0 and (estimate := self._estimate(request, model)) > 0:
            self._corrections[model.selector] = min(max(read / estimate, _LEAST), _MOST)

    def correction(self, model: Model) -> float:
        return self._corrections.get(model.selector, 1.0)

    def tokens(self, messages: Sequence[Message], model: Model) -> int:
        """Estimate the tokens of some messages."""
        return round(message_tokens(messages, model) * self.correction(model))

    def _estimate(self, request: ModelRequest, model: Model) -> int:
        """Estimate a request without a correction. Messages that were there last time are not measured again."""
        if model.selector != self._measured_for:  # pictures have other sizes for another one
            self._messages, self._sums, self._measured_for = [], [], model.selector
        if not self._fixed or request.system != self._system or request.tools != self._tools:
            self._system, self._tools, self._fixed = request.system, request.tools, fixed_tokens(request)
        same = sum(takewhile(bool, map(is_, self._messages, request.messages)))
        del self._messages[same:], self._sums[same:]
        for message in request.messages[same:]:
            before = self._sums[-1] if self._sums else 0
            self._messages.append(message)
            self._sums.append(before + message_tokens((message,), model))
        return self._fixed + (self._sums[-1] if self._sums else 0)
