"""Puts the parts of a turn together: those that live as long as the session, and those of one turn.

Loaded with the first turn: opening a session needs none of it.
"""

from collections.abc import Callable
from dataclasses import field

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.calls.dispatch import Dispatcher, ToolRunner
from north_lsp.agent.calls.host import HostServices, Outside
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.compaction.compactor import Compactor
from north_lsp.agent.compaction.summarizer import Summarizer
from north_lsp.agent.costs.account import Account
from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.log.log import Log
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.planning.asking import QuestionAsker
from north_lsp.agent.planning.goal import GoalKeeper
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.planning import Planning
from north_lsp.agent.planning.todo import TodoKeeper
from north_lsp.agent.planning.work_evidence import WorkEvidence
from north_lsp.agent.planning.workflow import WorkflowKeeper
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.servers.approve import ToolApprover
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.opened import Stored
from north_lsp.agent.session.saved import SavedConversation
from north_lsp.agent.shell.approve import CommandApprover
from north_lsp.agent.shell.change_observer import ChangeObserver
from north_lsp.agent.shell.execute import CommandExecution
from north_lsp.agent.shell.jobs import JobCommands
from north_lsp.agent.shell.quarantine import Quarantine
from north_lsp.agent.shell.run import ShellCommands
from north_lsp.agent.shell.sandbox_status import Walls
from north_lsp.agent.shell.user_commands import KeptCommands
from north_lsp.agent.stream_rules.watch import StreamRules
from north_lsp.agent.turn.answer_log import AnswerLog
from north_lsp.agent.turn.answering_model import AnsweringModel
from north_lsp.agent.turn.called_commands import CalledCommands
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.queue import Steering
from north_lsp.agent.turn.reminders import Reminders
from north_lsp.agent.turn.request import ModelRequester
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.agent.turn.request_usage import RequestUsage
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.agent.turn.stream import AnswerStreams
from north_lsp.agent.turn.turn import Turn
from north_lsp.agent.web.approve import HostApprover
from north_lsp.agent.web.fetching import WebAccess
from north_lsp.agent.web.means import WebMeans
from north_lsp.agent.web.searching import WebSearcher
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Provider
from north_lsp.shell.port import Runner
from north_lsp.storage.artifacts import Artifacts

Remind = Callable[[TurnContext, Log, StreamRules, Ports], Reminders]


@dataclass(frozen=True)
class SessionTools:
    """The services that the tools of one session use. `abandoned` takes over what a cancelled turn cannot wait for,
    and `has_secret` tells whether arguments have a value in them that no model is told."""

    runner: Runner
    checkpoints: Checkpoints
    artifacts: Artifacts | None
    abandoned: AbandonedTasks
    has_secret: Callable[[dict[str, object]], bool]
    web: WebMeans = field(default_factory=WebMeans)

    def tools(self, log: Log, reviews: ReviewRecord, edits: EditReviewer, ports: Ports) -> ToolRunner:
        """Make the runner of the session's calls."""
        return ToolRunner(self.services(log, reviews, edits, ports), self.checkpoints, self.artifacts, ports)

    def services(self, log: Log, reviews: ReviewRecord, edits: EditReviewer, ports: Ports) -> HostServices:
        """Make what calls are carried out with."""
        runner, artifacts, editor = self.runner, self.artifacts, ports.editor
        quarantine = Quarantine(runner, edits)
        jobs = JobCommands(runner, artifacts, reviews, editor, quarantine)
        approver = CommandApprover(runner, Walls(runner, editor), reviews, log, ports)
        execution = CommandExecution(runner, ChangeObserver(self.checkpoints, editor), artifacts, ports)
        shell = ShellCommands(approver, execution, jobs, quarantine, runner, editor, artifacts)
        todo = TodoKeeper(log, ports.show)
        plan, goal = PlanKeeper(log, reviews, todo, ports), GoalKeeper(log)
        workflow = WorkflowKeeper(plan, ports, WorkEvidence(log, self.has_secret))
        planning = Planning(todo, QuestionAsker(reviews, editor), plan, goal, workflow)
        web, has_secret = self.web, self.has_secret
        pages = WebAccess(HostApprover(reviews, has_secret, editor), web.client, web.reader, ports)
        outside = Outside(ToolApprover(reviews, has_secret, ports), pages, WebSearcher(web, has_secret, ports))
        return HostServices(edits, shell, jobs, outside, planning, self.abandoned, ports)


@dataclass(frozen=True)
class SessionParts:
    """The parts that the turns of one session share."""

    log: Log
    history: History
    checkpoints: Checkpoints
    edits: EditReviewer
    tools: ToolRunner
    account: Account
    ports: Ports

    def builder(self, context: TurnContext, choice: ModelChoice) -> RequestBuilder:
        """Make what builds the requests of one turn, and shortens the conversation for them."""
        log, account, sizes = self.log, self.account, self.history.sizes
        wait_seconds = context.settings.retry_base_delay_ms / 2000
        summarizer = Summarizer(log, choice, choice.models, account, sizes, wait_seconds)
        compactor = Compactor(log, summarizer, account, sizes, self.ports, context.workspace.roots.roots[0])
        return RequestBuilder(context, self.history, self.checkpoints.content, compactor)

    def called_commands(self, context: TurnContext, kept: KeptCommands) -> CalledCommands:
        """Make what runs the commands that templates want the output of, before a turn."""
        calls = OpenCalls(self.log, self.ports, Titles(context, self.ports.diagnostics))
        return CalledCommands(context, self.tools, calls, kept, self.ports.editor)

    def turn(
        self,
        context: TurnContext,
        choice: ModelChoice,
        provider: Provider,
        waiting: RetryWait,
        steering: Steering,
        remind: Remind | None = None,
    ) -> Turn:
        """Make one turn, which runs once; `remind` makes what reminds its model."""
        ports, log = self.ports, self.log
        answering = AnsweringModel(choice, context.model, provider, log, ports)
        calls = OpenCalls(log, ports, Titles(context, ports.diagnostics))
        dispatcher = Dispatcher(context, calls, self.tools, ports)
        files = FileBlocks(context, log, calls, self.edits, ports)
        answers = AnswerLog(log, ports, calls)
        rules = StreamRules(context, log, ports)
        dispatcher.note_for = rules.reminder_for
        streams = AnswerStreams(context, self.history, files, dispatcher, answers, rules, ports)
        builder = self.builder(context, choice)
        usage = RequestUsage(builder, self.account, ports)
        requester = ModelRequester(builder, self.history, answering, streams, waiting, usage, ports)
        reminders = (remind or Reminders)(context, log, rules, ports)
        return Turn(context, requester, dispatcher, files, reminders, steering, ports)


def session_parts(
    stored: Stored,
    history: History,
    runner: Runner,
    environment: Environment,
    spending: Spending,
    ports: Ports,
    saved: SavedConversation,
) -> SessionParts:
    """Make the parts that live as long as the session."""
    log, checkpoints = stored.log, stored.checkpoints
    reviews = ReviewRecord(log, ports.editor, stored.approvals, saved.sync)
    edits = EditReviewer(reviews, ports.editor, checkpoints, runner.expect, ports.diagnostics)

    account = Account(environment.costs, spending, history.usage, ports.editor)
    web = WebMeans.of(environment.environ, environment.models, log, account)
    services = SessionTools(
        runner, checkpoints, stored.artifacts, environment.process.abandoned, stored.secrets.is_in, web
    )
    return SessionParts(log, history, checkpoints, edits, services.tools(log, reviews, edits, ports), account, ports)
