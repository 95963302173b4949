"""What a tool is: its arguments, what it needs, and how it has that done."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

from north_lsp.storage.limits import Limits
from north_lsp.storage.settings import EditSettings, ReadSettings
from north_lsp.tools.recent import RecentTexts
from north_lsp.workspace.edit.conflicts import Conflicts
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")
Mode = Literal["ask", "agent"]
Need = Literal["read", "write", "run", "network", "ask"]
"""What a tool has done with the user's things: files are read, edits proposed, commands run, servers asked, the user
asked."""
Kind = Literal["read", "search", "edit", "delete", "move", "execute", "think", "other"]


@dataclass(frozen=True, slots=True)
class Location:
    """A file that a call looks at or changes, for an editor that follows along. `line` is 1-based."""

    path: Path
    line: int | None = None


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
class FoundTool:
    """A tool that was looked up; `schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    schema: dict[str, object]


class Finder(Protocol):
    """Looks tools up, which are then offered."""

    def find(self, query: str, limit: int) -> list[FoundTool]: ...


class Outputs(Protocol):
    """The full texts of earlier results, by number."""

    def numbers(self) -> list[int]: ...

    def read(self, number: int) -> str:
        """Raises ToolError NOT_FOUND."""
        ...


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


@dataclass(frozen=True, slots=True)
class Sighting:
    """The tag of a text, and the lines of it (1-based, inclusive) that the model was shown whole."""

    tag: str
    ranges: tuple[tuple[int, int], ...] = ()


@dataclass
class Seen:
    """Which files the model has been shown in this conversation, by resolved path, with the tag of the text and the
    lines; and the conflicts in them. `earlier` is what the log says of before the conversation was opened again: it
    counts for a file that still has the same text."""

    tags: dict[Path, str] = field(default_factory=dict)
    ranges: dict[Path, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    conflicts: Conflicts = field(default_factory=Conflicts)
    texts: RecentTexts = field(default_factory=RecentTexts)
    earlier: dict[Path, Sighting] = field(default_factory=dict)
    _fresh: "Noted" = field(default_factory=dict)

    def note(self, path: Path, tag: str, ranges: Sequence[tuple[int, int]]) -> None:
        """The model was shown these lines (1-based, inclusive) of a text, or with none a part or an outline of it; what
        it saw of another text is forgotten."""
        self.recall(path, tag)
        before = self.ranges.get(path, ()) if self.tags.get(path) == tag else ()
        self.tags[path] = tag
        self.ranges[path] = (*before, *ranges)
        noted = self._noted()
        fresh = noted.get(path)
        told = fresh.ranges if fresh is not None and fresh.tag == tag else ()
        noted[path] = Sighting(tag, (*told, *ranges))

    def wrote(self, path: Path, tag: str) -> None:
        """The file has a text that comes from the model, or from a change that it was told of."""
        self.tags[path] = tag
        self.ranges[path] = ()
        self._noted()[path] = Sighting(tag)

    def forget(self, path: Path) -> None:
        """There is no such file any more."""
        self.tags.pop(path, None)
        self.ranges.pop(path, None)
        self.earlier.pop(path, None)
        self._noted()[path] = None

    def recall(self, path: Path, tag: str) -> str | None:
        """The tag of the text that was shown last; `tag` is that of the present one. None if none was."""
        if path not in self.tags and (before := self.earlier.get(path)) is not None and before.tag == tag:
            self.tags[path], self.ranges[path] = before.tag, before.ranges
        return self.tags.get(path)

    def paths(self) -> list[Path]:
        """All files of which something was shown."""
        return list(self.tags | self.earlier)

    def drain(self) -> "Noted":
        """What was noted outside of calls since this was last asked for."""
        fresh, self._fresh = self._fresh, {}
        return fresh

    def _noted(self) -> "Noted":
        noted = _noting.get()
        return self._fresh if noted is None else noted


Noted = dict[Path, Sighting | None]
"""What was shown of files; None for files that are gone."""
_noting: ContextVar[Noted | None] = ContextVar("noting", default=None)


@contextmanager
def noting(noted: Noted) -> Iterator[None]:
    """What tools show meanwhile, in this task, is noted here: calls run beside each other, and one may be cancelled."""
    before = _noting.set(noted)
    try:
        yield
    finally:
        _noting.reset(before)


@dataclass(frozen=True)
class Workspace:
    """What tools may know of the session: the roots, the ignore rules, unsaved texts, and what was shown before.

    `ignore` has the rules of each root, `read_unsaved` gives the editor's text of a file that it has open, or None, and
    `private` are folders of North's own that no tool touches. `revert` prepares taking back the last applied changes,
    all or those of one file; `conversations` gives another conversation of
    the project as Markdown, or their list. Both raise ToolError. `command_seconds` is how long a command may take that
    names no time.
    """

    roots: Roots
    ignore: Mapping[Path, IgnoreRules]
    read_unsaved: Callable[[Path], Awaitable[str | None]]
    unsaved_texts: Callable[[], Awaitable[Mapping[Path, str]]]
    seen: Seen
    private: tuple[Path, ...] = ()
    outputs: Outputs | None = None
    edits: EditSettings = field(default_factory=EditSettings)
    revert: Callable[[str | None, int], Awaitable[Sequence[FileChange]]] | None = None
    conversations: Callable[[str], str] | None = None
    finder: Finder | None = None
    reading: ReadSettings = field(default_factory=ReadSettings)
    command_seconds: float = 60.0

    @property
    def limits(self) -> Limits:
        return self.reading.limits

    @cached_property
    def trees(self) -> Trees:
        """The lists of the roots' files, kept up to date."""
        return Trees(self.roots, self.ignore, self.private, self.reading.index_limit)


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
    """Only looks: runs unasked, in every mode, beside others of its kind."""

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
