"""Puts the parts of a turn together: those that live as long as the session, and those of one turn.

Loaded with the first turn: opening a session needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.calls.dispatch import Dispatcher, ToolRunner
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
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.opening.opened import Stored
from north_lsp.agent.session.process.environment import Environment
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.stream_rules.watch import StreamRules
from north_lsp.agent.turn.answer_log import AnswerLog
from north_lsp.agent.turn.answering_model import AnsweringModel
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
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import Provider

if TYPE_CHECKING:
    from north_lsp.agent.calls.host import HostServices
    from north_lsp.agent.shell.own_commands import KeptCommands
    from north_lsp.agent.turn.called_commands import CalledCommands
    from north_lsp.agent.web.means import WebMeans

Remind = Callable[[TurnContext, Log, StreamRules, Ports], Reminders]


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
        from north_lsp.agent.turn.called_commands import CalledCommands

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
        answers = AnswerLog(log, ports, calls, files)
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
    shell: SessionShell,
    environment: Environment,
    spending: Spending,
    ports: Ports,
    saved: SavedConversation,
) -> SessionParts:
    """Make the parts that live as long as the session."""
    log, checkpoints = stored.log, stored.checkpoints
    reviews = ReviewRecord(log, ports.editor, stored.approvals, saved.sync)
    edits = EditReviewer(reviews, ports.editor, checkpoints, shell.expect, ports.diagnostics)

    account = Account(environment.costs, spending, history.usage, ports.editor)

    def services() -> HostServices:
        from north_lsp.agent.session.services.call_wiring import SessionTools

        def web() -> WebMeans:
            from north_lsp.agent.web.means import WebMeans

            return WebMeans.of(environment.environ, environment.models, log, account)

        kept, abandoned, has_secret = stored.artifacts, environment.process.abandoned, stored.secrets.is_in
        return SessionTools(lambda: shell.runner, checkpoints, kept, abandoned, has_secret, web).services(
            log, reviews, edits, ports
        )

    tools = ToolRunner(services, checkpoints, stored.artifacts, ports)
    return SessionParts(log, history, checkpoints, edits, tools, account, ports)
