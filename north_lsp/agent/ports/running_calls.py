"""The tool calls that run now: the user can stop one, and the turn continues with what the model is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class RunningCalls:
    """The calls that run in one session, by id."""

    def __init__(self) -> None:
        self._scopes: dict[str, anyio.CancelScope] = {}

    @contextmanager
    def running(self, call_id: str) -> Iterator[anyio.CancelScope]:
        """Let a call be stopped while the context lasts; the scope then tells that it was."""
        with anyio.CancelScope() as scope:
            self._scopes[call_id] = scope
            try:
                yield scope
            finally:
                del self._scopes[call_id]

    def can_stop(self, call_id: str) -> bool:
        """Tell whether a call runs that nobody has stopped yet."""
        scope = self._scopes.get(call_id)
        return scope is not None and not scope.cancel_called

    def stop(self, call_id: str) -> bool:
        """Stop a call; returns False if there is none to stop."""
        if not self.can_stop(call_id):
            return False
        self._scopes[call_id].cancel()
        return True
