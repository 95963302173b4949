"""Silence of a model server that counts only when the test says so: a busy machine is silent, too."""

from typing import Any
from weakref import WeakSet

import pytest
from httpcore2._backends.anyio import AnyIOStream


def count_silence_after(words: bytes, patch: pytest.MonkeyPatch) -> None:
    """Let a provider's limit of silence hold on a connection once these words have come on it; until then, whatever
    comes may take as long as it takes."""
    read = AnyIOStream.read
    have_come: WeakSet[Any] = WeakSet()

    async def patient(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as it is there
        # What belongs to these words may come with them or after them, so the limit stays.
        data = await read(self, max_bytes, timeout if self in have_come else None)
        if words in data:
            have_come.add(self)
        return data

    patch.setattr(AnyIOStream, "read", patient)
