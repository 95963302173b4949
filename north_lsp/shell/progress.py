"""What is done beside a command while it runs."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from north_lsp.shell.output import OutputSink

_UPDATE_SECONDS = 0.25
_PROGRESS_SECONDS = 1.0
_ENOUGH_SECONDS = 2.0


class Hurried(Protocol):
    """A command whose time limit can be ended."""

    def hurry(self) -> None: ...


async def show_progress(sink: OutputSink, on_output: Callable[[str], Awaitable[None]]) -> None:
    """Report progress: new output soon, and otherwise from time to time that the command still runs."""
    shown, last = 0, time.monotonic()
    while True:
        await anyio.sleep(_UPDATE_SECONDS)
        now = time.monotonic()
        if sink.total_bytes != shown or now - last >= _PROGRESS_SECONDS:
            shown, last = sink.total_bytes, now
            await on_output(sink.live())


async def stop_after(bash: Hurried, sink: OutputSink, lines: int) -> None:
    """Stop a command that `| head` would have ended, after some time for those that end soon anyway."""
    while sink.total_lines < lines:
        await anyio.sleep(_UPDATE_SECONDS)
    await anyio.sleep(_ENOUGH_SECONDS)
    bash.hurry()
