"""What happens between two events of an answer: a cancel, a failure, another model. Nothing that was shown is lost,
nothing stands twice, and each call has its result."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from itertools import pairwise
from typing import Any

import pytest

from north_lsp.acp.editor import AcpEditor
from north_lsp.agent.costs.recorder import CostRecorder
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.ports.events import CallReady, Event, UsageChanged
from north_lsp.providers.base import (
    AssistantMessage,
    BlockEnd,
    CallDelta,
    CallStart,
    Done,
    Failed,
    ModelRequest,
    Provider,
    StreamEvent,
    Text,
    TextDelta,
    ToolCall,
    Usage,
)
from north_lsp.providers.credentials import MissingCredential
from north_lsp.providers.model import Model
from north_lsp.providers.pool import ProviderPool
from tests.end_to_end.test_faults import configure, entries, opened, prompt, texts
from tests.end_to_end.test_file_blocks import WHOLE, block, reload, shown_calls
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.inside import inside
from tests.support.played import play

Events = AsyncGenerator[StreamEvent, None]


def done(text: str) -> Done:
    return Done("stop", AssistantMessage((Text(text),)))


def failed(text: str, kind: Any = "network", *, retryable: bool = False) -> Failed:
    return Failed(kind, "it is gone", AssistantMessage((Text(text),)), retryable=retryable)


async def start(client: RawAcpClient, session: str, text: str) -> int:
    return await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks(text)})


async def same_after_loading(client: RawAcpClient, world: World, session: str) -> None:
    live = texts(client), shown_calls(client)
    await reload(client, world, session)
    assert (texts(client), shown_calls(client)) == live


def results(world: World) -> dict[str, str]:
    messages = [entry["message"] for entry in entries(world) if entry["type"] == "message"]
    return {one["toolCallId"]: one["content"][0]["text"] for one in messages if one["role"] == "toolResult"}


class Held:
    """Something that a test stops at a place: `reached` tells that it is there, `go` lets it on."""

    def __init__(self) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.go.wait()


async def cancel_where_held(client: RawAcpClient, session: str, text: str, held: Held) -> None:
    request = await start(client, session, text)
    await held.reached.wait()
    await client.notify("session/cancel", {"sessionId": session})
    assert (await client.answer(request))["stopReason"] == "cancelled"


async def test_an_answer_that_becomes_too_long_in_the_middle_is_kept(world: World) -> None:
    answers = 0

    async def stream(request: ModelRequest) -> Events:
        nonlocal answers
        answers += 1
        if answers == 1:
            yield TextDelta(0, "Half of it. ")
            yield CallStart(1, "c1", "read_file")
            yield failed("Half of it. ", "context_overflow")
            return
        yield TextDelta(0, "Whole.")
        yield done("Whole.")

    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert "Half of it." in texts(client)
        assert texts(client).endswith("Whole.")
        assert [status for _, status in shown_calls(client)] == ["failed"]
    kept = [entry for entry in entries(world) if entry.get("message", {}).get("role") == "assistant"]
    assert [entry["message"]["content"][0]["text"] for entry in kept] == ["Half of it. ", "Whole."]
    assert "c1" in results(world)


async def test_a_cancel_while_another_model_is_looked_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held, before = Held(), ProviderPool.get

    async def get(self: ProviderPool, model: Model) -> Provider:
        if model.id == "m-2":
            await held()
        return await before(self, model)

    async def stream(request: ModelRequest) -> Events:
        yield TextDelta(0, "Half of an answer")
        yield CallStart(1, "c1", "read_file")
        yield CallDelta(1, '{"path": "json/de')
        yield failed("Half of an answer")

    monkeypatch.setattr(ProviderPool, "get", get)
    configure(world, **{"retry.fallbackChains": {"played/m-1": ["played/m-2"]}})
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        await cancel_where_held(client, session, "go", held)
        assert [status for _, status in shown_calls(client)] == ["failed"]
        await same_after_loading(client, world, session)
    assert "c1" in results(world)


async def test_a_cancel_right_behind_an_answer_with_calls(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held, before = Held(), AcpEditor.show

    async def show(self: AcpEditor, event: Event) -> None:
        if isinstance(event, UsageChanged):
            await held()
        await before(self, event)

    async def stream(request: ModelRequest) -> Events:
        call = ToolCall("c1", "read_file", {"path": "json/decoder.py"})
        yield CallStart(0, "c1", "read_file")
        yield CallDelta(0, json.dumps(call.arguments))
        yield BlockEnd(0, call)
        yield Done("toolUse", AssistantMessage((call,), "toolUse", Usage(10, 10)))

    monkeypatch.setattr(AcpEditor, "show", show)
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        await cancel_where_held(client, session, "go", held)
        assert [status for _, status in shown_calls(client)] == ["failed"]
    assert "CANCELLED" in results(world)["c1"]


async def test_giving_up_to_wait_for_the_rest_of_a_file(world: World) -> None:
    async def stream(request: ModelRequest) -> Events:
        text = "Here.\n" + block(WHOLE, end=False)
        yield TextDelta(0, text)
        yield failed(text, retryable=True)

    async def reject(params: dict[str, Any]) -> dict[str, Any]:
        return {"outcome": {"outcome": "selected", "optionId": "reject"}}

    configure(world, **{"retry.baseDelayMs": 100_000, "retry.streamMaxRetries": 0})
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        client.handlers["session/request_permission"] = reject
        session = await opened(client, world)
        request = await start(client, session, "go")
        await client.wait_update(lambda update: str(update.get("toolCallId", "")).startswith("retry-"))
        assert await client.request("_north/retry/abort", {"sessionId": session}) == {"ok": True}
        assert (await client.answer(request))["_meta"]["north"]["error"]["kind"] == "network"
        await client.request("session/close", {"sessionId": session})
    kept = [entry for entry in entries(world) if entry.get("message", {}).get("role") == "assistant"]
    assert len(kept) == 1


# -- the user's own commands -----------------------------------------------------------------------------------------


async def test_an_own_command_that_ends_while_the_turn_winds_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held, go_on, before = Held(), asyncio.Event(), CostRecorder.finish

    async def settle(self: CostRecorder) -> None:
        if go_on.is_set():
            await held()
        await before(self)

    async def stream(request: ModelRequest) -> Events:
        yield TextDelta(0, "x")
        await go_on.wait()
        yield done("x")

    monkeypatch.setattr(CostRecorder, "finish", settle)
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        request = await start(client, session, "go")
        await client.wait_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        go_on.set()
        await held.reached.wait()
        own = await start(client, session, "!echo own-output")
        assert (await client.answer(own))["stopReason"] == "end_turn"
        held.go.set()
        assert (await client.answer(request))["stopReason"] == "end_turn"
        await same_after_loading(client, world, session)
    assert "own-output" in "".join(world.log_entries())


async def test_what_the_user_runs_beside_a_turn_is_kept_at_once_and_read_by_the_next_request(world: World) -> None:
    held, requests = Held(), list[ModelRequest]()

    async def stream(request: ModelRequest) -> Events:
        requests.append(request)
        if len(requests) == 3:
            yield TextDelta(0, "All read.")
            yield done("All read.")
            return
        call = ToolCall(f"c{len(requests)}", "list_root", {})
        yield CallStart(0, call.id, call.name)
        if len(requests) == 1:
            await held()
        yield BlockEnd(0, call)
        yield Done("toolUse", AssistantMessage((call,), "toolUse"))

    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        request = await start(client, session, "go")
        await held.reached.wait()
        own = await start(client, session, "!echo own-output")
        assert (await client.answer(own))["stopReason"] == "end_turn"
        assert "own-output" in "".join(world.log_entries())  # whatever becomes of this process
        held.go.set()
        assert (await client.answer(request))["stopReason"] == "end_turn"
        live = texts(client), sorted(shown_calls(client))
        await reload(client, world, session)
        assert (texts(client), sorted(shown_calls(client))) == live
    for before, after in pairwise(requests):
        assert list(after.messages)[: len(before.messages)] == list(before.messages)
    assert sum("own-output" in str(message) for message in requests[1].messages) == 1


async def test_an_own_command_beside_a_turn_that_never_gets_to_a_model(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()

    async def answering(self: ModelChoice) -> tuple[Model, Provider]:
        await held()
        raise MissingCredential("there is no key")

    async def stream(request: ModelRequest) -> Events:
        yield done("x")

    monkeypatch.setattr(ModelChoice, "answering", answering)
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        request = await start(client, session, "go")
        await held.reached.wait()
        own = await start(client, session, "!echo own-output")
        assert (await client.answer(own))["stopReason"] == "end_turn"
        held.go.set()
        with pytest.raises(RpcFailure, match="there is no key"):
            await client.answer(request)
    assert "own-output" in "".join(world.log_entries())


async def test_an_own_command_that_is_cancelled_before_it_begins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    held, before = Held(), AcpEditor.show

    async def show(self: AcpEditor, event: Event) -> None:
        await before(self, event)
        if isinstance(event, CallReady) and not held.reached.is_set():
            await held()

    monkeypatch.setattr(AcpEditor, "show", show)
    async with inside(world.environ, "offline") as client:
        session = await opened(client, world)
        await cancel_where_held(client, session, "!echo hi", held)
        assert [status for _, status in shown_calls(client)] == ["failed"]
    assert "bashExecution" in "".join(world.log_entries())


# -- modes -------------------------------------------------------------------------------------------------------------


async def test_words_of_another_mode_wait_for_a_turn_of_their_own(world: World) -> None:
    held, offered = Held(), list[bool]()

    async def stream(request: ModelRequest) -> Events:
        offered.append(any(tool.name == "edit_replace_exact" for tool in request.tools))
        yield TextDelta(0, "x")
        if len(offered) == 1:
            await held()
        yield done("x")

    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        first = await start(client, session, "change it")
        await held.reached.wait()
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        told = {"sessionId": session, "prompt": text_blocks("a word")}
        assert await client.request("_north/steer", told) == {"delivered": False}
        second = await start(client, session, "only explain")
        queue = await client.request("_north/queue/list", {"sessionId": session})
        assert [row["text"] for row in queue["followUp"]] == ["only explain"]
        held.go.set()
        for request in (first, second):
            assert (await client.answer(request))["stopReason"] == "end_turn"
    assert offered == [True, False]


# -- extensions that misbehave -----------------------------------------------------------------------------------------


async def cancelled(request: ModelRequest) -> Events:
    yield TextDelta(0, "Half")
    raise asyncio.CancelledError


async def left(request: ModelRequest) -> Events:
    yield TextDelta(0, "Half")
    raise SystemExit(3)


async def odd_arguments(request: ModelRequest) -> Events:
    yield TextDelta(0, "Half")
    yield Done("toolUse", AssistantMessage((Text("Half"), ToolCall("a", "read_file", {"path": object()})), "toolUse"))


def no_generator(request: ModelRequest) -> Any:
    return None


@pytest.mark.parametrize("stream", [cancelled, left, odd_arguments, no_generator], ids=lambda one: one.__name__)
async def test_an_extension_that_misbehaves_is_a_failure_like_any_other(
    world: World, stream: Callable[[ModelRequest], Events]
) -> None:
    async with inside(world.environ, play(world.folder / "config", stream)) as client:
        session = await opened(client, world)
        assert await prompt(client, session, "Hi") == "end_turn"
        assert "fix its extension" in texts(client)
        assert texts(client).startswith("Half") == (stream is not no_generator)
        await same_after_loading(client, world, session)
