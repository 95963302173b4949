"""A Neovim without a screen, driven over its own RPC channel: `with Nvim() as nvim: nvim.lua("return 1 + 1")`.

Blocking and independent of any event loop: call it from a plain test, or through `anyio.to_thread` from an async one.
"""

import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self, cast

from tests.e2e.nvim.bed import DEADLINE, nvim_binary, private_environment, until
from tests.e2e.nvim.wire import Value, pack, unpack

_REQUEST, _RESPONSE, _NOTIFICATION = 0, 1, 2


class NvimError(Exception):
    """Neovim answered a request with an error."""


class Nvim:
    """One `nvim --embed --headless`, with folders of its own instead of the user's."""

    def __init__(
        self,
        *arguments: str,
        init: Path | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Start it: with no configuration and no plugins, or with `init` as the whole of its configuration."""
        self._folder = tempfile.TemporaryDirectory(prefix="north-e2e-nvim-")
        folder = Path(self._folder.name)
        self._stderr = folder / "stderr"
        self.notifications: list[tuple[str, Value]] = []
        """What Neovim sent by `vim.rpcnotify(0, name, ...)`, in order: the name and its arguments."""
        with self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [nvim_binary(), "--embed", "--headless", "-n", "-i", "NONE", "-u", init or "NONE", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=cwd,
                env=private_environment(folder, env or {}),
            )
        self._answers: queue.SimpleQueue[list[Value] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="nvim-reader")
        self._reader.start()
        self._last_id = 0

    def request(self, method: str, *parameters: Value, deadline: float = DEADLINE) -> Value:
        """Call a function of Neovim's API, such as `nvim_buf_line_count`, and return its result.

        Raises NvimError for the function's own error, TimeoutError when Neovim is busy or waits for a key,
        EOFError when it has ended.
        """
        self._last_id += 1
        self._send([_REQUEST, self._last_id, method, list(parameters)])
        while True:
            try:
                answer = self._answers.get(timeout=deadline)
            except queue.Empty:
                raise TimeoutError(f"nvim did not answer {method} within {deadline:g} s") from None
            match answer:
                case None:
                    self._answers.put(None)
                    raise EOFError(f"nvim has ended: {self._stderr.read_text(errors='replace')}")
                case [_, self._last_id, None, result]:
                    return result
                case [_, self._last_id, [_, message], _]:
                    raise NvimError(f"{method}: {message}")
                case _:  # the late answer to a request that was given up
                    continue

    def lua(self, code: str, *arguments: Value) -> Value:
        """Run a chunk of Lua, which sees the arguments as `...`, and return what it returns."""
        return self.request("nvim_exec_lua", code, list(arguments))

    def command(self, command: str) -> None:
        """Run an Ex command."""
        self.request("nvim_command", command)

    def keys(self, keys: str) -> None:
        """Queue keys as if typed (`ihello<Esc>`); what they do is to be waited for with `until`."""
        self.request("nvim_input", keys)

    def lines(self, buffer: int = 0) -> list[str]:
        """The lines of a buffer, the current one unless told."""
        return cast(list[str], self.request("nvim_buf_get_lines", buffer, 0, -1, True))

    def messages(self) -> str:
        """What `:messages` shows."""
        return str(cast(dict[str, Value], self.request("nvim_exec2", "messages", {"output": True}))["output"])

    def until(self, expression: str, *arguments: Value, deadline: float = DEADLINE) -> Value:
        """Evaluate a Lua expression until it is neither false, nil, 0 nor empty, and return its value.

        Raises TimeoutError with `:messages` in its text.
        """

        def failure() -> str:
            return f"{expression}\n:messages\n{self.messages()}\nstderr: {self._stderr.read_text(errors='replace')}"

        return cast(Value, until(lambda: self.lua(f"return {expression}", *arguments), failure, deadline))

    def wait_end(self) -> None:
        """Wait until Neovim has ended by itself."""
        self._process.wait(timeout=DEADLINE)

    def stop(self) -> None:
        """End Neovim and everything it keeps on disk."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()  # which is how an embedded Neovim is told to quit
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _send(self, message: list[Value]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pack(message))
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the reader sees the end as well, and says so

    def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while True:
                match unpack(self._process.stdout.read):
                    case [int(kind), str(name), arguments] if kind == _NOTIFICATION:
                        self.notifications.append((name, arguments))
                    case [int(kind), *_] as answer if kind == _RESPONSE:
                        self._answers.put(answer)
                    case other:
                        raise ValueError(f"unexpected message from nvim: {other!r}")
        except EOFError:
            pass
        finally:
            self._answers.put(None)
