"""Measures the time from spawn to the answer to `initialize`, to the first session, to the offline model's first text
and its first answer, each asked for at once; and the processor time until then, which other work on the machine
changes less. Memory is the proportional set size, of a server that nobody has asked anything and of one that has
searched."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = 10
IDLE_SECONDS = 4
_ALONE = {"NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}  # no request or question beside those that are timed


class Server:
    """A server process and blocking calls to it, with as little overhead on our side as possible."""

    def __init__(self, protocol: str, folder: Path, more: dict[str, str] | None = None) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("NORTH_", "ANTHROPIC_"))}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users have byte code after the first start
        folders = {f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
        self.protocol = protocol
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "north_lsp", protocol],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ | folders | _ALONE | (more or {}),
        )
        self._id = 0
        self.first_text: tuple[float, float] | None = None

    def start(self, method: str, params: dict[str, Any]) -> int:
        """Send a request; returns its id."""
        assert self.process.stdin is not None
        self._id += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode()
        framed = body + b"\n" if self.protocol == "acp" else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        self.process.stdin.write(framed)
        self.process.stdin.flush()
        return self._id

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id = self.start(method, params)
        while True:
            message = self.read()
            if self.first_text is None and _is_text(message):
                self.first_text = self.elapsed(), self.processor_time()
            if message.get("id") == id and "method" not in message:
                return dict(message["result"])

    def read(self) -> dict[str, Any]:
        """Return the next message, once there is one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if self.protocol == "lsp":
            size = int(line.split(b":")[1])
            self.process.stdout.readline()
            line = self.process.stdout.read(size)
        return dict(json.loads(line))

    def elapsed(self) -> float:
        return (time.perf_counter() - self.started) * 1000

    def processor_time(self) -> float:
        """Return the milliseconds of processor time of all its threads."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6

    def memory(self) -> float:
        """Return the proportional set size in MB."""
        rollup = Path(f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return int(next(line for line in rollup.splitlines() if line.startswith("Pss:")).split()[1]) / 1024

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def _is_text(message: dict[str, Any]) -> bool:
    if message.get("method") != "session/update":
        return False
    return bool(message["params"]["update"]["sessionUpdate"] == "agent_message_chunk")


def measure(protocol: str, folder: Path) -> dict[str, float]:
    (folder / "a.py").write_text("def greet():\n    return 1\n")
    server = Server(protocol, folder)
    try:
        options = {"north": {"acp": True, "editorFeatures": False}}  # as North's own clients
        server.call("initialize", {"protocolVersion": 1, "capabilities": {}, "initializationOptions": options})
        rows = {"initialize": server.elapsed(), "initialize, processor": server.processor_time()}
        session = server.call("session/new", {"cwd": str(folder), "mcpServers": []})
        rows["session/new"] = server.elapsed()
        rows["session/new, processor"] = server.processor_time()
        for name in ("first prompt", "second prompt"):
            before = server.elapsed()
            blocks = [{"type": "text", "text": "find greet"}]
            server.call("session/prompt", {"sessionId": session["sessionId"], "prompt": blocks})
            rows[f"{name} (its own time)"] = server.elapsed() - before
            if server.first_text is not None and "first text" not in rows:
                rows["first text"], rows["first text, processor"] = server.first_text
        rows["memory after two searches, MB"] = server.memory()
        return rows
    finally:
        server.stop()


def idle_memory(protocol: str, folder: Path) -> float:
    """Return the memory of a server with a session that nobody has asked anything, once it has warmed up, in MB."""
    server = Server(protocol, folder)
    try:
        options = {"north": {"acp": True, "editorFeatures": False}}  # as North's own clients
        server.call("initialize", {"protocolVersion": 1, "capabilities": {}, "initializationOptions": options})
        server.call("session/new", {"cwd": str(folder), "mcpServers": []})
        time.sleep(IDLE_SECONDS)
        return server.memory()
    finally:
        server.stop()


def main() -> None:
    print(f"{'since spawn, ms':<34}{'min':>8}{'median':>8}{'max':>8}")
    for protocol in ("acp", "lsp"):
        with tempfile.TemporaryDirectory() as folder:
            idle_memory(protocol, Path(folder))  # the first start: it compiles and writes what the others read
            idle = idle_memory(protocol, Path(folder))
            rounds = [measure(protocol, Path(folder)) for _ in range(ROUNDS)]
        for name in rounds[0]:
            values = [row[name] for row in rounds]
            print(
                f"{protocol + ': ' + name:<34}{min(values):>8.0f}{statistics.median(values):>8.0f}{max(values):>8.0f}"
            )
        print(f"{protocol + ': memory when idle, MB':<34}{idle:>16.0f}")


if __name__ == "__main__":
    main()
