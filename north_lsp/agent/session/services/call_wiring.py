"""Puts together what tool calls are carried out with: edits, commands, the web, planning.

Loaded with the first call, and each of its parts with the first call that needs it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.abandoned_tasks import AbandonedTasks
from north_lsp.agent.calls.host import HostServices, Outside
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.edits.review import EditReviewer
from north_lsp.agent.log.log import Log
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.artifacts import Artifacts

if TYPE_CHECKING:
    from north_lsp.agent.planning.planning import Planning
    from north_lsp.agent.shell.jobs import JobCommands
    from north_lsp.agent.shell.quarantine import Quarantine
    from north_lsp.agent.shell.run import ShellCommands
    from north_lsp.agent.web.means import WebMeans
    from north_lsp.shell.port import Runner


def _without_web() -> WebMeans:
    from north_lsp.agent.web.means import WebMeans

    return WebMeans()


@dataclass(frozen=True)
class SessionTools:
    """The services that the tools of one session use. `runner` makes what runs commands, `web` what the web is reached
    with; `abandoned` takes over what a cancelled turn cannot wait for, and `has_secret` tells whether arguments have a
    value in them that no model is told."""

    runner: Callable[[], Runner]
    checkpoints: Checkpoints
    artifacts: Artifacts | None
    abandoned: AbandonedTasks
    has_secret: Callable[[dict[str, object]], bool]
    web: Callable[[], WebMeans] = _without_web

    def services(self, log: Log, reviews: ReviewRecord, edits: EditReviewer, ports: Ports) -> HostServices:
        """Make what calls are carried out with."""
        return HostServices(edits, _Carriers(self, log, reviews, edits, ports), self.abandoned, ports)


class _Carriers:
    """What carries out the calls of one session that do more than read and edit."""

    def __init__(self, means: SessionTools, log: Log, reviews: ReviewRecord, edits: EditReviewer, ports: Ports) -> None:
        self._means = means
        self._log = log
        self._reviews = reviews
        self._edits = edits
        self._ports = ports

    @cached_property
    def _runner(self) -> Runner:
        return self._means.runner()

    @cached_property
    def _quarantine(self) -> Quarantine:
        from north_lsp.agent.shell.quarantine import Quarantine

        return Quarantine(self._runner, self._edits)

    @cached_property
    def jobs(self) -> JobCommands:
        from north_lsp.agent.shell.jobs import JobCommands

        artifacts, editor = self._means.artifacts, self._ports.editor
        return JobCommands(self._runner, artifacts, self._reviews, editor, self._quarantine)

    @cached_property
    def shell(self) -> ShellCommands:
        from north_lsp.agent.shell.approve import CommandApprover
        from north_lsp.agent.shell.change_observer import ChangeObserver
        from north_lsp.agent.shell.execute import CommandExecution
        from north_lsp.agent.shell.run import ShellCommands
        from north_lsp.agent.shell.sandbox_status import Walls

        runner, ports, artifacts = self._runner, self._ports, self._means.artifacts
        approver = CommandApprover(runner, Walls(runner, ports.editor), self._reviews, self._log, ports)
        observer = ChangeObserver(self._means.checkpoints, ports.editor)
        execution = CommandExecution(runner, observer, artifacts, ports)
        return ShellCommands(approver, execution, self.jobs, self._quarantine, runner, ports.editor, artifacts)

    @cached_property
    def planning(self) -> Planning:
        from north_lsp.agent.planning.asking import QuestionAsker
        from north_lsp.agent.planning.goal import GoalKeeper
        from north_lsp.agent.planning.plan import PlanKeeper
        from north_lsp.agent.planning.planning import Planning
        from north_lsp.agent.planning.todo import TodoKeeper
        from north_lsp.agent.planning.work_evidence import WorkEvidence
        from north_lsp.agent.planning.workflow import WorkflowKeeper

        log, ports = self._log, self._ports
        todo = TodoKeeper(log, ports.show)
        plan = PlanKeeper(log, self._reviews, todo, ports)
        workflow = WorkflowKeeper(plan, ports, WorkEvidence(log, self._means.has_secret))
        return Planning(todo, QuestionAsker(self._reviews, ports.editor), plan, GoalKeeper(log), workflow)

    @cached_property
    def outside(self) -> Outside:
        from north_lsp.agent.servers.approve import ToolApprover
        from north_lsp.agent.web.approve import HostApprover
        from north_lsp.agent.web.fetching import WebAccess
        from north_lsp.agent.web.searching import WebSearcher

        web, reviews, has_secret, ports = self._means.web(), self._reviews, self._means.has_secret, self._ports
        pages = WebAccess(HostApprover(reviews, has_secret, ports.editor), web.client, web.reader, ports)
        return Outside(ToolApprover(reviews, has_secret, ports), pages, WebSearcher(web, has_secret, ports))
