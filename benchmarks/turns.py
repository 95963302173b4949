"""Measures what turns cost: from the start to the first answer, long streams, many tool rounds, memory, bytes sent.

The model is scripted, on loopback, served in Anthropic's real format and called through the real SDK. Run as
`env -u PYTHONDONTWRITEBYTECODE python -m benchmarks.turns`; each time is the best of several rounds.
"""

import json
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.startup import Server
from tests.support.rules.check import check_http

ROUNDS = 7
CHUNKS = 5_000
TOOL_ROUNDS = 40
LENGTHS = (10, 500, 2000)
_SETTLE_SECONDS = 2.5


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _stream(*blocks: bytes, reason: str) -> bytes:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    end = _event("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 5})
    body = _event("message_start", message=message) + b"".join(blocks) + end + _event("message_stop")
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _text(pieces: Sequence[str]) -> bytes:
    deltas = (_event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece}) for piece in pieces)
    start = _event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    return start + b"".join(deltas) + _event("content_block_stop", index=0)


def say(*pieces: str) -> bytes:
    return _stream(_text(pieces), reason="end_turn")


def call(tool: str, id: str = "toolu_1", **arguments: object) -> bytes:
    """Return an answer that calls a tool."""
    block = {"type": "tool_use", "id": id, "name": tool, "input": {}}
    start = _event("content_block_start", index=0, content_block=block)
    written = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
    delta = _event("content_block_delta", index=0, delta=written)
    return _stream(start, delta, _event("content_block_stop", index=0), reason="tool_use")


def read(number: int) -> bytes:
    """Return an answer that reads part of a file."""
    return call("read_file", f"toolu_{number}", path="a.py", startLine=number + 1, endLine=number + 40)


def create(*pieces: str) -> bytes:
    """Return an answer that writes a file."""
    block = {"type": "tool_use", "id": "toolu_create", "name": "edit_create_file", "input": {}}
    text = json.dumps({"path": "new.txt", "content": "\0"})
    texts = [text.partition("\\u0000")[0], *pieces, '"}']
    deltas = (
        _event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
        for piece in texts
    )
    start = _event("content_block_start", index=0, content_block=block)
    return _stream(start, *deltas, _event("content_block_stop", index=0), reason="tool_use")


class Model:
    """Answers requests in the order of `answers`, on persistent connections. `bodies` are the requests, which `check`
    holds to the vendor's rules once timing is over."""

    def __init__(self) -> None:
        self.answers: Iterator[bytes] = iter(())
        self.bodies: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def check(self) -> None:
        for body in self.bodies:
            refusal = check_http("/v1/messages", json.loads(body))
            assert refusal is None, refusal

    def _accept(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(ConnectionError):  # the server has ended
            self._serve_requests(connection)

    def _serve_requests(self, connection: socket.socket) -> None:
        data = b""
        while True:
            while b"\r\n\r\n" not in data:
                if not (piece := connection.recv(1 << 20)):
                    return
                data += piece
            head, _, data = data.partition(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
            size = int(fields[b"content-length"])
            while len(data) < size:
                data += connection.recv(1 << 20)
            self.bodies.append(data[:size])
            data = data[size:]
            self.reply(connection, self.bodies[-1])

    def reply(self, connection: socket.socket, body: bytes) -> None:
        """Answer a request."""
        connection.sendall(next(self.answers))


class Client(Server):
    """A server that uses the scripted model."""

    choice = "reject_once"
    """What is answered when North asks."""

    def __init__(self, folder: Path, url: str, settings: Mapping[str, object] | None = None) -> None:
        (folder / "config").mkdir(exist_ok=True)
        written = {"selectedModel": "haiku-4-5", **(settings or {})}
        (folder / "config" / "config.json").write_text(json.dumps(written))
        super().__init__("acp", folder, {"ANTHROPIC_API_KEY": "key", "ANTHROPIC_BASE_URL": url})
        self.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.initialized = self.elapsed()

    def read(self) -> dict[str, Any]:
        """Return the next message, answering whatever North asks."""
        message = super().read()
        if "id" in message and "method" in message:
            self.asked()
            options = message["params"].get("options", ())
            chosen = next((row["optionId"] for row in options if row["kind"] == self.choice), self.choice)
            result = {"outcome": {"outcome": "selected", "optionId": chosen}}
            assert self.process.stdin is not None
            self.process.stdin.write(
                json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n"
            )
            self.process.stdin.flush()
        return message

    def asked(self) -> None:
        """Take note of a question."""

    def new_session(self, folder: Path) -> str:
        return str(self.call("session/new", {"cwd": str(folder), "mcpServers": []})["sessionId"])

    def begin_prompt(self, session: str, text: str) -> int:
        """Send a prompt; returns the request's id."""
        return self.start("session/prompt", _prompt(session, text))

    def prompt(self, session: str, text: str = "Hello") -> float:
        """Return the milliseconds that a whole turn takes."""
        before = time.perf_counter()
        self.call("session/prompt", _prompt(session, text))
        return (time.perf_counter() - before) * 1000


def _timed(work: Any) -> tuple[float, Any]:
    before = time.perf_counter()
    result = work()
    return (time.perf_counter() - before) * 1000, result


def stable_share(bodies: Sequence[bytes]) -> float:
    """Return how much of each request's messages begins the next request unchanged, the least of all shares."""
    shares = []
    for before, after in zip(bodies, bodies[1:], strict=False):  # noqa: RUF007
        old, new = (_messages(body) for body in (before, after))
        same = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
        shares.append(same / len(old))
    return min(shares)


def _messages(body: bytes) -> bytes:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items() if name != "cache_control"}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return json.dumps(plain(json.loads(body))["messages"])[:-1].encode()


def lengthen(log: Path, prompts: int) -> None:
    """Turn a stored conversation of one prompt into one of many, each with a call and its result."""
    begin, *lines = log.read_text().splitlines(keepends=True)
    rows = [row for row in map(json.loads, lines) if row["type"] == "message"]
    parent, made = None, [begin]
    for number in range(prompts):
        for at, row in enumerate(rows):
            text = json.dumps(row | {"id": f"{number:06x}{at:02x}", "parentId": parent}, ensure_ascii=False)
            made.append(text.replace("toolu_0", f"toolu_{number}_0") + "\n")
            parent = f"{number:06x}{at:02x}"
    log.write_text("".join(made))


def _prompt(session: str, text: str) -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}


def small_project(folder: Path) -> Path:
    """Make a project of one file."""
    project = folder / "project"
    project.mkdir()
    (project / "a.py").write_text("".join(f"def function_{number}():\n    return {number}\n" for number in range(200)))
    return project


@contextmanager
def long_conversation(folder: Path, prompts: int, *answers: bytes) -> Iterator[tuple[Client, Model, str]]:
    """Yield a server, its model and the id of a conversation that has this many prompts and one more; the `answers` are
    the next ones. At the end the model's requests are checked."""
    project = small_project(folder)
    model = Model()
    server = Client(folder, model.url)
    try:
        session = server.new_session(project)
        model.answers = iter([read(0), say("Hello.")])
        server.prompt(session)
    finally:
        server.stop()
    (log,) = folder.rglob(f"{session}.jsonl")
    lengthen(log, prompts)
    server = Client(folder, model.url)
    try:
        server.call("session/load", {"sessionId": session, "cwd": str(project), "mcpServers": []})
        model.answers = iter([say("Hello."), *answers])
        server.prompt(session)
        time.sleep(_SETTLE_SECONDS)
        yield server, model, session
        model.check()
    finally:
        server.stop()


def measure_long(folder: Path, prompts: int) -> float:
    """Measure a turn in a conversation that already has this many prompts."""
    with long_conversation(folder, prompts, *[say("Hello.")] * 9) as (server, model, session):
        best = min(server.prompt(session) for _ in range(5))
        assert len(_messages(model.bodies[-1])) > 400 * prompts
    return best


def measure(folder: Path) -> dict[str, float]:
    """Measure two servers: one asked immediately, the other after its start-up has settled, and then under load."""
    project = small_project(folder)
    model = Model()
    rows: dict[str, float] = {}
    server = Client(folder, model.url)
    try:
        rows["start to initialize, ms"] = server.initialized
        rows["session/new at once, ms"], session = _timed(lambda: server.new_session(project))
        model.answers = iter([say("Hello.")])
        rows["first turn at once, ms"] = server.prompt(session)
        rows["first request, KB"] = len(model.bodies[0]) / 1000
    finally:
        server.stop()
    server = Client(folder, model.url)
    try:
        rows["start to initialize, ms"] = min(rows["start to initialize, ms"], server.initialized)
        time.sleep(_SETTLE_SECONDS)
        rows["session/new settled, ms"], session = _timed(lambda: server.new_session(project))
        model.answers = iter([say("Hello.")] * 20)
        rows["first turn cold, ms"] = server.prompt(session)
        rows["turn warm, ms"] = min(server.prompt(session) for _ in range(5))
        model.answers = iter([say(*("word " for _ in range(CHUNKS)))])
        rows["5,000-chunk stream, ms"] = server.prompt(server.new_session(project))
        model.answers = iter([create(*("word\\n " for _ in range(CHUNKS))), say("Done.")])
        rows["5,000-chunk edit, ms"] = server.prompt(server.new_session(project))
        start = len(model.bodies)
        model.answers = iter([*(read(number) for number in range(TOOL_ROUNDS)), say("Done.")])
        rows["40 tool rounds, ms"] = server.prompt(server.new_session(project), "Read it all")
        rounds = model.bodies[start:]
        rows["memory, MB (PSS)"] = server.memory()
        rows["40 rounds, MB"] = sum(map(len, rounds)) / 1_000_000
        rows["stable prefix, share"] = stable_share(rounds)
        model.check()
        return rows
    finally:
        server.stop()


AIMS = {
    "start to initialize, ms": 100,
    "session/new at once, ms": None,
    "session/new settled, ms": 10,
    "first turn at once, ms": None,
    "first turn cold, ms": 60,
    "turn warm, ms": 15,
    "5,000-chunk stream, ms": 150,
    "5,000-chunk edit, ms": 300,
    "40 tool rounds, ms": 500,
    "memory, MB (PSS)": 80,
    "first request, KB": 30,
    "40 rounds, MB": 2.5,
    "stable prefix, share": 1.0,
    **{f"turn after {prompts:,} prompts, ms": None for prompts in LENGTHS},
}


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    rounds = []
    for _ in range(number):
        with tempfile.TemporaryDirectory() as folder:
            rounds.append(measure(Path(folder)))
        for prompts in LENGTHS:
            with tempfile.TemporaryDirectory() as folder:
                rounds[-1][f"turn after {prompts:,} prompts, ms"] = measure_long(Path(folder), prompts)
    print(f"{'':<28}{'best':>9}{'median':>9}{'worst':>9}{'aim':>9}")
    for name, aim in AIMS.items():
        values = sorted(row[name] for row in rounds)
        shown = "".join(f"{value:>9.2f}" for value in (values[0], values[len(values) // 2], values[-1]))
        print(f"{name:<28}{shown}{aim if aim is not None else '':>9}")


if __name__ == "__main__":
    main()
