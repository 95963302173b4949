"""Sessions that are being opened: what a client asks of one meanwhile waits, as a client that sends its first prompt
behind `session/load` expects."""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

OPENING = frozenset({"session/load", "session/resume"})
_AT_ONCE = frozenset({*OPENING, "session/new", "session/fork", "session/list", "session/close", "session/delete"})
"""What needs no open session, or is to end what a load may wait for."""


class _Opening:
    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.loads = 0
        self.is_cancelled = False


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
        if (one := self._by_id.get(id)) is not None:
            one.is_cancelled = True

    async def wait(self, method: str, id: object) -> bool:
        """Wait until nothing opens the session any more. Returns whether what was asked was cancelled meanwhile."""
        one = self._by_id.get(id) if isinstance(id, str) and method not in _AT_ONCE else None
        if one is None:
            return False
        await one.ended.wait()
        return one.is_cancelled and method == "session/prompt"
