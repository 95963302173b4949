"""The agents of one conversation: which there are, the tasks that its model gives them, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.log.results import ResultEntry
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import Notice, TaskRow
from north_lsp.agent.ports.results import StopTurn
from north_lsp.agent.session.keeping.exporting import read_log
from north_lsp.agent.session.services.surroundings import ModelSurroundings
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.templates.conversation_templates import ConversationTemplates
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.catalog.model_list import UnknownModel
from north_lsp.providers.model import Model
from north_lsp.storage.blobs import Blobs

if TYPE_CHECKING:
    from north_lsp.agent.session.tasks.agent_run import AgentRun, Outcome, Work
    from north_lsp.agent.subagents.agent_editor import AgentEditor
    from north_lsp.agent.subagents.desk import Desk
    from north_lsp.agent.subagents.guards import Asker
    from north_lsp.agent.subagents.outputs import Outputs
    from north_lsp.agent.subagents.place import Place
    from north_lsp.agent.subagents.progress import Board, Progress
    from north_lsp.agent.subagents.request import TaskRequest
    from north_lsp.agent.subagents.slots import Slots
    from north_lsp.agent.subagents.sources import Definitions
    from north_lsp.shell.port import Runner
    from north_lsp.tools.base import Caller, Output, Tool


class AgentsSession(Protocol):
    """The part of a session that this needs."""

    choice: ModelChoice

    @property
    def templates(self) -> ConversationTemplates: ...

    @property
    def roots(self) -> tuple[Path, ...]: ...

    def holding(self) -> AbstractContextManager[anyio.CancelScope]: ...


@dataclass
class Running:
    """A task of this process: its progress, and the scope that cancels it."""

    progress: Progress
    scope: anyio.CancelScope


class Agents:
    """Runs the agents of one session."""

    def __init__(self, session: AgentsSession, means: TurnMeans, surroundings: ModelSurroundings) -> None:
        self._session = session
        self._means = means
        self._surroundings = surroundings
        self._asking, self._integrating, self._beginning = anyio.Lock(), anyio.Lock(), anyio.Lock()
        self._runners: set[Runner] = set()
        self._slots: Slots | None = None
        self._told: set[str] = set()
        self._hidden: frozenset[str] = frozenset()
        self._outputs: Outputs | None = None
        self._news: list[str] = []
        self.tasks: dict[str, Running] = {}
        """The tasks of this process, by id, also those that are over."""
        surroundings.offer(self._offered)
        means.stored.context.more_news = self.take_news

    @property
    def outputs(self) -> Outputs:
        """What agents have handed in."""
        from north_lsp.agent.subagents.outputs import Outputs

        if self._outputs is None:
            self._outputs = Outputs(self._means.stored.conversation.folder, self._means.environment.environ)
        return self._outputs

    def read(self, address: str) -> str:
        """Read what is at `agent://`. Raises ToolError."""
        return self.outputs.read(address)

    def definitions(self) -> Definitions:
        """Read all definitions. Reads files: for a thread."""
        from north_lsp.agent.context.documents import Place
        from north_lsp.agent.subagents.sources import load_definitions, untrusted

        environment, trees = self._means.environment, self._surroundings.workspace.trees

        def resolve(path: Path) -> tuple[Path, str]:
            resolved = trees.resolve(str(path))
            return resolved.path, resolved.relative

        decided = self._means.stored.approvals.trust.decided()
        place = Place("project", resolve) if decided is not None and decided[0] else None
        home = systems.home(environment.environ)
        disabled = environment.settings.context.disabled_items
        known = load_definitions(self._session.roots, place, environment.locations, home, disabled)
        waiting = untrusted(self._session.roots) if decided is None else ()
        return replace(known, problems=(*waiting, *known.problems))

    def _offered(self) -> Sequence[Tool]:
        from north_lsp.agent.subagents.task import Task

        settings = self._means.environment.settings.tasks
        if not settings.enabled or not settings.max_recursion_depth:
            return ()
        return (Task(self._delegate, self.definitions().used),)

    # -- a call ------------------------------------------------------------------------------------------------------

    async def _delegate(self, args: Mapping[str, Any], caller: Caller) -> Output:
        from north_lsp.agent.subagents.guards import Asker, Powers
        from north_lsp.tools.registry import Registry

        every = await self._surroundings.for_agents()
        self._hidden = every.hidden
        tools = [tool for tool in every.tools() if caller.mode in tool.modes and tool.name in caller.tools]
        powers = Powers(caller.mode, Registry(tools), self._session.choice.model)
        return await self._run(args, caller, Asker(powers))

    async def _run(self, args: Mapping[str, Any], caller: Caller, asker: Asker) -> Output:
        """Run all tasks of a call; what is wrong with one is reported before any begins. Raises StopTurn, ToolError."""
        from north_lsp.agent.subagents.progress import Board, Progress
        from north_lsp.agent.subagents.request import task_requests

        requests = task_requests(args)
        known = await anyio.to_thread.run_sync(self.definitions)
        await self._tell(known.problems)
        async with self._beginning:  # each call sees what those before it have begun
            works = [await self._work(request, asker, known) for request in requests]
            ids = await anyio.to_thread.run_sync(self.outputs.new_ids, [one.id for one in requests], asker.output_id)
            rows = [Progress(id, one.agent, one.description) for id, one in zip(ids, requests, strict=True)]
            self.tasks |= {row.id: Running(row, anyio.CancelScope()) for row in rows}
        board = Board(caller.call_id, rows, self._means.ports.show)
        outcomes: dict[str, Outcome] = {}
        seconds: dict[str, float] = {}

        async def one(work: Work, progress: Progress) -> None:
            started = time.monotonic()
            outcomes[progress.id] = await self._done(work, progress, board, asker)
            seconds[progress.id] = time.monotonic() - started

        pairs = [*zip(works, rows, strict=True)]
        later = (
            [] if asker.powers.depth else [row.id for work, row in pairs if work.powers.is_behind]
        )  # its own end with an agent
        try:
            await board.changed()
            async with anyio.create_task_group() as tasks:
                for work, progress in pairs:
                    if progress.id not in later:
                        tasks.start_soon(one, work, progress)
                    else:
                        behind = Board(caller.call_id, [progress], self._means.ports.show, is_behind=True)
                        self._means.environment.background.start_soon(self._behind, work, progress, behind, asker)
        except* StopTurn:
            raise StopTurn from None
        finally:
            for row in rows:
                if row.state == "queued" and row.id not in later:  # it was cancelled before it was begun
                    row.state = "cancelled"
        return _output(rows, outcomes, seconds)

    async def _behind(self, work: Work, progress: Progress, board: Board, asker: Asker) -> None:
        """Do a task while the conversation continues; its result is told to the model with what it is told next. A
        cancel ends it as anything that runs."""
        with self._session.holding() as scope:
            started = time.monotonic()
            try:
                with scope:
                    outcome = await self._done(work, progress, board, asker)
            except StopTurn:
                self.cancel_all()
                return
            if scope.cancelled_caught or outcome.state == "cancelled":
                return
            told = _output([progress], {progress.id: outcome}, {progress.id: time.monotonic() - started}).text or ""
            self._news.append(f"[A task in the background has ended:\n{told}]")
            words = f"The agent {progress.agent} has ended its task {progress.id}; the model is told next."
            await self._means.ports.show(Notice("info", words))

    def take_news(self) -> list[str]:
        """Return, once, what came of tasks in the background."""
        news, self._news = self._news, []
        return news

    def cancel_all(self) -> None:
        """Cancel all tasks."""
        for id in self.tasks:
            self.cancel(id)

    async def _work(self, request: TaskRequest, asker: Asker, known: Definitions) -> Work:
        """Find out what a task needs, and whether it may be done. Raises ToolError."""
        from north_lsp.agent.planning.workflow_hold import hold_on, package_of
        from north_lsp.agent.session.tasks.agent_run import Work
        from north_lsp.agent.subagents.files import with_open_files
        from north_lsp.agent.subagents.guards import Powers, mode_for, permitted, uses_agents
        from north_lsp.agent.subagents.tool_words import chosen_tools
        from north_lsp.agent.subagents.work_tree import ensure_possible
        from north_lsp.tools.registry import Registry

        environment = self._means.environment
        agent = permitted(request.agent, asker, known, environment.environ)
        isolated = (request.isolation or agent.isolation) == "worktree"
        workspace, log = self._surroundings.workspace, self._means.stored.log
        begun = [id for id, one in self.tasks.items() if one.progress.state != "cancelled"]
        package = await anyio.to_thread.run_sync(package_of, log, workspace, request.id, begun)
        if package is not None and not isolated:
            raise ToolError("INVALID_INPUT", f"{request.id} is a package: it needs isolation worktree")
        hold = hold_on(log, None)
        may = asker.powers
        if may.mode != "agent" or (hold is not None and hold.closes):
            isolated = False  # it changes nothing, and a tree would be written into the repository
        if isolated and self._place(asker).tree is not None:
            told = f"{asker.name} works in a work tree already, which the agents that it uses share"
            raise ToolError("UNAVAILABLE", told, 'give the task isolation "none"')
        if isolated:
            await anyio.to_thread.run_sync(ensure_possible, self._place(asker).workspace.roots.main)
        own, unknown = chosen_tools(agent.tools, may.tools.tools())
        if unknown:
            await self._tell([f"{agent.source.shown}: there are no tools called {', '.join(unknown)}"])
        request = await with_open_files(request, self._place(asker).workspace)
        skills = await anyio.to_thread.run_sync(self._skills, request.skills)
        wanted = self._session.choice.models.catalog.agents.get(agent.name, "")
        model = await self._model(wanted or agent.model, may.model, agent.name)
        model = model.with_level(agent.level) if agent.level is not None and not wanted else model
        spawns = agent.may_spawn if uses_agents(agent, asker, environment.settings.tasks.max_recursion_depth) else ()
        behind = may.is_behind or (request.background and not may.depth and package is None)
        powers = Powers(mode_for(own, may), Registry(own, self._hidden), model, spawns, may.depth + 1, behind)
        return Work(request, agent, powers, skills, isolated, package)

    def _skills(self, names: Sequence[str]) -> list[dict[str, str]]:
        """Read skills. Raises ToolError naming all that there are none of."""
        found: list[dict[str, str]] = []
        missing: list[str] = []
        hint: str | None = None
        for name in names:
            try:
                found.append({"name": name, "text": self._session.templates.skill(name)})
            except ToolError as error:
                missing.append(one_line(name, 60))
                hint = error.hint
        if missing:
            raise ToolError("NOT_FOUND", f"there are no skills called {', '.join(missing)}", hint)
        return found

    async def _model(self, wanted: str, otherwise: Model, agent: str) -> Model:
        """Return the model of an agent; that of whoever asks where its role is not set. The user is told where a model
        cannot be used."""
        choice, environ = self._session.choice, self._means.environment.environ
        catalog = choice.models.catalog
        if not wanted or catalog.is_left_open(wanted):
            return otherwise
        try:
            found = await choice.find(wanted)
            if not found.problem and catalog.is_available(found, environ):
                return found
            why = "its key is missing"
        except (UnknownModel, ValueError) as error:
            why = str(error)
        await self._tell(
            [f"the agent {agent} wants the model {wanted}, which cannot be used ({why}); {otherwise.title} answers"]
        )
        return otherwise

    async def _tell(self, problems: Sequence[str]) -> None:
        """Tell the user what is wrong with definitions, each once."""
        for problem in problems:
            if problem not in self._told:
                self._told.add(problem)
                await self._means.ports.show(Notice("warning", visible(one_line(problem, 400))))

    # -- a task ------------------------------------------------------------------------------------------------------

    async def _done(self, work: Work, progress: Progress, board: Board, asker: Asker) -> Outcome:
        """Do one task when there is a slot for it. Whatever happens to it happens to it alone. Raises StopTurn."""
        from north_lsp.agent.session.tasks.agent_run import Outcome
        from north_lsp.agent.subagents.desk import Desk
        from north_lsp.agent.subagents.slots import Slots

        settings, ports = self._means.environment.settings.tasks, self._means.ports
        self._slots = slots = self._slots or Slots()
        slots.limit = settings.max_concurrency
        outcome = Outcome("cancelled", "it was cancelled before it had a result")
        running = self.tasks[progress.id]
        ports.diagnostics.event("subagent_start", agent=progress.agent, depth=work.powers.depth, id=progress.id)
        try:
            with running.scope:
                async with slots.one() as slot:
                    progress.state = "running"
                    await board.changed()
                    desk = Desk(progress, board, slot, asker)
                    outcome = await (self._isolated if work.isolated else self._timed)(work, desk, self._place(asker))
        except (StopTurn, anyio.get_cancelled_exc_class()):
            raise
        except Exception as error:  # noqa: BLE001 - a task that fails must not end others
            ports.on_failure(f"agent {progress.agent}", error)
            outcome = Outcome("failed", f"it failed inside North ({type(error).__name__})")
        finally:
            progress.state, progress.action = outcome.state, ""
            with anyio.CancelScope(shield=True):
                ports.diagnostics.event(
                    "subagent_complete",
                    agent=progress.agent,
                    depth=work.powers.depth,
                    tokens=progress.tokens,
                    ok=outcome.state in ("done", "unstructured"),
                )
                with ports.diagnostics.guarded("keeping what an agent has handed in"):
                    await anyio.to_thread.run_sync(self.outputs.keep, progress.id, outcome.text)
                await board.changed()
        return outcome

    async def _timed(self, work: Work, desk: Desk, place: Place) -> Outcome:
        """Do a task in the time that it has. Raises StopTurn."""
        from north_lsp.agent.session.tasks.agent_run import Outcome

        seconds = self._means.environment.settings.tasks.timeout_s
        with anyio.move_on_after(seconds) as limit:
            desk.begin(limit)
            return await self._agent(work, desk, place).run()
        return Outcome("timed_out", f"it did not end within {seconds} seconds")

    async def _isolated(self, work: Work, desk: Desk, place: Place) -> Outcome:
        """Do a task in a work tree of its own, and have what it changed there reviewed. Raises StopTurn."""
        from north_lsp.agent.session.tasks.agent_run import Outcome
        from north_lsp.agent.session.tasks.isolation import Homecoming
        from north_lsp.agent.session.tasks.package_checks import PackageChecks
        from north_lsp.agent.session.tasks.trees import own_tree

        desk.begin(anyio.CancelScope())
        editor = self._editor(desk)
        try:
            async with own_tree(self._means, place.workspace, desk.progress.id, editor) as own:
                outcome = await self._timed(work, desk, own)
                editor = self._editor(desk)
                in_tree = self._editor(desk, in_tree=True)  # commands run with changes that the user has not seen
                checks = PackageChecks(self._means, work, place.workspace, in_tree, desk.names)
                home = Homecoming(self._means, place.workspace, own, editor, work.package, checks.run)
                if work.package is None:
                    return await home.bring(desk.names, outcome)
                await editor.act("waiting to come back")
                async with self._integrating:
                    return await home.bring(desk.names, outcome)
        except ToolError as error:
            return Outcome("failed", f"it could not begin: {error}")

    def _editor(self, desk: Desk, *, in_tree: bool = False) -> AgentEditor:
        from north_lsp.agent.subagents.agent_editor import AgentEditor
        from north_lsp.agent.subagents.place import TreeEditor

        kind = TreeEditor if in_tree else AgentEditor
        means = (desk.progress, desk.board.changed, self._asking, desk.time, self._means.stored.log)
        return kind(self._means.ports.editor, desk.names, *means)

    def _agent(self, work: Work, desk: Desk, place: Place) -> AgentRun:
        from north_lsp.agent.session.tasks.agent_run import AgentRun, Shared
        from north_lsp.agent.subagents.contract import Contract, SubmitResult
        from north_lsp.agent.subagents.guards import Asker
        from north_lsp.agent.subagents.task import Task

        contract = Contract(work.agent.output or work.request.output_schema or desk.asker.schema)
        slot, progress = desk.slot, desk.progress
        editor = self._editor(desk, in_tree=place.tree is not None)
        own: list[Tool] = [SubmitResult(contract)]
        powers = work.powers
        if powers.spawns:
            me = Asker(powers, work.agent.name, progress.id, slot, place, contract.schema)

            async def delegate(args: Mapping[str, Any], caller: Caller) -> Output:
                async with slot.lent():
                    return await self._run(args, caller, me)

            own.append(Task(delegate, self.definitions().used))
        work = replace(work, powers=replace(powers, tools=powers.tools.joined(own)))
        choice, runners = self._session.choice, self._runners
        return AgentRun(work, Shared(self._means, place, choice, self._asking, runners), progress, editor, contract)

    def _place(self, asker: Asker) -> Place:
        """Return where the agents of an asker work: where it works itself."""
        from north_lsp.agent.subagents.place import Place

        return asker.place or Place(self._surroundings.workspace)

    def cancel(self, id: str) -> bool:
        """Cancel a task; False if there is none that runs or waits under this id."""
        running = self.tasks.get(id)
        if running is None or running.progress.state not in ("queued", "running"):
            return False
        running.scope.cancel()
        return True

    # -- looking at them ---------------------------------------------------------------------------------------------

    async def known(self) -> Definitions:
        """Read all definitions."""
        return await anyio.to_thread.run_sync(self.definitions)

    def listed(self) -> list[TaskRow]:
        """List the tasks of the conversation, in the order in which they were begun: those that the log has, and those
        of this process."""
        from north_lsp.agent.log.task_rows import numbers_of, task_rows

        results = [one.entry for one in self._means.stored.log.path() if isinstance(one.entry, ResultEntry)]
        rows = {row.id: self._as_it_ended(row) for result in results for row in task_rows(result.details.of_tool)}
        rows |= {id: one.progress.row for id, one in self.tasks.items()}
        return sorted(rows.values(), key=lambda row: numbers_of(row.id))

    def _as_it_ended(self, row: TaskRow) -> TaskRow:
        """Return what became of a task that still ran when its call got its result."""
        if row.state not in ("queued", "running"):
            return row
        return replace(row, state="done" if self.outputs.has(row.id) else "cancelled")

    async def transcript(self, id: str) -> str:
        """Return an agent's conversation as Markdown. Raises ToolError NOT_FOUND, IO_ERROR."""
        from north_lsp.agent.subagents.outputs import is_output_id

        path = self.outputs.logs / f"{id}.jsonl"
        if not is_output_id(id) or not await anyio.to_thread.run_sync(path.is_file):
            told = ", ".join(row.id for row in self.listed()) or "none"
            raise ToolError("NOT_FOUND", f"there is no task {one_line(id, 60)!r}; known: {told}")
        environment, secrets = self._means.environment, self._means.stored.secrets
        tools = await anyio.to_thread.run_sync(environment.process.load_tools)

        def rendered() -> str:
            from north_lsp.agent.exports.export import render, source_of
            from north_lsp.agent.secrets.log_veil import LogVeil

            log = read_log(path)
            log.conversation.wear(LogVeil(secrets))
            return render(source_of(log, Blobs(environment.locations.blobs)), tools, "md", None)

        return await anyio.to_thread.run_sync(rendered, abandon_on_cancel=True)


def _output(rows: Sequence[Progress], outcomes: Mapping[str, Outcome], seconds: Mapping[str, float]) -> Output:
    """Make the result of a call: each task with what came of it, and its output as far as there is room."""
    from north_lsp.agent.log.task_rows import task_details
    from north_lsp.agent.subagents.outputs import shortened
    from north_lsp.agent.subagents.progress import WORDS
    from north_lsp.display import money
    from north_lsp.tools.base import Output

    parts: list[str] = []
    for one in rows:
        if one.id not in outcomes:
            parts.append(f"[{one.id}] {one.agent}: works in the background; you are told when it has ended")
            continue
        outcome = outcomes[one.id]
        cost = f", {money(one.cost_usd)}" if one.cost_usd else ""
        head = f"[{one.id}] {one.agent}: {WORDS[outcome.state]} ({seconds[one.id]:.0f} s, {one.tokens:,} tokens{cost})"
        summary = f"\n{outcome.summary}" if outcome.summary else ""
        parts.append(f"{head}{summary}\n{shortened(one.id, outcome.text)}")
    good = [one for one in rows if one.id in outcomes and one.state in ("done", "unstructured")]
    behind = len(rows) - len(outcomes)
    count = f"{len(good)} of {len(rows)} tasks done" + (f", {behind} in the background" if behind else "")
    details = task_details([one.row for one in rows])
    return Output(f"Agents: {count}", text="\n\n".join(parts), failed=not good and not behind, details=details)
