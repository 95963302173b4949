"""A server in a process of its own: one JSON object a line on its standard input and output.

The process, and everything that it starts, ends with the connection, and also with a killed North
(`shell/guardian.py`).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.ports.servers import ServerSpec
from north_lsp.background import beside
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.mcp.transport import LARGE_BYTES, MAX_MESSAGE_BYTES, LogLine, failure
from north_lsp.rpc.framing import Frame, NewlineFraming
from north_lsp.rpc.pipe import Pipe, PipeClosed, descriptor_pipe
from north_lsp.shell.environment import looks_like_credential
from north_lsp.shell.guardian import GUARDIAN
from north_lsp.shell.tree import MARK, end_tree, find_tree

_MOST_UNSENT = 500
_MOST_UNSENT_BYTES = 32 * 1024 * 1024
_GRACE_SECONDS = 0.4
_END_SECONDS = 2.0
_POLL_SECONDS = 0.02
_LONGEST_LINE = 4000
_LAST_WORDS = 16 * 1024
_BREATH = 0.005


@dataclass
class StdioTransport:
    """The two pipes of a running server. `unsent` are messages that it has not taken yet."""

    pipe: Pipe
    unsent: list[bytes] = field(default_factory=list)
    why: str = "transport closed"
    reached: bool = True
    _news: anyio.Event = field(default_factory=anyio.Event)
    _framing: NewlineFraming = field(default_factory=lambda: NewlineFraming(MAX_MESSAGE_BYTES))

    def post(self, message: dict[str, Any]) -> None:
        data = self._framing.encode(message)
        waiting = sum(map(len, self.unsent))
        if len(self.unsent) >= _MOST_UNSENT or (self.unsent and waiting + len(data) > _MOST_UNSENT_BYTES):
            raise failure("it does not read what North sends", "continue without it")
        self.unsent.append(data)
        self._news.set()

    def negotiated(self, version: str) -> None:
        pass

    async def write(self) -> None:
        """Send what is posted, as the server takes it."""
        while True:
            while self.unsent:
                try:
                    await self.pipe.send(self.unsent[0])
                except PipeClosed:
                    return  # reading finds out that it has ended
                del self.unsent[0]
            await self._news.wait()
            self._news = anyio.Event()

    async def frames(self) -> AsyncIterator[Frame]:
        while data := await self.pipe.receive():
            if self._framing.unfinished + len(data) > LARGE_BYTES and b"\n" in data:
                for frame in await anyio.to_thread.run_sync(lambda data: list(self._framing.feed(data)), data):
                    yield frame
            else:
                for frame in self._framing.feed(data):
                    yield frame
            await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def stdio(
    spec: ServerSpec, folder: Path, environ: Mapping[str, str], log: LogLine
) -> AsyncIterator[StdioTransport]:
    """Start a server in `folder`, with `environ`. Raises ToolError."""
    mark = f"mcp-{uuid.uuid4().hex}"
    try:
        start = partial(_start, spec, folder, {**environ, **spec.env, MARK: mark})
        tree, ends = await anyio.to_thread.run_sync(start)
    except OSError as error:
        raise _not_started(spec, error) from None
    stdin, stdout, stderr = ends
    transport = StdioTransport(descriptor_pipe(stdout, stdin))
    errors = descriptor_pipe(stderr, stderr)
    try:
        await anyio.to_thread.run_sync(GUARDIAN.hold, tree.process.pid, (stdin,))
        async with beside(transport.write, partial(_follow_errors, errors, log)):
            yield transport
    finally:
        with anyio.CancelScope(shield=True):
            await _end(tree, mark, ends, log)


def _start(spec: ServerSpec, folder: Path, environ: Mapping[str, str]) -> tuple[systems.Tree, list[int]]:
    """Start the process; returns North's ends of its standard input, output and error."""
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    ours_err, theirs_err = os.pipe()
    try:
        tree = systems.start_tree(
            systems.command_of([spec.command, *spec.args], environ),
            stdin=theirs_in,
            stdout=theirs_out,
            stderr=theirs_err,
            cwd=folder,
            env=dict(environ),
        )
    except (OSError, ValueError) as error:
        for descriptor in (ours_in, ours_out, ours_err):
            os.close(descriptor)
        raise error if isinstance(error, OSError) else OSError(str(error)) from error
    finally:
        for descriptor in (theirs_in, theirs_out, theirs_err):
            os.close(descriptor)
    return tree, [ours_in, ours_out, ours_err]


def _not_started(spec: ServerSpec, error: OSError) -> ToolError:
    command = one_line(spec.command, 200)
    if isinstance(error, FileNotFoundError) and error.filename not in (None, str(spec.cwd)):
        return failure(f"there is no program {command}: install it, or write its whole path")
    return failure(f"{command} cannot be started: {error.strerror or error}")


async def _follow_errors(pipe: Pipe, log: LogLine) -> None:
    """Log what the server writes to its standard error, line by line and no faster than it can be read."""
    rest = b""
    while data := await pipe.receive():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines[-200:]:
            if line.strip():
                log(line[:_LONGEST_LINE].decode("utf-8", "replace"))
        rest = rest[:_LONGEST_LINE]
        await anyio.sleep(_BREATH)
    if rest.strip():
        log(rest.decode("utf-8", "replace"))


async def _end(tree: systems.Tree, mark: str, ends: list[int], log: LogLine) -> None:
    """End the server with everything that it started: ask it by closing its input, then by signals."""
    process = tree.process
    await anyio.to_thread.run_sync(GUARDIAN.hold, process.pid, ())  # lets go of its input, and still guards it
    stdin, stdout, stderr = ends
    os.close(stdin)
    if systems.CAN_SELECT_PIPES:  # elsewhere closing would wait for whoever reads at this moment
        os.close(stdout)
    with anyio.move_on_after(_END_SECONDS):
        with anyio.move_on_after(_GRACE_SECONDS):
            await _ended(process)
        if systems.CAN_KEEP_SHELLS:
            await end_tree(partial(find_tree, process.pid, mark), _GRACE_SECONDS)
        else:
            tree.end()
    if process.poll() is None:
        process.kill()
        with anyio.move_on_after(_GRACE_SECONDS):
            await _ended(process)
    GUARDIAN.release(process.pid)
    tree.close()
    if not systems.CAN_SELECT_PIPES:  # its readers have seen the end by now, and logged what there was
        with anyio.move_on_after(_GRACE_SECONDS):
            await anyio.to_thread.run_sync(_close_all, (stdout, stderr), abandon_on_cancel=True)
        return
    with contextlib.suppress(BlockingIOError):
        for line in os.read(stderr, _LAST_WORDS).splitlines():
            log(line[:_LONGEST_LINE].decode("utf-8", "replace"))
    os.close(stderr)


def _close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


async def _ended(process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        await anyio.sleep(_POLL_SECONDS)


@asynccontextmanager
async def empty_folder(parent: Path) -> AsyncIterator[Path]:
    """Make a new folder to start a server in, where no program finds anything of the project's. It is locked as long as
    it is used, so that what a killed North left is told from it. Raises ToolError."""
    try:
        folder, descriptor = await anyio.to_thread.run_sync(_new_folder, parent)
    except OSError as error:
        raise failure(f"no folder to start it in can be made: {error.strerror or error}") from None
    try:
        yield folder
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))
        os.close(descriptor)


def _new_folder(parent: Path) -> tuple[Path, int]:
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="mcp-", dir=parent))
    try:
        return folder, systems.lock_folder(folder, wait=True, shared=True)
    except OSError:  # a file system without locks
        return folder, systems.open_file(folder, os.O_RDONLY | systems.DIRECTORY | systems.NOFOLLOW | systems.CLOEXEC)


def server_environment(environ: Mapping[str, str], secret_names: frozenset[str]) -> dict[str, str]:
    """Return what a server gets of North's environment: no keys of models, and nothing that looks like a credential.
    What it needs of that, its configuration names."""
    return {
        name: value
        for name, value in environ.items()
        if name not in secret_names and not name.startswith("NORTH_") and not looks_like_credential(name, value)
    }
