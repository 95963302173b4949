"""What the core asks of a client for MCP servers: a connection to one, and what the server says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from north_lsp.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from north_lsp.storage.kinds import SourceId
    from north_lsp.tools.base import Picture

Origin = Literal["client", "user", "project"]
"""Who names a server: the editor, a file of the user's own, a file of the project."""

Carrier = Literal["stdio", "http", "sse", "acp"]

Heard = Callable[[str, Mapping[str, object]], None]
"""Takes what a server says of a request that it answers, or by itself: method and params."""


class Channel(Protocol):
    """Carries requests to servers that the editor has in itself: each for itself, or on a connection, which is how the
    protocol had it before. Raises RpcError."""

    async def ask(
        self, server_id: str, request_id: str, method: str, params: Mapping[str, object], heard: Heard
    ) -> object:
        """Send a request, and return what comes back, as it is."""
        ...

    async def connect(self, server_id: str, heard: Heard) -> str: ...

    async def send(self, connection: str, method: str, params: Mapping[str, object]) -> object: ...

    async def tell(self, connection: str, method: str, params: Mapping[str, object]) -> None: ...

    async def close(self, connection: str) -> None: ...


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """How a server is reached. `source` says for people where that is written, `via` whose file it is; `seconds` is how
    long a request may take. `digest` stands for what is written there, before variables are put in, and `written` is
    that text, of a project's server, without keys. A `problem` says why it cannot be used. Without a `cwd`, it is
    started in the project's folder only if that is `in_project`: many programs run, or read, what lies where they are
    started. `sign_in_hosts` are those that a sign-in may lead to though only a proxy knows where they are; at
    `sign_in_url` users sign in for a program, which gets their token. One that is idle is asked every `ping_seconds`
    whether it is there; 0 never asks. A server that the editor has in itself (`acp`) is reached by its `server_id` over
    `channel`."""

    name: str
    origin: Origin
    source: str
    carrier: Carrier = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    in_project: bool = False
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    server_id: str = ""
    channel: Channel | None = field(default=None, compare=False)
    client_id: str = ""
    sign_in_hosts: frozenset[str] = frozenset()
    sign_in_url: str = ""
    enabled: bool = True
    seconds: float = 30.0
    ping_seconds: float = 0.0
    include: frozenset[str] | None = None
    exclude: frozenset[str] = frozenset()
    auto_approve: frozenset[str] = frozenset()
    digest: str = ""
    written: str = field(default="", compare=False)
    problem: str = ""
    via: SourceId = "north"

    def offers(self, tool: str) -> bool:
        """Tell whether the user wants a tool of this server."""
        return (self.include is None or tool in self.include) and tool not in self.exclude

    @property
    def address(self) -> str:
        """The command line or the address, for people."""
        return "in the editor" if self.carrier == "acp" else self.url or " ".join((self.command, *self.args))


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server describes it. `only_reads` is the server's own word."""

    name: str
    description: str
    schema: Mapping[str, object]
    only_reads: bool = False


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """A word that a prompt takes."""

    name: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt that a server has ready, for the user to call."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The result of a call to an MCP server. `links` are the addresses of resources that it names."""

    text: str
    pictures: tuple[Picture, ...] = ()
    failed: bool = False
    links: tuple[str, ...] = ()


Report = Callable[[str], Awaitable[None]]
"""Shows how far a call is."""


class Connection(Protocol):
    """An open connection to a server. Its methods raise ToolError."""

    @property
    def title(self) -> str:
        """What the server calls itself, with its version."""
        ...

    @property
    def instructions(self) -> str:
        """What the server says about using it; empty if it says nothing."""
        ...

    @property
    def skipped(self) -> int:
        """How many of its messages made no sense."""
        ...

    async def tools(self) -> tuple[Sequence[OfferedTool], Sequence[str]]:
        """Return the tools, and what is wrong with those that are left out."""
        ...

    async def call(self, tool: str, arguments: Mapping[str, object], report: Report) -> ServerAnswer: ...

    async def prompts(self) -> Sequence[OfferedPrompt]:
        """Return the prompts that the user can call."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt."""
        ...

    async def resources(self) -> Sequence[tuple[str, str]]:
        """Return the addresses of what can be read, each with words about it."""
        ...

    async def read(self, address: str) -> ServerAnswer:
        """Read a resource."""
        ...

    async def check(self) -> None:
        """Ping the server, unless a call is in progress. Raises ToolError: with the code `STALE` if the server answers,
        but must be connected to again."""
        ...

    async def wait_closed(self) -> str:
        """Wait for the end of the connection; return why it ended."""
        ...


class Listener(Protocol):
    """Hears what a server says by itself. Nothing here may take long."""

    def tools_changed(self) -> None: ...

    def logged(self, line: str) -> None:
        """Take a line of the server's own log, or of what it writes to its standard error."""
        ...


class Connect(Protocol):
    """Opens connections."""

    @property
    def given(self) -> Collection[str]:
        """What is secret of what servers were given: tokens of sign-ins, headers, variables. It only ever grows."""
        ...

    def __call__(
        self, spec: ServerSpec, roots: Sequence[Path], listener: Listener
    ) -> AbstractAsyncContextManager[Connection]:
        """Connect to a server, and end it afterwards with everything that it started. Raises ToolError."""
        ...

    async def sign_in(self, spec: ServerSpec, show: Callable[[str, Sequence[str]], Awaitable[None]]) -> None:
        """Have the user sign in to a server behind an address, on a page that `show` has opened; it is told
        which hosts have a part in it. Raises ToolError, OSError."""
        ...

    async def sign_out(self, spec: ServerSpec) -> bool:
        """Forget the sign-in to a server; False if there is none. Raises OSError."""
        ...
