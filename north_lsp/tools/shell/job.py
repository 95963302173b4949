"""`job`: controls the commands that `shell_run` has put into the background."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from north_lsp.errors import ToolError
from north_lsp.tools.arguments import Arguments
from north_lsp.tools.base import JobRequest, JobTool

_MAX_SECONDS = 120.0
_MAX_LINES = 2000
_MAX_INPUT = 32 * 1024


class JobArgs(Arguments):
    action: Literal["list", "output", "wait", "kill", "input"]
    jobId: str | int | None = Field(None, description="Required, except for list.")
    lines: int = Field(40, description="For output: how many of the last lines to show.")
    timeout: float = Field(30, description="For wait: seconds, at most 120.")
    pattern: str | None = Field(None, max_length=1000, description="For wait: a regular expression in the output.")
    port: int | None = Field(None, ge=1, le=65535, description="For wait: a TCP port on this machine.")
    text: str = Field("", description="For input: what the job reads next; end it with a line break.")


class JobControl(JobTool):
    name = "job"
    args = JobArgs

    def title(self, args: dict[str, Any]) -> str:
        if args.get("action") == "list":
            return "Listing background jobs"
        words = {"output": "Reading the output of", "wait": "Waiting for", "kill": "Ending", "input": "Answering"}
        return f"{words.get(str(args.get('action')), 'Looking at')} job {args.get('jobId', '…')}"

    def request(self, args: JobArgs) -> JobRequest:
        if args.action != "list" and args.jobId is None:
            raise ToolError("INVALID_INPUT", f"jobId is missing for {args.action}", "list names the jobs")
        if args.action == "input" and not args.text:
            raise ToolError("INVALID_INPUT", "text is missing for input")
        if len(args.text.encode("utf-8", "replace")) > _MAX_INPUT:
            raise ToolError("TOO_LARGE", f"the text is longer than {_MAX_INPUT} bytes")
        seconds = min(max(args.timeout, 0.0), _MAX_SECONDS) if args.timeout == args.timeout else _MAX_SECONDS
        lines = min(max(args.lines, 1), _MAX_LINES)
        return JobRequest(args.action, str(args.jobId or ""), lines, seconds, args.pattern, args.port, args.text)
