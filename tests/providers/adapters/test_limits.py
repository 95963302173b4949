"""How long a request may take, with a clock of the test's own: what lasts is not what stalls."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest

from north_lsp.providers.adapters import wire
from north_lsp.providers.base import AssistantMessage, Done, Failed, StreamEvent, Text, TextDelta, Timeouts, Usage
from tests.providers.adapters.vendors import connection

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
WORD = b'data: {"type": "word"}\n\n'
END = b'data: {"type": "end"}\n\n'


class Words:
    """An answer of words."""

    usage = Usage()

    def __init__(self) -> None:
        self.ended = False
        self.text = ""

    def take(self, name: str, data: dict[str, Any]) -> list[StreamEvent]:
        self.ended = data["type"] == "end"
        if data["type"] != "word":
            return []
        self.text += "word "
        return [TextDelta(0, "word ")]

    def take_done(self) -> None:
        return None

    def finish(self) -> tuple[list[StreamEvent], Done | None]:
        message = AssistantMessage((Text(self.text),), "stop")
        return [], Done("stop", message) if self.ended else None

    def partial(self, reason: str) -> AssistantMessage:
        return AssistantMessage((Text(self.text),), "error")


async def last_of(
    monkeypatch: pytest.MonkeyPatch, chunks: Sequence[bytes], timeouts: Timeouts, seconds: float
) -> StreamEvent:
    """Return the end of an answer in which `seconds` pass before each chunk."""
    now = [1000.0]

    async def body() -> AsyncIterator[bytes]:
        for chunk in chunks:
            now[0] += seconds
            yield chunk
            await anyio.lowlevel.checkpoint()

    async def post() -> httpx2.Response:
        return httpx2.Response(200, content=body())

    monkeypatch.setattr(anyio, "current_time", lambda: now[0])
    events = [event async for event in wire.stream(post, Words(), connection("http://s", timeouts), "m")]
    return events[-1]


async def test_an_answer_that_goes_on_is_never_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    end = await last_of(monkeypatch, [*[WORD, PING] * 20, END], Timeouts(15, 120, 600), 100)
    assert isinstance(end, Done)
    assert end.message.text == "word " * 20


async def test_signs_of_life_alone_do_not_keep_a_request_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for chunks in ([PING] * 20, [WORD, *[PING] * 20], [b": still here\n\n"] * 20):
        end = await last_of(monkeypatch, [*chunks, END], Timeouts(15, 120, 600), 100)
        assert isinstance(end, Failed)
        assert "did not continue for 600 s (provider.requestTimeoutS)" in end.message


@pytest.mark.parametrize("limits", [Timeouts(15, None, None), Timeouts(15, 120, None), Timeouts(15, None, 600)])
async def test_without_a_limit_there_is_none(monkeypatch: pytest.MonkeyPatch, limits: Timeouts) -> None:
    chunks = [*[WORD, *[PING] * 4] * 5, END] if limits.request is not None else [*[PING] * 50, END]
    assert isinstance(await last_of(monkeypatch, chunks, limits, 100), Done)
