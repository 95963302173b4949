"""The sandboxes of one session: updated before each command, swept after it, patrolled while anything runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.shell.bash import Bash
from north_lsp.shell.ending import end_processes
from north_lsp.shell.factory import private_folder
from north_lsp.shell.processes import children_of, end_now
from north_lsp.shell.sandbox import Held, Sandbox, hold_more
from north_lsp.shell.watch import QuarantinedFiles, Watch

_PATROL_SECONDS = 1.0
_AGAIN_SECONDS = 0.05
_REST_TIMES = 20  # a slow patrol runs less often


class Containment:
    """Keeps protected names intact in one session's sandboxes. `shells` returns the shells in the sandbox, `is_busy`
    tells whether anything runs there, `end_others` ends what runs there outside the session's shells. Files that were
    quarantined while no command waited for the result are kept in `late`, and `on_taken` is called at once."""

    def __init__(
        self,
        sandbox: Sandbox,
        background: Background,
        shells: Callable[[], Sequence[Bash]],
        is_busy: Callable[[], bool],
        end_others: Callable[[], None] = lambda: None,
    ) -> None:
        self._sandbox = sandbox
        self._background = background
        self._shells = shells
        self._is_busy = is_busy
        self._end_others = end_others
        self._earlier: set[Path] = set()
        self._watch: Watch | None = None
        self._last: Held | None = None
        self._lock = anyio.Lock()
        self._inside = 0
        self._patrols = False
        self.late: list[QuarantinedFiles] = []
        self.on_taken: Callable[[Sequence[QuarantinedFiles]], None] | None = None

    async def enter(self) -> None:
        """Prepare for a command in the sandbox: hold what is there now, in all shells. Raises ToolError."""
        async with self._lock:
            held = await self._finish()
            if held.problem:
                raise ToolError("UNAVAILABLE", f"the sandbox cannot protect the workspace: {held.problem}")
            await self._hold(held)
            self._inside += 1

    async def leave(self) -> list[QuarantinedFiles]:
        """Finish a command in the sandbox: quarantine what must not have appeared, and return it. Raises ToolError."""
        async with self._lock:
            self._inside -= 1
            taken = [*self.take_quarantined(), *await self._sweep()]
        self.patrol()
        return taken

    async def problem(self) -> str:
        """Return why the sandbox cannot protect the workspace; empty if it can. This is as of the last look; `enter`
        looks again."""
        return (self._last or await self._look()).problem

    def closed(self) -> tuple[str, ...]:
        """Return the files and folders that nothing in the sandbox can read, as of the last look."""
        return () if self._last is None else tuple(self._last.hidden)

    def expect(self, paths: Sequence[Path]) -> None:
        """Announce paths that are about to be created with the user's approval."""
        if self._watch is not None:
            self._watch.expect(paths)

    async def accept(self) -> None:
        """Accept what the user's own commands and accepted edits created as the user's."""
        if self._inside or self._watch is None or not self._is_active():
            return  # nothing in the sandbox could have created it, or it cannot be told apart
        async with self._lock:
            held = await self._look()
            self._watch.begin(held)
            if not held.problem:
                await self._hold(held)

    async def before_others(self) -> None:
        """Sweep before a command that runs outside the sandbox and may create such names: what appeared so far is not
        its work."""
        if not self._inside and self._watch is not None and self._is_active():
            async with self._lock:
                self.keep_quarantined(await self._sweep())

    async def last(self) -> None:
        """Sweep once more when everything that ran in the sandbox has ended."""
        if self._watch is not None and self._is_active():
            self._inside = 0
            async with self._lock:
                self.keep_quarantined(await self._sweep())

    def patrol(self) -> None:
        """Watch the processes in the sandbox that no command waits for."""
        if not self._patrols and self._runs():
            self._patrols = True
            self._background.start_soon(self._patrol)

    def keep_quarantined(self, taken: Sequence[QuarantinedFiles]) -> None:
        """Keep quarantined files for the next command's result, and tell the user now."""
        self.late += taken
        if taken and self.on_taken is not None:
            self.on_taken(taken)

    def take_quarantined(self) -> list[QuarantinedFiles]:
        """Return what was quarantined while no command waited, and forget it."""
        late, self.late = self.late, []
        return late

    # -- inside ----------------------------------------------------------------------------------------------------

    def _runs(self) -> bool:
        return self._is_busy()

    def _is_active(self) -> bool:
        """Return whether something may have been created in the sandbox since the last look."""
        return bool(self._inside) or self._patrols or self._runs()

    async def _look(self) -> Held:
        self._last = await anyio.to_thread.run_sync(self._sandbox.look)
        return self._last

    async def _finish(self) -> Held:
        """Look before a command: everything that is there counts as the user's, except what processes in the sandbox
        just created."""
        if self._watch is None:
            quarantine = self._sandbox.quarantine
            if quarantine is None:
                quarantine = await anyio.to_thread.run_sync(private_folder)
            self._watch = Watch(self._sandbox.roots, quarantine)
        elif self._is_active():
            self.keep_quarantined(await self._sweep())
        held = await self._look()
        if not self._inside:
            await anyio.to_thread.run_sync(self._watch.begin, held)
        return held

    async def _hold(self, held: Held) -> None:
        for bash in self._shells():
            if not bash.alive or bash.described is None or bash.in_force is None or not bash.in_force.holds:
                continue
            join = partial(hold_more, bash.pid, held, bash.described, self._sandbox.roots)
            if problem := await anyio.to_thread.run_sync(join):
                bash.ended_because = problem
                await anyio.to_thread.run_sync(end_processes, bash)  # a shell that cannot be held must not go on

    async def _sweep(self) -> list[QuarantinedFiles]:
        assert self._watch is not None
        taken, clean = await anyio.to_thread.run_sync(self._watch.sweep, self._sandbox.look)
        if taken and clean and self._runs():
            again = any(one.path in self._earlier for one in taken)
            self._earlier |= {one.path for one in taken}
            await anyio.sleep(_AGAIN_SECONDS)
            more, clean = await anyio.to_thread.run_sync(self._watch.sweep, self._sandbox.look)
            taken, clean = [*taken, *more], clean and not more and not again
        if clean:
            return taken
        # Something creates it again and again, or too much of it: end whatever runs in the sandbox.
        for bash in self._shells():
            end = partial(end_now, partial(children_of, bash.pid))
            await anyio.to_thread.run_sync(end)
        await anyio.to_thread.run_sync(self._end_others)
        more, clean = await anyio.to_thread.run_sync(self._watch.sweep, self._sandbox.look)
        if not clean:
            raise ToolError(
                "CONFLICT",
                "protected names that cannot be removed appear in the workspace, or there is too much to check",
                "the user should look at the workspace before anything else runs",
            )
        return [*taken, *more]

    async def _patrol(self) -> None:
        try:
            while True:
                await anyio.sleep(_PATROL_SECONDS)
                still_runs, started = self._runs(), time.monotonic()
                if not self._inside:  # otherwise a command waits, and looks itself
                    async with self._lock:
                        self.keep_quarantined(await self._sweep())
                        held = await self._look()
                        if not held.problem:
                            await self._hold(held)
                    if not still_runs:
                        return
                await anyio.sleep((time.monotonic() - started) * _REST_TIMES)
        except ToolError:
            for bash in self._shells():
                await anyio.to_thread.run_sync(end_processes, bash)
            await anyio.to_thread.run_sync(self._end_others)
        finally:
            self._patrols = False
