"""Run on its own: sends random and damaged messages to servers, over both framings.

    python -m tests.endurance.messages COUNT [SEED]

After each few hundred messages the server must answer a request as ever; at the end it must exit by itself, with no
crash report and nothing on its standard error; neither its memory nor its open files may have grown. Prints what it did
as JSON.
"""

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from north_lsp.acp.initialize import EXTENSION_METHODS
from north_lsp.rpc.framing import Framing, HeaderFraming, NewlineFraming
from tests.end_to_end.world import COLD_SERVER, World, make_world

Carrier = Literal["acp", "acp 2", "lsp"]
CARRIERS: tuple[Carrier, ...] = ("acp", "acp 2", "lsp")
_AT_ONCE = 500
_SECONDS = 300.0
_TRIES = 20
_WARM = 0.3
"""The part of a campaign after which everything that stays is there."""
_GROWTH = 24 * 2**20
"""What stays is the room between blocks that the allocator of each thread keeps, which comes to an end: with one
allocator for all (`MALLOC_ARENA_MAX=1`) it is a tenth of this. Half a kilobyte of each message would be more."""
_OPENED = 12
"""Databases and what is just being read. A descriptor that stays of each conversation would be hundreds."""
_FILLING = {"jsonrpc": "2.0", "method": "$/fill", "params": {"text": "x" * 12_000}}
"""Longer than what a damaged header can announce (`_believable`): the server waits for that much."""
_OWN = frozenset({"_north/keys/set", "_north/keys/remove", "_north/leaving"})
"""Left out: these ask vendors, or say that the client goes."""
_METHODS = (
    "initialize",
    "authenticate",
    "logout",
    "auth/login",
    "auth/status",
    "providers/list",
    "providers/set",
    "providers/disable",
    "session/archive",
    "session/cancel",
    "session/close",
    "session/fork",
    "session/list",
    "session/load",
    "session/new",
    "session/prompt",
    "session/resume",
    "session/set_config_option",
    "session/set_mode",
    "session/set_title",
    "session/status",
    "session/unarchive",
    "mcp/message",
    "terminal/cancel",
    "tool_call/cancel",
    "$/cancel_request",
    "$/setTrace",
    "textDocument/didOpen",
    "textDocument/didChange",
    "textDocument/didClose",
    "textDocument/hover",
    "textDocument/codeAction",
    "textDocument/completion",
    "textDocument/documentSymbol",
    *(method for method in EXTENSION_METHODS if method not in _OWN),
)
_WORDS = (
    "",
    "hello",
    "find loads",
    "/help",
    "/mcp",
    "é😀",
    "\x00\x1b[2J",
    "\ud800",
    "a" * 5000,
    "../..",
    "mode",
    "ask",
)
_KEYS = (
    "sessionId",
    "cwd",
    "toolCallId",
    "terminalId",
    "serverId",
    "requestId",
    "prompt",
    "type",
    "text",
    "uri",
    "id",
    "limit",
    "query",
    "_meta",
    "north",
    "value",
    "x",
)


class Mutant:
    """Makes messages, the same ones for a seed."""

    def __init__(self, seed: int, carrier: Carrier, project: Path) -> None:
        self._random = random.Random(f"{seed} {carrier}")
        self._carrier = carrier
        self._project = project
        self._number = 0
        self.session = ""

    def data(self, framing: Framing) -> bytes:
        """Make what is sent for one message, which may be none any more."""
        message: object = self._message()
        if self._random.random() < 0.1:
            message = [self._message() for _ in range(self._random.randrange(4))]
        data = framing.encode(message)
        return self._damaged(data) if self._random.random() < 0.2 else data

    def _message(self) -> dict[str, Any]:
        chance = self._random
        method = chance.choice(_METHODS)
        self._number += 1
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._number,
            "method": method,
            "params": self._params(method),
        }
        if chance.random() < 0.2:
            del message["id"]
        if chance.random() < 0.7:
            self._change(message["params"])
        if chance.random() < 0.1:
            self._change(message)
        return message

    def _params(self, method: str) -> dict[str, Any]:
        cwd = str(self._project)
        params: dict[str, Any] = {"sessionId": self.session}
        match method:
            case "session/new" | "session/list" | "session/load" | "session/resume" | "session/fork":
                params |= {"cwd": cwd, "mcpServers": []}
            case "session/prompt" | "_north/steer" | "_north/followUp":
                params |= {"prompt": [{"type": "text", "text": self._random.choice(_WORDS)}]}
            case "session/set_mode":
                params |= {"modeId": "ask"}
            case "session/set_config_option" | "_north/config/get":
                params |= {"configId": "mode", "type": "id", "value": "ask", "key": "turn.maxRequests"}
            case "$/cancel_request":
                params = {"requestId": self._random.randrange(self._number)}
            case _ if method.startswith("textDocument/"):
                document = {"uri": (self._project / "a.py").as_uri(), "languageId": "python", "version": 1, "text": "x"}
                params = {"textDocument": document, "position": {"line": 0, "character": 0}, "contentChanges": []}
            case _:
                params |= {"cwd": cwd, "query": "he", "limit": 3, "id": "abcdef", "mode": "ask", "title": "A title"}
        return params

    def _change(self, value: Any, depth: int = 0) -> None:
        """Damage a value in one place or several."""
        chance = self._random
        keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
        for key in keys:
            roll = chance.random()
            if roll < 0.2:
                value[key] = self._value()
            elif roll < 0.3 and isinstance(value, dict):
                del value[key]
            elif roll < 0.7 and depth < 4:
                self._change(value[key], depth + 1)
        if isinstance(value, dict) and chance.random() < 0.2:
            value[chance.choice(_KEYS)] = self._value()

    def _value(self, depth: int = 0) -> Any:
        chance = self._random
        match chance.randrange(9 if depth < 3 else 6):
            case 0:
                return None
            case 1:
                return chance.random() < 0.5
            case 2:
                return chance.choice((0, -1, 2**31, 10**30, 7))
            case 3:
                return chance.choice((0.5, -1e300, 1e-9))
            case 6:
                return [self._value(depth + 1) for _ in range(chance.randrange(4))]
            case 7:
                return {chance.choice(_KEYS): self._value(depth + 1) for _ in range(chance.randrange(4))}
            case 8:
                deep: Any = 1
                for _ in range(chance.choice((20, 300))):
                    deep = [deep]
                return deep
            case _:
                return chance.choice(_WORDS)

    def _damaged(self, data: bytes) -> bytes:
        chance, found = self._random, bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(found)) if found else 0
            match chance.randrange(5):
                case 0:
                    del found[at : at + chance.randrange(1, 9)]
                case 1:
                    found[at:at] = chance.randbytes(chance.randrange(1, 9))
                case 2 if found:
                    found[at] ^= 1 << chance.randrange(8)
                case 3:
                    found = found[:at]
                case _:
                    found[at:at] = chance.choice(
                        (b"\n", b"\r\n\r\n", b"\x00", b'"', b"{", b"\xff", b"Content-Length: x\r\n")
                    )
        if self._carrier == "lsp":
            return _believable(bytes(found))
        return bytes(found)

    def answer(self) -> dict[str, Any]:
        """Make an answer to a request of the server's."""
        if self._random.random() < 0.3:
            return {"error": {"code": -32603, "message": "no"}}
        return {"result": self._value()}


def _believable(data: bytes) -> bytes:
    """Take away a length that would make the server wait for more than is sent in a whole campaign."""
    head, end, body = data.partition(b"\r\n\r\n")
    digits = bytes(byte for byte in head if byte in b"0123456789")
    return data if len(digits) < 5 else b"Content-Length: y" + end + body


@dataclass
class Connection:
    """A server with a client that reads everything, and answers anything."""

    process: asyncio.subprocess.Process
    framing: Framing
    mutant: Mutant
    answers: dict[str, asyncio.Event] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    received: int = 0
    made: list[str] = field(default_factory=list)

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def read(self) -> None:
        assert self.process.stdout is not None
        framing = type(self.framing)()
        while data := await self.process.stdout.read(2**16):
            for frame in framing.feed(data):
                for message in frame if isinstance(frame, list) else [frame]:
                    assert isinstance(message, dict), f"this is no message: {message!r}"
                    await self._take(message)

    async def _take(self, message: dict[str, Any]) -> None:
        self.received += 1
        assert message.get("jsonrpc") == "2.0", message
        id = message.get("id")
        if "method" in message:
            if id is not None:
                await self.write(self.framing.encode({"jsonrpc": "2.0", "id": id, **self.mutant.answer()}))
            return
        assert ("result" in message) != ("error" in message), message
        assert message.get("error", {}).get("code") != -32603, message
        result = message.get("result")
        if isinstance(result, dict) and isinstance(result.get("sessionId"), str):
            self.made.append(result["sessionId"])
        if isinstance(id, str) and id in self.answers:
            self.results[id] = message
            self.answers[id].set()

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Ask as a client does; again if what was sent before took the request with it."""
        for number in range(_TRIES):
            id = f"ask-{method}-{number}-{random.random()}"
            self.answers[id] = asyncio.Event()
            if number:
                await self.write(self.framing.encode(_FILLING))
            await self.write(self.framing.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            try:
                await asyncio.wait_for(self.answers[id].wait(), _SECONDS if number == _TRIES - 1 else 5)
                return self.results.pop(id)
            except TimeoutError:
                continue
            finally:
                del self.answers[id]
        raise AssertionError(f"{method} is not answered any more")

    def memory(self) -> int:
        """Return how many bytes the server has in memory."""
        rows = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(row.split()[1]) * 1024 for row in rows if row.startswith("VmRSS"))

    def descriptors(self) -> int:
        """Return how many files, pipes and sockets the server has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


async def campaign(
    world: World, carrier: Carrier, count: int, seed: int, server: Sequence[str] = COLD_SERVER
) -> dict[str, int]:
    """Send that many messages to a server. Raises AssertionError for whatever must not happen."""
    pipe = asyncio.subprocess.PIPE
    argv = [*server, "lsp" if carrier == "lsp" else "acp"]
    process = await asyncio.create_subprocess_exec(
        *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=world.environ, cwd=world.project
    )
    assert process.stderr is not None
    make: Callable[[], Framing] = HeaderFraming if carrier == "lsp" else NewlineFraming
    mutant = Mutant(seed, carrier, world.project)
    connection = Connection(process, make(), mutant)
    reading = asyncio.create_task(connection.read())
    errors = asyncio.create_task(process.stderr.read())
    try:
        await connection.ask("initialize", _opening(carrier, world))
        sent, memory, descriptors = 0, 0, 0
        while sent < count:
            made = await connection.ask("session/new", {"cwd": str(world.project), "mcpServers": []})
            mutant.session = made["result"]["sessionId"]
            for _ in range(min(_AT_ONCE, count - sent)):
                await connection.write(mutant.data(connection.framing))
                sent += 1
            if carrier != "lsp":
                await connection.write(b"\n")
            await connection.ask("session/list", {})
            while connection.made:  # what is answered later is deleted with those of the next ones
                await connection.ask("session/delete", {"sessionId": connection.made.pop()})
            if not memory and sent >= count * _WARM:
                memory, descriptors = connection.memory(), connection.descriptors()
            assert not reading.done(), reading.exception()
        grown, opened = connection.memory() - memory, connection.descriptors() - descriptors
        assert process.stdin is not None
        process.stdin.close()
        code = await asyncio.wait_for(process.wait(), _SECONDS)
        assert code in (0, 1), f"the server exited with {code}"  # LSP's exit without a shutdown is 1
        await reading
        assert not (said := await errors), said.decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    reports = [path.read_text() for path in (world.folder / "state").rglob("crash/*.txt")]
    assert not reports, "\n\n".join(reports[:3])
    return {"sent": sent, "received": connection.received, "memory": memory, "grown": grown, "opened": opened}


def _opening(carrier: Carrier, world: World) -> dict[str, Any]:
    if carrier == "lsp":
        folders = [{"uri": world.project.as_uri(), "name": "p"}]
        options = {"north": {"acp": True}}
        return {"processId": None, "capabilities": {}, "workspaceFolders": folders, "initializationOptions": options}
    version = 2 if carrier == "acp 2" else 1
    return {"protocolVersion": version, "info": {"name": "fuzz", "version": "1"}, "clientCapabilities": {}}


async def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    for carrier in CARRIERS:
        with tempfile.TemporaryDirectory() as folder:
            found = await campaign(make_world(Path(folder) / "world"), carrier, count // len(CARRIERS), seed)
        sys.stdout.write(json.dumps({"carrier": carrier, "seed": seed, **found}) + "\n")
        assert found["grown"] < _GROWTH, found
        assert found["opened"] < _OPENED, found


if __name__ == "__main__":
    asyncio.run(main())
