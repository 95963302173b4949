"""A raw ACP client on real pipes: requests, answers, and a record of every line, which the oracle checks at the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.acp_schema import Oracle, Side
from tests.support.patience import PATIENCE

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


class RpcFailure(Exception):
    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['code']} {error['message']}")
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data = error.get("data")


class RawAcpClient:
    """Talks to an agent. `handlers` answer its requests or raise RpcFailure; one that returns None never answers, and a
    method without a handler gets -32601. There may be no process (`inside.py`)."""

    def __init__(
        self,
        reader: asyncio.StreamReader | None,
        writer: asyncio.StreamWriter | None,
        process: asyncio.subprocess.Process | None = None,
    ) -> None:
        self._reader, self._writer, self._process = reader, writer, process
        self.handlers: dict[str, Handler] = {}
        self.updates: list[dict[str, Any]] = []
        self.transcript: list[tuple[Side, dict[str, Any]]] = []
        self.lines: list[bytes] = []
        self.stderr = ""
        self._news = asyncio.Condition()
        self._next = 0
        self._tasks: set[asyncio.Task[None]] = set()

    # -- talking -------------------------------------------------------------------------------------------------------

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process

    async def send_raw(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()

    async def send(self, message: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", **message}
        self.transcript.append(("client", message))
        await self.send_raw(json.dumps(message).encode() + b"\n")

    async def start_request(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request and return its id, for `answer`."""
        self._next += 1
        await self.send({"id": self._next, "method": method, "params": params or {}})
        return self._next

    async def answer(self, id: object) -> Any:
        """Return the result of a request. Raises RpcFailure."""
        message = await self.wait(lambda message: message.get("id") == id and "method" not in message)
        if "error" in message:
            raise RpcFailure(message["error"])
        return message["result"]

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        return await self.answer(await self.start_request(method, params))

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self.send({"method": method, "params": params})

    async def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the agent's first message that fits, waiting for one if there is none yet."""

        looked, found = 0, None

        def has_come() -> bool:
            nonlocal looked, found
            while found is None and looked < len(self.transcript):
                sender, message = self.transcript[looked]
                looked += 1
                found = message if sender == "agent" and wanted(message) else None
            return found is not None

        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(has_come)
        assert found is not None
        return found

    async def wait_update(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        def fits(message: dict[str, Any]) -> bool:
            return message.get("method") == "session/update" and wanted(message["params"]["update"])

        return dict((await self.wait(fits))["params"]["update"])

    async def close_stdin(self) -> None:
        assert self._writer is not None
        self._writer.close()

    async def wait_exit(self, seconds: float = PATIENCE) -> int:
        return await asyncio.wait_for(self.process.wait(), seconds)

    # -- listening -----------------------------------------------------------------------------------------------------

    async def read(self) -> None:
        assert self._reader is not None
        while line := await self._reader.readline():
            self.lines.append(line)
            received = json.loads(line)
            messages = received if isinstance(received, list) else [received]
            assert messages, line
            for message in messages:
                assert isinstance(message, dict), line
                await self._take(message)

    async def _take(self, message: dict[str, Any]) -> None:
        async with self._news:
            self.transcript.append(("agent", message))
            if message.get("method") == "session/update":
                self.updates.append(message["params"])
            self._news.notify_all()
        if "method" in message and "id" in message:
            task = asyncio.create_task(self._handle(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handle(self, message: dict[str, Any]) -> None:
        handler = self.handlers.get(message["method"])
        if handler is None:
            await self.send({"id": message["id"], "error": {"code": -32601, "message": "unknown method"}})
            return
        try:
            result = await handler(message["params"])
        except RpcFailure as failure:
            await self.send({"id": message["id"], "error": {"code": failure.code, "message": failure.message}})
            return
        if result is not None:
            await self.send({"id": message["id"], "result": result})

    async def read_errors(self) -> None:
        assert self.process.stderr is not None
        self.stderr = (await self.process.stderr.read()).decode()


@asynccontextmanager
async def raw_client(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path, *, check: bool = True, version: int = 1
) -> AsyncIterator[RawAcpClient]:
    """Start an agent and talk to it. At the end it is stopped, and everything it sent is checked by the schema of this
    `version` of the protocol."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ), cwd=cwd, limit=2**26
    )
    client = RawAcpClient(process.stdout, process.stdin, process)
    readers = [asyncio.create_task(client.read()), asyncio.create_task(client.read_errors())]
    try:
        yield client
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await asyncio.gather(*readers)
        process._transport.close()  # type: ignore[attr-defined]  # the process object has no public way to close its pipes
    if check:
        Oracle.load(version).check_transcript(client.transcript)
