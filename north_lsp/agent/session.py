"""A live conversation bound to an editor: prompts, cancel, mode and model. The only way in and out of the core."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.to_thread

from north_lsp.agent.checkpoints import Checkpoints
from north_lsp.agent.commands import sandbox_of
from north_lsp.agent.context import system_text
from north_lsp.agent.costs import CostKeeper
from north_lsp.agent.diagnostics import Diagnostics
from north_lsp.agent.editor import Editor
from north_lsp.agent.events import ApprovalsChanged, Event, ModeChanged, ModelChanged, Notice, TitleChanged, UserSaid
from north_lsp.agent.fallbacks import Fallbacks
from north_lsp.agent.prompt import Part, is_blank, to_log
from north_lsp.agent.recovery import interrupted_edits, recover_project
from north_lsp.agent.replay import events_of, shown_text
from north_lsp.agent.retry import RetryControl, RetrySettings
from north_lsp.agent.state import ProjectApprovals, TurnState
from north_lsp.agent.steering import Steering
from north_lsp.agent.transcript import text_of
from north_lsp.agent.turn import Stopped, Turn
from north_lsp.agent.undoing import Plan, Undoing, told_of_undo
from north_lsp.agent.usage import usage_of
from north_lsp.agent.user_commands import OwnCommand, own_command, run_own_command
from north_lsp.display import one_line
from north_lsp.providers.catalog import Catalog, Model, secret_names
from north_lsp.providers.pool import ProviderPool
from north_lsp.shell.environment import command_environment
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.artifacts import Artifacts
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.settings import Settings
from north_lsp.tools.base import Mode, Workspace

if TYPE_CHECKING:
    from north_lsp.tools.registry import Registry

_TITLE_LENGTH = 60


@dataclass(frozen=True)
class Environment:
    """What all sessions of a process share. `load_tools` may take a while at first, so it is called on a thread;
    `background` owns what may outlive a turn."""

    locations: Locations
    environ: Mapping[str, str]
    catalog: Catalog
    providers: ProviderPool
    load_tools: Callable[[], "Registry"]
    background: anyio.abc.TaskGroup
    retry: RetrySettings
    costs: CostKeeper
    fallbacks: Fallbacks
    settings: Settings = field(default_factory=Settings)


class Session:
    """One conversation, live; made by `sessions.py`. Prompts are answered one after the other."""

    def __init__(
        self,
        conversation: Conversation,
        workspace: Workspace,
        editor: Editor,
        environment: Environment,
        approvals: ProjectApprovals,
        checkpoints: Checkpoints,
        diagnostics: Diagnostics,
        model: Model,
        mode: Mode,
        artifacts: Artifacts | None = None,
    ) -> None:
        self.mode: Mode = mode
        self.model = model
        self._conversation = conversation
        self._workspace = workspace
        self._editor = editor
        self._environment = environment
        self._approvals = approvals
        self._checkpoints = checkpoints
        self._diagnostics = diagnostics
        self._artifacts = artifacts
        self._recovering = anyio.Lock()
        self._recovered = False
        self._news = told_of_undo(checkpoints.unsaid())  # what the user did between turns that the model has to know
        self._turn_lock = anyio.Lock()
        self._scopes: list[anyio.CancelScope] = []
        self._closed = False
        self.retry_control = RetryControl()
        self._steering = Steering()
        secrets = secret_names(environment.catalog)
        environ = command_environment(environment.environ, secrets, environment.settings.shell_pass_variables)
        environ["NORTH_SESSION_ID"] = conversation.id
        withheld = frozenset(environment.environ.keys() - environ.keys())
        sandbox = sandbox_of(environment.settings, self.roots, environ)
        self._runner = CommandRunner(environ, environment.background, self.roots[0], sandbox, withheld)

    @property
    def id(self) -> str:
        return self._conversation.id

    @property
    def title(self) -> str | None:
        return self._conversation.title

    @property
    def roots(self) -> tuple[Path, ...]:
        return self._workspace.roots.roots

    @property
    def is_closed(self) -> bool:
        return self._closed

    @property
    def read_only_reason(self) -> str | None:
        return self._conversation.read_only_reason

    @property
    def load_warnings(self) -> list[str]:
        """What was wrong with the stored conversation, for the user to know."""
        reason = self.read_only_reason
        return [*self._conversation.warnings, *([f"read only: {reason}"] if reason is not None else [])]

    # -- a prompt --------------------------------------------------------------------------------------------------

    async def prompt(self, parts: tuple[Part, ...], scope: anyio.CancelScope) -> Stopped:
        """Run a turn for what the user sent; a prompt during a turn waits for its end. Cancelling `scope` gives up this
        prompt alone.

        Raises ValueError for nothing to send or a conversation that cannot be written, MissingCredential, ModelFailed.
        """
        if is_blank(parts):
            raise ValueError("nothing to send: the prompt is empty")
        own = own_command(parts)
        if self._closed:
            raise ValueError("this conversation has been closed")
        if self.read_only_reason is not None:
            raise ValueError(f"this conversation cannot be continued: {self.read_only_reason}")
        self._scopes.append(scope)  # before the first await, so that a cancel right behind the prompt finds it
        stopped: Stopped = "cancelled"
        try:
            with scope:
                async with self._turn_lock:
                    stopped = await (self._run_turn(parts) if own is None else self._run_own(parts, own))
        finally:
            self._scopes.remove(scope)
        return "cancelled" if scope.cancelled_caught else stopped

    async def steer(self, parts: tuple[Part, ...]) -> bool:
        """Words for the turn that runs: True when they have become part of it, False when it ended without them. Raises
        ValueError while no turn runs, or for nothing to send."""
        if is_blank(parts):
            raise ValueError("nothing to send: the message is empty")
        return await self._steering.send(parts)

    def cancel(self) -> None:
        """Stop the running turn and give up the prompts that wait; does nothing when idle."""
        for scope in self._scopes:
            scope.cancel()

    async def _run_turn(self, parts: tuple[Part, ...]) -> Stopped:
        await self.recover()
        mode, model = self.mode, self._environment.fallbacks.instead_of(self.model)
        started = anyio.current_time()
        self._diagnostics.event("user_prompt", parts=len(parts), mode=mode)
        await self._store_prompt(parts)
        state = TurnState(
            self._conversation,
            model,
            await self._environment.providers.get(model),
            self._system(),
            mode,
            await self._tools(),
            self._workspace,
            self._editor,
            self._approvals,
            self._runner,
            self._checkpoints,
            self._diagnostics,
            self._sync,
            self._environment.retry,
            self.retry_control,
            self._steering,
            self._say,
            self._environment.costs.record,
            self._environment.fallbacks.after,
            self._artifacts,
            self._environment.settings,
        )
        turn = Turn(state)
        self._steering.open()
        try:
            return await turn.run()
        finally:
            self._steering.close()
            with anyio.CancelScope(shield=True):
                await turn.wind_up()
                await self._sync()
                await self._environment.costs.settle()
                if (problem := self._environment.costs.take_problem()) is not None:
                    await self._editor.show(Notice("warning", problem))
            duration = round((anyio.current_time() - started) * 1000)
            self._diagnostics.event("turn_end", durationMs=duration)

    async def _say(self, parts: tuple[Part, ...]) -> None:
        """What the user said meanwhile, in its place."""
        content = await to_log(parts, self._workspace)
        now = round(datetime.now(UTC).timestamp() * 1000)
        message = {"role": "user", "content": content, "attribution": "user", "timestamp": now}
        entry = self._conversation.append("message", message=message)
        await self._editor.show(UserSaid(entry["id"], shown_text(message)))

    async def _run_own(self, parts: tuple[Part, ...], own: OwnCommand) -> Stopped:
        """A command that the user typed (`!ls`): no model, no question."""
        await self._store_title(one_line(f"!{own.command}", _TITLE_LENGTH))
        await run_own_command(own, self._conversation, self._runner, self._editor, self.roots[0], self._sync)
        return "end_turn"

    async def _store_prompt(self, parts: tuple[Part, ...]) -> None:
        content = [{"type": "context", "text": text} for text in self._news] + await to_log(parts, self._workspace)
        self._news.clear()
        first = self._conversation.title is None
        now = round(datetime.now(UTC).timestamp() * 1000)
        message = {"role": "user", "content": content, "attribution": "user", "timestamp": now}
        self._conversation.append("message", message=message)
        await self._sync()
        if first:
            await self._store_title(one_line(text_of(message), _TITLE_LENGTH) or "Untitled")
        if (error := self._conversation.write_error) is not None:
            await self._editor.show(Notice("error", f"this conversation can no longer be saved: {error.strerror}"))

    async def _store_title(self, title: str) -> None:
        if self._conversation.title is None:
            self._conversation.annotate("title_changed", title=title, titleSource="auto")
            updated = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            await self._editor.show(TitleChanged(title, updated))

    async def _tools(self) -> "Registry":
        return await anyio.to_thread.run_sync(self._environment.load_tools)

    def _system(self) -> str:
        try:
            started = datetime.fromisoformat(str(self._conversation.header.get("timestamp"))).date()
        except ValueError:
            started = date.today()
        return system_text(self.roots, started)

    async def _sync(self) -> None:
        await anyio.to_thread.run_sync(self._conversation.sync)

    # -- everything else -------------------------------------------------------------------------------------------

    async def set_mode(self, mode: Mode) -> None:
        """For the next prompt on."""
        if mode != self.mode:
            self._conversation.append("mode_change", mode=mode)
            self.mode = mode
            await self._editor.show(ModeChanged(mode))

    async def set_model(self, model: Model) -> None:
        """For the next prompt on."""
        if model != self.model:
            self._conversation.append("model_change", model=model.selector, reason="user")
            self.model = model
            await self._editor.show(ModelChanged(model.selector))

    @property
    def edits_auto_accepted(self) -> bool:
        return self._approvals.edits_auto_accepted()

    @property
    def commands_auto_approved(self) -> bool:
        return self._approvals.shell_auto_approved()

    async def set_edits_auto_accepted(self, value: bool) -> None:
        """For this project, from the next edit on."""
        approvals = self._approvals
        change = approvals.enable_edits_auto_accept if value else approvals.disable_edits_auto_accept
        await self._switch(change)

    async def set_commands_auto_approved(self, value: bool) -> None:
        """For this project, from the next command on."""
        approvals = self._approvals
        change = approvals.enable_shell_auto_approve if value else approvals.disable_shell_auto_approve
        await self._switch(change)

    async def _switch(self, change: Callable[[], None]) -> None:
        await anyio.to_thread.run_sync(change)
        if (error := self._approvals.write_error) is not None:
            await self._editor.show(Notice("error", f"the switch could not be stored: {error.strerror}"))
        await self._editor.show(ApprovalsChanged())

    async def recover(self) -> None:
        """Once: take back what a killed process left half written in this project, and say so."""
        async with self._recovering:
            if self._recovered:
                return
            told = await recover_project(self._checkpoints.journals, self._workspace, self._editor)
            self._news += await anyio.to_thread.run_sync(interrupted_edits, self._checkpoints)
            self._recovered = True
        for text in told:
            await self._editor.show(Notice("warning", text))

    @property
    def undoing(self) -> Undoing:
        """What can be taken back; `take_back` does it."""
        return Undoing(self._checkpoints, self._workspace, self._editor)

    async def take_back(self, plan: Plan, title: str) -> Plan:
        """Write a plan of `undoing`. Raises ToolError; ValueError while a turn is running."""
        if self._turn_lock.locked():
            raise ValueError("a turn is running: wait for its end or cancel it")
        async with self._turn_lock:
            done = await self.undoing.apply(plan, title)
            await self._sync()
        if done.changes:
            self._news += told_of_undo([change.shown for change in done.changes])
        return done

    async def replay(self) -> list[Event]:
        """The whole conversation as it was shown."""
        path = self._conversation.active_path()
        tools = await self._tools()
        events = await anyio.to_thread.run_sync(lambda: list(events_of(path, tools)))
        if self.title is not None:
            events.append(TitleChanged(self.title, str(path[-1]["timestamp"]) if path else ""))
        usage = usage_of(path, self.model.window)
        return events if usage is None else [*events, usage]

    async def close(self, reason: str) -> None:
        """Cancel what runs, end what commands left behind, and close the log."""
        if self._closed:
            return
        self._closed = True
        self.cancel()
        with anyio.CancelScope(shield=True):
            async with self._turn_lock:
                await self._runner.end_all(grace=0.3)
                self._conversation.end(reason)
                await self._sync()
                self._conversation.close()
