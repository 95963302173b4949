"""Running the tool calls of one answer: checked, reviewed where they need it, each with exactly one result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.agent.applying import apply_proposal
from north_lsp.agent.editor import CommandReview, EditReview
from north_lsp.agent.events import ApprovalsChanged, CallEnded, CallProposes, CallRunning, Notice
from north_lsp.agent.results import failed, ok
from north_lsp.agent.state import TurnState
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.review.commands import judge
from north_lsp.storage.entries import new_entry_id
from north_lsp.tools.base import Command, Location, Output, ReadTool, ShellTool, Tool, WriteTool
from north_lsp.tools.texts import text_of
from north_lsp.workspace.proposal import EditProposal, FileChange
from north_lsp.workspace.protected import WriteRule, write_rule_on_disk

_MAX_PARALLEL = 8
_REGION_LINES = 40
_MAX_EDIT_CHARACTERS = 12_000_000


class StopTurn(Exception):
    """The user ended the turn from a review."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to: the text for the model, and the event for people."""

    text: str
    is_error: bool
    ended: CallEnded


class Calls:
    """Runs calls for one turn."""

    def __init__(self, state: TurnState) -> None:
        self._state = state
        self._results: dict[str, Result] = {}
        self._finishing = anyio.Lock()

    async def run(self, calls: Sequence[ToolCall]) -> None:
        """Run all calls in order, neighbouring readers side by side. Raises StopTurn."""
        waiting = list(calls)
        while waiting:
            group = [waiting.pop(0)]
            while waiting and self._parallel(group[0]) and self._parallel(waiting[0]) and len(group) < _MAX_PARALLEL:
                group.append(waiting.pop(0))
            unstored = list(group)
            try:
                async with anyio.create_task_group() as tasks:
                    for call in group:
                        tasks.start_soon(self._run_one, call, unstored)
            except* StopTurn:
                raise StopTurn from None

    async def wind_up(self, calls: Sequence[ToolCall]) -> None:
        """After a cancel or a failure: what has a result keeps it, every other call gets one that says so."""
        for call in calls:
            if call.id not in self._results:
                error = ToolError("CANCELLED", "cancelled by the user before it had a result")
                self._results[call.id] = self._failure(call, error)
        await self._finish(list(calls))

    async def _finish(self, unstored: list[ToolCall]) -> None:
        """Store and then show results, as far as they are complete in the order of the calls."""
        async with self._finishing:
            while unstored and (result := self._results.get(unstored[0].id)) is not None:
                call = unstored.pop(0)
                if not self._has_result(call):
                    with anyio.CancelScope(shield=True):  # what is stored is shown, also when it is cancelled just now
                        self._store(call, result)
                        await self._state.editor.show(result.ended)

    def _has_result(self, call: ToolCall) -> bool:
        path = reversed(self._state.conversation.active_path())
        for entry in path:
            message = entry.get("message", {}) if entry["type"] == "message" else {}
            if message.get("role") == "assistant":
                return False
            if message.get("role") == "toolResult" and message.get("toolCallId") == call.id:
                return True
        return False

    def _store(self, call: ToolCall, result: Result) -> None:
        """Write a call's result to the log."""
        ended = result.ended
        details: dict[str, Any] = {"title": ended.title, "text": ended.text, "ok": ended.ok}
        if ended.files:
            details["changed"] = True
        if ended.locations:
            details["locations"] = [[str(place.path), place.line] for place in ended.locations]
        message = {
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.name,
            "content": [{"type": "text", "text": result.text}],
            "details": details,
            "isError": result.is_error,
            "timestamp": self._state.milliseconds(),
        }
        self._state.conversation.append("message", message=message)

    def title(self, call: ToolCall) -> str:
        tool = self._state.tools.find(call.name)
        return one_line(tool.title(dict(call.arguments)) if tool is not None else call.name)

    def _parallel(self, call: ToolCall) -> bool:
        tool = self._state.tools.find(call.name)
        return tool is not None and tool.parallel

    async def _run_one(self, call: ToolCall, unstored: list[ToolCall]) -> None:
        stop = False
        try:
            result = await self._run(call)
        except ToolError as error:
            result = self._failure(call, error)
        except StopTurn:
            result, stop = self._failure(call, ToolError("CANCELLED", "the user stopped here")), True
        except Exception as error:  # noqa: BLE001 - one broken tool must not take the turn with it
            self._state.on_failure(f"tool {call.name}", error)
            result = self._failure(call, ToolError("INTERNAL", f"{call.name} failed in North ({type(error).__name__})"))
        self._results[call.id] = result
        await self._finish(unstored)
        if stop:
            raise StopTurn

    def _failure(self, call: ToolCall, error: ToolError) -> Result:
        text = visible(error.message if error.hint is None else f"{error.message}\n{error.hint}")
        return Result(failed(error), True, CallEnded(call.id, self.title(call), False, text))

    async def _run(self, call: ToolCall) -> Result:
        if call.problem is not None:
            raise ToolError("INVALID_INPUT", call.problem, "send the call again with complete arguments")
        tool, args = self._state.tools.check(call.name, call.arguments, self._state.mode)
        with self._state.diagnostics.timed_tool(call) as outcome:
            match tool:
                case ReadTool():
                    await self._state.editor.show(CallRunning(call.id))
                    output = await tool.run(args, self._state.workspace)
                    result = self._output(call, output)
                case WriteTool():
                    changes = await tool.prepare(args, self._state.workspace)
                    result = await self._write(call, tool, changes)
                case ShellTool():
                    result = await self._shell(call, tool.command(args, self._state.workspace))
                case _:
                    raise ToolError("UNAVAILABLE", f"{call.name} cannot be run here")
            outcome.ok = not result.is_error
        return result

    def _output(self, call: ToolCall, output: Output) -> Result:
        text = output.text if output.text is not None else ok(output.data)
        shown = visible(output.text) if output.text is not None else ""
        ended = CallEnded(call.id, one_line(output.title), not output.failed, shown, locations=output.locations)
        return Result(text, output.failed, ended)

    # -- edits -----------------------------------------------------------------------------------------------------

    async def _write(self, call: ToolCall, tool: Tool, changes: Sequence[FileChange]) -> Result:
        files = tuple(changes)
        title = self._edit_title(tool, call, files)
        if all(change.old_text == change.new_text for change in files):
            reason = ok({"applied": False, "reason": "no change"})
            return Result(
                reason, False, CallEnded(call.id, self.title(call), True, "No change: the text is already so.")
            )
        size = sum(len(change.old_text or "") + len(change.new_text) for change in files)
        if size > _MAX_EDIT_CHARACTERS:
            raise ToolError(
                "TOO_LARGE", f"the edit shows {size} characters; at most {_MAX_EDIT_CHARACTERS} can be reviewed"
            )
        warnings: list[str] = []
        for change in files:
            rule = await anyio.to_thread.run_sync(self._write_rule, change, str(call.arguments.get("path", "")))
            if rule == "never":
                raise ToolError("OUTSIDE_WORKSPACE", f"{change.relative} is protected and never written by tools")
            if rule == "ask":
                warnings.append(f"{change.relative} is a protected file: it asks every time")
        proposal = EditProposal(new_entry_id(()), call.id, files, title, tuple(warnings))
        automatic = not warnings and self._state.approvals.edits_auto_accepted()
        request = {"title": title, "files": [_change_to_log(change) for change in files]}
        review = self._state.conversation.append(
            "review", reviewId=proposal.id, kind="write", toolCallId=call.id, request=request, status="pending"
        )
        await self._state.editor.show(CallProposes(call.id, title, files))
        if automatic:
            status, comment = "applied_auto", None
        else:
            await self._state.sync()
            decision = await self._state.editor.review_edit(EditReview(proposal, title, not warnings, tuple(warnings)))
            statuses = {"accept": "accepted", "always": "always", "reject": "rejected", "stop": "cancelled"}
            status, comment = statuses[decision.kind], decision.comment
        if status == "always":
            await self._remember(self._state.approvals.enable_edits_auto_accept)
        if status in ("rejected", "cancelled"):
            self._decide(review["id"], status, comment)
            if status == "cancelled":
                raise StopTurn
            data: dict[str, object] = {"applied": False, "reason": "rejected"} | (
                {"comment": comment} if comment else {}
            )
            ended = CallEnded(call.id, title, False, "Rejected; nothing was written.", files)
            return Result(ok(data), False, ended)
        await self._state.editor.show(CallRunning(call.id))
        with anyio.CancelScope(shield=True):  # once it is being written, the result says what was written
            try:
                await apply_proposal(proposal, self._state.workspace, self._state.editor)
            except ToolError:
                self._decide(review["id"], "failed", comment)
                raise
            self._decide(review["id"], status, comment)
            data = {"applied": True, "files": [await self._applied(change) for change in files]}
            places = tuple(Location(change.path, change.hunks[0].new_start if change.hunks else 1) for change in files)
            result = Result(ok(data), False, CallEnded(call.id, title, True, "", files, places))
            self._results[call.id] = result
        return result

    def _write_rule(self, change: FileChange, spelled: str) -> WriteRule:
        root = next(root for root in self._state.workspace.roots.roots if change.path.is_relative_to(root))
        return write_rule_on_disk(change.path, root, self._state.workspace.private, spelled)

    def _edit_title(self, tool: Tool, call: ToolCall, files: Sequence[FileChange]) -> str:
        added, removed = sum(file.lines_added for file in files), sum(file.lines_removed for file in files)
        return one_line(f"{tool.title(dict(call.arguments))} (+{added}/-{removed})")

    async def _remember(self, store: Callable[[], None]) -> None:
        """Keep an "always"; say so if it cannot be kept."""
        await anyio.to_thread.run_sync(store)
        if (error := self._state.approvals.write_error) is not None:
            text = f"this answer could not be stored and holds for this conversation only: {error.strerror}"
            await self._state.editor.show(Notice("warning", text))
        await self._state.editor.show(ApprovalsChanged())

    def _decide(self, entry_id: str, status: str, comment: str | None) -> None:
        decision = {"kind": status} | ({"comment": comment} if comment else {})
        patch = {"status": status, "decision": decision}
        self._state.conversation.annotate("entry_updated", targetId=entry_id, patch=patch)

    async def _applied(self, change: FileChange) -> dict[str, object]:
        """What stands there now, so that the model need not read it again."""
        try:
            text = (await text_of(change.path, self._state.workspace))[0]
        except ToolError:
            return {"path": change.relative, "linesAdded": change.lines_added, "linesRemoved": change.lines_removed}
        self._state.workspace.seen.tags[change.path] = text.tag
        start = change.hunks[0].new_start if change.hunks else 1
        end = change.hunks[-1].new_start + change.hunks[-1].new_lines - 1 if change.hunks else 0
        lines = text.text.split("\n")[start - 1 : min(end, start + _REGION_LINES - 1)]
        return {
            "path": change.relative,
            "linesAdded": change.lines_added,
            "linesRemoved": change.lines_removed,
            "snapshot": f"{change.relative}#{text.tag}",
            "region": {"start": start, "end": start + len(lines) - 1, "content": "\n".join(lines)},
        }

    # -- commands --------------------------------------------------------------------------------------------------

    async def _shell(self, call: ToolCall, command: Command) -> Result:
        state = self._state
        in_root = command.cwd == state.workspace.roots.main
        title = self.title(call)
        verdict = judge(command.command, in_root=in_root, approvals=state.approvals)
        request = {"command": command.command, "cwd": str(command.cwd), "timeout": command.timeout}
        review = state.conversation.append(
            "review", reviewId=new_entry_id(()), kind="shell", toolCallId=call.id, request=request, status="pending"
        )
        status, comment = str(verdict.status), None
        if verdict.status is None:
            await state.sync()
            decision = await state.editor.review_command(
                CommandReview(call.id, command, title, verdict.may_remember, verdict.warnings)
            )
            statuses = {"run": "ran", "always": "always", "all": "auto", "deny": "denied", "stop": "cancelled"}
            status, comment = statuses[decision.kind], decision.comment
            if decision.kind == "always" and verdict.may_remember:
                await self._remember(partial(state.approvals.allow_command, command.command))
            elif decision.kind == "all" and verdict.may_remember:
                await self._remember(state.approvals.enable_shell_auto_approve)
        self._decide(review["id"], status, comment)
        if status == "cancelled":
            raise StopTurn
        if status == "denied":
            data: dict[str, object] = {"denied": True} | ({"comment": comment} if comment else {})
            return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the command was not run."))
        await state.editor.show(CallRunning(call.id))

        async def on_output(text: str) -> None:
            await state.editor.show(CallRunning(call.id, visible(text)))

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


def _change_to_log(change: FileChange) -> dict[str, Any]:
    return {
        "path": str(change.path),
        "relative": change.relative,
        "action": change.action,
        "oldText": change.old_text,
        "newText": change.new_text,
        "linesAdded": change.lines_added,
        "linesRemoved": change.lines_removed,
    }
