"""One MCP server of a session: connected, listed, connected again when it is lost, and called."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread

from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.servers import (
    Connect,
    Connection,
    OfferedPrompt,
    OfferedTool,
    Report,
    ServerAnswer,
    ServerSpec,
)
from north_lsp.agent.servers.memory import ServerMemory, described
from north_lsp.background import Background
from north_lsp.display import one_line
from north_lsp.errors import ToolError

State = Literal["connecting", "ready", "failed", "lost", "off"]

_WAITS = (1.0, 2.0, 5.0, 15.0, 30.0, 60.0, 60.0, 60.0, 60.0, 60.0)
"""Seconds before each further attempt."""
_STEADY_SECONDS = 60.0
"""A connection that was there for so long, or answered a call, has its attempts anew; one that ends sooner is no better
than none."""
_WAIT_FOR_CALL = 10.0
_WAIT_FOR_START = 30.0
_BETWEEN_LISTS = 1.0
_CLOSE_SECONDS = 1.4
_LOG_LINES = 200
_MOST_NAMED = 5000


class Server:
    """Keeps the connection to one server, in a task of its own. `on_change` is called when its state or its tools have
    changed."""

    def __init__(
        self,
        spec: ServerSpec,
        connect: Connect,
        roots: Sequence[Path],
        background: Background,
        diagnostics: Diagnostics,
        on_change: Callable[[Server], None],
        memory: ServerMemory,
    ) -> None:
        self.spec = spec
        self._memory = memory
        self.state: State = "off"
        self.error = ""
        self.title = ""
        self.instructions = ""
        self.tools: tuple[OfferedTool, ...] = ()
        self.prompts: tuple[OfferedPrompt, ...] = ()
        self.problems: tuple[str, ...] = ()
        self.log: deque[str] = deque(maxlen=_LOG_LINES)
        self.settled = anyio.Event()
        """Set once the first attempt has ended, however."""
        self._connect = connect
        self._roots = roots
        self._background = background
        self._diagnostics = diagnostics
        self._on_change = on_change
        self._connection: Connection | None = None
        self._scope: anyio.CancelScope | None = None
        self._ended = anyio.Event()
        self._news = anyio.Event()
        self._told = anyio.Event()
        self._named: dict[str, None] = {}
        self._as_first: Mapping[str, OfferedTool] = {}
        self._taking = anyio.Lock()
        self._starts_again = self._has_answered = False

    # -- its life ---------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Connect, and stay connected."""
        if self._scope is not None:
            return
        self._scope, self._ended, self.settled = anyio.CancelScope(), anyio.Event(), anyio.Event()
        self._set("connecting")
        self._background.start_soon(self._run, self._scope, self._ended, self.settled)

    async def tried(self) -> None:
        """Wait until it is known what came of connecting."""
        while self.state == "connecting":
            await self._news.wait()

    async def stop(self) -> None:
        """Disconnect; what the server has started has ended then, or is left behind after a while."""
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.cancel()
            with anyio.move_on_after(_CLOSE_SECONDS):
                await self._ended.wait()
        self._set("off")

    async def _run(self, scope: anyio.CancelScope, ended: anyio.Event, settled: anyio.Event) -> None:
        """Stay connected until the scope is cancelled. The connection may end only after the next has begun."""
        try:
            with scope:
                if not self.tools:
                    await self._take(await anyio.to_thread.run_sync(self._memory.recall))
                    self.instructions = await anyio.to_thread.run_sync(self._memory.recall_instructions)
                if self.tools:  # they are there at once; a call waits for the connection
                    self.settled.set()
                await self._stay_connected()
        except Exception:
            self._set("failed", "something failed inside North; its log has the details")
            raise
        finally:
            if self._ended is ended:
                self._connection = None
            settled.set()
            ended.set()

    async def _stay_connected(self) -> None:
        attempt = 0
        while True:
            started = anyio.current_time()
            was_ready = False
            try:
                async with self._connect(self.spec, self._roots, self) as connection:
                    await self._list(connection)
                    was_ready, self._has_answered, since = True, False, anyio.current_time()
                    self._connection, self.title = connection, connection.title
                    took = round((anyio.current_time() - started) * 1000)
                    self._diagnostics.event("mcp_ready", server=self.spec.name, durationMs=took, tools=len(self.tools))
                    self._set("ready")
                    self.settled.set()
                    why = await self._serve(connection)
                    if self._has_answered or anyio.current_time() - since >= _STEADY_SECONDS:
                        attempt = 0
            except ToolError as error:
                why = error.message
            self._connection = None
            if self._starts_again:
                self._starts_again = False
                self._set("connecting")
                continue
            if not was_ready and self.log and not self.tools:
                why = f"{why}; its last words: {self.log[-1]}"
            took = round((anyio.current_time() - started) * 1000)
            self._diagnostics.warning("mcp_error", server=self.spec.name, durationMs=took, error=one_line(why, 200))
            if attempt >= len(_WAITS):
                self._set("failed", why)
                return
            self._set("lost" if was_ready or self.tools else "failed", why)
            self.settled.set()
            await anyio.sleep(_WAITS[attempt])
            attempt += 1
            self._diagnostics.event("mcp_reconnect", server=self.spec.name, attempt=attempt)

    async def _serve(self, connection: Connection) -> str:
        """List the tools again whenever they have changed, and see that the server is there, until the connection
        ends; returns why it did."""
        why = ""

        async def follow() -> None:
            while True:
                await self._told.wait()
                self._told = anyio.Event()
                try:
                    await self._list(connection)
                except ToolError as error:
                    self.logged(f"the list of tools could not be read again: {error.message}")
                else:
                    self.logged("the tools were listed again")
                    self._on_change(self)
                await anyio.sleep(_BETWEEN_LISTS)  # a server that says so all the time is not asked all the time

        async def watch() -> None:
            nonlocal why
            while self.spec.ping_seconds and not why:
                await anyio.sleep(self.spec.ping_seconds)
                try:
                    await connection.check()
                except ToolError as error:
                    why, self._starts_again = error.message, error.code == "STALE"
                    tasks.cancel_scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            tasks.start_soon(watch)
            why = await connection.wait_closed()
            tasks.cancel_scope.cancel()
        return why

    async def _list(self, connection: Connection) -> None:
        listed, problems = await connection.tools()
        tools = tuple(tool for tool in listed if self.spec.offers(tool.name))
        await self._take(tools)
        self.instructions = connection.instructions
        self.problems = tuple(problems)
        try:
            self.prompts = tuple(await connection.prompts())
        except ToolError as error:  # its tools are there all the same
            self.logged(f"its prompts cannot be listed: {error.message}")
        await self._memory.keep(self.tools, self.instructions)

    async def _take(self, tools: tuple[OfferedTool, ...]) -> None:
        """Offer tools from now on."""
        async with self._taking:
            await self._compare(tools)
            self.tools = tools

    async def _compare(self, tools: Sequence[OfferedTool]) -> None:
        """Believe those tools that are described as when they were first seen; none, if that is not known."""
        try:
            first = await self._memory.first_seen(tools)
        except (OSError, ValueError) as error:
            first = {}
            self.logged(f"all of its tools need approval, since their earlier descriptions are not available: {error}")
        self._as_first = {tool.name: tool for tool in tools if first.get(tool.name) == described(tool)}

    def _set(self, state: State, error: str = "") -> None:
        self.state, self.error = state, one_line(error, 500)
        news, self._news = self._news, anyio.Event()
        news.set()
        self._on_change(self)

    @property
    def skipped(self) -> int:
        """How many messages of the present connection made no sense."""
        return self._connection.skipped if self._connection is not None else 0

    # -- what it says by itself -------------------------------------------------------------------------------------

    def tools_changed(self) -> None:
        self._told.set()

    def logged(self, line: str) -> None:
        self.log.append(one_line(line, 1000))

    # -- calls ------------------------------------------------------------------------------------------------------

    def has_changed(self, tool: OfferedTool) -> bool:
        """Tell whether the server described a tool differently when that was first seen, also if nobody knows."""
        return self._as_first.get(tool.name) != tool

    async def accept_tools(self) -> None:
        """Believe the tools as they are described now: the user has said so. Raises OSError, ValueError."""
        async with self._taking:
            await self._memory.forget_first_seen()
            await self._compare(self.tools)

    async def call(self, tool: OfferedTool, arguments: Mapping[str, object], report: Report) -> ServerAnswer:
        """Call a tool as it was approved. While the connection is lost, wait a little for the next one. Raises
        ToolError."""
        connection = await self._connected(_WAIT_FOR_START if self.state == "connecting" else _WAIT_FOR_CALL)
        if tool not in self.tools:
            changed = any(one.name == tool.name for one in self.tools)
            what = "has changed since this turn began" if changed else "is not offered any more"
            raise ToolError(
                "STALE", f"the tool {tool.name} of the MCP server {self.spec.name} {what}", "do without it for now"
            )
        answer = await connection.call(tool.name, arguments, report)
        self._has_answered = True
        for address in answer.links:
            self.name_resource(address)
        return answer

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises ToolError."""
        return await (await self._connected(_WAIT_FOR_CALL)).prompt(name, arguments)

    async def resources(self) -> Sequence[tuple[str, str]]:
        """List what can be read. Raises ToolError."""
        found = await (await self._connected(_WAIT_FOR_CALL)).resources()
        for address, _ in found:
            self.name_resource(address)
        return found

    def name_resource(self, address: str) -> None:
        """Note an address that the server has named, or the user: it may be read without a question."""
        self._named.pop(address, None)
        self._named[address] = None
        if len(self._named) > _MOST_NAMED:
            del self._named[next(iter(self._named))]

    async def read(self, address: str) -> ServerAnswer:
        """Read a resource that the server or the user has named: with any other address, a model could tell the server
        whatever it likes. Raises ToolError."""
        connection = await self._connected(_WAIT_FOR_CALL)
        if address not in self._named:
            await self.resources()
        if address not in self._named:
            name = self.spec.name
            raise ToolError(
                "DENIED",
                f"the MCP server {name} has not listed this address, so only the user can attach it",
                f"mcp://{name} lists what can be read; the user can attach others as @mcp:{name}/<address>",
            )
        return await connection.read(address)

    async def _connected(self, seconds: float) -> Connection:
        with anyio.move_on_after(seconds):
            while self._connection is None and self.state in ("connecting", "lost"):
                await self._news.wait()
        if self._connection is None:
            why = self.error or "it is switched off" if self.state == "off" else self.error or "it does not answer"
            raise ToolError("REMOTE_ERROR", f"MCP error: {self.spec.name} is not connected: {why}", "do without it")
        return self._connection
