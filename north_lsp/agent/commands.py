"""Running an approved command, and what the model is told of it."""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp.agent.deciding import record, remember
from north_lsp.agent.editor import CommandReview, Terminal
from north_lsp.agent.events import CallEnded, CallRunning
from north_lsp.agent.results import Kept, Result, StopTurn, ok
from north_lsp.agent.shell_changes import observed
from north_lsp.agent.state import TurnState
from north_lsp.agent.transcript import text_of
from north_lsp.display import visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.review.commands import Verdict, dangers, judge
from north_lsp.review.interceptor import better_tool
from north_lsp.review.rules import Place
from north_lsp.shell.output import Captured, OutputSink, Spill
from north_lsp.shell.runner import Place as ShellPlace
from north_lsp.shell.runner import Ran
from north_lsp.shell.sandbox import InForce, Sandbox, probe
from north_lsp.storage.entries import new_entry_id
from north_lsp.storage.settings import Settings
from north_lsp.tools.base import Command
from north_lsp.workspace.protected import write_rule

_STATUSES = {"run": "ran", "always": "always", "rule": "always", "all": "auto", "deny": "denied", "stop": "cancelled"}
_DENIED = re.compile(
    r"permission denied|read-only file system|operation not permitted|network is unreachable|could not resolve host"
    r"|name resolution|connection refused|EACCES|EROFS|EPERM|ENETUNREACH|EAI_AGAIN|failed to lookup address",
    re.IGNORECASE,
)
_TERMINAL_SECONDS = 1.0


def sandbox_of(settings: Settings, roots: tuple[Path, ...], environ: Mapping[str, str]) -> Sandbox | None:
    """The sandbox that the settings ask for; whether the machine has one shows when it is used."""
    return Sandbox(roots, environ, _is_protected) if settings.sandbox == "workspace" else None


def _is_protected(relative: str) -> bool:
    """Quickly: a name alone is known from before, and only what lies in a hidden folder needs its whole path."""
    folder, _, name = relative.rpartition("/")
    if "." in folder and any(part.startswith(".") for part in folder.split("/")):
        return write_rule(relative, relative) != "free"
    return _is_protected_name(name)


@lru_cache(maxsize=16_384)
def _is_protected_name(name: str) -> bool:
    return write_rule(name, name) != "free"


async def run_command(state: TurnState, call: ToolCall, title: str, command: Command) -> Result:
    """Ask, unless an earlier answer allows it, and run. Raises StopTurn, ToolError."""
    runner = state.runner
    now = runner.state(state.workspace.roots.main)
    asked = replace(command, cwd=command.cwd or now.cwd)
    held = await anyio.to_thread.run_sync(probe) if runner.sandboxed else None
    outside = runner.sandboxed and (command.outside or not isinstance(held, InForce))
    verdict = await anyio.to_thread.run_sync(partial(_decide, state, asked, now.changes, held, outside=outside))
    request = {"command": command.command, "cwd": str(asked.cwd), "timeout": command.timeout}
    review = state.conversation.append(
        "review", reviewId=new_entry_id(()), kind="shell", toolCallId=call.id, request=request, status="pending"
    )
    status, comment = str(verdict.status), None
    if verdict.status is None:
        await state.sync()
        question = CommandReview(
            call.id,
            asked,
            title,
            verdict.may_remember,
            verdict.warnings,
            verdict.reasons,
            verdict.rule.described() if verdict.rule is not None else None,
            _held_words(held) if runner.sandboxed and not outside else None,
        )
        decision = await state.editor.review_command(question)
        status, comment = _STATUSES[decision.kind], decision.comment
        if decision.kind == "always" and verdict.may_remember:
            await remember(state, partial(state.approvals.allow_command, command.command))
        elif decision.kind == "rule" and verdict.may_remember and verdict.rule is not None:
            await remember(state, partial(state.approvals.allow_rule, verdict.rule.to_json()))
        elif decision.kind == "all" and verdict.may_remember:
            await remember(state, state.approvals.enable_shell_auto_approve)
    record(state, review["id"], status, comment)
    if status == "cancelled":
        raise StopTurn
    if status == "denied":
        data: dict[str, object] = {"denied": True} | ({"comment": comment} if comment else {})
        return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the command was not run."))
    await state.editor.show(CallRunning(call.id))
    shell: ShellPlace = "outside" if outside else verdict.shell if verdict.status == "always" else "session"
    roots = state.workspace.roots.roots
    before = _protected_names(roots)
    spill = state.artifacts.stream(call.name) if state.artifacts is not None else None
    try:
        ran = await _run(state, call, asked, command, shell, spill)
    finally:
        if spill is not None:
            spill.close()
    notes = _notes(ran, command, runner.sandboxed)
    if ran.sandbox is not None and (made := sorted(_protected_names(roots) - before)):
        notes.append(f"this command made {', '.join(made)}: programs may run what stands there; look at it first")
    text = "\n".join([ran.output.text.rstrip("\n") or "(no output)", *notes])
    bad = ran.timed_out or ran.exit_code != 0
    kept = None
    if ran.output.truncated:
        number = spill.number if spill is not None else None
        kept = Kept(number, ran.output.total_lines, ran.output.total_bytes)
    return Result(text, bad, CallEnded(call.id, title, not bad, visible(text)), kept=kept)


def _decide(
    state: TurnState, command: Command, changes: tuple[str, ...], held: InForce | str | None, *, outside: bool
) -> Verdict:
    """On a thread: parses, looks at the disk, may ask git. Raises ToolError when a tool is to be used instead."""
    settings, roots = state.settings, state.workspace.roots
    warnings = dangers(command.command, settings.shell_always_ask)
    if settings.shell_interceptor and not warnings and not _asked_for(state, command.command):
        better = better_tool(command.command, {spec.name for spec in state.tools.specs(state.mode)})
        if better is not None:
            raise ToolError(
                "BLOCKED",
                f"BLOCKED: use {better.tool}: {better.reason}",
                f"call {better.tool} instead of running a command",
                {"suggestedTool": better.tool, "command": command.command},
            )
    if outside:
        why = (
            f"runs without the sandbox that the settings ask for ({held})"
            if isinstance(held, str)
            else "runs outside the sandbox, with all of your rights"
        )
        return Verdict(None, (*warnings, why), may_remember=False, reasons=changes)
    place = Place(command.cwd or roots.main, roots, isinstance(held, InForce) and held.namespaces, state.runner.environ)
    return judge(
        command.command,
        place=place,
        approvals=state.approvals,
        changes=changes,
        always_ask=settings.shell_always_ask,
    )


def _asked_for(state: TurnState, command: str) -> bool:
    """Whether the user's newest prompt spells this very command out: then it is what they want."""
    for entry in reversed(state.conversation.active_path()):
        message = entry.get("message") or {}
        if entry.get("type") == "message" and message.get("role") == "user":
            return command.strip() in text_of(message)
    return False


def _held_words(held: InForce | str | None) -> str | None:
    if not isinstance(held, InForce):
        return None
    network = "no network" if held.namespaces else "no sockets at all"
    gaps = "".join(f" Not held back here: {gap}." for gap in held.gaps())
    return f"In the sandbox: it writes to the workspace and to its own temporary folder only, {network}.{gaps}"


def _protected_names(roots: tuple[Path, ...]) -> set[str]:
    found: set[str] = set()
    for root in roots:
        try:
            found |= {name for name in os.listdir(root) if _is_protected_name(name)}
        except OSError:
            continue
    return found


def _notes(ran: Ran, command: Command, sandboxed: bool) -> list[str]:
    notes = []
    if ran.timed_out:
        notes.append(f"stopped after {command.timeout:g} s (time limit); a command that goes on belongs behind `&`")
    elif ran.exit_code is None:
        notes.append("missing exit status")
    elif ran.exit_code:
        notes.append(f"exit code {ran.exit_code}")
    if ran.output.truncated:
        notes.append(f"(the output is shortened: {ran.output.total_lines} lines, {ran.output.total_bytes} bytes)")
    if ran.moved:
        notes.append(f"the shell is now in {ran.cwd}")
    if ran.shell_ended:
        notes.append(f"the shell ended; the next command starts a new one in {ran.cwd}")
    if ran.left_running:
        notes.append(f"background processes still running: {', '.join(map(str, ran.left_running))}")
    if ran.sandbox is not None and ran.exit_code != 0 and _DENIED.search(ran.output.text):
        notes.append(
            "This ran in a sandbox, which may be what denied it: only the workspace and the temporary folder "
            f"({ran.sandbox.temp}) can be written, git's and other protected files and the home folder are closed, and "
            "there is no network. If it is needed, call again with `outside_sandbox: true`: the user is asked."
        )
    return notes


async def _run(
    state: TurnState, call: ToolCall, asked: Command, command: Command, shell: ShellPlace, spill: Spill | None
) -> Ran:
    async def on_output(text: str) -> None:
        await state.editor.show(CallRunning(call.id, visible(text)))

    if state.settings.shell_client_terminal and not state.runner.sandboxed:
        cwd = asked.cwd or state.workspace.roots.main
        argv = state.runner.argv_without_shell(command.command)
        terminal = await state.editor.open_terminal(argv, cwd, state.runner.added)
        if terminal is not None:
            await state.editor.show(CallRunning(call.id, terminal=terminal.id))
            async with observed(state, call.id, command.command):
                return await _in_terminal(state, terminal, command.timeout, cwd, spill)
    async with observed(state, call.id, command.command):
        return await state.runner.run(
            command.command, command.cwd, command.timeout, on_output, shell, state.workspace.roots.main, spill
        )


async def _in_terminal(state: TurnState, terminal: Terminal, seconds: float, cwd: Path, spill: Spill | None) -> Ran:
    """Wait for a command in the editor's terminal; it is killed at the time limit and on cancellation."""
    started = anyio.current_time()
    code: int | None = None
    timed_out = False
    try:
        with anyio.move_on_after(seconds) as limit:
            code = await terminal.wait()
        timed_out = limit.cancelled_caught
        if timed_out:
            await terminal.kill()
        sink = OutputSink(spill)
        sink.feed((await terminal.output()).encode("utf-8", "replace"))
        captured: Captured = sink.finish()
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True), anyio.move_on_after(_TERMINAL_SECONDS):
            await terminal.kill()
        raise
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(_TERMINAL_SECONDS):
            await terminal.release()
    return Ran(code, captured, timed_out, round((anyio.current_time() - started) * 1000), (), cwd)
