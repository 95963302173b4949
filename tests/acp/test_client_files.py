"""Texts that the client has open, over real pipes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from north_lsp.acp.editor import FILE_SECONDS, ClientFiles
from north_lsp.acp.initialize import Client
from north_lsp.rpc.framing import NewlineFraming
from north_lsp.rpc.peer import Peer
from north_lsp.rpc.pipe import DescriptorPipe

PATH = Path("/p/a.py")
Answers = Callable[[dict[str, Any]], dict[str, Any] | None]


async def read_with(answer_to: Answers, *, reads: bool = True, seconds: float = 0.05) -> tuple[str | None, list[Any]]:
    """What is read from a client that answers like this (None: not at all), and what it was sent."""
    to_north, to_client = os.pipe(), os.pipe()
    peer = Peer(DescriptorPipe(to_north[0], to_client[1]), NewlineFraming(), "$/cancel_request", lambda *_: None)
    client = DescriptorPipe(to_client[0], to_north[1])
    framing, seen = NewlineFraming(), list[Any]()
    found: list[str | None] = []

    async def act() -> None:
        while data := await client.receive():
            for frame in framing.feed(data):
                assert isinstance(frame, dict)
                message = frame
                seen.append(message)
                answer = answer_to(message)
                if answer is not None:
                    await client.send(framing.encode({"jsonrpc": "2.0", "id": message["id"], **answer}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(peer.serve, [])
        tasks.start_soon(act)
        files = ClientFiles(peer, "s1", Client(reads_files=reads), seconds)
        with anyio.fail_after(30):
            found.append(await files.read_unsaved(PATH))
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    for descriptor in (*to_north, *to_client):
        os.close(descriptor)
    return found[0], seen


def content(message: dict[str, Any]) -> dict[str, Any] | None:
    return {"result": {"content": "open text"}} if message.get("method") == "fs/read_text_file" else None


async def test_an_open_text_comes_from_the_client() -> None:
    text, seen = await read_with(content, seconds=5)
    assert text == "open text"
    assert seen[0]["params"] == {"sessionId": "s1", "path": str(PATH)}


async def test_a_client_that_reads_nothing_is_not_asked() -> None:
    assert await read_with(content, reads=False) == (None, [])


async def test_a_client_that_does_not_answer_in_time_has_nothing() -> None:
    assert FILE_SECONDS == 2.0
    text, seen = await read_with(lambda message: None)
    assert (text, seen[0]["method"]) == (None, "fs/read_text_file")


async def test_an_error_and_nonsense_are_nothing() -> None:
    answers: list[dict[str, Any]] = [{"error": {"code": -32002, "message": "not open"}}, {"result": {"content": 1}}]
    for answer in [*answers, {"result": None}]:

        def always(message: dict[str, Any], answer: dict[str, Any] = answer) -> dict[str, Any]:
            return answer

        assert (await read_with(always, seconds=5))[0] is None
