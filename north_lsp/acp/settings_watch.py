"""Looks at the files of settings from time to time, so that what a user breaks in one is said while nothing runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio

from north_lsp.agent.session.session import Session

_EVERY_SECONDS = 2.0


async def watch_settings(sessions: Callable[[], Sequence[Session]]) -> None:
    """Have each session tell what is newly wrong in its settings. Runs until cancelled."""
    while True:
        await anyio.sleep(_EVERY_SECONDS)
        for session in sessions():
            await session.tell_settings_problems()
