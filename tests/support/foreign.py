"""Scripted clients on real pipes that know only ACP's stable part and have the habits of existing editors."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client

Remakes = Callable[[str], str | None]


def as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True)
class Habits:
    """How a client behaves. `missing`: its answer for a file that does not exist. `remakes`: turns a text that it
    should write into what it writes (None: it writes nothing, but reports success). `saves`: it writes to the disk, not
    only to its buffer. `drops_last_newline`: it tells texts without the newline at their end. `by_kind`: it keeps one
    option for each kind, the last one. `answers_kind`: it answers with an option's kind, whatever its id is. `ignores`
    are methods that it never answers."""

    missing: Literal["error", "empty", "null", "internal error"] = "error"
    remakes: Remakes = as_it_is
    saves: bool = True
    drops_last_newline: bool = False
    by_kind: bool = False
    answers_kind: bool = False
    authenticates: bool = False
    delay: float = 0.0
    ignores: frozenset[str] = frozenset()
    reads: bool = True
    writes: bool = True
    capabilities: dict[str, Any] = field(default_factory=dict)


class ForeignClient:
    """A client with these habits. `buffers` are the files that it has open; `presses` are the kinds of options that its
    user chooses, one for each question (allow_once when they are used up)."""

    def __init__(self, raw: RawAcpClient, habits: Habits, project: Path) -> None:
        self.raw, self.habits, self.project = raw, habits, project
        self.buffers: dict[Path, str] = {}
        self.presses: list[str] = []
        self.questions: list[dict[str, Any]] = []
        self.missed: list[str] = []
        self.written: list[tuple[str, str]] = []
        self.session = ""
        for method, handler in (
            ("session/request_permission", self._decide),
            ("fs/read_text_file", self._read),
            ("fs/write_text_file", self._write),
        ):
            raw.handlers[method] = self._with_habits(method, handler)

    def _with_habits(self, method: str, handler: Any) -> Any:
        async def answer(params: dict[str, Any]) -> Any:
            if method in self.habits.ignores:
                return None
            await asyncio.sleep(self.habits.delay)
            return await handler(params)

        return answer

    async def _decide(self, params: dict[str, Any]) -> dict[str, Any]:
        self.questions.append(params)
        kind = self.presses.pop(0) if self.presses else "allow_once"
        if kind == "cancel":
            return {"outcome": {"outcome": "cancelled"}}
        options = params["options"]
        if self.habits.answers_kind:
            return {"outcome": {"outcome": "selected", "optionId": kind}}
        if self.habits.by_kind:
            keys = {option["kind"]: option["optionId"] for option in options}
            return {"outcome": {"outcome": "selected", "optionId": keys[kind]}}
        chosen = next((option["optionId"] for option in options if option["kind"] == kind), kind)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def _read(self, params: dict[str, Any]) -> Any:
        path = Path(params["path"])
        if path in self.buffers or path.is_file():
            text = self.buffers[path] if path in self.buffers else path.read_text()
            return {"content": text.removesuffix("\n") if self.habits.drops_last_newline else text}
        self.missed.append(path.name)
        match self.habits.missing:
            case "empty":
                return {"content": ""}
            case "null":
                return {"content": None}
            case "error":
                raise RpcFailure({"code": -32002, "message": "Resource not found"})
            case _:
                raise RpcFailure({"code": -32603, "message": "ENOENT: no such file"})

    async def _write(self, params: dict[str, Any]) -> Any:
        path = Path(params["path"])
        self.written.append((path.name, params["content"]))
        text = self.habits.remakes(params["content"])
        if text is None:
            return {}
        if path in self.buffers or not self.habits.saves:
            self.buffers[path] = text
        if self.habits.saves:
            path.write_text(text)
        return {}

    async def start(self) -> None:
        files = {"readTextFile": self.habits.reads, "writeTextFile": self.habits.writes}
        capabilities = {"fs": files} | self.habits.capabilities
        made = await self.raw.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        if self.habits.authenticates:
            await self.raw.request("authenticate", {"methodId": made["authMethods"][0]["id"]})
        new = await self.raw.request("session/new", {"cwd": str(self.project), "mcpServers": []})
        self.session = new["sessionId"]

    async def prompt(self, *blocks: str | dict[str, Any]) -> dict[str, Any]:
        prompt = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
        return dict(await self.raw.request("session/prompt", {"sessionId": self.session, "prompt": prompt}))

    def said(self) -> str:
        """Return the text of the answers so far."""
        updates = [params["update"] for params in self.raw.updates]
        chunks = [update for update in updates if update["sessionUpdate"] == "agent_message_chunk"]
        return "".join(update["content"]["text"] for update in chunks)


@asynccontextmanager
async def foreign(world: World, habits: Habits = Habits()) -> AsyncIterator[ForeignClient]:
    """Start a client with a session."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as raw:
        client = ForeignClient(raw, habits, world.project)
        await client.start()
        yield client
