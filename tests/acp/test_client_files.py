"""Texts that the client has open, over real pipes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from north_lsp.acp.files import FILE_SECONDS, ClientFiles
from north_lsp.acp.initialize import Client
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.errors import UnsavedUnknown
from north_lsp.rpc.framing import NewlineFraming
from north_lsp.rpc.peer import Peer
from north_lsp.rpc.pipe import DescriptorPipe

PATH = Path("/p/a.py")
Answers = Callable[[dict[str, Any]], dict[str, Any] | None]


class Log:
    """What is logged; the log's own file is no matter here."""

    def event(self, level: str, name: str, **data: object) -> None: ...


async def read_with(
    answer_to: Answers, path: Path = PATH, *, reads: bool = True, seconds: float = 0.05
) -> tuple[str | UnsavedUnknown | None, list[Any]]:
    """What is read from a client that answers like this (None: not at all), and what it was sent."""
    to_north, to_client = os.pipe(), os.pipe()
    peer = Peer(DescriptorPipe(to_north[0], to_client[1]), NewlineFraming(), "$/cancel_request", lambda *_: None)
    client = DescriptorPipe(to_client[0], to_north[1])
    framing, seen = NewlineFraming(), list[Any]()
    found: list[str | UnsavedUnknown | None] = []

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
        files = ClientFiles(peer, "s1", Client(reads_files=reads), Diagnostics(cast(Any, Log())), seconds)
        with anyio.fail_after(30):
            try:
                found.append(await files.read_unsaved(path))
            except UnsavedUnknown as unknown:
                found.append(unknown)
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


async def test_of_a_client_that_does_not_answer_in_time_nothing_is_known() -> None:
    assert FILE_SECONDS == 5.0
    found, seen = await read_with(lambda message: None)
    assert isinstance(found, UnsavedUnknown)
    assert "did not answer within 0.05 s" in found.message
    assert seen[0]["method"] == "fs/read_text_file"


NONSENSE: list[dict[str, Any]] = [
    {"error": {"code": -32603, "message": "locked"}},
    {"result": {"content": 1}},
    {"result": None},
    {"result": {}},
]


@pytest.mark.parametrize("answer", NONSENSE)
async def test_an_error_and_nonsense_are_nothing_for_a_missing_file_alone(
    tmp_path: Path, answer: dict[str, Any]
) -> None:
    assert (await read_with(lambda message: answer, tmp_path / "a.py", seconds=5))[0] is None
    (tmp_path / "a.py").write_text("x")
    found, _ = await read_with(lambda message: answer, tmp_path / "a.py", seconds=5)
    assert isinstance(found, UnsavedUnknown)


@pytest.mark.parametrize("code", [-32002, -32601])
async def test_what_the_client_does_not_have_is_nothing(tmp_path: Path, code: int) -> None:
    (tmp_path / "a.py").write_text("x")
    answer = {"error": {"code": code, "message": "no"}}
    assert (await read_with(lambda message: answer, tmp_path / "a.py", seconds=5))[0] is None
