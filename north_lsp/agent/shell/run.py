"""Running a command: asked about unless an earlier answer allows it, and what became of it."""

import time
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from north_lsp.agent.approvals.record import record, remember
from north_lsp.agent.edits.unsaved import told_of_unsaved, unsaved_files
from north_lsp.agent.log.transcript import text_of
from north_lsp.agent.ports.editor import CommandDecision, CommandReview
from north_lsp.agent.ports.events import CallEnded, CallRunning
from north_lsp.agent.ports.results import Result, StopTurn, ok
from north_lsp.agent.shell.changes import observed
from north_lsp.agent.shell.jobs import start_job
from north_lsp.agent.shell.output import denied_by_sandbox, notes_of, told
from north_lsp.agent.shell.quarantine import review_late, review_taken
from north_lsp.agent.shell.strip_head_tail import without_tail
from north_lsp.agent.shell.terminals import in_terminal
from north_lsp.agent.shell.walls import has_closed_names, held_words, missing_wall, say_what_is_missing
from north_lsp.agent.turn_state import TurnState
from north_lsp.command_policy.commands import Verdict, dangers, judge
from north_lsp.command_policy.interceptor import Better, Pattern, better_tool
from north_lsp.command_policy.places import Place
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.shell.options import Place as ShellPlace
from north_lsp.shell.runner import Ran
from north_lsp.shell.sandbox import InForce, probe
from north_lsp.storage.entries import message_of, new_entry_id
from north_lsp.tools.base import Command

_STATUSES = {
    "run": "ran", "terminal": "ran", "always": "always", "rule": "always", "all": "auto", "session": "auto",
    "deny": "denied", "stop": "cancelled",
}  # fmt: skip
_INTERACTIVE_SECONDS = 3600.0
_MAX_EDITED_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class _Approved:
    """A command that may run: as the user left it, where, and whether in a terminal that the user types into."""

    command: Command
    shell: ShellPlace
    auto: bool = False
    interactive: bool = False
    notes: tuple[str, ...] = ()


async def run_command(state: TurnState, call: ToolCall, title: str, command: Command) -> Result:
    """Ask, unless an earlier answer allows it, and run. Raises StopTurn, ToolError."""
    approved = await _approve(state, call, title, command)
    if isinstance(approved, Result):
        return approved
    command = approved.command
    if unsaved := await unsaved_files(state.workspace):
        approved = replace(approved, notes=(*approved.notes, told_of_unsaved(unsaved, "The command read")))
    await state.editor.show(CallRunning(call.id))
    if command.background and not approved.interactive:
        cwd = command.cwd or state.runner.state(state.workspace.roots.main).cwd
        _log(state, "shell_run_start", command.command, callId=call.id, background=True)
        return await start_job(state, call, title, replace(command, cwd=cwd), approved.shell, [*approved.notes])
    shorter = await anyio.to_thread.run_sync(without_tail, command)
    ran = await _logged_run(state, call, shorter, approved)
    taken = [*ran.taken]
    notes = [*approved.notes]
    if approved.auto and (why := denied_by_sandbox(ran)) is not None:
        again = await _approve_outside(state, call, title, command, why)
        if isinstance(again, _Approved):
            notes += [f"In the sandbox this failed ({why}); it ran again outside it, as the user said.", *again.notes]
            approved, command = again, again.command
            shorter = await anyio.to_thread.run_sync(without_tail, command)
            ran = await _logged_run(state, call, shorter, approved)
            taken += ran.taken
        else:
            notes += again
    notes += [*notes_of(ran, shorter, offered=approved.auto), *await review_taken(state, call, taken)]
    notes += [*await review_late(state, call), *state.runner.jobs.take_news()]
    reading, minimises = state.settings.reading, state.settings.shell.minimise
    most = None if reading.digest else reading.limits.output_lines
    keep = partial(told, ran, shorter, state.artifacts, minimises=minimises, notes=notes, most=most)
    text = await anyio.to_thread.run_sync(keep)
    bad = ran.timed_out or (ran.exit_code != 0 and not ran.enough)
    details: dict[str, object] = {
        "exitCode": ran.exit_code,
        "cancelled": False,
        "timedOut": ran.timed_out,
        "durationMs": ran.duration_ms,
        "cwd": str(ran.cwd),
        "truncated": text.shortened,
    }
    if text.number is not None:
        details |= {"artifactId": str(text.number), "outputId": str(text.number)}
    if approved.auto:
        details["autoApproved"] = True
    ended = CallEnded(call.id, title, not bad, visible(text.text), truncation=text.truncation)
    return Result(text.text, bad, ended, details)


async def _logged_run(state: TurnState, call: ToolCall, command: Command, approved: _Approved) -> Ran:
    _log(state, "shell_run_start", command.command, callId=call.id, background=False)
    started, ran = time.monotonic(), None
    try:
        ran = await _run(state, call, command, approved)
    finally:
        code, size = (None, None) if ran is None else (ran.exit_code, ran.output.total_bytes)
        took = round((time.monotonic() - started) * 1000)
        state.diagnostics.event("shell_run_complete", callId=call.id, durationMs=took, exitCode=code, bytes=size)
    return ran


def _log(state: TurnState, event: str, command: str, **data: object) -> None:
    """The command's text is for the level `debug` only."""
    state.diagnostics.event(event, **data)
    state.diagnostics.debug(f"{event}_text", command=command)


async def _approve(state: TurnState, call: ToolCall, title: str, command: Command) -> "_Approved | Result":
    """A result means that it does not run. Raises StopTurn, ToolError."""
    runner = state.runner
    now = runner.state(state.workspace.roots.main)
    asked = replace(command, cwd=command.cwd or now.cwd)
    missing = await missing_wall(state)
    await say_what_is_missing(state, missing)
    held = await anyio.to_thread.run_sync(probe) if runner.sandboxed else None
    outside = command.outside or (runner.sandboxed and not isinstance(held, InForce))
    verdict = await anyio.to_thread.run_sync(
        partial(_decide, state, asked, now.changes, missing, outside=outside, held=held)
    )
    request = {"command": command.command, "cwd": str(asked.cwd), "timeout": command.timeout}
    review = state.conversation.append(
        "review", reviewId=new_entry_id(()), kind="shell", toolCallId=call.id, request=request, status="pending"
    )
    if verdict.status is not None:
        record(state, review["id"], verdict.status, None)
        if verdict.used:
            await anyio.to_thread.run_sync(state.approvals.note_use, verdict.used)
        return _Approved(command, _place_of(verdict, missing), auto=True)
    await state.sync()
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
        unsaved=await unsaved_files(state.workspace),
        may_remember_text=verdict.may_remember_text,
    )
    decision = await _decision(state, call, question)
    status = _STATUSES[decision.kind]
    edited = _edited(command, decision.command) if status == "ran" else None
    if decision.kind == "always" and verdict.may_remember and verdict.may_remember_text:
        await remember(state, partial(state.approvals.allow_command, command.command))
    elif decision.kind == "rule" and verdict.may_remember and verdict.rule is not None:
        await remember(state, partial(state.approvals.allow_rule, verdict.rule.to_json()))
    elif decision.kind == "all" and verdict.may_remember:
        await remember(state, state.approvals.enable_shell_auto_approve)
    elif decision.kind == "session" and verdict.may_remember:
        await remember(state, state.approvals.approve_commands_of_this_session)
    more = {"command": edited.command} if edited is not None else {}
    record(state, review["id"], status, decision.comment, **more)
    if status == "cancelled":
        raise StopTurn(decision.comment)
    if status == "denied":
        data: dict[str, object] = {"denied": True} | ({"comment": decision.comment} if decision.comment else {})
        return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the command was not run."))
    return _as_decided(command, edited, decision, "outside" if outside else "session")


async def _decision(state: TurnState, call: ToolCall, question: CommandReview) -> CommandDecision:
    command = question.command.command
    _log(state, "shell_review_shown", command, callId=call.id, dangers=len(question.warnings))
    decision = await state.editor.review_command(question)
    _log(state, "shell_review_decision", command, callId=call.id, decision=decision.kind)
    return decision


def _as_decided(command: Command, edited: Command | None, decision: CommandDecision, place: ShellPlace) -> _Approved:
    notes = []
    if edited is not None:
        notes.append(f"The user changed the command before it ran. What ran: {edited.command}")
    if decision.comment:
        notes.append(f"The user says: {decision.comment}")
    return _Approved(edited or command, place, interactive=decision.kind == "terminal", notes=tuple(notes))


async def _approve_outside(
    state: TurnState, call: ToolCall, title: str, command: Command, why: str
) -> _Approved | list[str]:
    """A command that ran unasked in the sandbox, and failed for want of something outside: asked about like any other.
    Notes mean that the user does not want it. Raises StopTurn, ToolError."""
    asked = replace(command, cwd=command.cwd or state.runner.state(state.workspace.roots.main).cwd)
    request = {"command": command.command, "cwd": str(asked.cwd), "timeout": command.timeout}
    review = state.conversation.append(
        "review", reviewId=new_entry_id(()), kind="shell", toolCallId=call.id, request=request, status="pending"
    )
    await state.sync()
    warnings = ("runs outside the sandbox, with all of your rights",)
    reasons = (f"it ran in the sandbox without a question, and failed there ({why}); what it did so far stays",)
    question = CommandReview(call.id, asked, title, False, warnings, reasons, may_use_terminal=True)
    decision = await _decision(state, call, question)
    status = _STATUSES[decision.kind]
    edited = _edited(command, decision.command) if status == "ran" else None
    record(state, review["id"], status, decision.comment, **({"command": edited.command} if edited else {}))
    if status == "cancelled":
        raise StopTurn(decision.comment)
    if status != "ran":
        said = f" The user says: {decision.comment}" if decision.comment else ""
        return [f"It ran in the sandbox and failed there ({why}). It does not run outside it: the user says no.{said}"]
    await state.editor.show(CallRunning(call.id))
    return _as_decided(command, edited, decision, "outside")


def _place_of(verdict: Verdict, missing: str | None) -> ShellPlace:
    """Where a command runs that nobody is asked about."""
    if missing is not None:
        return "bare"
    return "clean" if verdict.status == "always" and verdict.shell == "clean" else "contained"


def _edited(command: Command, text: str | None) -> Command | None:
    """The command as the user changed it; None if they did not. Raises ToolError for what cannot be run."""
    if text is None or text == command.command:
        return None
    if not text.strip() or "\0" in text or len(text.encode("utf-8", "replace")) > _MAX_EDITED_BYTES:
        raise ToolError("INVALID_INPUT", "the command that the user put in its place cannot be run")
    return replace(command, command=text)


def _decide(
    state: TurnState,
    command: Command,
    changes: tuple[str, ...],
    missing: str | None,
    *,
    outside: bool,
    held: InForce | str | None,
) -> Verdict:
    """On a thread: parses, looks at the disk, may ask git. `missing` says why there is no sandbox that holds. Raises
    ToolError when a tool is to be used instead."""
    settings, roots = state.settings, state.workspace.roots
    warnings = dangers(command.command, settings.shell_always_ask)
    if settings.shell_interceptor and not warnings and not _asked_for(state, command.command):
        rules = settings.shell.interceptor_rules
        own = [
            Pattern(row.pattern, Better(row.tool, row.reason or "it is what the user wants", row.name))
            for row in rules
            if row.enabled
        ]
        off = {row.name for row in rules if not row.enabled}
        better = better_tool(command.command, {spec.name for spec in state.tools.specs(state.mode)}, own, off)
        if better is not None:
            raise ToolError(
                "BLOCKED",
                f"BLOCKED: use {better.tool}: {better.reason}",
                f"call {better.tool} instead of running a command",
                {"suggestedTool": better.tool, "command": command.command},
            )
    each_time: list[str] = []
    if outside:
        each_time.append(
            f"runs without the sandbox that the settings ask for ({held})"
            if isinstance(held, str)
            else "runs outside the sandbox, with all of your rights"
        )
    if command.keep:
        each_time.append("goes on after North has ended, until it ends by itself or `/jobs kill` ends it")
    if each_time:
        return Verdict(None, (*warnings, *each_time), may_remember=False, reasons=changes)
    place = Place(
        command.cwd or roots.main,
        roots,
        missing is None,
        state.runner.environ,
        closed=lambda path: state.workspace.trees.closed(path) is not None,
        first_closed=state.workspace.trees.first_closed,
        has_lists=state.workspace.trees.has_lists,
    )
    verdict = judge(
        command.command,
        place=place,
        approvals=state.approvals,
        changes=changes,
        always_ask=settings.shell_always_ask,
        background=command.background,
    )
    if missing is None:
        return verdict
    if verdict.status is None:
        return replace(verdict, reasons=(*verdict.reasons, missing)) if verdict.reasons else verdict
    if verdict.contained:
        return replace(verdict, status=None, reasons=(*verdict.reasons, missing))
    if has_closed_names(state):
        closed = f"{missing}, so that nothing keeps it from showing files that are closed by .northignore"
        return replace(verdict, status=None, reasons=(*verdict.reasons, closed))
    return verdict


def _asked_for(state: TurnState, command: str) -> bool:
    """Whether the user's newest prompt spells this very command out: then it is what they want."""
    for entry in reversed(state.conversation.active_path()):
        message = message_of(entry)
        if message.get("role") == "user":
            return command.strip() in text_of(message)
    return False


async def _run(state: TurnState, call: ToolCall, command: Command, approved: _Approved) -> Ran:
    started = time.monotonic()
    main = state.workspace.roots.main

    async def on_output(text: str) -> None:
        passed = time.monotonic() - started
        clock = f"[{passed:.0f} s of at most {command.timeout:g} s]" if passed >= 1 else ""
        await state.editor.show(CallRunning(call.id, visible("\n".join(filter(None, (text, clock))))))

    in_client = state.settings.shell_client_terminal and not state.runner.is_contained(approved.shell)
    if approved.interactive or (in_client and not approved.auto):
        cwd = command.cwd or state.runner.state(main).cwd
        argv = state.runner.argv_without_shell(command.command)
        added = {} if approved.interactive else state.runner.added
        terminal = await state.editor.open_terminal(argv, cwd, added)
        if terminal is None and approved.interactive:
            raise ToolError("UNAVAILABLE", "a terminal that the user types into is not available here")
        if terminal is not None:
            await state.editor.show(CallRunning(call.id, terminal=terminal.id))
            seconds = _INTERACTIVE_SECONDS if approved.interactive else command.timeout
            async with observed(state, call.id, command.command):
                return await in_terminal(terminal, seconds, cwd)
    spill = None if state.artifacts is None else partial(state.artifacts.stream, "shell_run")
    async with observed(state, call.id, command.command):
        return await state.runner.run(
            command.command,
            command.cwd,
            command.timeout,
            on_output,
            approved.shell,
            main,
            spill,
            enough=command.head if command.tail is None else None,
        )
