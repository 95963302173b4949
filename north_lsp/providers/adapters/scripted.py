"""The provider `north-test`: answers from a script, so that every rule of a turn can be tried without a network. It
exists only while `NORTH_TEST_PROVIDER` names a script: a JSON list of answers, each a list of parts.

A part is one of `{"say": text}`, `{"think": text}`, `{"call": name, "arguments": {…}}`, `{"delayMs": n}`,
`{"fail": kind, "message": text, "retryable": true, "retryAfterMs": n}`, `{"stop": reason}` and
`{"usage": {"input": n, "output": n, "cacheRead": n, "cacheWrite": n}}`. After the last answer the script starts again.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args

import anyio
import anyio.to_thread

from north_lsp.providers.adapters.json_text import arguments_text
from north_lsp.providers.base import (
    AssistantMessage,
    Block,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    ErrorKind,
    Failed,
    ModelRequest,
    StopReason,
    StreamEvent,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    Usage,
)
from north_lsp.providers.json_values import as_object
from north_lsp.storage.files import MAX_DATA_BYTES, read_regular

_DELAY_LIMIT_MS = 600_000


class ScriptedProvider:
    """One for a process; plays the answers in the script's order, regardless of the session."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._next = 0
        self._calls = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        try:
            answers = await anyio.to_thread.run_sync(_read, self._path)
        except (OSError, ValueError) as error:
            yield Failed("bad_request", f"the script {self._path} cannot be played: {error}", AssistantMessage(()))
            return
        answer = answers[self._next % len(answers)]
        self._next += 1
        blocks: list[Block] = []
        usage, reason = Usage(), None
        for part in answer:
            index = len(blocks)
            match part:
                case {"say": str(text)}:
                    blocks.append(Text(text))
                    yield TextDelta(index, text)
                    yield BlockEnd(index, blocks[-1])
                case {"think": str(text)}:
                    blocks.append(Thinking(text))
                    yield ThinkingDelta(index, text)
                    yield BlockEnd(index, blocks[-1])
                case {"call": str(name)}:
                    self._calls += 1
                    call = ToolCall(f"test_{self._calls}", name, as_object(part.get("arguments")))
                    blocks.append(call)
                    yield CallStart(index, call.id, name)
                    yield CallDelta(index, arguments_text(call.arguments))
                    yield BlockEnd(index, call)
                case {"delayMs": int(delay)}:
                    await anyio.sleep(min(max(delay, 0), _DELAY_LIMIT_MS) / 1000)
                case {"usage": dict(counts)}:
                    read, wrote = _count(counts.get("input")), _count(counts.get("output"))
                    usage = Usage(read, wrote, _count(counts.get("cacheRead")), _count(counts.get("cacheWrite")))
                case {"stop": str(word)} if word in get_args(StopReason):
                    reason = cast(StopReason, word)
                case {"fail": str(kind)} if kind in get_args(ErrorKind):
                    partial = AssistantMessage(tuple(blocks), "error", usage)
                    wait = part.get("retryAfterMs")
                    yield Failed(
                        cast(ErrorKind, kind),
                        str(part.get("message") or f"the script says {kind}"),
                        partial,
                        retryable=part.get("retryable") is True,
                        retry_after_ms=wait if isinstance(wait, int) else None,
                    )
                    return
                case _:
                    problem = f"the script {self._path} has an invalid part: {json.dumps(part)[:100]}"
                    yield Failed("bad_request", problem, AssistantMessage(tuple(blocks), "error", usage))
                    return
        has_calls = any(isinstance(block, ToolCall) for block in blocks)
        last = reason or ("toolUse" if has_calls else "stop")
        yield Done(last, AssistantMessage(tuple(blocks), last, usage))

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""


def _read(path: Path) -> Sequence[Sequence[Mapping[str, Any]]]:
    """Read the script's answers. Raises OSError, ValueError."""
    answers = json.loads(read_regular(path, MAX_DATA_BYTES))
    if not isinstance(answers, list) or not answers or not all(isinstance(answer, list) for answer in answers):
        raise ValueError("it must be a list of answers, each a list of parts")
    return answers


def _count(value: object) -> int:
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0
