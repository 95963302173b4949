"""Texts that the client has open, over real pipes."""

import itertools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from north_lsp.acp import files as files_module
from north_lsp.acp.files import FILE_SECONDS, ClientFiles
from north_lsp.acp.initialize import Client
from north_lsp.agent.ports.diagnostics import Diagnostics
from north_lsp.errors import ToolError, UnsavedUnknown
from north_lsp.rpc.framing import NewlineFraming
from north_lsp.rpc.messages import RESOURCE_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.rpc.pipe import DescriptorPipe
from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.proposal import TextEncoding
from tests.support.patience import PATIENCE

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
        with anyio.fail_after(PATIENCE):
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
    assert FILE_SECONDS == 10.0
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


class Dropping:
    """A peer whose client answers (`a`), loses requests (`l`) or answers (`u`) in this order, and then answers all.
    Its files are on the disk, and `buffers` are open."""

    def __init__(self, order: Sequence[str], buffers: dict[Path, str]) -> None:
        self.order = list(order)
        self.buffers = buffers

    async def request(self, method: str, params: dict[str, Any], *, cancellable: bool = False) -> object:
        does = self.order.pop(0) if self.order else "a"
        if does == "l":
            await anyio.sleep_forever()
        path = Path(params["path"])
        answer: dict[str, Any] = {}
        if method == "fs/write_text_file" and path in self.buffers:
            self.buffers[path] = params["content"]
        elif method == "fs/write_text_file":
            path.write_text(params["content"])
        elif path in self.buffers:
            answer = {"content": self.buffers[path]}
        elif path.exists():
            answer = {"content": path.read_text()}
        else:
            raise RpcError(RESOURCE_NOT_FOUND, "no such file")
        if does == "u":
            await anyio.sleep_forever()
        return answer


@pytest.mark.parametrize(("minute", "second"), [(60.0, "0.01 s"), (0.0, "0.05 s")])
async def test_a_client_that_was_silent_is_waited_for_less_until_it_answers_or_a_minute_has_passed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minute: float, second: str
) -> None:
    monkeypatch.setattr(files_module, "_SILENT_SECONDS", 0.01)
    monkeypatch.setattr(files_module, "_AGAIN_SECONDS", minute)
    path = tmp_path / "a.txt"
    path.write_text("text")
    files = ClientFiles(
        cast(Any, Dropping("llal", {})), "s1", Client(reads_files=True), Diagnostics(cast(Any, Log())), 0.05
    )
    told: list[str] = []
    for _ in range(4):
        try:
            told.append(str(await files.read_unsaved(path)))
        except UnsavedUnknown as unknown:
            told.append(unknown.message.rsplit("within ", 1)[1])
    assert told == ["0.05 s", second, "text", "0.05 s"]


@pytest.mark.parametrize("kind", ["saved", "unsaved", "new"])
async def test_a_client_that_drops_requests_loses_no_text(tmp_path: Path, kind: str) -> None:
    """Whatever it drops: the accepted text stands and that is said, or the old one does, or what is left is named."""
    for number, order in enumerate(itertools.product("alu", repeat=4)):
        path = tmp_path / f"{number}.txt"
        disk, old = (None, None) if kind == "new" else ("one\n", "one\n" if kind == "saved" else "one of mine\n")
        if disk is not None:
            path.write_text(disk)
        buffers = {path: old} if kind == "unsaved" and old is not None else {}
        change = make_change(path, path.name, old, "two, accepted\n", TextEncoding())
        files = ClientFiles(
            cast(Any, Dropping(order, buffers)),
            "s1",
            Client(reads_files=True, writes_files=True),
            Diagnostics(cast(Any, Log())),
            0.005,
        )
        told = ""
        try:
            await files.apply([change])
        except ToolError as error:
            told = error.message
        now = buffers.get(path) or (path.read_text() if path.exists() else None)
        if not told:
            assert now == "two, accepted\n", order
        else:
            assert now == old or ("as the editor left it" in told and now == "two, accepted\n"), (order, told)
        if kind == "unsaved":
            assert path.read_text() in ("one\n", old, "two, accepted\n"), order
