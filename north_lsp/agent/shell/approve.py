"""Decides whether a command may run: by the project's approvals and the sandbox, or by asking the user."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.edits.unsaved import unsaved_files
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.messages import PromptEntry
from north_lsp.agent.log.reviews import CommandRequest, StoredDecision
from north_lsp.agent.planning.goal import goal_on
from north_lsp.agent.ports.editor import CommandDecision, CommandReview
from north_lsp.agent.ports.events import CallEnded, CallRunning
from north_lsp.agent.ports.results import Result, StopTurn, ok
from north_lsp.agent.ports.session_ports import Ports
from north_lsp.agent.ports.turn_context import TurnContext
from north_lsp.agent.shell.sandbox_status import Walls, has_closed_names, held_words
from north_lsp.command_policy.classification import Verdict, classify, find_dangers
from north_lsp.command_policy.interceptor import Better, Pattern, better_tool
from north_lsp.command_policy.places import Place
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.providers.base import ToolCall
from north_lsp.shell.options import Place as ShellPlace
from north_lsp.shell.port import Runner
from north_lsp.shell.sandbox import ActiveRestrictions, probe
from north_lsp.tools.base import Command

_STATUSES = {
    "run": "ran", "terminal": "ran", "always": "always", "rule": "always", "all": "auto", "session": "auto",
    "deny": "denied", "stop": "cancelled",
}  # fmt: skip
_MAX_EDITED_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class Approved:
    """A command that may run: as the user left it, where it runs, and whether in a terminal that the user types
    into."""

    command: Command
    shell: ShellPlace
    auto: bool = False
    interactive: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Around:
    """The sandbox situation of a command: why there is no sandbox that holds (`missing`), what the sandbox of this
    machine can do (`held`, None if the settings ask for none), and whether the command runs `outside` of it. `changes`
    are what earlier commands did that may change what a word means."""

    missing: str | None
    held: ActiveRestrictions | str | None
    outside: bool
    changes: tuple[str, ...]


class CommandApprover:
    """Approves the commands of one session."""

    def __init__(self, runner: Runner, walls: Walls, reviews: ReviewRecord, log: Log, ports: Ports) -> None:
        self._runner = runner
        self._walls = walls
        self._reviews = reviews
        self._log = log
        self._ports = ports

    async def approve(self, context: TurnContext, call: ToolCall, title: str, command: Command) -> Approved | Result:
        """Ask about a command, unless an earlier answer allows it; a result means that it is not run. Raises StopTurn,
        ToolError."""
        runner, workspace = self._runner, context.workspace
        now = runner.state(workspace.roots.main)
        asked = replace(command, cwd=command.cwd or now.cwd)
        missing = await self._walls.missing()
        held = await anyio.to_thread.run_sync(probe) if runner.sandboxed else None
        outside = command.outside or (runner.sandboxed and not isinstance(held, ActiveRestrictions))
        around = _Around(missing, held, outside, now.changes)
        verdict = await anyio.to_thread.run_sync(self._decide, context, asked, around)
        if self._log.conversation.masked(asked.command) != asked.command:  # approvals are stored as they are
            verdict = replace(verdict, may_remember_text=False, rule=None)
        review = self._reviews.open(call.id, CommandRequest.of(asked)).id
        if verdict.status is not None:
            self._reviews.close(review, StoredDecision(verdict.status))
            if verdict.used:
                await anyio.to_thread.run_sync(self._reviews.approvals.note_use, verdict.used)
            return Approved(command, _place_of(verdict, missing), auto=True)
        await self._reviews.sync_question()
        question = CommandReview(
            call.id,
            asked,
            title,
            verdict.may_remember,
            verdict.warnings,
            verdict.reasons,
            verdict.rule.described() if verdict.rule is not None else None,
            held_words(held) if runner.sandboxed and not outside else None,
            may_use_terminal=not command.background and (outside or not runner.sandboxed),
            unsaved=await unsaved_files(workspace),
            may_remember_text=verdict.may_remember_text,
        )
        decision = await self._decision(question)
        if verdict.may_remember:
            await self._remember(decision, verdict, command)
        status = _STATUSES[decision.kind]
        edited = self._closed(review, command, decision, status)
        if status == "denied":
            data: dict[str, object] = {"denied": True} | ({"comment": decision.comment} if decision.comment else {})
            return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the command was not run."))
        return _as_decided(command, edited, decision, "outside" if outside else "session")

    async def approve_outside(
        self, context: TurnContext, call: ToolCall, title: str, command: Command, why: str
    ) -> Approved | list[str]:
        """Ask about a command that ran in the sandbox without asking and failed because something was denied there.
        A list of notes means that the user declined. Raises StopTurn, ToolError."""
        asked = replace(command, cwd=command.cwd or self._runner.state(context.workspace.roots.main).cwd)
        review = self._reviews.open(call.id, CommandRequest.of(asked)).id
        await self._reviews.sync_question()
        warnings = ("runs outside the sandbox, with all of your rights",)
        reasons = (f"it ran in the sandbox without asking and failed there ({why}); its effects so far remain",)
        question = CommandReview(call.id, asked, title, False, warnings, reasons, may_use_terminal=True)
        decision = await self._decision(question)
        status = _STATUSES[decision.kind]
        edited = self._closed(review, command, decision, status)
        if status != "ran":
            said = f" The user says: {decision.comment}" if decision.comment else ""
            why_not = "It was not run outside the sandbox: the user declined."
            return [f"It ran in the sandbox and failed there ({why}). {why_not}{said}"]
        await self._ports.show(CallRunning(call.id))
        return _as_decided(command, edited, decision, "outside")

    async def _decision(self, question: CommandReview) -> CommandDecision:
        """Ask the user and log the decision. The command's text is only logged at level `debug`."""
        diagnostics, command = self._ports.diagnostics, question.command.command
        diagnostics.event("shell_review_shown", reviewId=question.call_id, dangers=len(question.warnings))
        diagnostics.debug("shell_review_shown_text", command=command)
        started = time.monotonic()
        decision = await self._ports.editor.review_command(question)
        waited = round((time.monotonic() - started) * 1000)
        diagnostics.event("shell_review_decision", reviewId=question.call_id, decision=decision.kind, waitedMs=waited)
        diagnostics.debug("shell_review_decision_text", command=command)
        return decision

    def _closed(self, review: str, command: Command, decision: CommandDecision, status: str) -> Command | None:
        """Log the outcome of a review; returns the command as the user changed it, None if unchanged. Raises StopTurn,
        ToolError."""
        edited = _edited(command, decision.command) if status == "ran" else None
        ran = edited.command if edited is not None else None
        self._reviews.close(review, StoredDecision(status, decision.comment, command=ran))
        if status == "cancelled":
            raise StopTurn(decision.comment)
        return edited

    async def _remember(self, decision: CommandDecision, verdict: Verdict, command: Command) -> None:
        reviews, approvals = self._reviews, self._reviews.approvals
        match decision.kind:
            case "always" if verdict.may_remember_text:
                await reviews.remember(partial(approvals.allow_command, command.command))
            case "rule" if verdict.rule is not None:
                await reviews.remember(partial(approvals.allow_rule, verdict.rule.to_json()))
            case "all":
                await reviews.remember(approvals.enable_shell_auto_approve)
            case "session":
                await reviews.remember(approvals.approve_commands_of_this_session)
            case _:
                pass

    def _decide(self, context: TurnContext, command: Command, around: _Around) -> Verdict:
        """Judge a command. Run it in a thread: it parses, looks at the disk and may ask git. Raises ToolError if a tool
        must be used instead."""
        settings, workspace, missing = context.settings, context.workspace, around.missing
        warnings = find_dangers(command.command, settings.shell_always_ask)
        if settings.shell_interceptor and not warnings and not self._asked_for(command.command):
            _ensure_no_better_tool(context, command.command)
        each_time: list[str] = []
        if around.outside:
            each_time.append(
                f"runs without the sandbox that the settings ask for ({around.held})"
                if isinstance(around.held, str)
                else "runs outside the sandbox, with all of your rights"
            )
        if command.keep:
            each_time.append("keeps running after North has ended, until it exits or `/jobs kill` ends it")
        always = () if self._runner.always_asks is None else (self._runner.always_asks,)
        if each_time or always:
            return Verdict(None, (*warnings, *each_time), may_remember=False, reasons=(*around.changes, *always))
        place = Place(
            command.cwd or workspace.roots.main,
            workspace.roots,
            missing is None,
            self._runner.environ,
            closed=lambda path: workspace.trees.closed(path) is not None,
            first_closed=workspace.trees.first_closed,
            has_lists=workspace.trees.has_lists,
        )
        verdict = classify(
            command.command,
            place=place,
            approvals=self._reviews.approvals,
            changes=around.changes,
            always_ask=settings.shell_always_ask,
            background=command.background,
        )
        if missing is None:
            return verdict
        if verdict.status is None:
            return replace(verdict, reasons=(*verdict.reasons, missing)) if verdict.reasons else verdict
        if verdict.contained:
            return replace(verdict, status=None, reasons=(*verdict.reasons, missing))
        if has_closed_names(workspace):
            closed = f"{missing}, so nothing keeps it from reading files that .northignore closes"
            return replace(verdict, status=None, reasons=(*verdict.reasons, closed))
        return verdict

    def _asked_for(self, command: str) -> bool:
        """Tell whether the user's newest prompt contains this very command, or it is that of a criterion: then it is
        what they want, and no tool gives the same evidence."""
        goal = goal_on(self._log)
        if goal is not None and command.strip() in (one.command for one in goal.criteria):
            return True
        prompts = (one.entry for one in reversed(self._log.path()) if isinstance(one.entry, PromptEntry))
        newest = next(prompts, None)
        return newest is not None and command.strip() in newest.typed


def _ensure_no_better_tool(context: TurnContext, command: str) -> None:
    """Refuse a command that a tool does better, by North's table or the user's. Raises ToolError."""
    rules = context.settings.shell.interceptor_rules
    own = [
        Pattern(row.pattern, Better(row.tool, row.reason or "the user prefers it", row.name))
        for row in rules
        if row.enabled
    ]
    off = {row.name for row in rules if not row.enabled}
    better = better_tool(command, {spec.name for spec in context.tools.specs(context.mode)}, own, off)
    if better is not None:
        raise ToolError(
            "BLOCKED",
            f"BLOCKED: use {better.tool}: {better.reason}",
            f"call {better.tool} instead of running a command",
            {"suggestedTool": better.tool, "command": command},
        )


def _as_decided(command: Command, edited: Command | None, decision: CommandDecision, place: ShellPlace) -> Approved:
    notes = []
    if edited is not None:
        notes.append(f"The user changed the command before it ran. What ran: {edited.command}")
    if decision.comment:
        notes.append(f"The user says: {decision.comment}")
    return Approved(edited or command, place, interactive=decision.kind == "terminal", notes=tuple(notes))


def _place_of(verdict: Verdict, missing: str | None) -> ShellPlace:
    """Return where a command runs that needs no question."""
    if missing is not None:
        return "bare"
    return "clean" if verdict.status == "always" and verdict.shell == "clean" else "contained"


def _edited(command: Command, text: str | None) -> Command | None:
    """Return the command as the user changed it; None if they did not. Raises ToolError if it cannot be run."""
    if text is None or text == command.command:
        return None
    if not text.strip() or "\0" in text or len(text.encode("utf-8", "replace")) > _MAX_EDITED_BYTES:
        raise ToolError("INVALID_INPUT", "the command as the user edited it cannot be run")
    return replace(command, command=text)
