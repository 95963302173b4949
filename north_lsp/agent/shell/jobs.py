"""Runs commands in the background: started after the same approval as others, managed with the tool `job`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio.to_thread

from north_lsp.agent.approvals.record import ReviewRecord
from north_lsp.agent.log.command_details import GOT_INPUT, details_of_job
from north_lsp.agent.log.reviews import CommandRequest, StoredDecision
from north_lsp.agent.ports.editor import CommandReview, Editor
from north_lsp.agent.ports.events import CallEnded, CallRunning
from north_lsp.agent.ports.results import Result, StopTurn, ok
from north_lsp.agent.shell.quarantine import Quarantine
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.providers.base import ToolCall
from north_lsp.shell.jobs import Job
from north_lsp.shell.options import UNASKED, Place
from north_lsp.shell.port import Runner
from north_lsp.storage.artifacts import Artifacts
from north_lsp.tools.base import Command, JobRequest
from north_lsp.workspace.search.effort import longest_text
from north_lsp.workspace.workspace import Workspace

_FIRST_LINES = 40
_LEAST_LINE = 100
_MATCHING_SECONDS = 1.0


class JobCommands:
    """The jobs of one session."""

    def __init__(
        self,
        runner: Runner,
        artifacts: Artifacts | None,
        reviews: ReviewRecord,
        editor: Editor,
        quarantine: Quarantine,
    ) -> None:
        self._runner = runner
        self._artifacts = artifacts
        self._reviews = reviews
        self._editor = editor
        self._quarantine = quarantine

    async def start(self, call: ToolCall, title: str, command: Command, place: Place, notes: list[str]) -> Result:
        """Start an approved command, whose directory is known, in the background. Raises ToolError."""
        artifacts, cwd = self._artifacts, command.cwd
        assert cwd is not None
        spill = None if artifacts is None else (lambda: artifacts.stream("job"))
        keep = await anyio.to_thread.run_sync(_reserved, artifacts) if command.keep else None
        job = await self._runner.jobs.begin(command.command, place, cwd, spill, keep)
        where = f"; its whole output: artifact://{job.sink.number}" if job.sink.number is not None else ""
        head = f"job {job.id} (pid {job.pid}) is {job.state()}{where}"
        text = "\n".join([head, *self._output(job, _FIRST_LINES), *command.notices, *notes])
        failed = not job.running and job.exit_code != 0
        details = details_of_job(job.id, job.pid, cwd, job.sink.number)
        return Result(text, failed, CallEnded(call.id, title, not failed, visible(text)), details)

    def _output(self, job: Job, lines: int) -> list[str]:
        text = self._runner.jobs.output(job, lines)
        return [text] if text.strip() else ["(no output yet)" if job.running else "(no output)"]

    async def run(self, workspace: Workspace, call: ToolCall, title: str, request: JobRequest) -> Result:
        """Do what the tool `job` asks for. Raises StopTurn, ToolError."""
        jobs = self._runner.jobs
        await self._editor.show(CallRunning(call.id))
        if request.action == "list":
            rows = [f"{job.id}: {one_line(job.command, 200)} (pid {job.pid}), {job.state()}" for job in jobs.all()]
            return _result(call, title, "\n".join(rows) or "there are no jobs", {})
        job = jobs.find(request.id)
        details: Mapping[str, object] = {}
        match request.action:
            case "output":
                text = "\n".join([f"job {job.id} {_is(job)}", *self._output(job, request.lines)])
            case "wait":
                came = await jobs.wait(job, request.seconds, _pattern(request.pattern), request.port)
                text = "\n".join([came, *self._output(job, request.lines)])
            case "kill":
                await jobs.kill(job)
                text = "\n".join([f"job {job.id} {job.state()}", *self._output(job, request.lines)])
            case "input":
                given = await self._approved_input(call, title, job, request.text)
                if isinstance(given, Result):
                    return given
                jobs.send(job, given)
                details = GOT_INPUT
                text = f"job {job.id} was sent {len(given.encode('utf-8', 'replace'))} bytes"
                text += "" if given == request.text else f"; the user changed them to: {given}"
        late = await self._quarantine.review_late(workspace, call)
        return _result(call, title, "\n".join([text, *late]), details)

    async def _approved_input(self, call: ToolCall, title: str, job: Job, text: str) -> str | Result:
        """Ask about input for a job like about a command, since the job may run it; no question is needed if all
        commands are approved and the job is contained. Raises StopTurn."""
        if job.place in UNASKED and self._reviews.approvals.shell_auto_approved():
            return text
        review = self._reviews.open(call.id, CommandRequest(text, str(job.cwd), 0)).id
        await self._reviews.sync_question()
        warning = f"is read by job {job.id} (`{one_line(job.command, 200)}`), which may run it"
        decision = await self._editor.review_command(
            CommandReview(call.id, Command(text, job.cwd, 0), title, False, (warning,))
        )
        status = "ran" if decision.kind == "run" else "cancelled" if decision.kind == "stop" else "denied"
        self._reviews.close(review, StoredDecision(status, decision.comment))
        if status == "cancelled":
            raise StopTurn(decision.comment)
        if status == "denied":
            data: dict[str, object] = {"denied": True} | ({"comment": decision.comment} if decision.comment else {})
            return Result(ok(data), False, CallEnded(call.id, title, False, "Denied; the job was sent nothing."))
        return decision.command if decision.command is not None else text


def _reserved(artifacts: Artifacts | None) -> tuple[int, Path]:
    """Reserve an artifact for the output of a command that keeps running after North. Raises ToolError."""
    if artifacts is None:
        raise ToolError("UNAVAILABLE", "there is no place for the output of a command that keeps running after North")
    try:
        return artifacts.reserve("job")
    except OSError as error:
        raise ToolError("IO_ERROR", f"the output cannot be stored: {error.strerror}") from None


def _is(job: Job) -> str:
    return f"is {job.state()}" if job.running else job.state()


def _pattern(text: str | None) -> Callable[[str], bool] | None:
    """Compile a pattern to a test of whether a line of an output matches. Raises ToolError if it is not a regular
    expression, or could take too long."""
    if text is None:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolError("INVALID_INPUT", f"the pattern is not a valid regular expression: {error}") from None
    longest = longest_text(text)
    if longest is not None and longest < _LEAST_LINE:
        raise ToolError("INVALID_INPUT", "the pattern has nested repetition, which can take forever", "simplify it")

    def fits(output: str) -> bool:
        end = time.monotonic() + _MATCHING_SECONDS
        for line in reversed(output.split("\n")):
            parts = (line,) if longest is None or len(line) <= longest else (line[:longest], line[-longest:])
            if any(pattern.search(part) for part in parts):
                return True
            if time.monotonic() > end:
                break
        return False

    return fits


def _result(call: ToolCall, title: str, text: str, details: Mapping[str, object]) -> Result:
    return Result(text, False, CallEnded(call.id, title, True, visible(text)), details)
