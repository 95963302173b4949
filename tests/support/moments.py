"""What a server has imported at three moments: when `initialize` is answered, when a session is open, and when the
first text of an answer is shown."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SERVER = """
import json, os, sys
write, notes = os.write, os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
def noting(descriptor, data):
    row = json.dumps([bytes(data).decode(errors="replace"), sorted(sys.modules)])
    write(notes, row.encode() + b"\\n")  # at once, since other threads write, too
    if "north_lsp.server.after_start" not in sys.modules:
        from north_lsp.server import after_start
        after_start._WARM_UP_AFTER_SECONDS = 3600  # so that only what is asked for is loaded, however slow the machine
    return write(descriptor, data)
os.write = noting
from north_lsp.cli.main import main
sys.exit(main([sys.argv[2]]))
"""


@dataclass(frozen=True)
class Moments:
    """The names of modules that were loaded at each moment."""

    initialized: frozenset[str]
    opened: frozenset[str]
    answered: frozenset[str]


def moments(folder: Path, environ: Mapping[str, str], protocol: str = "acp") -> Moments:
    """Run a server, ask it one question as North's own clients do, and return what it had imported when it answered."""
    project, notes = folder / "project", folder / "notes"
    project.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NORTH_", "ANTHROPIC_"))}
    kept.pop("PYTHONPATH", None)  # the guard of the tests, which loads all adapters
    folders = {f"NORTH_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    alone = {"NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(notes), protocol],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=kept | folders | alone | dict(environ),
        cwd=project,
    ) as server:
        own_client = {"north": {"acp": True, "editorFeatures": False}}
        opening: dict[str, dict[str, Any]] = {
            "acp": {"clientCapabilities": {}},
            "lsp": {"capabilities": {}, "initializationOptions": own_client},
        }
        client = _Client(server, protocol)
        client.call(1, "initialize", {"protocolVersion": 1, **opening[protocol]})
        session = client.call(2, "session/new", {"cwd": str(project), "mcpServers": []})["sessionId"]
        prompt = [{"type": "text", "text": "Hello"}]
        client.call(3, "session/prompt", {"sessionId": session, "prompt": prompt})
    rows = [json.loads(line) for line in notes.read_text().splitlines()]
    return Moments(_loaded(rows, '"id":1,'), _loaded(rows, '"id":2,'), _loaded(rows, "agent_message_chunk"))


class _Client:
    def __init__(self, server: "subprocess.Popen[bytes]", protocol: str) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._to, self._from = server.stdin, server.stdout
        self._is_framed = protocol == "lsp"

    def call(self, id: int, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
        self._to.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) if self._is_framed else body + b"\n")
        self._to.flush()
        while data := self._read():
            answer = json.loads(data)
            if answer.get("id") == id and "method" not in answer:
                return dict(answer["result"])
        raise AssertionError(f"the server ended before it answered {method}")

    def _read(self) -> bytes:
        line = self._from.readline()
        if not self._is_framed or not line:
            return line
        assert self._from.readline() == b"\r\n"
        return self._from.read(int(line.partition(b":")[2]))


def _loaded(rows: list[Any], sent: str) -> frozenset[str]:
    """Return what was loaded when the first message with this text was sent."""
    return frozenset(next(modules for data, modules in rows if sent in data.replace(": ", ":")))
