"""Opens the connections to MCP servers: the core's port, in terms of the protocol."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from north_lsp.agent.ports.servers import (
    Connection,
    Listener,
    OfferedPrompt,
    OfferedTool,
    Report,
    ServerAnswer,
    ServerSpec,
)
from north_lsp.background import beside
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.mcp.client import McpClient
from north_lsp.mcp.content import (
    MAX_PROMPTS,
    MAX_RESOURCES,
    MAX_TOOLS,
    read_answer,
    read_contents,
    read_messages,
    read_prompts,
    read_resources,
    read_tools,
)
from north_lsp.mcp.over_editor import VERSION as STATELESS
from north_lsp.mcp.over_editor import connected_over_editor, over_editor
from north_lsp.mcp.secrets import secrets_given, with_commands_run
from north_lsp.mcp.stdio import empty_folder, server_environment, stdio
from north_lsp.mcp.transport import Transport, failure
from north_lsp.storage.credentials import CredentialStore
from north_lsp.storage.locations import Locations

if TYPE_CHECKING:
    from north_lsp.mcp.oauth import SignIns

_MAX_PAGES = 20
_MAX_TOOLS_TEXT = 256 * 1024
_TOKEN = "OAUTH_ACCESS_TOKEN"
"""The variable in which programs look for the user's token."""
_MOST_INSTRUCTIONS = 10_000
_CAPABILITIES: Mapping[str, object] = {"roots": {}}


class McpConnection:
    """An open connection. Its methods raise ToolError."""

    def __init__(
        self, client: McpClient, spec: ServerSpec, opened: Mapping[str, Any], is_outdated: Callable[[], Awaitable[bool]]
    ) -> None:
        self._client = client
        self._is_outdated = is_outdated
        self._seconds = spec.seconds
        self._never_pinged = spec.carrier == "acp"  # it is there as long as the editor is
        about = opened.get("serverInfo")
        about = about if isinstance(about, Mapping) else {}
        words = [about.get("title") or about.get("name"), about.get("version")]
        self.title = one_line(" ".join(word for word in words if isinstance(word, str)), 100)
        said = opened.get("instructions")
        self.instructions = said[:_MOST_INSTRUCTIONS].strip() if isinstance(said, str) else ""
        offered = opened.get("capabilities")
        self._offered = offered if isinstance(offered, Mapping) else {}

    async def tools(self) -> tuple[Sequence[OfferedTool], Sequence[str]]:
        if "tools" not in self._offered:
            return (), ()
        tools: dict[str, OfferedTool] = {}
        problems: list[str] = []
        async for page in self._pages("tools/list"):
            rows = await anyio.to_thread.run_sync(_rows, page)
            for row in rows:
                if isinstance(row, str):
                    problems.append(row)
                elif row.name in tools:
                    problems.append(f"the tool {one_line(row.name, 80)} is named twice; the first one counts")
                else:
                    tools[row.name] = row
            if len(tools) >= MAX_TOOLS:
                break
        if len(tools) > MAX_TOOLS:
            problems.append(f"it offers {len(tools)} tools; the first {MAX_TOOLS} are used")
        used = await anyio.to_thread.run_sync(_bounded, tuple(tools.values())[:MAX_TOOLS])
        if len(used) < min(len(tools), MAX_TOOLS):
            problems.append(f"its tools are described at too great length; the first {len(used)} are used")
        return used, problems[-20:]

    async def call(self, tool: str, arguments: Mapping[str, object], report: Report) -> ServerAnswer:
        params = {"name": tool, "arguments": dict(arguments)}
        return await read_answer(await self._client.request("tools/call", params, self._seconds, report))

    async def prompts(self) -> Sequence[OfferedPrompt]:
        if "prompts" not in self._offered:
            return ()
        found: dict[str, OfferedPrompt] = {}
        async for page in self._pages("prompts/list"):
            for prompt in read_prompts(page.get("prompts")):
                found.setdefault(prompt.name, prompt)
            if len(found) >= MAX_PROMPTS:
                break
        return list(found.values())[:MAX_PROMPTS]

    async def _pages(self, method: str) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the pages of a list, as many as are looked at."""
        cursor: object = None
        for _ in range(_MAX_PAGES):
            params = {"cursor": cursor} if cursor is not None else {}
            page = await self._client.request(method, params, self._seconds)
            yield page
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str):
                break

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        params = {"name": name, "arguments": dict(arguments)}
        return await read_messages(await self._client.request("prompts/get", params, self._seconds))

    async def resources(self) -> Sequence[tuple[str, str]]:
        if "resources" not in self._offered:
            return ()
        found: dict[str, str] = {}
        async for page in self._pages("resources/list"):
            for address, about in read_resources(page.get("resources")):
                found.setdefault(address, about)
            if len(found) >= MAX_RESOURCES:
                break
        return list(found.items())[:MAX_RESOURCES]

    async def read(self, address: str) -> ServerAnswer:
        return await read_contents(await self._client.request("resources/read", {"uri": address}, self._seconds))

    async def check(self) -> None:
        if self._client.is_waiting or self._never_pinged:
            return
        if await self._is_outdated():
            raise ToolError("STALE", "its sign-in has been renewed")
        await self._client.ping(self._seconds)

    @property
    def skipped(self) -> int:
        return self._client.skipped

    async def wait_closed(self) -> str:
        return await self._client.wait_closed()


@asynccontextmanager
async def _in_editor(
    spec: ServerSpec, client_of: Callable[[Transport], McpClient], listener: Listener
) -> AsyncIterator[tuple[McpClient, Mapping[str, Any]]]:
    """Reach a server that the editor has in itself, by the draft that the editor goes by. Raises ToolError."""
    async with over_editor(spec) as transport:
        client = client_of(transport)
        async with beside(client.run):
            try:
                opened = await client.discover(spec.seconds, STATELESS)
            except ToolError as error:
                if not transport.is_refused:
                    raise
                refused = error
            else:
                async with beside(partial(_follow_lists, client, opened, listener)):
                    yield client, opened
                return
    async with connected_over_editor(spec, refused) as connected:
        client = client_of(connected)
        async with beside(client.run):
            yield client, await client.initialize(spec.seconds, {})


async def _follow_lists(client: McpClient, opened: Mapping[str, Any], listener: Listener) -> None:
    """Have a server without sessions tell when what it offers changes."""
    offered = opened.get("capabilities")
    offered = offered if isinstance(offered, Mapping) else {}
    wanted = {
        f"{kind}ListChanged": True
        for kind in ("tools", "prompts")
        if isinstance(one := offered.get(kind), Mapping) and one.get("listChanged") is True
    }
    try:
        if wanted:
            await client.request("subscriptions/listen", {"notifications": wanted}, math.inf)
    except ToolError as error:
        listener.logged(f"it does not tell when its lists change: {error.message}")


def _signed_in_at(spec: ServerSpec) -> ServerSpec:
    """Return the server that a user signs in to: for a program, the one behind the address that its entry names."""
    return replace(spec, url=spec.sign_in_url) if spec.sign_in_url else spec


def _bounded(tools: tuple[OfferedTool, ...]) -> tuple[OfferedTool, ...]:
    """Return the tools whose descriptions leave room for a conversation."""
    size = 0
    for number, tool in enumerate(tools):
        size += len(tool.description) + len(json.dumps(tool.schema, default=str))
        if size > _MAX_TOOLS_TEXT:
            return tools[:number]
    return tools


def _rows(page: Mapping[str, Any]) -> list[OfferedTool | str]:
    return list(read_tools(page.get("tools")))


class Connector:
    """Opens connections. `environ` is North's own environment, of which servers get no keys (`secret_names`). In a
    folder of `locations`, those that are not started in the project get folders of their own."""

    def __init__(
        self, environ: Mapping[str, str], secret_names: Callable[[], frozenset[str]], locations: Locations
    ) -> None:
        self._environ = environ
        self._secret_names = secret_names
        self._apart = locations.server_folders
        self._store = CredentialStore(locations)
        self._given: set[str] = set()
        self._sign_ins: SignIns | None = None

    @property
    def given(self) -> Collection[str]:
        return tuple(self._given)  # whoever reads it is on a thread

    async def sign_in(self, spec: ServerSpec, show: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        await self._of_users().sign_in(_signed_in_at(spec), show)

    async def sign_out(self, spec: ServerSpec) -> bool:
        return await self._of_users().sign_out(_signed_in_at(spec))

    def _of_users(self) -> SignIns:
        from north_lsp.mcp.oauth import SignIns  # loads the HTTP client

        self._sign_ins = self._sign_ins or SignIns(self._environ, self._store, self._given.update)
        return self._sign_ins

    @asynccontextmanager
    async def __call__(self, spec: ServerSpec, roots: Sequence[Path], listener: Listener) -> AsyncIterator[Connection]:
        def told(method: str, params: Mapping[str, Any]) -> None:
            match method:
                case "notifications/tools/list_changed" | "notifications/prompts/list_changed":
                    listener.tools_changed()
                case "notifications/message":
                    listener.logged(f"{params.get('level', 'info')}: {params.get('data')}")
                case _:
                    pass  # nothing that North knows of

        answers: Mapping[str, Callable[[], object]] = {
            "ping": dict,
            "roots/list": lambda: {"roots": [{"uri": root.as_uri(), "name": root.name} for root in roots]},
        }
        run = partial(with_commands_run, spec, self._environ_of(spec))
        spec = await anyio.to_thread.run_sync(run, abandon_on_cancel=True)
        self._given.update(secrets_given(spec))
        token = await self._token_for_program(spec)

        async def is_outdated() -> bool:
            return await self._token_for_program(spec) != token

        client_of = partial(McpClient, answers=answers, told=told)
        if spec.carrier == "acp":
            async with _in_editor(spec, client_of, listener) as (client, opened):
                yield McpConnection(client, spec, opened, is_outdated)
            return
        async with self._transport(spec, roots[0], listener, token) as transport:
            client = client_of(transport)
            async with beside(client.run):
                opened = await client.initialize(spec.seconds, _CAPABILITIES)
                yield McpConnection(client, spec, opened, is_outdated)

    def _environ_of(self, spec: ServerSpec) -> Mapping[str, str]:
        """Return the variables for the commands in an entry; those of a project get no more than its servers do."""
        return self._environ if spec.origin == "user" else server_environment(self._environ, self._secret_names())

    async def _token_for_program(self, spec: ServerSpec) -> str:
        """Return the token that a program gets, empty for one whose users sign in nowhere. Raises ToolError."""
        if not spec.sign_in_url:
            return ""
        try:
            token = await self._of_users().token(_signed_in_at(spec))
        except OSError as error:
            raise failure(f"its sign-in cannot be read: {error.strerror or error}") from None
        if not token:
            raise failure(f"it wants you to sign in: `/mcp reauth {spec.name}`")
        return token

    def _transport(
        self, spec: ServerSpec, folder: Path, listener: Listener, token: str
    ) -> AbstractAsyncContextManager[Transport]:
        if spec.carrier == "stdio":
            return self._over_stdio(spec, folder, listener, token)
        return self._over_http(spec)

    @asynccontextmanager
    async def _over_stdio(
        self, spec: ServerSpec, folder: Path, listener: Listener, token: str
    ) -> AsyncIterator[Transport]:
        environ = server_environment(self._environ, self._secret_names()) | ({_TOKEN: token} if token else {})
        if spec.in_project or spec.cwd is not None:
            async with stdio(spec, folder / (spec.cwd or ""), environ, listener.logged) as transport:
                yield transport
            return
        async with empty_folder(self._apart) as empty, stdio(spec, empty, environ, listener.logged) as transport:
            yield transport

    @asynccontextmanager
    async def _over_http(self, spec: ServerSpec) -> AsyncIterator[Transport]:
        from north_lsp.mcp.http import http  # loads the HTTP client
        from north_lsp.mcp.oauth import SignedIn
        from north_lsp.mcp.sse import sse

        auth = SignedIn(spec, self._of_users())
        async with (sse if spec.carrier == "sse" else http)(spec, self._environ, auth) as transport:
            yield transport
