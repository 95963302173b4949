"""Parses a tool's result into a value. Knows the results' envelope but nothing about individual tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.providers.base import ToolResult


@dataclass(frozen=True, slots=True)
class Reply:
    """A result: `data` if it is good; `code`, `message` and `details` of an error; `text` and `failed` as received."""

    text: str = ""
    failed: bool = False
    data: Mapping[str, object] = field(default_factory=dict)
    code: str | None = None
    message: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command: how it ended, in words, and the last lines of its output."""

    ending: str
    tail: str


NO_RESULT = Reply(failed=True, code="CANCELLED", message="there is no result")
_EXIT = lazy_pattern(r"exit code (-?\d+)|stopped after .* \(time limit\)")
_NOTICE = lazy_pattern(r"\(the output is shortened: .*\)|background processes still running: .*")
_SHOWN_LINES = 8
_NOTHING = "(no output)"


def read_reply(result: ToolResult) -> Reply:
    """Parse the result of a call. A text without the envelope is a command's output."""
    envelope = _object(result.text)
    match envelope.get("ok"):
        case True if not result.is_error:
            return Reply(result.text, data=mapping(envelope.get("data")))
        case False:
            error = mapping(envelope.get("error"))
            code, message = text(error, "code") or "INTERNAL", text(error, "message")
            return Reply(result.text, True, {}, code, message, mapping(error.get("details")))
        case _:
            return Reply(result.text, result.is_error)


def read_ran(reply: Reply) -> Ran:
    """Split a command's output from its ending, which follows the output if the command failed."""
    lines = reply.text.rstrip("\n").split("\n")
    while lines and _NOTICE.fullmatch(lines[-1]):
        lines.pop()
    ending = "exit code 0"
    if reply.failed and lines and _EXIT.fullmatch(lines[-1]):
        ending = lines.pop()
    tail = "\n".join(lines[-_SHOWN_LINES:])
    return Ran(ending, "" if tail == _NOTHING else tail)


def _object(source: str) -> Mapping[str, object]:
    if not source.startswith("{"):
        return {}
    try:
        return mapping(json.loads(source))
    except (ValueError, RecursionError):
        return {}


def mapping(value: object) -> Mapping[str, object]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def rows(data: Mapping[str, object], key: str) -> Sequence[Mapping[str, object]]:
    """Return the objects in a list."""
    value = data.get(key)
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def text(data: Mapping[str, object], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def number(data: Mapping[str, object], key: str) -> int:
    value = data.get(key)
    return value if isinstance(value, int) else 0
