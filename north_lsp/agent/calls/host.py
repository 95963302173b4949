"""Gives a running tool what it declares that it needs: edits reviewed, commands run, jobs managed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

import anyio.to_thread

from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.ports.events import CallRunning
from north_lsp.agent.ports.results import Result
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall, ToolSpec
from north_lsp.tools.base import Caller, Command, JobRequest, Need, Output, Progress, Question, Tool
from north_lsp.tools.goals import GoalChange
from north_lsp.tools.questions import UserQuestion
from north_lsp.tools.registry import plan_required
from north_lsp.tools.todo_list import Change
from north_lsp.tools.web_requests import FetchRequest
from north_lsp.tools.workflows import WorkflowCall
from north_lsp.web.search.base import Query
from north_lsp.workspace.proposal import FileChange

if TYPE_CHECKING:
    from north_lsp.agent.planning.planning import Planning
    from north_lsp.agent.servers.approve import ToolApprover
    from north_lsp.agent.shell.jobs import JobCommands
    from north_lsp.agent.shell.run import ShellCommands
    from north_lsp.agent.web.fetching import WebAccess
    from north_lsp.agent.web.searching import WebSearcher

_T = TypeVar("_T")
_CHANGES: tuple[Need, ...] = ("write", "run")
_LOOKS: tuple[Need, ...] = ("run", "network", "agents")


@dataclass(frozen=True, slots=True)
class Outside:
    """The services that reach other programs (the tools of MCP servers) and the web."""

    tools: ToolApprover
    web: WebAccess
    search: WebSearcher


class Carriers(Protocol):
    """The services for calls that do more than read and edit; each is made for the first call that needs it."""

    @property
    def shell(self) -> ShellCommands: ...

    @property
    def jobs(self) -> JobCommands: ...

    @property
    def outside(self) -> Outside: ...

    @property
    def planning(self) -> Planning: ...


class HostServices:
    """The services that tools can be given, created once per session."""

    def __init__(self, edits: EditReviewer, carriers: Carriers, abandoned: AbandonedTasks, ports: Ports) -> None:
        self.edits = edits
        self.carriers = carriers
        self.abandoned = abandoned
        self.ports = ports

    def for_call(
        self, context: TurnContext, tool: Tool, call: ToolCall, title: str, keep: Callable[[str, Result], None]
    ) -> CallHost:
        return CallHost(self, context, tool, call, title, partial(keep, call.id))


class CallHost:
    """The host of one call. `keep` gets the result of what was written even if the turn is cancelled at that moment."""

    def __init__(
        self,
        abilities: HostServices,
        context: TurnContext,
        tool: Tool,
        call: ToolCall,
        title: str,
        keep: Callable[[Result], None],
    ) -> None:
        self._abilities = abilities
        self._context = context
        self._tool = tool
        self._call = call
        self._title = title
        self._keep = keep

    async def look(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Run something that only reads; if the turn is cancelled, it is abandoned after a short grace period."""
        self._ensure("read")
        if self._tool.only_reads and (hold := self._context.rules.hold()) is not None:
            hold.refuse_reading()
        diagnostics, call = self._abilities.ports.diagnostics, self._call

        def note(what: Literal["left", "ended late"]) -> None:
            diagnostics.warning("tool_detached", toolName=call.name, callId=call.id, what=what)

        if self._tool.only_reads:
            await self._abilities.ports.show(CallRunning(call.id))
        return await self._abilities.abandoned.run(work, note)

    async def propose(self, changes: Sequence[FileChange]) -> Result:
        """Have an edit reviewed and applied. Raises StopTurn, ToolError."""
        self._ensure("write")
        if (hold := self._context.rules.hold()) is not None:
            hold.refuse_writing(path for change in changes for path in change.paths)
        workspace = self._context.workspace
        return await self._abilities.edits.review(workspace, self._call, self._title, changes, self._keep)

    async def undo(self, path: str | None, steps: int) -> Result:
        """Have the last changes of the conversation undone, all or those of one file, as an edit. Raises StopTurn,
        ToolError."""
        undone = partial(self._abilities.edits.undone, self._context.workspace, path, steps)
        return await self.propose(await self.look(undone))

    async def run_command(self, make: Callable[[], Command]) -> Result:
        """Have a command approved and run; `make` may read the disk. Raises StopTurn, ToolError."""
        self._ensure("run")
        command = await anyio.to_thread.run_sync(make)
        if (hold := self._context.rules.hold()) is not None:
            hold.refuse_command(command.command)
            if hold.closes and (command.background or not await _only_looks(command)):
                raise hold.error("only `git status`, `log`, `diff` and `show`, `ls`, and `--version` may be run now")
        return await self._abilities.carriers.shell.run(self._context, self._call, self._title, command)

    async def control_jobs(self, request: JobRequest) -> Result:
        """List, read, wait for, stop or write to background jobs. Raises StopTurn, ToolError."""
        self._ensure("run")
        hold = self._context.rules.hold()
        if hold is not None and hold.closes and request.action == "input":
            raise hold.error("jobs cannot be sent input now")
        return await self._abilities.carriers.jobs.run(self._context.workspace, self._call, self._title, request)

    async def ask_user(self, questions: Sequence[UserQuestion]) -> Result:
        """Ask the user, and wait for the answers. Raises ToolError."""
        self._ensure("ask")
        if (hold := self._context.rules.hold()) is not None:
            hold.refuse_questions(len(questions))
        return await self._abilities.carriers.planning.questions.ask(self._context, self._call, self._title, questions)

    async def remember(self, kind: str, text: str) -> str:
        """Note a text of some kind for later conversations, if the user agrees; return the note. Raises ToolError."""
        self._ensure("ask")
        return await self._abilities.ports.remember(kind, text)

    def find_tools(self, query: str, limit: int) -> Sequence[ToolSpec]:
        """Find tools, which are offered from then on."""
        self._ensure("read")
        return self._context.tools.search(query, limit)

    async def write_plan(self, content: str) -> Result:
        """Write the plan of the conversation. Raises ToolError."""
        self._ensure("plan")
        workspace, in_project = self._context.workspace, self._context.settings.planning.plan_in_project
        plan = self._abilities.carriers.planning.plan
        return await plan.write(workspace, self._call, self._title, content, in_project=in_project)

    async def propose_planning(self, reason: str) -> Result:
        """Have the user decide whether plan mode begins. Raises StopTurn, ToolError."""
        self._ensure("plan")
        return await self._abilities.carriers.planning.plan.propose_mode(self._call, self._title, reason)

    async def present_plan(self, summary: str) -> Result:
        """Have the user decide on the plan. Raises StopTurn, ToolError."""
        self._ensure("plan")
        return await self._abilities.carriers.planning.plan.present(self._call, self._title, summary)

    async def permit(self, question: Question) -> Result | None:
        """Have a call of another program's tool approved; a result means that it is not made."""
        self._ensure("network")
        hold = self._context.rules.hold()
        if hold is not None and hold.closes and "plan" not in self._tool.modes:
            raise hold.error(f"{self._tool.name} is not declared read-only")
        return await self._abilities.carriers.outside.tools.permit(self._call, self._title, question)

    async def reach(self, work: Callable[[Progress], Awaitable[_T]]) -> _T:
        """Run work that uses the network or another program; if the turn is cancelled, it is cancelled as well."""
        self._ensure("network")
        ports, id = self._abilities.ports, self._call.id
        await ports.show(CallRunning(id))

        async def report(text: str) -> None:
            await ports.show(CallRunning(id, visible(text)))

        return await work(report)

    async def fetch(self, request: FetchRequest) -> Output | Result:
        """Fetch a page of the web; if the turn is cancelled, so is this. Raises ToolError."""
        self._ensure_web()
        return await self._abilities.carriers.outside.web.fetch(self._context, self._call, self._title, request)

    async def search_web(self, query: Query) -> Output | Result:
        """Search the web; if the turn is cancelled, so is this. Raises ToolError."""
        self._ensure_web()
        return await self._abilities.carriers.outside.search.search(self._context, self._call, self._title, query)

    async def delegate(self, work: Callable[[Caller], Awaitable[_T]]) -> _T:
        """Have agents work on the call; what they change and run is asked about as anything else. Raises StopTurn,
        ToolError."""
        self._ensure("agents")
        await self._abilities.ports.show(CallRunning(self._call.id))
        tools = frozenset(tool.name for tool in self._context.tools.tools())
        return await work(Caller(self._call.id, self._context.mode, tools))

    async def change_goal(self, change: GoalChange) -> Result:
        """Change the goal, or look at it. Raises ToolError."""
        self._ensure("todo")
        planning = self._abilities.carriers.planning
        result = await planning.goal.change(self._call, self._title, change)
        if change.action != "evidence" or self._context.mode != "agent":  # else it is in the log alone
            return result
        kept = await planning.workflow.evidence.of_criterion(self._context.workspace, change.id)
        return replace(result, text=f"{result.text}\n\n{kept}") if kept else result

    async def change_workflow(self, wanted: WorkflowCall) -> Result:
        """Take the conversation through a workflow. Raises StopTurn, ToolError."""
        self._ensure("plan")
        workspace = self._context.workspace
        return await self._abilities.carriers.planning.workflow.change(workspace, self._call, self._title, wanted)

    async def change_todo(self, changes: Sequence[Change]) -> Result:
        """Change the todo list, by all operations or none. Raises ToolError."""
        self._ensure("todo")
        await self._abilities.carriers.planning.workflow.ensure_done(self._context.workspace, changes)
        return self._abilities.carriers.planning.todo.change(self._call, self._title, changes)

    def _ensure_web(self) -> None:
        self._ensure("network")
        if (hold := self._context.rules.hold()) is not None:
            hold.refuse_web()

    def _ensure(self, need: Need) -> None:
        if need not in self._tool.needs:
            raise PermissionError(f"the tool {self._tool.name} does not declare that it needs to {need}")
        if need in _CHANGES and self._context.plans:  # whatever modes the tool says that it has
            raise plan_required(f"{self._tool.name} would change something")
        if need in _LOOKS and (hold := self._context.rules.hold()) is not None:
            hold.refuse_reading()


async def _only_looks(command: Command) -> bool:
    from north_lsp.command_policy.looking import only_looks

    return await anyio.to_thread.run_sync(only_looks, command.command)
