"""A live conversation, bound to an editor: prompts, cancelling, mode and model. The only way in and out of the core."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.agent.approvals.session_approvals import SessionApprovals
from north_lsp.agent.costs.limits import Spending
from north_lsp.agent.log.choices import ModeEntry
from north_lsp.agent.log.context import context_of
from north_lsp.agent.log.images import loaded_events
from north_lsp.agent.log.messages import PromptEntry, Words
from north_lsp.agent.log.projection import mode_shown
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import CommandInfo, Event, ModeChanged, TitleChanged, UsageChanged
from north_lsp.agent.ports.running_calls import RunningCalls
from north_lsp.agent.ports.status import GuardedEditor, Status, WatchedEditor
from north_lsp.agent.secrets.notice import secrets_notice
from north_lsp.agent.session.ending import Ending
from north_lsp.agent.session.goal_and_work import GoalAndWork
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.session.on_demand import OnDemand
from north_lsp.agent.session.opening.left_turn import LeftTurn
from north_lsp.agent.session.opening.read_only import way_out
from north_lsp.agent.session.process.asking import Questions
from north_lsp.agent.session.running_work import RunningWork
from north_lsp.agent.session.services.known_addresses import known_addresses
from north_lsp.agent.session.services.servers import end_together, session_servers
from north_lsp.agent.session.services.settings import SessionSettings
from north_lsp.agent.session.services.shell import SessionShell
from north_lsp.agent.session.sharing import Sharing
from north_lsp.agent.session.turns.unsent import UnsentPrompts
from north_lsp.agent.turn.queue import PromptQueue
from north_lsp.agent.turn.retry import RetryControl
from north_lsp.workspace.project_root import project_hash

if TYPE_CHECKING:
    from north_lsp.agent.context.report import Report
    from north_lsp.agent.edits.undo import Plan, UndoHistory
    from north_lsp.agent.log.entries import Logged
    from north_lsp.agent.log.queued import QueuedRow
    from north_lsp.agent.log.unfinished import Unfinished
    from north_lsp.agent.planning.todo import TodoKeeper
    from north_lsp.agent.ports.diagnostics import Diagnostics
    from north_lsp.agent.ports.editor import Editor
    from north_lsp.agent.session.opening.opened import Start, Stored
    from north_lsp.agent.session.process.environment import Environment
    from north_lsp.agent.session.replay.replay import Show
    from north_lsp.shell.jobs import Jobs
    from north_lsp.storage.artifacts import Artifacts
    from north_lsp.tools.registry import Registry
    from north_lsp.vocabulary import Mode
    from north_lsp.workspace.workspace import Workspace


class Session(OnDemand):
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
        conversation, log = stored.conversation, stored.log
        self._stored = stored
        self._conversation = conversation
        self._log = log
        self._checkpoints = stored.checkpoints
        self._environment = environment
        self._diagnostics = diagnostics
        self.mode = start.mode
        self.left_turn = LeftTurn(log, is_kept=start.resumes_turns)
        guarded = GuardedEditor(editor, diagnostics)
        self.status = Status(guarded)
        self.goal_and_work = GoalAndWork(log, guarded.show)
        self.running_calls = RunningCalls()
        self._editor = WatchedEditor(
            editor,
            diagnostics,
            self.status,
            conversation.answer.flush,
            self.goal_and_work.after,
            self.running_calls,
        )
        self.servers = session_servers(environment, stored, workspace.roots.roots, self._editor, diagnostics)
        self.servers.on_prompts = self._offer_prompts
        project = project_hash(workspace.roots.main)
        addresses = known_addresses(
            stored, environment, project, lambda: self.templates, self.servers, self._read_agent
        )
        workspace = replace(workspace, addresses=addresses)
        stored.secrets.on_news = secrets_notice(self._editor.show)
        known = environment.models
        self.choice = ModelChoice(
            start.model, known, lambda: environment.settings, log, self._editor, self._usage, start.allowed
        )
        self.choice.note(start.notices)
        self.approvals = SessionApprovals(stored.approvals, self._editor, self.servers.follow_trust)
        self.questions = Questions(self._editor)
        self.moved_to: Path | None = None
        self.window: str | None = None
        """The editor window that shows the session, if the client has said."""
        self.replaying = anyio.Lock()
        self.sharing = Sharing(self, log, self._editor.show)
        self.retry_control = RetryControl(environment.process.retry)
        self.queue = PromptQueue(guarded.show, self._keep_queue, stored.queue)
        self.unsent = UnsentPrompts(self.queue, stored.queue)
        limits, today = environment.settings.turns, environment.costs.today
        self._spending = Spending(self._editor, limits.session_limit_usd, limits.day_limit_usd, today)
        self._settings = SessionSettings(environment, workspace, self.queue, self._spending, self._editor)
        self.saved = SavedConversation(conversation, log, self._editor, diagnostics)
        self._work = work = RunningWork(self.queue, self.saved.sync)
        self._shell = SessionShell(stored, environment, self._settings, self._editor, work.gate, self.saved)
        end_processes = partial(end_together, self._shell, self.servers)
        self._ending = Ending(conversation, work, self.saved, end_processes, environment.process.abandoned, diagnostics)

    @property
    def id(self) -> str:
        return self._conversation.id

    @property
    def mode(self) -> Mode:
        """The mode that the next prompt gets."""
        return self._log.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._log.mode = mode

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
    def workspace(self) -> Workspace:
        return self._workspace

    @property
    def is_running(self) -> bool:
        """Whether something runs that a cancel would end."""
        return self._work.is_running

    @property
    def file(self) -> Path:
        """The file where the conversation is stored."""
        return self._conversation.folder.with_suffix(".jsonl")

    @property
    def message_count(self) -> int:
        return sum(one.is_message for one in self._log.path())

    def typed(self) -> frozenset[str]:
        """Return the texts that the user typed so far."""
        said = (one.entry for one in self._log.path())
        prompts = (entry for entry in said if isinstance(entry, PromptEntry) and not entry.by_north)
        return frozenset(part.text for prompt in prompts for part in prompt.parts if isinstance(part, Words))

    @property
    def is_busy(self) -> bool:
        """Whether something runs, or waits to run."""
        return self._work.is_busy

    @property
    def unfinished(self) -> Unfinished | None:
        """The turn of an earlier process that this one can continue with now."""
        return self.left_turn.find() if not self.is_busy and self.sharing.holder is None else None

    def usage(self) -> UsageChanged | None:
        """Return what the conversation has used; None before the first answer."""
        return self._usage(self.choice.model.window)

    def _usage(self, window: int) -> UsageChanged | None:
        return self._history.usage(window)

    async def tell_settings_problems(self) -> None:
        """Tell what is newly wrong in the settings."""
        await self._settings.tell_problems()

    async def context_report(self) -> Report:
        """Add up what the next request has."""
        return await self._surroundings.report(self.mode, self._history)

    @property
    def commands(self) -> tuple[CommandInfo, ...]:
        """The slash commands that a prompt may use."""
        return self._slash.infos

    async def refresh_commands(self) -> tuple[CommandInfo, ...]:
        """Read file commands, prompt templates and skills again; return all that a prompt may use."""
        await self._slash.refresh()
        return self._slash.infos

    async def quiet(self) -> None:
        """Wait until no turn runs."""
        await self._work.gate.quiet()

    @property
    def is_closed(self) -> bool:
        return self._ending.has_begun

    @property
    def read_only_reason(self) -> str | None:
        return self._conversation.read_only_reason

    @property
    def load_warnings(self) -> list[str]:
        """Problems with the stored conversation that the user should know of."""
        reason = self.read_only_reason
        told = (
            [f"read only: {reason} ({self._conversation.path}); {way_out(self._conversation)}"]
            if reason is not None
            else []
        )
        return [*self._conversation.warnings, *told]

    async def keep(self) -> None:
        """Store a new conversation that has no messages yet."""
        await anyio.to_thread.run_sync(self._conversation.keep)

    async def let_go(self) -> None:
        """Stop being the writer, so that another process can be; nothing happens while a turn runs."""
        with suppress(ValueError):
            async with self._work.gate.between():
                self._conversation.end("superseded")
                await self.saved.sync()
                self.sharing.reading.begin()
                await anyio.to_thread.run_sync(self._conversation.close)

    @property
    def stands_still(self) -> bool:
        """Whether a turn runs that does nothing by itself."""
        return self.is_busy and self.status.stands_still

    def leave(self) -> None:
        """Stop before the next step, since the client has disconnected."""
        self.status.leave()
        self._conversation.leave()

    async def hand_over(self) -> None:
        """Leave a turn that stands still to the next process. What is left of it here must never run on."""
        await self._ending.hand_over()

    def share(self) -> None:
        """Show from now on what other processes do with the conversation, and let go when one of them asks."""
        self.sharing.begin(self._environment.background)

    async def show_stored(self, events: Sequence[Event]) -> None:
        """Show what another process has stored, with its pictures, and adopt the mode."""
        find = self._checkpoints.content
        for event in await anyio.to_thread.run_sync(lambda: loaded_events(events, find)):
            if isinstance(event, ModeChanged):
                self.mode = event.mode
            await self._editor.show(event)

    def _keep_queue(self, rows: list[QueuedRow]) -> None:
        if not self.is_closed:  # what is queued when a conversation is closed is offered when it is opened again
            self._log.keep_queue(rows)

    def cancel(self) -> None:
        """Stop the running turn, and give up queued prompts and the questions of commands; does nothing when idle."""
        if self.is_running:
            self._diagnostics.event("cancel_requested", state=self.status.current)
        self.unsent.restore()
        self.questions.give_up()
        self.sharing.stop_elsewhere()
        self._work.cancel()

    def take_over_shell(self, other: Session) -> None:
        """Take over the shell of another conversation in the same folder: its directory, variables and jobs. While
        something runs there, it is left where it is."""
        if other.roots == self.roots and not other.is_running and not other.is_closed:
            self._shell.take_over(other._shell)

    async def begin_shell_anew(self) -> None:
        """Begin with a new shell, since another process has run the commands."""
        await self._shell.begin_anew()

    async def _show(self, events: Iterable[Event]) -> None:
        for event in events:
            await self._editor.show(event)

    async def _offer_prompts(self) -> None:
        await self._slash.offer_prompts(self.servers, self.questions.waiting)

    def _read_agent(self, address: str) -> str:
        return self.agents.read(address)

    async def tools(self) -> Registry:
        """Return the tools that the model may be offered."""
        return await self._surroundings.tools()

    async def move(self, root: Path) -> None:
        """Have the conversation continue in another folder: the adapter opens it there once the prompt is answered.
        Raises ValueError while something runs or waits."""
        if self.is_running or self.queue.waiting:
            raise ValueError("something is running here: cancel it first")
        await self.saved.move(self.roots[0], root)
        self.moved_to = root

    async def set_mode(self, mode: Mode) -> None:
        """Set the mode, for the next prompt on."""
        if mode != self.mode:
            entry = ModeEntry(mode)
            self._log.append(entry)
            self.mode = mode
            await self._show(mode_shown(entry))

    @property
    def todo(self) -> TodoKeeper:
        """The todo list."""
        from north_lsp.agent.planning.todo import TodoKeeper

        return TodoKeeper(self._log, self._editor.show)

    @property
    def jobs(self) -> Jobs:
        """The background jobs."""
        return self._shell.runner.jobs

    async def recover(self) -> None:
        """Undo, once per session, what a killed process left half written in this project, and tell the user."""
        await self._preparation.recover()

    @property
    def artifacts(self) -> Artifacts | None:
        """The full outputs of the conversation's calls."""
        return self._stored.artifacts

    async def look(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Run a tool that only reads, for the client itself. Raises ToolError."""
        from north_lsp.agent.session.looking import look

        return await look(tool, arguments, await self.tools(), self._workspace)

    @property
    def undo_history(self) -> UndoHistory:
        """The changes that can be undone; `take_back` writes a plan of it."""
        from north_lsp.agent.edits.undo import UndoHistory

        return UndoHistory(self._checkpoints, self._workspace, self._editor)

    def between_turns(self) -> AbstractAsyncContextManager[None]:
        """Hold the gate while the conversation or its files are changed. Entering raises ValueError while a turn is
        running or a prompt waits for one."""
        return self._work.between_turns()

    def cancellable(self) -> AbstractAsyncContextManager[None]:
        """Do something between turns that a cancel ends. Entering raises ValueError like `between_turns`."""
        return self._work.cancellable()

    def holding(self) -> AbstractContextManager[anyio.CancelScope]:
        """Yield a scope for what runs beside the turns: a cancel ends it, and closing waits for it."""
        return self._work.known(anyio.CancelScope())

    def restart_after(self, path: Sequence[Logged]) -> None:
        """Adopt that the conversation continues after this path: the model knows only what is on it."""
        from north_lsp.agent.edits.undo import news_for_model

        self._settings.workspace.seen.restart(sightings_of(context_of(path)))
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
        await self.goal_and_work.tell()
        return done

    def note_restored(self, names: Sequence[str]) -> None:
        """Tell the model with the next prompt that the user took changes of these files back."""
        from north_lsp.agent.edits.undo import undo_for_model

        self._delivery.news += undo_for_model(names)

    async def replay(self, show: Show, shown: Sequence[str] = ()) -> None:
        """Show the whole conversation as it was shown, but for the entries that are `shown` already."""

        tools, find = await self.tools(), self._checkpoints.content
        from north_lsp.agent.session.replay.replay import show_path

        path, arriving = await self.sharing.replayed()
        still_open = self.left_turn.open_ids(lives=self.is_busy or self.sharing.holder is not None)
        await show_path(path, tools, find, show, shown, still_open)
        for event in arriving:
            await show(event)
        if self.title is not None:
            await show(TitleChanged(self.title, path[-1].at if path else ""))
        if (work := self.goal_and_work.anew()) is not None:
            await show(work)
        usage = self.usage()
        if usage is not None:
            await self._environment.costs.look()
            await show(replace(usage, all_time_usd=self._environment.costs.all_time()))

    async def close(self, reason: str) -> None:
        """Cancel what runs, end the processes that commands left running, and close the log."""
        await self._ending.close(self.cancel, reason)
