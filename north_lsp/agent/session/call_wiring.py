"""Puts together what tool calls are carried out with: edits, commands, the web, planning.

Loaded with the first call: an answer without calls needs none of it.
"""

from collections.abc import Callable
from dataclasses import field

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.calls.host import HostServices, Outside
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.log.log import Log
from north_lsp.agent.planning.asking import QuestionAsker
from north_lsp.agent.planning.goal import GoalKeeper
from north_lsp.agent.planning.plan import PlanKeeper
from north_lsp.agent.planning.planning import Planning
from north_lsp.agent.planning.todo import TodoKeeper
from north_lsp.agent.planning.work_evidence import WorkEvidence
from north_lsp.agent.planning.workflow import WorkflowKeeper
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.servers.approve import ToolApprover
from north_lsp.agent.shell.approve import CommandApprover
from north_lsp.agent.shell.change_observer import ChangeObserver
from north_lsp.agent.shell.execute import CommandExecution
from north_lsp.agent.shell.jobs import JobCommands
from north_lsp.agent.shell.quarantine import Quarantine
from north_lsp.agent.shell.run import ShellCommands
from north_lsp.agent.shell.sandbox_status import Walls
from north_lsp.agent.web.approve import HostApprover
from north_lsp.agent.web.fetching import WebAccess
from north_lsp.agent.web.means import WebMeans
from north_lsp.agent.web.searching import WebSearcher
from north_lsp.lazy_dataclass import dataclass
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.artifacts import Artifacts


@dataclass(frozen=True)
class SessionTools:
    """The services that the tools of one session use. `abandoned` takes over what a cancelled turn cannot wait for,
    and `has_secret` tells whether arguments have a value in them that no model is told."""

    runner: CommandRunner
    checkpoints: Checkpoints
    artifacts: Artifacts | None
    abandoned: AbandonedTasks
    has_secret: Callable[[dict[str, object]], bool]
    web: WebMeans = field(default_factory=WebMeans)

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
