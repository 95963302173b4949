"""The peer on real pipes: order, cancelling both ways, slow readers, late answers, the end of input."""

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from north_lsp.rpc.framing import NewlineFraming
from north_lsp.rpc.messages import Params, RpcError
from north_lsp.rpc.peer import Call, Peer
from north_lsp.rpc.pipe import DescriptorPipe
from tests.support.patience import PATIENCE


class Echo:
    """A service whose methods the tests steer."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self.seen: list[tuple[str, Params]] = []
        self.hold = anyio.Event()
        self.entered = anyio.Event()
        self.cancelled = anyio.Event()

    def owns(self, method: str) -> bool:
        return not method.startswith("unknown")

    async def request(self, method: str, params: Params, call: Call) -> object:
        self.seen.append((method, params))
        match method:
            case "hold" | "hold/own":
                self.entered.set()
                if method == "hold/own":
                    call.on_cancel = self.hold.set
                try:
                    await self.hold.wait()
                except anyio.get_cancelled_exc_class():
                    self.cancelled.set()
                    raise
                return {"held": True}
            case "fail":
                raise RpcError(-32000, "no\nway")
            case "crash":
                raise RuntimeError("secret")
            case "ask":
                assert self.peer is not None
                return {"answer": await self.peer.request("question", {}, cancellable=True)}
            case "flood":
                assert self.peer is not None
                for number in range(params["count"]):
                    await self.peer.notify("tick", {"number": number, "text": "x" * 1000})
                return {}
            case "not/json":
                return {"value": object()}
            case _:
                return params

    async def notification(self, method: str, params: Params) -> None:
        self.seen.append((method, params))


class Other:
    """The other end of the pipes."""

    def __init__(self, pipe: DescriptorPipe, write_fd: int) -> None:
        self._pipe = pipe
        self._write_fd = write_fd
        self._framing = NewlineFraming()
        self._frames: list[Any] = []

    async def send(self, *messages: object) -> None:
        for message in messages:
            await self._pipe.send(
                self._framing.encode({"jsonrpc": "2.0", **message} if isinstance(message, dict) else message)
            )

    async def receive(self) -> Any:
        with anyio.fail_after(PATIENCE):
            while not self._frames:
                data = await self._pipe.receive()
                if not data:
                    return None
                self._frames.extend(self._framing.feed(data))
            return self._frames.pop(0)

    async def until(self, wanted: Callable[[Any], bool]) -> Any:
        while not wanted(message := await self.receive()):
            pass
        return message

    def close_input(self) -> None:
        os.close(self._write_fd)


@asynccontextmanager
async def connection(failures: list[str] | None = None) -> AsyncIterator[tuple[Echo, Other, list[int]]]:
    to_peer_read, to_peer_write = os.pipe()
    from_peer_read, from_peer_write = os.pipe()
    service, codes = Echo(), list[int]()
    pipe = DescriptorPipe(to_peer_read, from_peer_write)
    noted = failures if failures is not None else []
    peer = service.peer = Peer(pipe, NewlineFraming(), "$/cancel_request", lambda where, error: noted.append(where))
    other = Other(DescriptorPipe(from_peer_read, to_peer_write), to_peer_write)

    async def serve() -> None:
        codes.append(await peer.serve([service]))

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            with anyio.fail_after(PATIENCE):
                yield service, other, codes
            peer.stop(0)
    finally:
        for fd in (to_peer_read, to_peer_write, from_peer_read, from_peer_write):
            try:
                os.close(fd)
            except OSError:
                continue


async def test_answers_carry_the_id_with_its_type_and_errors_are_one_line() -> None:
    failures: list[str] = []
    async with connection(failures) as (_, other, _):
        await other.send({"id": "1", "method": "a", "params": {"x": 1}}, {"id": 1, "method": "fail"})
        await other.send(
            {"id": 2, "method": "crash"}, {"id": 3, "method": "unknown/m"}, {"id": 4, "method": "not/json"}
        )
        answers = {json.dumps(message["id"]): message for message in [await other.receive() for _ in range(5)]}
        assert answers['"1"']["result"] == {"x": 1}
        assert answers["1"]["error"] == {"code": -32000, "message": "no way"}
        assert answers["2"]["error"]["code"] == -32603
        assert "secret" not in json.dumps(answers["2"])
        assert answers["3"]["error"]["code"] == -32601
        assert answers["4"]["error"]["code"] == -32603
    assert failures == ["crash", "not/json"]


async def test_a_cancelled_request_is_answered_so_and_a_service_may_answer_better() -> None:
    async with connection() as (service, other, _):
        await other.send({"id": 1, "method": "hold"})
        await service.entered.wait()
        await other.send({"method": "$/cancel_request", "params": {"requestId": 1}})
        assert (await other.receive())["error"]["code"] == -32800
        assert service.cancelled.is_set()
        service.entered = anyio.Event()
        await other.send({"id": 2, "method": "hold/own"})
        await service.entered.wait()
        await other.send({"method": "$/cancelRequest", "params": {"id": 2}})
        assert (await other.receive())["result"] == {"held": True}


async def test_requests_that_cross_are_kept_apart() -> None:
    async with connection() as (_, other, _):
        await other.send({"id": "n1", "method": "ask"})
        question = await other.receive()
        assert (question["method"], question["id"]) == ("question", "n1")
        await other.send({"id": "n1", "result": 42})
        assert await other.receive() == {"jsonrpc": "2.0", "id": "n1", "result": {"answer": 42}}


async def test_a_withdrawn_question_is_told_and_its_late_answer_dropped() -> None:
    async with connection() as (_, other, _):
        await other.send({"id": 1, "method": "ask"})
        question = await other.receive()
        await other.send({"method": "$/cancel_request", "params": {"requestId": 1}})
        told = await other.receive()
        assert (told["method"], told["params"]) == ("$/cancel_request", {"requestId": question["id"]})
        assert (await other.receive())["error"]["code"] == -32800
        await other.send({"id": question["id"], "result": 1}, {"id": 2, "method": "still"})
        assert (await other.receive())["id"] == 2


async def test_a_slow_reader_holds_the_writer_but_not_the_reading() -> None:
    async with connection() as (service, other, _):
        await other.send({"id": 1, "method": "flood", "params": {"count": 5000}}, {"id": 2, "method": "hold"})
        await service.entered.wait()
        await other.send({"method": "seen"}, {"method": "$/cancel_request", "params": {"requestId": 2}})
        await service.cancelled.wait()
        assert ("seen", {}) in service.seen
        ticks: list[int] = []

        def last(message: Any) -> bool:
            if message.get("method") == "tick":
                ticks.append(message["params"]["number"])
            return bool(message.get("id") == 1)

        await other.until(last)
        assert ticks == list(range(5000))


async def test_nothing_follows_an_answer_at_once_to_who_would_lose_it() -> None:
    async with connection() as (service, other, _):
        peer = service.peer
        assert peer is not None
        peer.rest_after_answers(0.2)
        await other.send({"id": 1, "method": "echo", "params": {}})
        await other.receive()
        answered = anyio.current_time()
        await peer.notify("said", {})
        assert (await other.receive())["method"] == "said"
        assert anyio.current_time() - answered > 0.1
        told = anyio.current_time()
        await peer.notify("said", {})
        await other.receive()
        assert anyio.current_time() - told < 0.2


async def test_a_cancel_in_the_middle_of_a_frame_leaves_the_frame_whole() -> None:
    async with connection() as (_, other, _):
        await other.send({"id": 1, "method": "flood", "params": {"count": 1000}})
        await other.receive()
        await other.send({"method": "$/cancel_request", "params": {"requestId": 1}}, {"id": 2, "method": "after"})
        found = await other.until(lambda message: message.get("id") in (1, 2) and "tick" not in message.values())
        assert found is not None


async def test_the_end_of_input_ends_the_peer_even_if_nobody_reads_or_answers() -> None:
    async with connection() as (service, other, codes):
        await other.send({"id": 1, "method": "ask"}, {"id": 2, "method": "flood", "params": {"count": 5000}})
        await other.receive()
        other.close_input()
        with anyio.fail_after(PATIENCE):
            while not codes:
                await anyio.lowlevel.checkpoint()
        assert codes == [0]
        assert [method for method, _ in service.seen] == ["ask", "flood"]


@pytest.mark.parametrize("bad", [b"{broken\n", b"[]\n", b"5\n", b'{"jsonrpc":"2.0","id":null,"method":"x"}\n'])
async def test_bad_input_is_answered_and_the_connection_lives(bad: bytes) -> None:
    async with connection() as (_, other, _):
        os.write(other._write_fd, bad)
        assert (await other.receive())["id"] is None
        await other.send({"id": 1, "method": "fine"})
        assert (await other.receive())["result"] == {}
