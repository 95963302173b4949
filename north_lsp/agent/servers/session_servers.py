"""The MCP servers of one session: found, started as far as the user trusts them, and put before models as tools."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Editor
from north_lsp.agent.ports.servers import Connect, OfferedPrompt, ServerSpec
from north_lsp.agent.servers.config import expanded
from north_lsp.agent.servers.consent import Consent, Unknown
from north_lsp.agent.servers.memory import ServerMemory
from north_lsp.agent.servers.names import tool_names
from north_lsp.agent.servers.notices import Held, ServerNotices
from north_lsp.agent.servers.server import Server
from north_lsp.agent.servers.sources import Found, OfProject, find_servers, watched_files
from north_lsp.background import Background
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.locations import Locations
from north_lsp.storage.server_cache import ServerCache
from north_lsp.storage.server_choices import ServerChoices
from north_lsp.storage.settings import Settings
from north_lsp.storage.tools_seen import ToolsSeen
from north_lsp.storage.trust import Trust
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:  # loads pydantic, which opening a session does without
    from north_lsp.agent.servers.tool import ServerTool


@dataclass(frozen=True)
class ServerMeans:
    """What servers are started with. Project files get no values of the variables in `secret_names`; `has_secret` tells
    whether a text has a value in it that no model is told."""

    locations: Locations
    environ: Mapping[str, str]
    connect: Connect | None
    background: Background
    settings: Callable[[], Settings]
    secret_names: Callable[[], frozenset[str]]
    has_secret: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """A server, as it is listed: `server` is None for one that is not started, because it is `held`."""

    spec: ServerSpec
    server: Server | None
    held: Held | None = None
    shadowed: bool = False


class SessionServers:
    """Runs the MCP servers of one session. Nothing here delays a session's opening, and a turn only for a bounded
    time."""

    def __init__(
        self, means: ServerMeans, roots: Sequence[Path], trust: Trust, editor: Editor, diagnostics: Diagnostics
    ) -> None:
        self._means = means
        self._roots = roots
        self._trust = trust
        self._choices = ServerChoices(means.locations, project_hash(roots[0]))
        self._consent = Consent(self._choices, editor, self._not_stored)
        self._notices = ServerNotices(editor)
        self._diagnostics = diagnostics
        self._given: list[ServerSpec] = []
        self._found = Found()
        self._held: dict[str, Held] = {}
        self._servers: dict[str, Server] = {}
        self._changing = anyio.Lock()
        self._begun = self._closed = False
        self._opened = anyio.Event()
        self._wanted = 0
        self._asked: set[Server] = set()
        self._seen: object = None
        self.on_prompts: Callable[[], Coroutine[Any, Any, None]] | None = None
        """Is told when there are other prompts than before."""
        self._prompts: list[tuple[str, OfferedPrompt]] = []

    @property
    def locations(self) -> Locations:
        return self._means.locations

    @property
    def connect(self) -> Connect | None:
        return self._means.connect

    # -- their life -------------------------------------------------------------------------------------------------

    def take(self, given: Sequence[ServerSpec]) -> None:
        """Have these be the editor's from now on."""
        self._given = list(given)

    def begin(self) -> None:
        """Find the servers and start them, beside whatever else happens."""
        if self._means.connect is not None and not self._closed:
            self._begun = True
            self._look_soon()

    async def settle(self) -> None:
        """Wait, once for each server and not for long, until it is known whether it can be used."""
        if self._means.connect is None:
            return
        if not self._begun:
            self.begin()
        elif self._opened.is_set() and await anyio.to_thread.run_sync(self._stamp) != self._seen:
            self._look_soon()
        with anyio.move_on_after(self._means.settings().mcp.startup_wait_ms / 1000):
            await self._opened.wait()
            for server in list(self._servers.values()):
                if server not in self._asked:
                    await server.settled.wait()
        self._asked.update(self._servers.values())

    def _look_soon(self) -> None:
        """Read the configuration again, beside whatever else happens; until then it is not known what servers there
        are."""
        self._wanted += 1
        if self._opened.is_set():
            self._opened = anyio.Event()
        self._means.background.start_soon(self.refresh)

    async def refresh(self) -> None:
        """Read the configuration again; start what is new, and end what is gone or has changed."""
        async with self._changing:
            if self._closed:
                return
            wanted = self._wanted
            try:
                found = await self._look_again()
            finally:
                if wanted == self._wanted:  # otherwise it is being looked for again
                    self._opened.set()
        for problem in found.problems:
            await self._notices.tell(f"problem {problem}", "warning", problem)
        for spec in found.specs:
            if (held := self._held.get(spec.name)) is not None:
                await self._notices.tell_held(spec, held)

    async def follow_trust(self) -> None:
        """Go by the user's trust as it is now: without it, the project's servers have ended when this returns; with it,
        those that the project has now have been noted, even if this session had not begun to look for any."""
        if self._means.connect is not None:
            self._begun = True
            await self.refresh()

    async def _look_again(self) -> Found:
        """Start and end servers by the configuration as it is now."""
        self._seen = await anyio.to_thread.run_sync(self._stamp)
        found, trusted = await anyio.to_thread.run_sync(self._find)
        self._found = found
        if trusted:
            await self._consent.look_at(spec for spec in found.specs if spec.origin == "project")
        wanted: dict[str, ServerSpec] = {}
        self._held = {}
        for spec in found.specs:
            held = await self._why_held(spec, trusted=trusted)
            if held is not None:
                self._held[spec.name] = held
            else:
                wanted[spec.name] = spec
        gone = [name for name, server in self._servers.items() if wanted.get(name) != server.spec]
        async with anyio.create_task_group() as tasks:
            for name in gone:
                tasks.start_soon(self._servers.pop(name).stop)
        trusted = await anyio.to_thread.run_sync(self._trusted)  # much may have happened meanwhile
        for name, spec in wanted.items():
            if name not in self._servers and not self._closed and (trusted or spec.origin != "project"):
                self._start(spec)
        self._servers = {name: self._servers[name] for name in wanted if name in self._servers}
        return found

    def _stamp(self) -> object:
        """Return a fingerprint of what decides which servers there are: if it has changed, they are looked for
        again."""
        paths = watched_files(self._roots[0], self._home, self._means.locations)
        settings = self._means.settings()
        wanted = (settings.mcp, settings.context.disabled_items)
        return self._trust.decided(), wanted, self._choices.switched(), tuple(self._given), tuple(map(_state, paths))

    @property
    def _home(self) -> Path:
        return systems.home(self._means.environ)

    def _find(self) -> tuple[Found, bool]:
        means, root = self._means, self._roots[0]
        settings, disabled = means.settings().mcp, means.settings().context.disabled_items
        if not settings.enabled:
            return Found(), False
        trusted = self._trusted()
        of_project: OfProject = "left out" if not settings.project_config else "used" if trusted else "listed"
        found = find_servers(self._given, root, self._home, means.locations, of_project)
        switched = self._choices.switched()
        secret = means.secret_names()
        public = {name: value for name, value in means.environ.items() if name not in secret}

        def ready(spec: ServerSpec) -> ServerSpec:
            if spec.origin == "user" or (spec.origin == "project" and trusted):
                spec = expanded(spec, public if spec.origin == "project" else means.environ, root)
            enabled = switched.get(spec.name, spec.enabled) and f"mcp:{spec.name}" not in disabled
            return replace(spec, enabled=enabled, in_project=trusted, ping_seconds=settings.ping_interval_ms / 1000)

        found.specs = [ready(spec) for spec in found.specs]
        return found, trusted

    def _trusted(self) -> bool:
        decided = self._trust.decided()
        return decided is not None and decided[0]

    async def _why_held(self, spec: ServerSpec, *, trusted: bool) -> Held | None:
        """Decide whether a server is started. Nothing waits for an answer about one that has changed."""
        if not spec.enabled:
            return "off"
        if spec.origin == "project" and not trusted:
            return "untrusted"
        if spec.problem:
            return "unusable"
        if spec.origin != "project":
            return None
        why = await self._consent.lacks(spec)
        if why is not None:
            self._means.background.start_soon(self._ask_about, spec, why)
        return why

    async def _ask_about(self, spec: ServerSpec, why: Unknown) -> None:
        if await self._consent.ask(spec, why, lambda: not self._closed and spec in self._found.specs):
            await self.refresh()

    async def _not_stored(self, error: OSError) -> None:
        text = f"this could not be stored: {error.strerror or error}"
        await self._notices.tell(f"choices {error}", "warning", text)

    def _start(self, spec: ServerSpec) -> None:
        means = self._means
        if means.connect is not None:
            memory, background = self._memory_of(spec), means.background
            server = Server(spec, means.connect, self._roots, background, self._diagnostics, self._changed, memory)
            self._servers[spec.name] = server
            self._diagnostics.event("mcp_connect", server=spec.name, kind=spec.carrier)
            server.start()

    def _memory_of(self, spec: ServerSpec) -> ServerMemory:
        locations = self._means.locations
        return ServerMemory(ServerCache(locations), ToolsSeen(locations), spec)

    async def close(self) -> None:
        """End all servers; none starts any more."""
        self._closed = True
        self._notices.close()
        await self._stop_all()  # without waiting for a change that is under way, which starts nothing more
        async with self._changing:
            await self._stop_all()

    async def _stop_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            for server in self._servers.values():
                tasks.start_soon(server.stop)

    def _changed(self, server: Server) -> None:
        if self._closed:
            return
        prompts = [(one.spec.name, prompt) for one, prompt in self.prompts()]
        if prompts != self._prompts and self.on_prompts is not None:
            self._prompts = prompts
            self._means.background.start_soon(self.on_prompts)
        if (notice := self._notices.of_state(server)) is not None:
            self._means.background.start_soon(self._notices.show, notice)

    # -- what they offer --------------------------------------------------------------------------------------------

    def tools(self, taken: Sequence[str]) -> list[ServerTool]:
        """Return the tools that models can be offered now, besides those of the names that are `taken`. Loads what
        tools are made of: call it on a thread."""
        from north_lsp.agent.servers.tool import ServerTool

        usable = [server for server in list(self._servers.values()) if server.state in ("ready", "lost", "connecting")]
        offered = [(server, tool) for server in usable for tool in server.tools]
        names, warnings = tool_names([(server.spec.name, tool.name) for server, tool in offered], taken)
        for warning in warnings:
            if self._notices.is_first(warning):
                self._diagnostics.warning("capability_warning", path=None, key=None, message=warning)
        return [ServerTool(name, server, tool) for name, (server, tool) in zip(names, offered, strict=True)]

    def instructions(self) -> list[tuple[str, str]]:
        """Return what the servers whose tools are offered say about using them, by the server's name."""
        usable = (server for server in self._servers.values() if server.state in ("ready", "lost", "connecting"))
        return sorted((server.spec.name, server.instructions) for server in usable if server.instructions)

    async def read(self, address: str) -> str:
        """Read what is at `mcp://<server>/<address>`; without an address, list what the server has. Raises
        ToolError."""
        name, _, rest = address.partition("/")
        server = self._named(name)
        if rest:
            if await anyio.to_thread.run_sync(self._means.has_secret, rest):
                raise ToolError("DENIED", "the address has a secret of the user's in it, which a server must not get")
            return (await server.read(rest)).text
        rows = [f"mcp://{name}/{uri}{f'  ({about})' if about else ''}" for uri, about in await server.resources()]
        return "\n".join(rows) or f"The MCP server {name} has no resources."

    async def attach(self, address: str) -> str:
        """Read what the user names as `<server>/<address>`, whether the server has listed it or not. Raises
        ToolError."""
        name, _, rest = address.partition("/")
        self._named(name).name_resource(rest)
        return await self.read(address)

    def _named(self, name: str) -> Server:
        server = self._servers.get(name)
        if server is None:
            names = ", ".join(self._servers) or "none"
            raise ToolError("NOT_FOUND", f"there is no MCP server {one_line(name)!r}", f"servers: {names}")
        return server

    def prompts(self) -> list[tuple[Server, OfferedPrompt]]:
        """Return the prompts that can be called now, each with its server."""
        usable = [server for server in self._servers.values() if server.state == "ready"]
        return [(server, prompt) for server in usable for prompt in server.prompts]

    def rows(self) -> list[Row]:
        """List all servers, those that count first."""
        rows = [Row(spec, self._servers.get(spec.name), self._held.get(spec.name)) for spec in self._found.specs]
        return rows + [Row(spec, None, shadowed=True) for spec in self._found.shadowed]

    @property
    def problems(self) -> Sequence[str]:
        """What is wrong in the files."""
        return self._found.problems

    # -- what the user does -----------------------------------------------------------------------------------------

    async def switch(self, name: str, *, on: bool) -> None:
        """Switch a server on or off in this project; one that is switched on is believed as it is now. Raises OSError,
        ValueError, KeyError if there is none of that name."""
        spec = self._spec(name)
        if on and f"mcp:{name}" in self._means.settings().context.disabled_items:
            raise ValueError(f"the setting `disabledItems` names `mcp:{one_line(name)}`: remove it there")
        await anyio.to_thread.run_sync(lambda: self._choices.switch(name, on=on))
        if on and spec.origin == "project" and await anyio.to_thread.run_sync(self._trusted):
            await self._consent.give(spec)
        if on and (server := self._servers.get(name)) is not None:
            await server.accept_tools()
        elif on:
            await self._memory_of(spec).forget_first_seen()
        await self.refresh()

    async def reconnect(self, name: str | None = None) -> list[Server]:
        """Connect again, to one or to all; returns those servers once it is known what came of it. Raises KeyError."""
        if name is not None:
            self._spec(name)
        before = list(self._servers.values())
        await self.refresh()
        async with self._changing:
            chosen = [server for key, server in self._servers.items() if name in (None, key)]
            async with anyio.create_task_group() as tasks:
                for server in chosen:
                    if server in before:
                        tasks.start_soon(self._again, server)
        async with anyio.create_task_group() as tasks:
            for server in chosen:
                tasks.start_soon(_settled, server)
        return chosen

    async def _again(self, server: Server) -> None:
        await server.stop()
        if not self._closed:
            server.start()

    def _spec(self, name: str) -> ServerSpec:
        for spec in self._found.specs:
            if spec.name == name:
                return spec
        raise KeyError(name)


async def _settled(server: Server) -> None:
    with anyio.move_on_after(server.spec.seconds):
        await server.tried()


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
