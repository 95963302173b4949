"""Sessions that are being opened: what a client asks of one meanwhile waits, as a client that sends its first prompt
behind `session/load` expects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

OPENING = frozenset({"session/load", "session/resume"})
_WAITING = frozenset({"session/prompt", "session/set_mode", "session/set_config_option"})
"""Methods of ACP's that need an open session. Others do not, or are North's own, whose clients wait by themselves."""


class _Opening:
    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.loads = 0
        self.prompts: list[anyio.CancelScope] = []


class Openings:
    """The sessions of one client that are being opened."""

    def __init__(self) -> None:
        self._by_id: dict[str, _Opening] = {}

    @contextmanager
    def under_way(self, id: str) -> Iterator[None]:
        """Hold what is asked of a session until this ends; several loads of one may overlap."""
        one = self._by_id.setdefault(id, _Opening())
        one.loads += 1
        try:
            yield
        finally:
            one.loads -= 1
            if not one.loads:
                del self._by_id[id]
                one.ended.set()

    def cancel(self, id: str) -> None:
        """Cancel the prompts that wait for a session."""
        for scope in self._by_id[id].prompts if id in self._by_id else ():
            scope.cancel()

    async def wait(self, method: str, id: object) -> bool:
        """Wait until nothing opens a session any more, if a method needs it open. Returns True at once if it is a
        prompt and is cancelled."""
        one = self._by_id.get(id) if isinstance(id, str) and method in _WAITING else None
        if one is None:
            return False
        with anyio.CancelScope() as scope:
            if method == "session/prompt":
                one.prompts.append(scope)
            await one.ended.wait()
        return scope.cancelled_caught
