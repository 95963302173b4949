"""The demo: the real server as a subprocess, this terminal as its ACP client, on a copy of a project."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from north_lsp import systems
from north_lsp.cli.demo.terminal import Terminal
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.framing import NewlineFraming
from north_lsp.rpc.messages import METHOD_NOT_FOUND, Params, RpcError
from north_lsp.rpc.peer import Call, Peer
from north_lsp.rpc.pipe import PipeClosed
from north_lsp.server.options import Options, UsageError

_SKIPPED = shutil.ignore_patterns(
    ".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".*_cache", "target", "build", "dist"
)
_MAX_COPY_BYTES = 500 * 1024 * 1024
_TEXT_ENDINGS = (".md", ".rst", ".txt", ".py", ".ts", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".rb", ".toml")


def run_demo(options: Options, *, prompt: str | None, unattended: bool) -> int:
    """Show one turn and return the exit code: 0 if it completed, 1 if it failed, 130 after Ctrl-C. Raises UsageError,
    and BrokenPipeError if nobody reads the output any more."""
    terminal = Terminal(unattended=unattended)
    with tempfile.TemporaryDirectory(prefix="north-demo-") as folder:
        home = Path(folder).resolve()
        project = home / (options.path.name if options.path is not None else "sample")
        if options.path is not None:
            _copy(options.path, project)
            text = prompt or _prompt_for(project)
        else:
            with as_file(files("north_lsp.cli.demo") / "sample") as sample:
                shutil.copytree(sample, project, ignore=_SKIPPED)
            words = files("north_lsp.cli.demo").joinpath("sample-prompt.txt").read_text("utf-8").strip()
            text = prompt or words.replace("python3", systems.PYTHON)
        terminal.introduce(project, text)
        try:
            return anyio.run(_run, options, project, home, text, terminal)
        except* BrokenPipeError:
            raise BrokenPipeError from None
        except* KeyboardInterrupt:
            raise KeyboardInterrupt from None


def _copy(source: Path, target: Path) -> None:
    size = 0
    for root, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in _SKIPPED(root, folders)]
        for name in names:
            try:
                size += Path(root, name).lstat().st_size
            except OSError:
                continue  # it is gone, or it cannot be copied, which is reported below
            if size > _MAX_COPY_BYTES:
                raise UsageError(
                    f"{source} is larger than {_MAX_COPY_BYTES // 2**20} MB: choose a smaller folder to copy"
                )
    try:
        shutil.copytree(source, target, symlinks=True, ignore=_not_copied, ignore_dangling_symlinks=True)
    except shutil.Error as error:
        path, _, why = error.args[0][0]
        raise UsageError(f"{path} cannot be copied: {why}") from None
    except OSError as error:
        raise UsageError(f"{source} cannot be copied: {error.strerror or error}") from None


def _not_copied(folder: str, names: list[str]) -> set[str]:
    """Name what is not copied: what tools can generate again, and what is not a file (sockets, pipes, devices)."""
    return _SKIPPED(folder, names) | {name for name in names if not _can_be_copied(Path(folder, name))}


def _can_be_copied(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)


def _prompt_for(project: Path) -> str:
    """Write a prompt that the offline model can carry out on any project: read a file, edit a line, run a command."""
    for path in _texts(project):
        name = path.relative_to(project).as_posix()
        line = _unique_line(path)
        if line is not None and '"' not in line and "`" not in line:
            return f'read {name}, then replace "{line}" by "{line} [seen by North]" in {name}, then run `wc -l {name}`'
    return 'list files, then create NORTH.md with "North was here.", then run `ls`'


def _texts(project: Path) -> Iterator[Path]:
    found = sorted(
        project.rglob("*"), key=lambda path: (len(path.parts), not path.name.startswith("README"), path.name)
    )
    return (path for path in found if path.suffix in _TEXT_ENDINGS and path.is_file() and not path.is_symlink())


def _unique_line(path: Path) -> str | None:
    try:
        lines = [line.strip() for line in path.read_text("utf-8").split("\n")[:60]]
    except (OSError, UnicodeDecodeError):
        return None
    text = "\n".join(lines)
    return next((line for line in lines if 8 <= len(line) <= 60 and text.count(line) == 1 and line.isascii()), None)


class _Client:
    """The client's side of ACP, as a peer's service."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def owns(self, method: str) -> bool:
        return True

    async def request(self, method: str, params: Params, call: Call) -> object:
        if method != "session/request_permission":
            raise RpcError(METHOD_NOT_FOUND, f"unknown method {method}")
        chosen = await self._terminal.ask(params)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def notification(self, method: str, params: Params) -> None:
        if method == "session/update":
            self._terminal.show(params["update"])


async def _run(options: Options, project: Path, home: Path, prompt: str, terminal: Terminal) -> int:
    command = [sys.executable, "-m", "north_lsp", "acp", "--model", options.model or "offline"]
    command += ["--mode", options.mode] if options.mode is not None else []
    environ = dict(options.environ) | {
        "NORTH_DATA_DIR": str(home / "data"),
        "NORTH_STATE_DIR": str(home / "state"),
        "NORTH_OFFLINE_DELAY_MS": "12",
        "NORTH_NO_OFFER": "1",  # the sample project is gone afterwards
    }
    # The server gets its own process group: Ctrl-C is for this process, which ends the server.
    process = await anyio.open_process(command, stderr=None, env=environ, cwd=project, **systems.apart())
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise UsageError("the server could not be started")
    results: list[_Ended] = []
    refused: list[str] = []
    async with process, anyio.create_task_group() as tasks:
        peer = Peer(_ProcessPipe(stdin, stdout), NewlineFraming(), "$/cancel_request", terminal.failure)
        client = _Client(terminal)

        async def talk() -> None:
            try:
                results.append(await _turn(peer, project, prompt))
            except RpcError as error:
                refused.append(error.message)
                if peer.has_ended:
                    return
            peer.stop(0)

        tasks.start_soon(talk)
        code = await peer.serve([client])
        await stdin.aclose()
        tasks.cancel_scope.cancel()
    if code:
        terminal.say("Interrupted. The original project is untouched.")
        return code
    for text in refused:
        terminal.say(text)
    ended = results[0] if results else None
    terminal.conclude(ended.reason if ended is not None else None)
    return 0 if ended is not None and ended.reason == "end_turn" and not ended.failed else 1


@dataclass(frozen=True)
class _Ended:
    """How the turn ended; `failed` means that the model gave no answer."""

    reason: str
    failed: bool


async def _turn(peer: Peer, project: Path, prompt: str) -> _Ended:
    """Open a session, send the prompt and wait for the turn's end. Raises RpcError."""
    files = {"readTextFile": False, "writeTextFile": False}
    capabilities = {"fs": files, "terminal": False, "_meta": {"north": {}}}
    info = {"name": "north-demo", "version": "1"}
    await peer.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info})
    session = await peer.request("session/new", {"cwd": str(project), "mcpServers": []})
    blocks: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
    answer = await peer.request("session/prompt", {"sessionId": session["sessionId"], "prompt": blocks})
    return _Ended(str(answer["stopReason"]), "error" in answer.get("_meta", {}).get("north", {}))


class _ProcessPipe:
    """The server's standard input and output as a pipe of the peer."""

    def __init__(self, stdin: anyio.abc.ByteSendStream, stdout: anyio.abc.ByteReceiveStream) -> None:
        self._stdin = stdin
        self._stdout = stdout

    async def receive(self) -> bytes:
        try:
            return await self._stdout.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            return b""

    async def send(self, data: bytes) -> None:
        try:
            await self._stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise PipeClosed from error

    def abort(self) -> None:
        """Do nothing: the process is ended by its own context."""
