"""Runs commands in a terminal of the editor."""

from __future__ import annotations

from pathlib import Path

import anyio

from north_lsp.agent.ports.editor import Terminal
from north_lsp.shell.output import Captured, OutputSink
from north_lsp.shell.results import CommandResult

_TERMINAL_SECONDS = 1.0


async def in_terminal(terminal: Terminal, seconds: float, cwd: Path, sink: OutputSink | None = None) -> CommandResult:
    """Wait for a command in the editor's terminal; it is killed at the time limit and on cancellation. `sink` takes the
    output, and has it after a cancel, too."""
    sink = sink or OutputSink()
    started = anyio.current_time()
    code: int | None = None
    timed_out = False
    try:
        with anyio.move_on_after(seconds) as limit:
            code = await terminal.wait()
        timed_out = limit.cancelled_caught
        if timed_out:
            await terminal.kill()
        captured = await _captured(terminal, sink)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True), anyio.move_on_after(_TERMINAL_SECONDS):
            await terminal.kill()
            await _captured(terminal, sink)
        raise
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_TERMINAL_SECONDS):
            await terminal.release()
    return CommandResult(code, captured, timed_out, round((anyio.current_time() - started) * 1000), (), cwd)


async def _captured(terminal: Terminal, sink: OutputSink) -> Captured:
    sink.feed((await terminal.output()).encode("utf-8", "replace"))
    return sink.finish()
