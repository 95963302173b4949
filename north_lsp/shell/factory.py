"""Creates the shells of one session: chooses the bash, the shell's own folder and its sandbox, and handles failures."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.background import Background
from north_lsp.errors import ToolError
from north_lsp.shell.bash import Bash
from north_lsp.shell.options import ShellOptions
from north_lsp.shell.sandbox import Sandbox, support
from north_lsp.shell.snapshot import user_snapshot
from north_lsp.shell.spawning import StartFailed
from north_lsp.shell.tree import MARK
from north_lsp.storage.janitor import SHELL_FOLDER
from north_lsp.storage.switches import is_on

_held: dict[Path, int] = {}  # the locks on the folders of this process
_ALONE_SECONDS = 300.0  # the machine may only have been busy


class ShellMaker:
    """Makes one session's shells. Without `sandbox` all of them have the user's own rights."""

    def __init__(
        self,
        environ: Mapping[str, str],
        background: Background,
        sandbox: Sandbox | None,
        options: ShellOptions,
    ) -> None:
        self.environ = dict(environ)
        self._background = background
        self._sandbox = sandbox
        self._options = options
        self._folder: Path | None = None
        self.alone: str | None = None  # why no shell can be kept here, as far as is known
        self._try_again = 0.0

    @property
    def can_keep(self) -> bool:
        """Whether a shell that is kept is worth a try."""
        return self.alone is None or time.monotonic() > self._try_again

    async def make(self, name: str, cwd: Path, *, contained: bool, needs: bool = False, snapshot: bool = False) -> Bash:
        """Start a shell that can be kept; `name` is the name of its folder. If it `needs` the whole sandbox, it does
        not start without it. Raises StartFailed and other ToolErrors."""
        bash, folder, described = await self.place(name, contained=contained, needs=needs)
        startup = await anyio.to_thread.run_sync(user_snapshot, bash, self.environ) if snapshot else ""
        start = partial(Bash.start, bash, self.environ, cwd, folder, described, self._background, startup=startup)
        try:
            made = None
            if self._options.terminal and not is_on(self.environ, "NORTH_NO_PTY"):
                with contextlib.suppress(StartFailed):
                    made = await start(terminal=True)
            made = made or await start(terminal=False)
            self.alone = None
            return made
        except StartFailed as error:
            self.alone, self._try_again = error.message, time.monotonic() + _ALONE_SECONDS
            raise

    async def single(
        self,
        name: str,
        cwd: Path,
        command: str,
        mark: str,
        *,
        contained: bool,
        needs: bool = False,
        stdin: str = "",
        waits: bool = False,
    ) -> Bash:
        """Start a shell for a single command, see `Bash.once`. Raises ToolError."""
        bash, folder, described = await self.place(name, contained=contained, needs=needs)
        environ = {**self.environ, MARK: mark}
        return await Bash.once(
            bash, environ, cwd, folder, described, self._background, command, stdin=stdin, waits=waits
        )

    async def place(
        self, name: str, *, contained: bool, needs: bool = False
    ) -> tuple[str, Path, dict[str, Any] | None]:
        """Return the bash to start, a folder of this name, and the sandbox's description if it is `contained`. Raises
        ToolError."""
        bash = self.bash()
        if self._folder is None:
            self._folder = await anyio.to_thread.run_sync(private_folder)
        folder = self._folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        return bash, folder, await self.sandbox(folder, contained=contained, needs=needs)

    async def sandbox(self, folder: Path, *, contained: bool, needs: bool = False) -> dict[str, Any] | None:
        """Describe the sandbox of a shell with this folder for the launcher; None if it is not `contained`. Raises
        ToolError."""
        if not contained:
            return None
        has = support()
        if self._sandbox is None or not has.available:
            raise ToolError(
                "UNAVAILABLE",
                f"the sandbox that this must run in is not available: {has.reason}",
                "ask the user to run this outside the sandbox (`outside_sandbox: true`)",
            )
        return await anyio.to_thread.run_sync(partial(self._sandbox.described, folder, needs=needs))

    def bash(self) -> str:
        """Find the bash to run. Raises ToolError."""
        wanted = self._options.path or "bash"
        found = shutil.which(wanted, path=self.environ.get("PATH"))
        if found is None:
            place = "on PATH" if self._options.path is None else "at the path in the setting shell.path"
            raise ToolError("UNAVAILABLE", f"{wanted} was not found {place}: install bash, or set shell.path")
        return found

    def lost_folder(self) -> bool:
        """Return whether a command deleted the shells' folder; a new one is then created."""
        if self._folder is None or _is_folder(self._folder):
            return False
        self._folder = None
        return True

    async def remove_folder(self) -> None:
        if self._folder is not None:
            folder, self._folder = self._folder, None
            if (held := _held.pop(folder, None)) is not None:
                os.close(held)
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))

    def take_over(self, other: ShellMaker) -> None:
        """Take over the folder of a session that ends, and what it found out about this machine."""
        self._folder, self.alone, self._try_again = other._folder, other.alone, other._try_again
        other._folder = None


def private_folder(*, outlives: bool = False) -> Path:
    """Create a folder that only this user may enter. A lock on it tells other processes that this one lives, unless the
    folder is for something that `outlives` it. Blocks."""
    import tempfile

    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=SHELL_FOLDER)))
    if outlives:
        return folder
    with contextlib.suppress(OSError):
        _held[folder] = systems.lock_folder(folder)
    return folder


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
