"""Running an approved command, and what the model is told of it."""

from functools import partial

from north_lsp.agent.deciding import record, remember
from north_lsp.agent.editor import CommandReview
from north_lsp.agent.events import CallEnded, CallRunning
from north_lsp.agent.results import Result, StopTurn, ok
from north_lsp.agent.shell_changes import observed
from north_lsp.agent.state import TurnState
from north_lsp.display import visible
from north_lsp.providers.base import ToolCall
from north_lsp.review.commands import judge
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.base import Command

_STATUSES = {"run": "ran", "always": "always", "all": "auto", "deny": "denied", "stop": "cancelled"}


async def run_command(state: TurnState, call: ToolCall, title: str, command: Command) -> Result:
    """Ask, unless an earlier answer allows it, and run. Raises StopTurn."""
    in_root = command.cwd == state.workspace.roots.main
    verdict = judge(command.command, in_root=in_root, approvals=state.approvals)
    request = {"command": command.command, "cwd": str(command.cwd), "timeout": command.timeout}
    review = state.conversation.append(
        "review", reviewId=new_entry_id(()), kind="shell", toolCallId=call.id, request=request, status="pending"
    )
    status, comment = str(verdict.status), None
    if verdict.status is None:
        await state.sync()
        question = CommandReview(call.id, command, title, verdict.may_remember, verdict.warnings)
        decision = await state.editor.review_command(question)
        status, comment = _STATUSES[decision.kind], decision.comment
        if decision.kind == "always" and verdict.may_remember:
            await remember(state, partial(state.approvals.allow_command, command.command))
        elif decision.kind == "all" and verdict.may_remember:
            await remember(state, state.approvals.enable_shell_auto_approve)
    record(state, review["id"], status, comment)
    if status == "cancelled":
        raise StopTurn
    if status == "denied":
        data: dict[str, object] = {"denied": True} | ({"comment": comment} if comment else {})
        return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the command was not run."))
    await state.editor.show(CallRunning(call.id))

    async def on_output(text: str) -> None:
        await state.editor.show(CallRunning(call.id, visible(text)))

    async with observed(state, call.id, command.command):
        ran = await state.runner.run(command.command, command.cwd, command.timeout, on_output)
    lines = [ran.output.text.rstrip("\n") or "(no output)"]
    if ran.timed_out:
        lines.append(f"stopped after {command.timeout:g} s (time limit)")
    elif ran.exit_code:
        lines.append(f"exit code {ran.exit_code}")
    if ran.output.truncated:
        lines.append(f"(the output is shortened: {ran.output.total_lines} lines, {ran.output.total_bytes} bytes)")
    if ran.left_running:
        lines.append(f"background processes still running: {', '.join(map(str, ran.left_running))}")
    text = "\n".join(lines)
    bad = ran.timed_out or ran.exit_code != 0
    return Result(text, bad, CallEnded(call.id, title, not bad, visible(text)))
