"""What a model or a user reads of a failure: the one error that tools and the rooms below them raise, and problems in
files that users write. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

ErrorCode = Literal[
    "INVALID_INPUT",
    "NOT_FOUND",
    "OUTSIDE_WORKSPACE",
    "IGNORED",
    "BINARY_FILE",
    "TOO_LARGE",
    "NO_MATCH",
    "AMBIGUOUS",
    "STALE",
    "GENERATED_FILE",
    "CONFLICT",
    "PLAN_REQUIRED",
    "MODE_FORBIDDEN",
    "DENIED",
    "REJECTED",
    "BLOCKED",
    "CANCELLED",
    "TIMEOUT",
    "UNAVAILABLE",
    "IO_ERROR",
    "REMOTE_ERROR",
    "INTERNAL",
]
ERROR_CODES: tuple[str, ...] = get_args(ErrorCode)


class ToolError(Exception):
    """A failure that the model reads as a result and the user as a message.

    `code` is stable, `message` is one sentence naming the offending value, `hint` says what to do instead,
    `details` is JSON data (candidates, positions) for a retry.
    """

    def __init__(
        self, code: ErrorCode, message: str, hint: str | None = None, details: Mapping[str, object] | None = None
    ) -> None:
        super().__init__(message)
        self.code: ErrorCode = code
        self.message = message
        self.hint = hint
        self.details = dict(details or {})


class UnsavedUnknown(ToolError):
    """The editor did not say what it shows of a file, so the user's unsaved changes could be overlooked."""

    def __init__(self, path: object, why: str) -> None:
        super().__init__(
            "UNAVAILABLE",
            f"it is not known whether {path} has unsaved changes in the editor: {why}",
            "nothing was written; try again; if it keeps failing, ask the user to save the file and check the editor",
        )
        self.why = why


class Problem(str):
    """What is wrong in a file that users write, in a line for them; the rest is for North's log: the file, the key in
    it, and the event."""

    path: Path | None
    key: str | None
    event: str

    def __new__(
        cls,
        text: str,
        path: Path | None = None,
        key: str | None = None,
        event: Literal["config_error", "capability_warning", "extension_error"] = "config_error",
    ) -> Problem:
        problem = super().__new__(cls, text)
        problem.path, problem.key, problem.event = path, key, event
        return problem
