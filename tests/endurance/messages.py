"""Run on its own: sends random and damaged messages to servers, over both framings.

    python -m tests.endurance.messages COUNT [SEED]

After each few hundred messages the server must answer a request as ever; at the end it must exit by itself, with no
crash report and nothing on its standard error; neither its memory nor its open files may have grown. Prints what it did
as JSON, and where the memory is that came (`tests/endurance/memory.py`).
"""

import asyncio
import json
import random
import sys
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from north_lsp.rpc.framing import Framing, HeaderFraming, NewlineFraming
from tests.end_to_end.world import COLD_SERVER, World, make_world
from tests.endurance.memory import Memory, growth
from tests.endurance.mutant import Carrier, Mutant

T = TypeVar("T")
CARRIERS: tuple[Carrier, ...] = ("acp", "acp 2", "lsp")
_AT_ONCE = 500
_SECONDS = 300.0
_TRIES = 20
_WARM = 0.3
"""The part of a campaign after which everything that stays is there."""
_HALFWAY = (1 + _WARM) / 2
_GROWTH = 24 * 2**20
"""What stays is the room between blocks that the allocator of each thread keeps, which comes to an end: with one
allocator for all (`MALLOC_ARENA_MAX=1`) it is a tenth of this. Half a kilobyte of each message would be more."""
_OPENED = 12
"""Databases and what is just being read. A descriptor that stays of each conversation would be hundreds."""
_FILLING = {"jsonrpc": "2.0", "method": "$/fill", "params": {"text": "x" * 12_000}}
"""Longer than what a damaged header can announce (`mutant.py`): the server waits for that much."""


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

    def __post_init__(self) -> None:
        assert self.process.stderr is not None
        self.reading = asyncio.create_task(self._read())
        self.errors = asyncio.create_task(self.process.stderr.read())

    async def write(self, data: bytes) -> None:
        """Send this. Raises AssertionError if the server is gone."""
        try:
            await self._while_read(self._send(data), None)
        except ConnectionError:
            await asyncio.wait({self.reading})
            await self.check()
            raise

    async def _send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def _while_read(self, waiting: Awaitable[T], seconds: float | None) -> T:
        """Wait for something that never comes once nobody reads what the server says. Raises TimeoutError."""
        task = asyncio.ensure_future(waiting)
        try:
            await asyncio.wait({task, self.reading}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            await self.check()
            raise TimeoutError
        finally:
            task.cancel()

    async def check(self) -> None:
        """Raises AssertionError, with the reason, if nothing is read from the server any more."""
        if not self.reading.done():
            return
        if error := self.reading.exception():
            raise AssertionError(f"what the server sent is not what it may send: {error!r}") from error
        async with asyncio.timeout(10):
            code = await self.process.wait()
            said = (await self.errors).decode(errors="replace")
        raise AssertionError(f"the server is gone; it exited with {code} and said: {said[-4000:]}")

    async def _read(self) -> None:
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
                await self._send(self.framing.encode({"jsonrpc": "2.0", "id": id, **self.mutant.answer()}))
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
                await self._while_read(self.answers[id].wait(), _SECONDS if number == _TRIES - 1 else 5)
                return self.results.pop(id)
            except TimeoutError:
                continue
            finally:
                del self.answers[id]
        raise AssertionError(f"{method} is not answered any more")

    def memory(self) -> Memory:
        """Return what the server has in memory."""
        return Memory.of(self.process.pid)

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
    make: Callable[[], Framing] = HeaderFraming if carrier == "lsp" else NewlineFraming
    mutant = Mutant(seed, carrier, world.project)
    connection = Connection(process, make(), mutant)
    try:
        await connection.ask("initialize", _opening(carrier, world))
        sent, descriptors = 0, 0
        memory: list[Memory] = []
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
                memory, descriptors = [connection.memory()], connection.descriptors()
            elif len(memory) == 1 and sent >= count * _HALFWAY:
                memory.append(connection.memory())
        memory.append(connection.memory())
        opened = connection.descriptors() - descriptors
        assert process.stdin is not None
        process.stdin.close()
        code = await asyncio.wait_for(process.wait(), _SECONDS)
        assert code in (0, 1), f"the server exited with {code}"  # LSP's exit without a shutdown is 1
        await connection.reading
        assert not (said := await connection.errors), said.decode()
    except AssertionError as error:
        for report in _crashes(world):
            error.add_note(report)
        raise
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert not (reports := _crashes(world)), "\n\n".join(reports)
    return {"sent": sent, "received": connection.received, "opened": opened, **growth(memory)}


def _crashes(world: World) -> list[str]:
    return [path.read_text() for path in (world.folder / "state").rglob("crash/*.txt")][:3]


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
