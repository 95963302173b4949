"""What a tool is: its arguments, what it needs, and how it has that done."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from north_lsp.vocabulary import Kind, Location, Mode
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Need = Literal["read", "write", "run", "network", "ask"]
"""What a tool has done with the user's things: files are read, edits proposed, commands run, servers asked, the user
asked."""


@dataclass(frozen=True, slots=True)
class Digest:
    """A shortened form of a result: `data` in place of the whole, which is kept as the text `full`. `more` tells what
    is missing, `shown` which lines of `full` are not."""

    data: dict[str, object]
    full: str
    more: str
    shown: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as it is in its file."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """What a finished call gives: `data` for the model (JSON), or `text` for text-first tools; `title` for people. A
    `digest` is what enters the conversation where outputs are shortened."""

    title: str
    data: object = None
    text: str | None = None
    failed: bool = False
    locations: tuple[Location, ...] = ()
    details: dict[str, object] = field(default_factory=dict)
    digest: Digest | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command to be approved and run. `cwd` is absolute, None for the directory that the shell is in; `timeout`
    in seconds; `outside` asks for a run without the sandbox, which the user decides on every time. `head` and `tail`
    are numbers of lines of the output; a `background` command becomes a job, which goes on after North with `keep`;
    `notices` are for the model."""

    command: str
    cwd: Path | None
    timeout: float
    description: str | None = None
    outside: bool = False
    head: int | None = None
    tail: int | None = None
    background: bool = False
    keep: bool = False
    notices: tuple[str, ...] = ()


JobAction = Literal["list", "output", "wait", "kill", "input"]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is to be done with commands in the background; `seconds` is for waiting."""

    action: JobAction
    id: str = ""
    lines: int = 40
    seconds: float = 30.0
    pattern: str | None = None
    port: int | None = None
    text: str = ""


R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Host(Protocol[R_co]):
    """What a tool that declares the need can have done; whoever does it gives the call's result. The methods raise
    ToolError, and PermissionError for a need that is not declared."""

    async def look(self, work: Callable[[], Awaitable[T]]) -> T:
        """Something that only reads, which a cancelled turn does not wait for."""
        ...

    async def propose(self, changes: Sequence[FileChange]) -> R_co:
        """An edit, reviewed and applied."""
        ...

    async def run_command(self, make: Callable[[], Command]) -> R_co:
        """A command, approved and run; `make` may look at the disk."""
        ...

    async def control_jobs(self, request: JobRequest) -> R_co:
        """Commands in the background, looked after."""
        ...


class Tool(ABC):
    """What every tool has. `needs` is what it has done; `parallel` tools may run side by side; `modes` are those that
    offer it to the model; with many tools, `discoverable` ones are told by name only."""

    name: ClassVar[str]
    kind: ClassVar[Kind]
    needs: ClassVar[frozenset[Need]]
    modes: ClassVar[frozenset[Mode]]
    parallel: ClassVar[bool] = False
    discoverable: ClassVar[bool] = False
    args: ClassVar[type["BaseModel"]]

    @abstractmethod
    def title(self, args: dict[str, Any]) -> str:
        """One line for people; `args` may be incomplete while they stream."""

    @abstractmethod
    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        """Do what the checked arguments ask for, as far as `host` and the user let it. Raises ToolError."""

    @property
    def only_reads(self) -> bool:
        return self.needs == {"read"}


class ReadTool(Tool):
    """Only reads: runs without asking, in every mode, beside others of its kind."""

    needs = frozenset({"read"})
    modes = frozenset({"ask", "agent"})
    parallel = True

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.look(partial(self.run, args, workspace))

    @abstractmethod
    async def run(self, args: Any, workspace: Workspace) -> Output:
        """Raises ToolError."""


class WriteTool(Tool):
    """Proposes changes; the review decides, and whoever reviewed them applies them."""

    needs = frozenset({"read", "write"})
    kind: ClassVar[Kind] = "edit"
    modes = frozenset({"agent"})

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.propose(await host.look(partial(self.prepare, args, workspace)))

    @abstractmethod
    async def prepare(self, args: Any, workspace: Workspace) -> Sequence[FileChange]:
        """The changes that the arguments ask for; writes nothing. Raises ToolError."""


class ShellTool(Tool):
    """Asks for a command to be run."""

    needs = frozenset({"run"})
    kind = "execute"
    modes = frozenset({"agent"})

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.run_command(partial(self.command, args, workspace))

    @abstractmethod
    def command(self, args: Any, workspace: Workspace) -> Command:
        """What is to be run. Raises ToolError."""


class JobTool(Tool):
    """Looks after commands that were put into the background."""

    needs = frozenset({"run"})
    kind = "execute"
    modes = frozenset({"agent"})

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.control_jobs(self.request(args))

    @abstractmethod
    def request(self, args: Any) -> JobRequest:
        """What is to be done. Raises ToolError."""
