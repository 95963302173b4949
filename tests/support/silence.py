"""Silence of a model server that counts only when the test says so: a busy machine is silent, too."""

from typing import Any

import pytest
from httpcore2._backends.anyio import AnyIOStream


def count_silence_after(words: bytes, patch: pytest.MonkeyPatch) -> None:
    """Let a provider's limit of silence hold only for the one read after these words have come, as often as they
    come; until then and afterwards, whatever comes may take as long as it takes."""
    read = AnyIOStream.read
    have_come: set[int] = set()

    async def patient(self: Any, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109 - as it is there
        limit = timeout if id(self) in have_come else None
        have_come.discard(id(self))
        data = await read(self, max_bytes, limit)
        if words in data:
            have_come.add(id(self))
        return data

    patch.setattr(AnyIOStream, "read", patient)
