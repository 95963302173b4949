"""A live conversation, bound to an editor: prompts, cancelling, mode and model. The only way in and out of the core."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.agent.approvals.session_approvals import SessionApprovals
from north_lsp.agent.calls.tool_search import offered_tools
from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.edits.gate import TurnGate
from north_lsp.agent.edits.recovery import finish_interrupted, interrupted_edits, recover_project
from north_lsp.agent.edits.undo import Plan, UndoHistory, news_for_model, undo_for_model
from north_lsp.agent.edits.unsaved import unsaved_files
from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.entries import Logged
from north_lsp.agent.log.images import loaded_events
from north_lsp.agent.log.projection import mode_shown
from north_lsp.agent.log.prompt import Part, is_blank
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.log.unfinished import Unfinished
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports import trace
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.agent.ports.editor import Choice, Editor
from north_lsp.agent.ports.events import (
    CommandInfo,
    Event,
    ModeChanged,
    Notice,
    QueuedPromptText,
    TitleChanged,
    TurnEnded,
    TurnStarted,
    UsageChanged,
)
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.status import GuardedEditor, Status, WatchedEditor
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.session.asking import ask
from north_lsp.agent.session.closing import Closing
from north_lsp.agent.session.delivery import PromptDelivery
from north_lsp.agent.session.drafts import DraftMaker
from north_lsp.agent.session.environment import Environment
from north_lsp.agent.session.exporting import Exports
from north_lsp.agent.session.left_turn import LeftTurn
from north_lsp.agent.session.looking import look
from north_lsp.agent.session.navigation import Navigation
from north_lsp.agent.session.opened import Start, Stored
from north_lsp.agent.session.remembering import Remembering
from north_lsp.agent.session.replay import Show, show_path
from north_lsp.agent.session.saved import SavedConversation
from north_lsp.agent.session.settings import SessionSettings
from north_lsp.agent.session.sharing import Sharing
from north_lsp.agent.session.slash_host import SessionHost, SlashCommands
from north_lsp.agent.shell.setup import ShellResources, make_runner
from north_lsp.agent.shell.user_commands import UserCommand, UserCommands, nothing_to_run, parse_user_command
from north_lsp.agent.turn.context import system_text
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.agent.turn.history import History
from north_lsp.agent.turn.queue import PromptQueue, QueuedPrompt, Row, Steering, Stopped, in_numbers
from north_lsp.agent.turn.retry import Retries, RetryControl
from north_lsp.agent.turn.retry_wait import RetryWait
from north_lsp.display import one_line, visible
from north_lsp.providers.catalog.catalog import secret_names
from north_lsp.shell.jobs import Jobs
from north_lsp.shell.watch import QuarantinedFiles
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.conversation import ConversationBusy
from north_lsp.storage.files import inode_of
from north_lsp.storage.janitor import clear_project
from north_lsp.storage.log_state import LEFT
from north_lsp.storage.settings import QueueKind
from north_lsp.vocabulary import Mode
from north_lsp.workspace.files.completion import Completion, PathCompletion
from north_lsp.workspace.roots import project_hash
from north_lsp.workspace.workspace import Workspace

if TYPE_CHECKING:
    from north_lsp.agent.exports.document import Surroundings
    from north_lsp.agent.session.wiring import SessionParts
    from north_lsp.tools.registry import Registry

_SALVAGE = "`/salvage` copies what can be read into a new conversation"
_LONGEST_COMPLETION = 1.0


class Session:
    """One live conversation; made by `factory.py`. Prompts are answered one after the other."""

    def __init__(
        self,
        stored: Stored,
        start: Start,
        workspace: Workspace,
        editor: Editor,
        environment: Environment,
        diagnostics: Diagnostics,
    ) -> None:
        self.mode: Mode = start.mode
        conversation, log, approvals, checkpoints = (
            stored.conversation,
            stored.log,
            stored.approvals,
            stored.checkpoints,
        )
        artifacts = stored.artifacts
        self._stored = stored
        self._conversation = conversation
        self._log = log
        self._history = History(log)
        self.left_turn = LeftTurn(log, is_kept=start.resumes_turns)
        self._paths = PathCompletion(workspace.trees)
        guarded = GuardedEditor(editor, diagnostics)
        self.status = Status(guarded)
        self._editor = WatchedEditor(editor, diagnostics, self.status, conversation.flush_partial)
        self._environment = environment
        models, history = environment.models, self._history
        self.choice = ModelChoice(
            start.model, models, lambda: environment.settings, log, self._editor, history.usage, start.allowed
        )
        self.choice.note(start.notices)
        self._approvals = approvals
        self.approvals = SessionApprovals(approvals, self._editor)
        self._checkpoints = checkpoints
        self._diagnostics = diagnostics
        self._artifacts = artifacts
        self._recovering = anyio.Lock()
        self._recovered = False
        self._gate = TurnGate()
        self._scopes: list[anyio.CancelScope] = []
        self.questions: list[anyio.CancelScope] = []
        self.moved_to: Path | None = None
        self._arriving = anyio.Lock()
        self._one_ended = anyio.Event()
        self.replaying = anyio.Lock()
        self._closed = False
        self.sharing = Sharing(self, log, self._editor.show)
        self._is_shared = False
        self.retry_control = RetryControl()
        self.queue = PromptQueue(guarded.show, self._keep_queue, stored.queue)
        self.retry = environment.retry
        turns, today = environment.settings.turns, environment.costs.today
        self._spending = Spending(self._editor, turns.session_limit_usd, turns.day_limit_usd, today)
        self._settings = SessionSettings(environment, workspace, self.queue, self._spending, self._editor)
        self.saved = SavedConversation(conversation, log, self._editor, diagnostics)
        self._delivery = PromptDelivery(
            log, self.queue, self._settings, checkpoints, self.choice, self._editor, self.saved
        )
        self.remembering = Remembering(log, self.saved, self.choice, environment, diagnostics, self.roots[0])
        self.exports = Exports(log, self.roots[0], environment, self._surroundings)
        drafts = DraftMaker(workspace.roots, checkpoints.content)
        self.navigation = Navigation(self, log, drafts, environment.locations)
        host = SessionHost(self, log, self._editor, environment)
        self._slash = SlashCommands(log, self._editor, host)
        self._unsent = [QueuedPromptText(row["id"], row["text"]) for row in stored.queue]
        variables = {"NORTH_SESSION_ID": conversation.id} | ({"ARTIFACTS": str(artifacts.folder)} if artifacts else {})
        locations, project = environment.locations, project_hash(self.roots[0])
        resources = ShellResources(
            environment.environ,
            secret_names(environment.models.catalog),
            variables,
            environment.background,
            environment.shells,
            locations.detached_jobs(project),
            locations.quarantine(project),
        )
        self._runner = make_runner(environment.settings, workspace, resources)
        if self._runner.containment is not None:
            self._runner.containment.on_taken = self._tell_of_taken
        self._parts: SessionParts | None = None
        self._own = UserCommands(
            log, self._runner, self._editor, self.roots[0], self._gate, self.saved.sync, self._unsaved_files
        )

    def _tell_of_taken(self, taken: Sequence[QuarantinedFiles]) -> None:
        names = ", ".join(one_line(str(one.path), 200) for one in taken)
        text = (
            f"{names}: made in the sandbox, where it must not be. It was moved to {taken[0].kept} and is shown later."
        )
        self._environment.background.start_soon(self._editor.show, Notice("warning", visible(text)))

    @property
    def id(self) -> str:
        return self._conversation.id

    @property
    def title(self) -> str | None:
        return self._conversation.title

    @property
    def _workspace(self) -> Workspace:
        return self._settings.workspace

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._workspace.roots.roots

    @property
    def is_running(self) -> bool:
        """Whether something runs that a cancel would end."""
        return bool(self._scopes)

    @property
    def file(self) -> Path:
        """The file where the conversation is stored."""
        return self._conversation.folder.with_suffix(".jsonl")

    @property
    def message_count(self) -> int:
        return sum(one.is_message for one in self._log.path())

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or waits to run."""
        return self.is_running or self._gate.is_taken or bool(self.queue.waiting)

    @property
    def unfinished(self) -> Unfinished | None:
        """The turn of an earlier process that this one can go on with now."""
        return self.left_turn.find() if not self.is_busy and self.sharing.holder is None else None

    def usage(self) -> UsageChanged | None:
        """Return what the conversation has used; None before the first answer."""
        return self._history.usage(self.choice.model.window)

    @property
    def commands(self) -> tuple[CommandInfo, ...]:
        """The slash commands that a prompt may use."""
        return self._slash.infos

    async def quiet(self) -> None:
        """Wait until no turn runs."""
        await self._gate.quiet()

    async def edit_queued(
        self, queued_prompt: QueuedPrompt, parts: tuple[Part, ...] | None, kind: QueueKind | None, place: int | None
    ) -> None:
        """Change a queued prompt. Raises ValueError if nothing would be left to send."""
        if parts is not None:
            _check(parts)
        rest = parts
        if parts is not None and parse_user_command(parts) is None:
            rest = await self._slash.take(parts)
            if rest is None:
                await self.queue.withdraw(queued_prompt)
                return
        await self.queue.edit(queued_prompt, rest, kind, place)

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def read_only_reason(self) -> str | None:
        return self._conversation.read_only_reason

    @property
    def load_warnings(self) -> list[str]:
        """Problems with the stored conversation that the user should know of."""
        reason = self.read_only_reason
        told = [f"read only: {reason}; {_SALVAGE}"] if reason is not None else []
        return [*self._conversation.warnings, *told]

    # -- a prompt --------------------------------------------------------------------------------------------------

    async def prompt(self, parts: tuple[Part, ...], scope: anyio.CancelScope, kind: QueueKind | None = None) -> Stopped:
        """Run a turn for what the user sent. A prompt during a turn waits for its end (`followUp`) or becomes part of
        it (`steer`), as `kind` or the settings say. Cancelling `scope` cancels only this prompt.

        Raises ValueError for nothing to send or a conversation that cannot be written, MissingCredential, ModelFailed.
        """
        _check(parts)
        if self._closed:
            raise ValueError("this conversation has been closed")
        if self.read_only_reason is not None:
            self.sharing.reading.pause()  # what the command shows is not shown again as news
            ran = await self._slash.take_harmless(parts)
            self.sharing.reading.begin()
            if ran:
                return "end_turn"
            raise ValueError(f"this conversation cannot be continued: {self.read_only_reason}; {_SALVAGE}")
        self.remembering.prompt(self._slash.shown(parts))
        mode = self.mode
        is_open = self._conversation.is_writer and not self._arriving.locked()
        if not is_open and not await self._arrived():
            return "cancelled"
        own = parse_user_command(parts)
        if own is None:
            rest = await self._slash.take(parts)
            if rest is None:
                return "end_turn"
            parts = rest
        self._scopes.append(scope)  # before the first await, so that a cancel right after the prompt finds it
        stopped: Stopped = "cancelled"
        if own is not None:
            try:
                with scope:
                    stopped = await self._run_user_command(own)
            finally:
                self._ended(scope)
            return "cancelled" if scope.cancelled_caught else stopped
        wanted = kind or self._environment.settings.turns.queue_default
        steers = wanted == "steer" and self.queue.takes(mode)
        queued_prompt = self.queue.put("steer" if steers else "followUp", parts, mode, scope)
        try:
            with scope:
                if self._gate.is_taken:
                    await self.queue.changed()
                async with self._gate.turns():
                    stopped = await self._run_queue(queued_prompt)
        finally:
            self.queue.drop(queued_prompt)
            self._ended(scope)
        return "cancelled" if scope.cancelled_caught else stopped

    async def resume_turn(self, scope: anyio.CancelScope) -> Stopped:
        """Go on with the turn that an earlier process did not finish. Raises ValueError if there is none,
        ConversationBusy, MissingCredential, ModelFailed."""
        if not self._conversation.is_writer and not await self._arrived():
            return "cancelled"
        self._scopes.append(scope)
        try:
            with scope:
                async with self._gate.turns():
                    if (left := self.left_turn.find()) is None:
                        raise ValueError("there is no unfinished turn to go on with")
                    return await self._run_queue(QueuedPrompt("", "followUp", (), self.mode), left)
        finally:
            self._ended(scope)
        return "cancelled"

    async def _arrived(self) -> bool:
        """Make this process the writer of the conversation, one prompt after the other so that none overtakes another;
        False if the prompt is cancelled meanwhile. Raises ConversationBusy."""
        scope = anyio.CancelScope()
        self._scopes.append(scope)  # before the first await, so that a cancel right after the prompt finds it
        try:
            with scope:
                async with self._arriving:
                    await self._take_over()
        finally:
            self._ended(scope)
        return not scope.cancel_called

    async def keep(self) -> None:
        """Store a new conversation that has no messages yet."""
        await anyio.to_thread.run_sync(self._conversation.keep)

    async def _take_over(self) -> None:
        """Become the writer, and show what another process has written since this one read the conversation. Raises
        ConversationBusy while the other one has it open."""
        conversation = self._conversation
        if conversation.is_writer:
            return
        if (held := await anyio.to_thread.run_sync(conversation.lock)) is not None:
            raise ConversationBusy(held)
        await self.sharing.arrived()

    async def take_over(self) -> None:
        """Become the writer of a conversation that another process has open, as soon as nothing runs there."""
        async with self._arriving:
            await self.sharing.take_over()

    async def let_go(self) -> None:
        """Stop being the writer, so that another process can be; nothing happens while a turn runs."""
        with suppress(ValueError):
            async with self._gate.between():
                self._conversation.end("superseded")
                await self.saved.sync()
                self.sharing.reading.begin()
                await anyio.to_thread.run_sync(self._conversation.close)

    @property
    def stands_still(self) -> bool:
        """Whether a turn runs that does nothing by itself."""
        return self.is_busy and self.status.stands_still

    def leave(self) -> None:
        """Begin nothing more, since the client has gone: what runs stands still at its next step."""
        self.status.leave()
        self._conversation.leave()

    async def hand_over(self) -> None:
        """Leave a turn that stands still to the next process. What is left of it here must never run on."""
        self._closed = True
        self.saved.be_silent()
        await self._end(Closing(self._environment.abandoned, self._diagnostics), LEFT)

    def adopt_queue(self) -> None:
        """Take over what another process left queued, so that the user gets it back."""
        rows = self._conversation.queue
        self.queue.adopt(rows)
        self._unsent = [QueuedPromptText(row["id"], row["text"]) for row in rows]

    def share(self) -> None:
        """Show from now on what other processes do with the conversation, and let go when one of them asks."""
        if not self._is_shared:
            self._is_shared = True
            self._environment.background.start_soon(self.sharing.run)

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Show what another process has stored, with its pictures, and adopt the mode."""
        find = self._checkpoints.content
        for event in await anyio.to_thread.run_sync(lambda: loaded_events(events, find)):
            if isinstance(event, ModeChanged):
                self.mode = event.mode
            await self._editor.show(event)

    def _ended(self, scope: anyio.CancelScope) -> None:
        self._scopes.remove(scope)
        self._one_ended.set()

    async def _run_queue(self, own: QueuedPrompt, left: Unfinished | None = None) -> Stopped:
        """Run turns until `own` has had its turn, and for the queued prompts after it that no caller waits for; what
        an earlier process has `left` to do comes first."""
        stopped: Stopped = own.stopped or "end_turn"
        while batch := [own] if left is not None else await self.queue.take_follow_ups(own):
            good = False
            self._gate.begin()
            try:
                stopped = await self._run_batch(batch, left)
                good = stopped == "end_turn"
            except ModelFailed:
                if own.stopped is not None:
                    raise
            finally:
                if not good:
                    self._restore_unsent()
            left = None
        return stopped

    async def _run_batch(self, batch: list[QueuedPrompt], left: Unfinished | None = None) -> Stopped:
        """Run one turn for prompts that are taken together, or go on with one; own commands run one by one."""
        stopped: Stopped = "cancelled"
        try:
            own = parse_user_command(batch[0].parts) if len(batch) == 1 else None
            if own is not None:
                self.queue.done([queued_prompt.id for queued_prompt in batch])  # so that it never runs twice
                stopped = await self._run_user_command(own, locked=True)
            else:
                stopped = await self._run_turn(batch, left)
        except ModelFailed:
            stopped = "end_turn"
            raise
        finally:
            for queued_prompt in (*batch, *self._delivery.take_joined()):
                queued_prompt.stopped = stopped
        return stopped

    def _restore_unsent(self) -> None:
        """Return queued prompts to the user, since the turn that they waited for did not end well."""
        self._unsent += [
            QueuedPromptText(queued_prompt.id, queued_prompt.text) for queued_prompt in self.queue.restore_unsent()
        ]

    def pop_unsent_prompts(self) -> list[QueuedPromptText]:
        """Return, once, the texts that were queued and will not be sent: they belong in the editor's input again. Those
        of an earlier process are included. They remain stored until `confirm_unsent`."""
        back, self._unsent = self._unsent, []
        return back

    def confirm_unsent(self, words: Sequence[QueuedPromptText]) -> None:
        """Drop unsent prompts from the store: the user has them back."""
        with suppress(ConversationBusy):  # another process has the conversation open now, and offers them, too
            self.queue.done([queued_prompt.id for queued_prompt in words])

    def _keep_queue(self, rows: list[Row]) -> None:
        if not self._closed:  # what is queued when a conversation is closed is offered when it is opened again
            self._log.keep_queue(rows)

    async def steer(self, parts: tuple[Part, ...]) -> QueuedPrompt:
        """Queue a prompt for the running turn: it is `delivered` when it has become part of the turn, and not if the
        turn ended without it. Raises ValueError if no turn runs, or for nothing to send."""
        _check(parts)
        self.remembering.prompt(self._slash.shown(parts))
        rest = await self._without_commands(parts)
        if rest is None:
            return QueuedPrompt("", "steer", parts, self.mode, delivered=True)
        return await self.queue.steer(rest, self.mode)

    async def follow_up(self, parts: tuple[Part, ...]) -> QueuedPrompt:
        """Queue a prompt for the end of the running turn; one that consists only of commands does not wait. Raises
        ValueError if no turn runs, or for nothing to send."""
        _check(parts)
        self.remembering.prompt(self._slash.shown(parts))
        rest = parts if parse_user_command(parts) is not None else await self._without_commands(parts)
        if rest is None:
            return QueuedPrompt("", "followUp", parts, self.mode, delivered=True)
        return await self.queue.follow_up(rest, self.mode)

    async def _without_commands(self, parts: tuple[Part, ...]) -> tuple[Part, ...] | None:
        """Run the commands in a prompt for the running turn; returns what is left of it. Raises ValueError if no turn
        runs."""
        if not self.queue.is_open:
            raise ValueError("no turn is running: send a prompt instead")
        if (own := parse_user_command(parts)) is not None:
            await self._run_user_command(own)
            return None
        return await self._slash.take(parts)

    def give_up_questions(self) -> None:
        """Give up the questions that slash commands are asking."""
        for scope in self.questions:
            scope.cancel()

    def cancel(self) -> None:
        """Stop the running turn, and give up queued prompts and the questions of commands; does nothing when idle."""
        if self._scopes:
            self._diagnostics.event("cancel_requested", state=self.status.current)
        self._restore_unsent()
        self.give_up_questions()
        self.sharing.stop_elsewhere()
        for scope in self._scopes:
            scope.cancel()

    async def _run_turn(self, batch: list[QueuedPrompt], left: Unfinished | None = None) -> Stopped:
        await self.status.set("preparing")
        message_id, reason = "", "error"
        try:
            await self._settings.adopt()
            with self._diagnostics.guarded("recovering what was interrupted"):
                await self.recover()
            with self._diagnostics.guarded("looking for models"):
                await self.choice.look_after()
            self._delivery.news += [f"[{line}]" for line in self._runner.jobs.take_news()]
            if left is None:
                await self._show(self.left_turn.give_up(await self.tools()))
            message_id = left.prompt_id if left is not None else await self._delivery.begin_turn(batch)
            await self._editor.show(TurnStarted(message_id))
            stopped = await self._model_turn(batch, left)
            reason = stopped
        except anyio.get_cancelled_exc_class():
            reason = "cancelled"
            raise
        finally:
            with anyio.CancelScope(shield=True):
                await self.queue.changed()
                if (trouble := self._diagnostics.take_trouble()) is not None:
                    await self._editor.show(Notice("error", trouble))
                self._gate.end()
                if message_id:
                    await self._editor.show(TurnEnded(message_id, reason))
                else:  # the turn ended before the prompts it took from the queue were stored
                    self._unsent += [
                        QueuedPromptText(queued_prompt.id, queued_prompt.text)
                        for queued_prompt in batch
                        if not queued_prompt.is_owned
                    ]
                await self.status.set("idle")
        return stopped

    async def _model_turn(self, batch: list[QueuedPrompt], left: Unfinished | None) -> Stopped:
        mode = batch[-1].mode
        model, provider = await self.choice.answering()
        started = anyio.current_time()
        self._diagnostics.begin_turn()
        self._diagnostics.event("user_prompt", **in_numbers(batch), **trace.fields(), mode=mode)
        context = TurnContext(
            model, self._system(), mode, await self.tools(), self._workspace, self._environment.settings
        )
        with self._diagnostics.guarded("reading the costs"):
            await self._environment.costs.look()
        parts = await self._loaded_parts()
        waiting = RetryWait(Retries(self.retry), self.retry_control, parts.ports)
        turn = parts.turn(context, self.choice, provider, waiting, Steering(self.queue, self._delivery.join_turn))
        self.queue.open(mode)
        self._spending.begin_turn()
        try:
            return await turn.run(left)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self.status.set("cancelling")
            raise
        finally:
            self.queue.close()
            with anyio.CancelScope(shield=True):
                self._conversation.resolve_pending()  # no question may be left without a decision
                await turn.finalize()
                await self.saved.sync()
                self.remembering.turn_ended()
                with self._diagnostics.guarded("counting costs"):
                    await self._environment.costs.finish()
                    if (problem := self._environment.costs.take_problem()) is not None:
                        await self._editor.show(Notice("warning", problem))
            duration, state = round((anyio.current_time() - started) * 1000), self.status.current
            self._diagnostics.event("cancel_complete" if state == "cancelling" else "turn_end", durationMs=duration)

    async def _loaded_parts(self) -> "SessionParts":
        """Return what turns are made of; their modules are loaded with the first one."""
        if self._parts is None:
            await anyio.to_thread.run_sync(import_module, "north_lsp.agent.session.wiring")
            from north_lsp.agent.session.wiring import session_parts

            ports = Ports(self._editor, self.status, self._diagnostics)
            stored, history, environment = self._stored, self._history, self._environment
            means = (self._runner, environment, self._spending, ports, self.saved)
            self._parts = session_parts(stored, history, *means)
        return self._parts

    async def _run_user_command(self, own: UserCommand, *, locked: bool = False) -> Stopped:
        await self.saved.name(f"!{own.command}")
        await self._own.run(own, locked=locked)
        return "end_turn"

    async def _unsaved_files(self) -> tuple[str, ...]:
        return await unsaved_files(self._workspace)

    def take_over_shell(self, other: "Session") -> None:
        """Take over the shell of another conversation in the same folder: its directory, variables and jobs. While
        something runs there, it is left where it is."""
        if other.roots == self.roots and not other.is_running and not other.is_closed:
            self._runner.take_over(other._runner)

    async def _show(self, events: Iterable[Event]) -> None:
        for event in events:
            await self._editor.show(event)

    async def tools(self) -> "Registry":
        """Return the tools that the model may be offered."""
        tools = await anyio.to_thread.run_sync(self._environment.load_tools)
        if self.choice.model.wants_patches:
            tools = tools.offering("edit_patch")
        if self._workspace.language is not None:
            tools = tools.offering("lsp", "edit_rename_symbol", "edit_format_file")
        return await anyio.to_thread.run_sync(offered_tools, tools, self._workspace, self._log)

    def _system(self) -> str:
        try:
            started = datetime.fromisoformat(str(self._conversation.header.get("timestamp"))).date()
        except ValueError:
            started = date.today()
        return system_text(self.roots, started)

    async def _surroundings(self) -> "Surroundings":
        from north_lsp.agent.exports.document import Surroundings

        return Surroundings(self._system(), (await self.tools()).specs(self.mode))

    # -- everything else -------------------------------------------------------------------------------------------

    def set_auto_retry(self, enabled: bool) -> None:
        """Set whether a failed model is asked again, from the next turn on."""
        self.retry = replace(self.retry, enabled=enabled)

    async def move(self, root: Path) -> None:
        """Have the conversation continue in another folder: the adapter opens it there once the prompt is answered.
        Raises ValueError while something runs or waits."""
        if self.is_running or self.queue.waiting:
            raise ValueError("something is running here: cancel it first")
        self._log.move(root, project_hash(root), inode_of(root))
        await self.saved.sync()
        self.moved_to = root

    async def ask(self, choice: Choice) -> str | None:
        """Ask the user outside of a turn; None also if the user gives up the question."""
        return await ask(self._editor, self.questions, choice)

    async def set_mode(self, mode: Mode) -> None:
        """Set the mode, for the next prompt on."""
        if mode != self.mode:
            entry = ModeEntry(mode)
            self._log.append(entry)
            self.mode = mode
            await self._show(mode_shown(entry))

    @property
    def jobs(self) -> Jobs:
        """The background jobs."""
        return self._runner.jobs

    async def recover(self) -> None:
        """Take back, once per session, what a killed process left half written in this project, and tell the user."""
        async with self._recovering:
            if self._recovered:
                return
            told = await recover_project(self._checkpoints.journals, self._workspace, self._editor)
            self._delivery.news += await anyio.to_thread.run_sync(interrupted_edits, self._checkpoints)
            await finish_interrupted(self._checkpoints, self._workspace)
            told += await self._runner.find_detached()
            await anyio.to_thread.run_sync(clear_project, self.roots[0])
            self._recovered = True
        for text in told:
            await self._editor.show(Notice("warning", text))

    @property
    def artifacts(self) -> Artifacts | None:
        """The full outputs of the conversation's calls."""
        return self._artifacts

    async def look(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Run a tool that only reads, for the client itself. Raises ToolError."""
        return await look(tool, arguments, await self.tools(), self._workspace)

    @property
    def undo_history(self) -> UndoHistory:
        """The changes that can be undone; `take_back` writes a plan of it."""
        return UndoHistory(self._checkpoints, self._workspace, self._editor)

    @asynccontextmanager
    async def between_turns(self) -> AsyncIterator[None]:
        """Hold the gate while the conversation or its files are changed. Raises ValueError while a turn is running or a
        prompt waits for one."""
        if self.queue.waiting:
            raise ValueError("a prompt is waiting for its turn: wait for it to end, or cancel it")
        async with self._gate.between():
            yield
            await self.saved.sync()

    def restart_after(self, path: Sequence[Logged]) -> None:
        """Adopt that the conversation goes on after this path: the model knows only what is on it."""
        self._settings.workspace.seen.restart(sightings_of(path))
        self._delivery.news = news_for_model(self._checkpoints)

    async def show(self, event: Event) -> None:
        """Show an event that does not come from a turn."""
        await self._editor.show(event)

    async def take_back(self, prepare: Callable[[], Awaitable[tuple[Plan, str]]]) -> Plan:
        """Write a plan of `undo_history`; `prepare` makes it (with a title) once the gate is free, so that an undo
        requested just before is done by then. Raises ToolError, and ValueError while a turn is running or a prompt
        waits for one."""
        async with self.between_turns():
            done = await self.undo_history.apply(*await prepare())
        self.note_restored([change.shown for change in done.changes])
        return done

    def note_restored(self, names: Sequence[str]) -> None:
        """Tell the model with the next prompt that the user took changes of these files back."""
        self._delivery.news += undo_for_model(names)

    async def complete_path(self, query: str, limit: int) -> Completion:
        """Return what the user may mean by the beginning of a path; an incomplete answer after a while."""
        with anyio.move_on_after(_LONGEST_COMPLETION):
            unsaved = tuple(await self._workspace.unsaved_texts())
            return await anyio.to_thread.run_sync(self._paths.complete, query, limit, unsaved, abandon_on_cancel=True)
        return Completion(is_incomplete=True)

    async def replay(self, show: Show, shown: Sequence[str] = ()) -> None:
        """Show the whole conversation as it was shown, but for the entries that are `shown` already."""
        tools, find = await self.tools(), self._checkpoints.content
        path, arriving = await self.sharing.replayed()
        still_open = self.left_turn.open_ids(lives=self.is_busy or self.sharing.holder is not None)
        await show_path(path, tools, find, show, shown, still_open)
        for event in arriving:
            await show(event)
        if self.title is not None:
            await show(TitleChanged(self.title, path[-1].at if path else ""))
        usage = self.usage()
        if usage is not None:
            await self._environment.costs.look()
            await show(replace(usage, all_time_usd=self._environment.costs.all_time()))

    async def close(self, reason: str) -> None:
        """Cancel what runs, end the processes that commands left running, and close the log."""
        if self._closed:
            return
        self._closed = True
        self.saved.be_silent()
        self.cancel()
        closing = Closing(self._environment.abandoned, self._diagnostics)
        async with AsyncExitStack() as held:
            with closing.limited("turn"):
                while self._scopes:
                    self._one_ended = anyio.Event()
                    await self._one_ended.wait()
                await held.enter_async_context(self._gate.turns())
            if closing.was_cut:
                self._conversation.resolve_pending()
            await self._end(closing, reason)

    async def _end(self, closing: Closing, reason: str) -> None:
        """End the processes that commands left running, and close the log for good."""
        with anyio.CancelScope(shield=True):
            await closing.run("processes", partial(self._runner.end_all, grace=0.3))
            self._conversation.end(reason)
            await closing.run("saving", self.saved.sync)
            self._conversation.retire()


def _check(parts: tuple[Part, ...]) -> None:
    """Refuse a prompt with nothing to send. Raises ValueError."""
    if is_blank(parts):
        raise ValueError("nothing to send: the message is empty")
    if (problem := nothing_to_run(parts)) is not None:
        raise ValueError(problem)
