"""The base classes of tools: arguments, declared needs, and the host that carries those needs out."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolSpec
from north_lsp.tools.goals import GoalChange
from north_lsp.tools.questions import UserQuestion
from north_lsp.tools.todo_list import Change
from north_lsp.tools.web_requests import FetchRequest
from north_lsp.tools.workflows import WorkflowCall
from north_lsp.vocabulary import Kind, Location, Mode
from north_lsp.web.search.base import Query
from north_lsp.workspace.proposal import FileChange
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Need = Literal["read", "write", "run", "network", "ask", "todo", "plan", "agents"]
"""What a tool asks of its host: to read files, propose edits, run commands, use the network, ask the user, keep the
todo list, write and present a plan, have agents work."""
_GROWING = frozenset({"content", "new"})


@dataclass(frozen=True, slots=True)
class Digest:
    """A shortened result: `data` replaces the whole, which is kept as the text `full`. `more` says what is missing,
    `shown` which lines of `full` are still there."""

    data: dict[str, object]
    full: str
    more: str
    shown: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """An image: its MIME type and its encoded bytes."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a finished call: `data` (JSON) for the model, or `text` for text-first tools; `title` for people.
    Where outputs are shortened, the `digest` is what enters the conversation. `ends_turn`: the model is not asked
    again."""

    title: str
    data: object = None
    text: str | None = None
    failed: bool = False
    locations: tuple[Location, ...] = ()
    details: dict[str, object] = field(default_factory=dict)
    digest: Digest | None = None
    pictures: tuple[Picture, ...] = ()
    ends_turn: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command to approve and run. `cwd` is absolute, or None for the shell's current directory; `timeout` is in
    seconds; `outside` asks to run it without the sandbox, which the user decides every time. `head` and `tail` limit
    the output to that many lines; a `background` command becomes a job, which with `keep` outlives North; `notices`
    are for the model."""

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


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a call that another program carries out: the tool's `name` for models, the `server` and its own
    name for the `tool`, the whole `arguments`, whose the server is (`origin`, for people), and a `digest` of the tool
    as it describes itself: what the user allows permanently holds for that alone. Unless it `asks`, only what must be
    asked about every time is."""

    name: str
    server: str
    tool: str
    arguments: dict[str, Any]
    digest: str
    origin: str
    asks: bool = True


@dataclass(frozen=True, slots=True)
class Caller:
    """The call that gives tasks to agents: its id, the mode of its turn, and the names of the tools in that turn."""

    call_id: str
    mode: Mode
    tools: frozenset[str]


Progress = Callable[[str], Awaitable[None]]
"""Shows how far a call is."""

JobAction = Literal["list", "output", "wait", "kill", "input"]


@dataclass(frozen=True, slots=True)
class JobRequest:
    """An action on background jobs; `seconds` is how long `wait` may take."""

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
    """Carries out what a tool declares as its needs; what its methods return is the call's result. They raise
    ToolError, and PermissionError for a need that is not declared."""

    async def look(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run work that only reads; a cancelled turn does not wait for it."""
        ...

    async def propose(self, changes: Sequence[FileChange]) -> R_co:
        """Have an edit reviewed and applied."""
        ...

    async def run_command(self, make: Callable[[], Command]) -> R_co:
        """Have a command approved and run; `make` builds it and may read the disk."""
        ...

    async def control_jobs(self, request: JobRequest) -> R_co:
        """Act on background jobs."""
        ...

    async def permit(self, question: Question) -> R_co | None:
        """Have a call of another program's tool approved; a result means that it is not made."""
        ...

    async def reach(self, work: Callable[[Progress], Awaitable[T]]) -> T:
        """Run work that uses the network or another program; what it reports is shown."""
        ...

    async def fetch(self, request: FetchRequest) -> Output | R_co:
        """Fetch a page of the web, as far as the user lets it."""
        ...

    async def search_web(self, query: Query) -> Output | R_co:
        """Search the web."""
        ...

    async def delegate(self, work: Callable[[Caller], Awaitable[T]]) -> T:
        """Have agents work; they are cancelled with the turn."""
        ...

    async def ask_user(self, questions: Sequence[UserQuestion]) -> R_co:
        """Ask the user, and wait for the answers."""
        ...

    async def write_plan(self, content: str) -> R_co:
        """Write the plan of the conversation."""
        ...

    async def propose_planning(self, reason: str) -> R_co:
        """Have the user decide whether plan mode begins."""
        ...

    async def present_plan(self, summary: str) -> R_co:
        """Have the user decide on the plan."""
        ...

    async def change_goal(self, change: GoalChange) -> R_co:
        """Change the goal, or look at it."""
        ...

    async def change_workflow(self, wanted: WorkflowCall) -> R_co:
        """Take the conversation through a workflow."""
        ...

    async def change_todo(self, changes: Sequence[Change]) -> R_co:
        """Change the todo list, by all operations or none."""
        ...

    async def undo(self, path: str | None, steps: int) -> R_co:
        """Have the last changes of the conversation undone, all or those of one file, as an edit."""
        ...

    async def remember(self, kind: str, text: str) -> str:
        """Note a text of some kind for later conversations, if the user agrees; return the note."""
        ...

    def find_tools(self, query: str, limit: int) -> Sequence[ToolSpec]:
        """Find tools, which are offered from then on."""
        ...


class Tool(ABC):
    """Base of every tool. `needs` is what it asks of its host; `parallel` tools may run side by side; `modes` are those
    that offer it to the model; `discoverable` ones are listed by name only until the model looks them up, those of
    servers only when there are many tools. `also` are other names under which models may call it; a `described` one is
    another program's, or made for one conversation."""

    name: str
    also: tuple[str, ...] = ()
    kind: Kind
    needs: frozenset[Need]
    modes: frozenset[Mode]
    parallel: bool = False
    discoverable: bool = False
    described: ClassVar[bool] = False
    args: ClassVar[type[BaseModel]]

    @abstractmethod
    def title(self, args: dict[str, Any]) -> str:
        """Return one line for people; `args` may be incomplete while they stream."""

    @abstractmethod
    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        """Do what the checked arguments ask for, as far as `host` and the user let it. Raises ToolError."""

    def told(self) -> tuple[str, Mapping[str, object]]:
        """Return what a model is told: the description, and the JSON Schema of the arguments. All requests share that
        object: it must not be changed."""
        texts = descriptions(type(self))
        return texts.get(sys.platform, texts[""]), _schema(self.args)

    def loaded(self) -> Tool:
        """Return the tool that can be called, which may have to be imported."""
        return self

    @property
    def is_loaded(self) -> bool:
        return True

    @property
    def only_reads(self) -> bool:
        return self.needs == {"read"}

    @property
    def reader(self) -> ReadTool | None:
        """The tool itself if it is one that runs without a host."""
        return None

    @property
    def writer(self) -> WriteTool | None:
        """The tool itself if it proposes changes, which can be previewed while its arguments arrive."""
        return None

    def checked(self, arguments: Mapping[str, Any]) -> Any:
        """Return the arguments as `invoke` takes them. Raises ToolError INVALID_INPUT."""
        from north_lsp.tools.arguments import checked

        return checked(self.args, arguments)

    def cut_before(self, text: str, offset: int) -> str | None:
        """Return the part of an argument before `offset` that makes sense alone; None if there is none."""
        return None


@cache
def descriptions(kind: type[Tool]) -> Mapping[str, str]:
    """Read a tool's description for the model: the Markdown file next to the module that names the tool, and those for
    systems where it is another one, by what Python calls them. Cached by the tool's class: some tools are made for each
    turn."""
    owner = next(one for one in kind.__mro__ if "name" in vars(one))
    folder = Path(import_module(owner.__module__).__file__ or "").parent
    found = {path.stem.removeprefix(kind.name)[1:]: path for path in folder.glob(f"{kind.name}.*md")}
    return {system: path.read_text("utf-8").strip() for system, path in sorted(found.items())}


@cache
def _schema(model: type[BaseModel]) -> Mapping[str, object]:
    from north_lsp.tools.arguments import make_schema

    return make_schema(model)


class DescribedTool(Tool):
    """A tool that another program describes: its arguments are an object that fits `schema`, and checked there."""

    described = True
    description: str
    schema: Mapping[str, object]

    def told(self) -> tuple[str, Mapping[str, object]]:
        return self.description, self.schema

    def checked(self, arguments: Mapping[str, Any]) -> Any:
        return dict(arguments)


class ReadTool(Tool):
    """A tool that only reads: it runs without asking, in every mode, in parallel with others of its kind."""

    needs = frozenset({"read"})
    modes = frozenset({"ask", "agent", "plan"})
    parallel = True

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.look(partial(self.run, args, workspace))

    @property
    def reader(self) -> ReadTool:
        return self

    @abstractmethod
    async def run(self, args: Any, workspace: Workspace) -> Output:
        """Read what the checked arguments ask for. Raises ToolError."""


class WriteTool(Tool):
    """A tool that proposes changes; they are applied after their review, never by the tool itself. Nothing that arrives
    after the arguments `decisive` changes whether the edit applies; without them that is known at the end. One that
    `writes_whole` files gives all of their text; the arguments of one that comes `in_parts` are edits of their own."""

    needs = frozenset({"read", "write"})
    kind: Kind = "edit"
    modes = frozenset({"agent"})
    decisive: ClassVar[frozenset[str]] = frozenset()
    writes_whole: ClassVar[bool] = False
    in_parts: ClassVar[bool] = False

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.propose(await host.look(partial(self.prepare, args, workspace)))

    @property
    def writer(self) -> WriteTool:
        return self

    def is_decided(self, arguments: Mapping[str, object]) -> bool:
        """Tell whether complete arguments settle whether the edit applies."""
        return bool(self.decisive) and arguments.keys() >= self.decisive

    def possible(self, arguments: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the arguments that may be prepared while they arrive, the most complete first. Only the last one of
        `arguments` can be incomplete."""
        if is_growing(arguments):
            yield arguments

    @abstractmethod
    async def prepare(self, args: Any, workspace: Workspace) -> Sequence[FileChange]:
        """Prepare the changes that the arguments ask for, without writing anything. Raises ToolError."""


def is_growing(arguments: Mapping[str, object]) -> bool:
    """Tell whether the last of an edit's arguments makes sense before it is complete."""
    return next(reversed(list(arguments)), None) in _GROWING


class ShellTool(Tool):
    """A tool that asks to run a shell command."""

    needs = frozenset({"run"})
    kind = "execute"
    modes = frozenset({"agent"})

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.run_command(partial(self.command, args, workspace))

    @abstractmethod
    def command(self, args: Any, workspace: Workspace) -> Command:
        """Return the command to run. Raises ToolError."""


class JobTool(Tool):
    """A tool that controls background jobs."""

    needs = frozenset({"run"})
    kind = "execute"
    modes = frozenset({"agent"})

    async def invoke(self, args: Any, workspace: Workspace, host: Host[R]) -> Output | R:
        return await host.control_jobs(self.request(args))

    @abstractmethod
    def request(self, args: Any) -> JobRequest:
        """Return the action to take on the jobs. Raises ToolError."""
