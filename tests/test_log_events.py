"""The events of North's log: those that the specification names are written, and the page has each with its data."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from north_lsp.storage.diagnostics_log import LEVELS

ROOT = Path(__file__).parent.parent
_WRITERS = ("event", "warning", "debug", "trace", "timed", "measured", "note", "warn", "_log_event", "_row", "_tell")
_NAME = re.compile(r"[a-z]+(?:_[a-z]+)+|crash|timing")
_ROW = re.compile(r"^\| (`[a-z_`, ]+`) \| ([^|]*) \| [^|]* \|$", re.MULTILINE)

# What the log has to have, by the specification, with its data.
SPECIFIED = {
    "app_start": "version projectPath cwd client protocol python os",
    "app_exit": "reason durationMs",
    "user_prompt": "length attachments mode queued",
    "model_request_start": "requestId provider model estimatedTokens tools",
    "model_request_complete": "requestId durationMs firstTokenMs usage stopReason",
    "model_request_error": "requestId kind status retryable",
    "api_retry_attempt": "layer attempt delayMs kind",
    "retry_fallback_applied": "from to",
    "context_promoted": "from to",
    "tool_call_start": "toolName callId argsSummary",
    "tool_call_complete": "toolName callId durationMs ok errorCode truncated",
    "orphaned_tool_recovered": "callId",
    "write_review_shown": "reviewId files added removed",
    "write_review_decision": "reviewId decision waitedMs",
    "write_apply_start": "files",
    "write_apply_complete": "durationMs ok via",
    "shell_review_shown": "reviewId",
    "shell_review_decision": "reviewId decision waitedMs",
    "shell_run_start": "cwd background",
    "shell_run_complete": "durationMs exitCode bytes timedOut",
    "file_block_start": "path lines",
    "file_block_complete": "path lines",
    "file_block_continued": "path lines",
    "session_created": "entries",
    "session_loaded": "entries",
    "session_switched": "former",
    "session_forked": "to entries",
    "session_migrated": "entries",
    "session_load_warning": "message",
    "session_persist_error": "errno file",
    "learning_topic": "topic durationMs ok",
    "memory_phase": "phase durationMs ok",
    "config_error": "path key message",
    "capability_warning": "path key message",
    "extension_error": "path key message",
    "cancel_requested": "state",
    "cancel_complete": "durationMs",
    "lock_wait": "name waitedMs",
    "lock_stale_taken": "name",
    "log_dropped": "n",
    "crash": "file",
}


def names_in(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Constant(value=str(text)) if _NAME.fullmatch(text):
            yield text
        case ast.IfExp(body=first, orelse=second):
            yield from names_in(first)
            yield from names_in(second)


def named_in_a_call(call: ast.Call) -> Iterator[str]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "Problem":
        yield from (one for word in call.keywords if word.arg == "event" for one in names_in(word.value))
    elif name in _WRITERS and call.args:
        has_level = isinstance(call.args[0], ast.Constant) and call.args[0].value in LEVELS
        for one in names_in(call.args[1 if has_level else 0]):
            yield one
            if name == "timed":
                yield one.removesuffix("_start") + "_complete"


@cache
def written() -> frozenset[str]:
    """The names of all events that some code writes."""
    found: set[str] = set()
    for path in (ROOT / "north_lsp").rglob("*.py"):
        calls = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        found.update(name for call in calls for name in named_in_a_call(call))
    return frozenset(found)


def documented() -> dict[str, set[str]]:
    """The rows of the page: each event with the names of its data."""
    page = (ROOT / "docs" / "log.md").read_text("utf-8")
    return {
        name: set(re.findall(r"`(\w+)`", data))
        for names, data in _ROW.findall(page)
        for name in re.findall(r"`(\w+)`", names)
    }


def test_the_page_has_every_event_that_is_written() -> None:
    assert sorted(written() ^ documented().keys()) == [], "docs/log.md: a row for each event"


def test_every_event_of_the_specification_is_written_with_its_data() -> None:
    rows = documented()
    assert sorted(SPECIFIED.keys() - written()) == []
    assert {name: sorted(set(data.split()) - rows[name]) for name, data in SPECIFIED.items()} == {
        name: [] for name in SPECIFIED
    }
