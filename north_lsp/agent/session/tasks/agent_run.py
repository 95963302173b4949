"""One task: an agent's own conversation, in a log of its own, from its prompt to its result. What it changes and runs
is recorded in the conversation that it works for, and asked about there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp import __version__
from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.dispatch import ToolRunner
from north_lsp.agent.context.conversation_context import ConversationContext
from north_lsp.agent.context.documents import framed
from north_lsp.agent.context.system_prompt import Section, joined
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.agent_calls import agent_began
from north_lsp.agent.log.fields import Content
from north_lsp.agent.log.header import Parent
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import AnswerEntry, News, PromptEntry, Words
from north_lsp.agent.log.prompt import FileLink, to_log
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.planning.workflow_hold import Assignment
from north_lsp.agent.ports.results import StopTurn
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext, TurnRules
from north_lsp.agent.prompts import render
from north_lsp.agent.secrets.log_veil import LogVeil
from north_lsp.agent.secrets.secrets import Secrets
from north_lsp.agent.session.services.call_wiring import SessionTools
from north_lsp.agent.session.services.wiring import SessionParts
from north_lsp.agent.session.turns.model_turns import TurnMeans
from north_lsp.agent.subagents.account import AgentAccount
from north_lsp.agent.subagents.agent_editor import AgentEditor, AgentStatus, Names
from north_lsp.agent.subagents.contract import Contract, ContractReminder
from north_lsp.agent.subagents.definition import Definition
from north_lsp.agent.subagents.guards import Powers
from north_lsp.agent.subagents.ownership import agent_hold, hold_behind
from north_lsp.agent.subagents.place import Place, TreeEdits
from north_lsp.agent.subagents.progress import Progress, State
from north_lsp.agent.subagents.request import TaskRequest
from north_lsp.agent.subagents.services import AgentEdits, AgentServices
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.queue import PromptQueue, QueuedPrompt, Steering, Stopped
from north_lsp.agent.turn.retry import Retries, RetryControl
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.agent.web.means import WebMeans
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Text
from north_lsp.providers.credentials import MissingCredential
from north_lsp.shell.port import Runner
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.disk_log import DiskLog
from north_lsp.storage.entries import now_ms
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.seen import Seen
from north_lsp.workspace.workspace import Workspace

_GRACE_SECONDS = 0.3
_LONGEST_END_SECONDS = 2.0
_ENDS: Mapping[Stopped, State] = {"max_turn_requests": "limit", "cancelled": "cancelled"}


class _AgentVeil(LogVeil):
    """Masks the log of an agent with the placeholders of its conversation, whose log records them."""

    def __init__(self, secrets: Secrets, conversation: Conversation) -> None:
        super().__init__(secrets)
        self._conversation = conversation

    def take_unrecorded(self) -> list[dict[str, object]]:
        self._conversation.record_secrets()
        return []


@dataclass(frozen=True, slots=True)
class Work:
    """A task that is to be done: what was asked for, by which agent, with which powers. `skills` are the texts of those
    that it was given; `isolated`: in a work tree of its own; `package`: what it is of a workflow, which says what it
    may change."""

    request: TaskRequest
    agent: Definition
    powers: Powers
    skills: Sequence[Mapping[str, str]] = ()
    isolated: bool = False
    package: Assignment | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """What the agents of a conversation share: what its turns are made with, where they work, its own choice of a
    model, its lock for questions, and the shells of those at work."""

    means: TurnMeans
    place: Place
    choice: ModelChoice
    asking: anyio.Lock
    runners: set[Runner]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a task: its text, or why there is none; `is_json`: the text is a result that fits a schema."""

    state: State
    text: str
    summary: str = ""
    is_json: bool = False


class AgentRun:
    """Does one task, once. `progress` is told how far it is, `changed` by its board."""

    def __init__(self, work: Work, shared: Shared, progress: Progress, editor: AgentEditor, contract: Contract) -> None:
        self._work = work
        self._shared = shared
        self._means = shared.means
        self._progress = progress
        self._editor = editor
        self._contract = contract
        self._names = Names(progress.id, progress.agent)

    async def run(self) -> Outcome:
        """Work until there is a result. Raises StopTurn if the user stops everything from one of its questions."""
        means, work = self._means, self._work
        conversation = await anyio.to_thread.run_sync(self._create)
        log = Log(conversation)
        log.mode = work.powers.mode
        ports = Ports(self._editor, AgentStatus(self._editor, means.ports.status), means.ports.diagnostics)
        there = self._shared.place.workspace
        workspace = replace(there, seen=Seen(), addresses=replace(there.addresses, conversations=None))
        runner = means.shell.runner_in(workspace)
        self._shared.runners.add(runner)
        try:
            return await self._work_on(log, workspace, runner, ports)
        finally:
            self._shared.runners.discard(runner)
            with anyio.CancelScope(shield=True):
                with anyio.move_on_after(_LONGEST_END_SECONDS):
                    await runner.end_all(_GRACE_SECONDS)
                conversation.end(self._progress.state)
                await anyio.to_thread.run_sync(conversation.sync)
                conversation.retire()

    def _create(self) -> Conversation:
        """Make the agent's log, beside that of its conversation."""
        means, work, of = self._means, self._work, self._means.stored.conversation
        root = self._shared.place.workspace.roots.main
        conversation = Conversation.create(
            means.environment.locations,
            repo_root=root,
            repo_hash=project_hash(root),
            cwd=root,
            model=work.powers.model.selector,
            client=None,
            north_version=__version__,
            storage=DiskLog.new(of.folder / "agents", self._progress.id),
            parent=Parent(of.id, "task").to_json(),
        )
        conversation.wear(_AgentVeil(means.stored.secrets, of))
        conversation.durability = of.durability
        conversation.keep()
        return conversation

    async def _work_on(self, log: Log, workspace: Workspace, runner: Runner, ports: Ports) -> Outcome:
        means, work = self._means, self._work
        settings = means.environment.settings
        most = min(work.agent.max_requests or settings.tasks.max_requests, settings.tasks.max_requests)
        settings = replace(settings, turns=replace(settings.turns, max_requests=most))
        told = self._context(log, workspace)
        for notice in await told.load():
            await ports.show(notice)
        system = await self._system(told)
        names = [spec.name for spec in work.powers.tools.specs(work.powers.mode)]
        log.append(agent_began(work.agent.name, system, work.request.prompt, names, self._contract.schema))
        log.set_title(work.request.description or work.request.prompt)
        await self._prompt(log, workspace, told)
        parts = await self._parts(log, runner, ports)
        choice = self._choice(log, parts)
        owns = work.package.package.owns if work.package is not None else None
        hold = partial(hold_behind if work.powers.is_behind else agent_hold, means.stored.log, workspace, owns)
        rules = TurnRules(told.follow, told.project.stream_rules, hold)
        may = work.powers
        context = TurnContext(may.model, system, may.mode, may.tools, workspace, settings, rules)
        try:
            stopped = await self._turn(context, parts, choice)
        except (ModelFailed, MissingCredential) as error:
            return Outcome("failed", f"the model gave no answer: {error}")
        if self._editor.was_stopped:
            raise StopTurn
        return self._outcome(log, stopped)

    def _context(self, log: Log, workspace: Workspace) -> ConversationContext:
        environment, stored = self._means.environment, self._means.stored
        found = (environment.locations, environment.environ, environment.settings_file.current)
        return ConversationContext(log, stored.approvals.trust, *found, workspace, self._means.ports.diagnostics)

    async def _system(self, told: ConversationContext) -> str:
        """Return the system text: the agent's own, then what holds for every model here."""
        agent = self._work.agent
        body = framed("project", agent.body) if agent.source.whose == "project" else agent.body
        own = Section("behaviour", "Agent", agent.source.shown, render("agent_system", agent=agent.name, text=body))
        others = [one for one in await told.sections(self._work.powers.model) if one.id != "behaviour"]
        return joined([own, *others])

    async def _prompt(self, log: Log, workspace: Workspace, told: ConversationContext) -> None:
        request, place = self._work.request, self._shared.place
        links = tuple(FileLink(place.resolved(path), by_model=True) for path in request.files)
        files = await to_log(links, workspace, self._means.stored.checkpoints.keep)
        content = [Words(request.prompt), *files]  # a model attaches nothing by mentioning it
        skills = self._work.skills
        loaded = [News(render("preloaded_skills", skills=skills))] if skills else []
        if place.tree is not None:
            loaded.append(News(render("agent_tree", root=str(place.tree.root))))
        if (assigned := self._work.package) is not None:
            owns, reads = (", ".join(some) for some in (assigned.package.owns, assigned.package.reads))
            loaded.append(News(render("agent_package", owns=owns, reads=reads)))
        news = await told.news(content)
        log.append(PromptEntry(Content((*news, *loaded, *content)), at_ms=now_ms()))
        await anyio.to_thread.run_sync(log.conversation.sync)

    async def _parts(self, log: Log, runner: Runner, ports: Ports) -> SessionParts:
        """Make the parts of the agent's turn: its own log and shells, and reviews, checkpoints and costs of its
        conversation."""
        means = self._means
        stored, of = means.stored, await means.parts()
        reviews = ReviewRecord(stored.log, ports.editor, stored.approvals, means.saved.sync)
        checkpoints = self._checkpoints(log)
        edits = self._edits(log, checkpoints, reviews, ports)
        account = AgentAccount(of.account, stored.log, self._shared.choice.model, self._progress, self._editor)
        environment = means.environment
        web = WebMeans.of(environment.environ, environment.models, log, account)
        tools = SessionTools(
            lambda: runner,
            checkpoints,
            stored.artifacts,
            environment.process.abandoned,
            stored.secrets.is_in,
            lambda: web,
        )
        services = AgentServices(tools.services(stored.log, reviews, edits, ports), self._names)
        calls = ToolRunner(lambda: services, checkpoints, stored.artifacts, ports)
        return SessionParts(log, History(log), checkpoints, edits, calls, account, ports)

    def _checkpoints(self, log: Log) -> Checkpoints:
        """Return where its edits are kept, so that they can be undone: with those of the conversation, unless they are
        in a work tree, which is not there any more when it is done."""
        tree, means = self._shared.place.tree, self._means
        if tree is None:
            return means.stored.checkpoints
        return Checkpoints(log, Blobs(means.environment.locations.blobs), tree.folder / "journals")

    def _edits(self, log: Log, checkpoints: Checkpoints, reviews: ReviewRecord, ports: Ports) -> AgentEdits:
        stored = self._means.stored

        def expect(paths: Sequence[Path]) -> None:
            self._means.shell.expect(paths)
            for one in self._shared.runners:
                one.expect(paths)

        if self._shared.place.tree is None:
            edits = AgentEdits(reviews, ports.editor, checkpoints, expect, ports.diagnostics)
        else:
            own = ReviewRecord(log, ports.editor, stored.approvals, self._means.saved.sync)
            edits = TreeEdits(own, ports.editor, checkpoints, expect, ports.diagnostics)
        edits.names = self._names
        return edits

    def _choice(self, log: Log, parts: SessionParts) -> ModelChoice:
        environment, work = self._means.environment, self._work
        history, editor = parts.history, parts.ports.editor
        known, allowed = environment.models, self._shared.choice.allowed
        return ModelChoice(work.powers.model, known, lambda: environment.settings, log, editor, history.usage, allowed)

    async def _turn(self, context: TurnContext, parts: SessionParts, choice: ModelChoice) -> Stopped:
        control = RetryControl(self._means.environment.process.retry)
        waiting = RetryWait(Retries(control.settings), control, parts.ports, parts.log)
        reminder = partial(ContractReminder, self._contract)
        model, provider = await choice.answering()
        turn = parts.turn(replace(context, model=model), choice, provider, waiting, _nobody_steers(), reminder)
        try:
            return await turn.run()
        finally:
            with anyio.CancelScope(shield=True):
                await turn.finalize()

    def _outcome(self, log: Log, stopped: Stopped) -> Outcome:
        contract = self._contract
        if not contract.is_open:
            state: State = "invalid" if contract.status == "invalid" else "done"
            is_json = contract.schema is not None and not isinstance(contract.result, str)
            return Outcome(state, contract.text, contract.summary, is_json=is_json)
        last = _last_text(log)
        if (ended := _ENDS.get(stopped)) is not None:
            return Outcome(ended, last or "it was stopped before it had a result")
        if stopped == "refusal":
            return Outcome("failed", f"the model refused{f': {last}' if last else ''}")
        if not last:
            return Outcome("failed", self._editor.problem or "it stopped without a result")
        return Outcome("unstructured", last)


def _last_text(log: Log) -> str:
    for one in reversed(log.path()):
        if isinstance(one.entry, AnswerEntry):
            text = "".join(block.text for block in one.entry.blocks if isinstance(block, Text)).strip()
            if text:
                return text
    return ""


def _nobody_steers() -> Steering:
    async def ignore(_: object) -> None:
        pass

    async def nothing(_: QueuedPrompt) -> None:
        pass

    return Steering(PromptQueue(ignore), nothing, nothing)
