"""What the user sends while a turn runs, how it is seen and changed, and what comes back when the turn does not end
well; and what a client hears of all that."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from north_lsp.agent.log.prompt import TextPart
from north_lsp.agent.ports.events import QueueChanged
from north_lsp.agent.session.keeping.saved import SavedConversation
from north_lsp.agent.turn.queue import PromptQueue, QueuedPrompt
from tests.end_to_end.test_faults import configure, entries, fail, opened, prompt, sent, texts
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Gate, Say, answer, call


def events(client: RawAcpClient) -> list[dict[str, Any]]:
    return [message["params"] for _, message in client.transcript if message.get("method") == "_north/event"]


@asynccontextmanager
async def listening(world: World) -> AsyncIterator[tuple[RawAcpClient, str]]:
    """A client that has announced that it hears North's events."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        capabilities = {"_meta": {"north": {"events": True}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        session = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        yield client, str(session["sessionId"])


async def start(client: RawAcpClient, session: str, text: str, behavior: str | None = None) -> int:
    meta = {"_meta": {"north": {"behavior": behavior}}} if behavior else {}
    return await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks(text), **meta})


async def ask(client: RawAcpClient, session: str, method: str, **params: Any) -> Any:
    return await client.request(f"_north/{method}", {"sessionId": session, **params})


def said(server: ModelServer) -> list[str]:
    return [text for role, text in sent(server)[-1] if role == "user"]


async def test_a_prompt_for_the_end_of_the_turn_runs_then(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two.")), answer(Say("Three.")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        waiting = await start(client, session, "with a request", "followUp")
        added = await ask(client, session, "followUp", prompt=text_blocks("without one"))
        queue = await ask(client, session, "queue/list")
        assert [(row["text"], row["hasRequest"]) for row in queue["followUp"]] == [
            ("with a request", True),
            ("without one", False),
        ]
        assert queue["followUp"][1]["id"] == added["id"]
        server.open("here")
        assert (await client.answer(first))["stopReason"] == "end_turn"
        # The request answers when what was queued behind it has ended, too.
        assert (await client.answer(waiting))["stopReason"] == "end_turn"
        assert texts(client) == "One.Two.Three."
        assert said(server) == ["first", "with a request", "without one"]
        shown = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "user_message_chunk"]
        assert [update["content"]["text"] for update in shown] == ["without one"]


async def test_all_prompts_that_wait_may_be_taken_together(world: World, server: ModelServer) -> None:
    configure(world, **{"queue.followUpMode": "all", "queue.defaultBehavior": "followUp"})
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        requests = [await start(client, session, "first")]
        await server.reached("here")
        requests += [await start(client, session, text) for text in ("second", "third")]
        await ask(client, session, "followUp", prompt=text_blocks("fourth"))
        server.open("here")
        for request in requests:
            assert (await client.answer(request))["stopReason"] == "end_turn"
    assert said(server) == ["first", "second\n\nthird\n\nfourth"]


async def test_a_prompt_may_become_part_of_the_turn_that_runs(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Reading."), Gate("here"), call("list_root")), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        second = await start(client, session, "and that")
        assert [row["text"] for row in (await ask(client, session, "queue/list"))["steer"]] == ["and that"]
        server.open("here")
        assert (await client.answer(first))["stopReason"] == "end_turn"
        assert (await client.answer(second))["stopReason"] == "end_turn"
    assert len(server.requests) == 2
    assert said(server)[-1].endswith("and that")


@pytest.mark.parametrize(("mode", "ran"), [("immediate", False), ("wait", True)])
async def test_words_skip_calls_or_wait_for_them(world: World, server: ModelServer, mode: str, ran: bool) -> None:
    configure(world, **{"queue.interruptMode": mode, "queue.steeringMode": "all"})
    server.script(answer(Gate("here"), call("read_file", path="json/decoder.py")), answer(Say("Done.")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        await start(client, session, "one")
        await start(client, session, "two")
        await ask(client, session, "queue/list")
        server.open("here")
        await client.answer(first)
    assert len(server.requests) == 2
    told = " ".join(said(server))
    assert "one" in told
    assert "two" in told
    assert ("skipped: the user sent a new message" in told) != ran


async def test_what_waits_can_be_changed_moved_and_withdrawn(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two.")), answer(Say("Three.")))
    async with listening(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        ids = [
            (await ask(client, session, "followUp", prompt=text_blocks(text)))["id"] for text in ("one", "two", "three")
        ]
        await ask(client, session, "queue/edit", id=ids[0], text="uno")
        await ask(client, session, "queue/edit", id=ids[2], position=0)
        queue = await ask(client, session, "queue/withdraw", id=ids[1])
        assert queue == {"ok": True, "id": ids[1], "text": "two"}
        owned = await start(client, session, "owned", "followUp")
        rows = (await ask(client, session, "queue/list"))["followUp"]
        assert [row["text"] for row in rows] == ["three", "uno", "owned"]
        await ask(client, session, "queue/withdraw", id=rows[-1]["id"])
        assert (await client.answer(owned))["stopReason"] == "cancelled"
        with pytest.raises(RpcFailure, match="no queued prompt has the id"):
            await ask(client, session, "queue/edit", id=ids[1], text="zwei")
        with pytest.raises(RpcFailure, match="nothing to send"):
            await ask(client, session, "queue/edit", id=ids[0], text=" ")
        server.open("here")
        await client.answer(first)
        told = [event for event in events(client) if event["event"] == "queue_changed"]
    assert said(server) == ["first", "three", "uno"]
    shown = [[row["text"] for row in event["followUp"]] for event in told]
    assert shown[:5] == [
        ["one"],
        ["one", "two"],
        ["one", "two", "three"],
        ["uno", "two", "three"],
        ["three", "uno", "two"],
    ]
    assert shown[-1] == []


async def test_prompts_whose_requests_wait_run_in_the_order_that_the_user_gave_them(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("One."), Gate("here")), *(answer(Say(f"{number}.")) for number in range(3)))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        requests = [await start(client, session, text, "followUp") for text in ("one", "two", "three")]
        rows = (await ask(client, session, "queue/list"))["followUp"]
        moved = await ask(client, session, "queue/edit", id=rows[2]["id"], position=0)
        assert [row["text"] for row in moved["followUp"]] == ["three", "one", "two"]
        server.open("here")
        await client.answer(first)
        assert [(await client.answer(request))["stopReason"] for request in requests] == ["end_turn"] * 3
    assert said(server) == ["first", "three", "one", "two"]


async def test_a_cancel_gives_back_what_was_queued(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("never")))
    async with conversation(world, knows=True) as (client, session):
        first = await start(client, session, "first")
        await server.reached("never")
        await ask(client, session, "followUp", prompt=text_blocks("later"))
        await client.notify("session/cancel", {"sessionId": session})
        ended = await client.answer(first)
        assert ended["stopReason"] == "cancelled"
        assert [row["text"] for row in ended["_meta"]["north"]["queued"]] == ["later"]
        assert (await ask(client, session, "queue/list"))["followUp"] == []


def is_unsent(ended: dict[str, Any]) -> bool:
    assert ended["stopReason"] == "cancelled"
    return ended.get("_meta", {}).get("north", {}).get("unsent", False) is True


async def test_a_cancelled_prompt_says_whether_it_belongs_to_the_user_again(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("never")))
    async with conversation(world, knows=True) as (client, session):
        first = await start(client, session, "first")
        await server.reached("never")
        second = await start(client, session, "second", "followUp")
        await client.notify("session/cancel", {"sessionId": session})
        assert [is_unsent(await client.answer(one)) for one in (first, second)] == [False, True]


async def test_of_prompts_that_share_a_cancelled_turn_none_is_unsent(world: World, server: ModelServer) -> None:
    configure(world, **{"queue.followUpMode": "all"})
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two."), Gate("never")))
    async with conversation(world, knows=True) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        requests = [await start(client, session, text, "followUp") for text in ("second", "third")]
        server.open("here")
        await client.answer(first)
        await server.reached("never")
        await client.notify("session/cancel", {"sessionId": session})
        assert [is_unsent(await client.answer(one)) for one in requests] == [False, False]


async def test_a_failure_gives_back_what_was_queued_and_asks_what_has_a_request(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("Hm."), Gate("here"), call("list_root")), fail(400, "x", "no"), answer(Say("Better.")))
    async with conversation(world, knows=True) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        await ask(client, session, "followUp", prompt=text_blocks("later"))
        second = await start(client, session, "second", "followUp")
        server.open("here")
        ended = await client.answer(first)
        assert [row["text"] for row in ended["_meta"]["north"]["queued"]] == ["later"]
        assert ended["_meta"]["north"]["error"] == {"kind": "bad_request", "status": 400, "retryable": False}
        assert (await client.answer(second))["stopReason"] == "end_turn"
        assert texts(client).endswith("Better.")


async def test_another_prompt_instead_of_the_turn_that_runs(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("never")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("never")
        await ask(client, session, "followUp", prompt=text_blocks("later"))
        done = await ask(client, session, "abortAndPrompt", prompt=text_blocks("instead"))
        assert (done["ok"], done["stopReason"]) == (True, "end_turn")
        assert [row["text"] for row in done["queued"]] == ["later"]
        assert (await client.answer(first))["stopReason"] == "cancelled"
        assert await ask(client, session, "abort") == {"ok": False, "queued": []}
    assert said(server)[-1] == "instead"


async def test_what_was_queued_behind_the_other_prompt_comes_back_too(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("never")), answer(Say("Two."), Gate("neither")))
    async with conversation(world, knows=True) as (client, session):
        await start(client, session, "first")
        await server.reached("never")
        await ask(client, session, "followUp", prompt=text_blocks("later"))
        params = {"sessionId": session, "prompt": text_blocks("instead")}
        instead = await client.start_request("_north/abortAndPrompt", params)
        await server.reached("neither")
        await ask(client, session, "followUp", prompt=text_blocks("more"))
        await client.notify("session/cancel", {"sessionId": session})
        done = await client.answer(instead)
        assert (done["stopReason"], [row["text"] for row in done["queued"]]) == ("cancelled", ["later", "more"])
        await client.request("session/close", {"sessionId": session})
        params = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        assert "queued" not in json.dumps(await client.request("session/load", params))


async def test_the_mode_of_a_prompt_is_the_one_it_was_sent_in(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two.")))
    async with conversation(world) as (client, session):
        first = await start(client, session, "first")
        await server.reached("here")
        second = await start(client, session, "second")
        await client.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        server.open("here")
        await client.answer(first)
        await client.answer(second)
    tools = [{tool["name"] for tool in request.body["tools"]} for request in server.requests]
    assert tools[0] == tools[1]


async def test_the_state_is_told_and_can_be_asked_for(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("here"), call("list_root")), answer(Say("Two.")))
    async with listening(world) as (client, session):
        assert (await ask(client, session, "state/get"))["state"] == "idle"
        first = await start(client, session, "first")
        await server.reached("here")
        state = await ask(client, session, "state/get")
        assert (state["state"], state["isStreaming"], state["mode"]) == ("streaming", True, "agent")
        assert state["model"].startswith("anthropic/")
        server.open("here")
        await client.answer(first)
        state = await ask(client, session, "state/set", autoRetryEnabled=False, interruptMode="wait")
        assert (state["autoRetryEnabled"], state["interruptMode"], state["state"]) == (False, "wait", "idle")
        assert state["messageCount"] == 4
        assert state["cost"]["amount"] > 0
        for wrong in ({"model": "x"}, {"steeringMode": "none"}, {"autoRetryEnabled": 1}):
            with pytest.raises(RpcFailure, match="-32602"):
                await ask(client, session, "state/set", **wrong)
        heard = events(client)
        stamps = [
            (message["params"].get("_meta", {}).get("north", {}) or message["params"])["seq"]
            for _, message in client.transcript
            if message.get("method") in ("session/update", "_north/event")
        ]
    assert stamps == list(range(1, len(stamps) + 1))
    states = [event["state"] for event in heard if event["event"] == "state_changed"]
    assert states == ["preparing", "streaming", "running_tools", "streaming", "idle"]
    names = [event["event"] for event in heard if event["event"] in ("turn_start", "turn_end", "attention")]
    assert names == ["turn_start", "turn_end", "attention"]
    assert all(event["timestamp"] > 1e12 and event["sessionId"] == session for event in heard)


async def test_attempts_are_told_as_events(world: World, server: ModelServer) -> None:
    configure(world, **{"retry.requestMaxRetries": 0, "retry.baseDelayMs": 8, "notifications": "off"})
    server.script(fail(529, "overloaded_error", "overloaded"), answer(Say("Here.")))
    async with listening(world) as (client, session):
        assert await prompt(client, session, "hello") == "end_turn"
        heard = [event for event in events(client) if event["event"].startswith("auto_retry")]
        assert "attention" not in {event["event"] for event in events(client)}
    assert [event["event"] for event in heard] == ["auto_retry_start", "auto_retry_tick", "auto_retry_end"]
    assert (heard[0]["attempt"], heard[0]["maxAttempts"]) == (1, 3)
    assert (heard[2]["success"], heard[2]["attempt"]) == (True, 1)
    assert not [entry for entry in entries(world) if entry["type"] == "auto_retry_start"]


async def test_a_cancelled_wait_is_told_as_the_end_of_the_attempts(world: World, server: ModelServer) -> None:
    configure(world, **{"retry.requestMaxRetries": 0, "retry.baseDelayMs": 100_000})
    server.script(fail(529, "overloaded_error", "overloaded"))
    async with listening(world) as (client, session):
        first = await start(client, session, "first")
        await client.wait(lambda message: message.get("params", {}).get("event") == "auto_retry_tick")
        assert (await ask(client, session, "state/get"))["isRetrying"] is True
        await client.notify("session/cancel", {"sessionId": session})
        assert (await client.answer(first))["stopReason"] == "cancelled"
        heard = events(client)
    ended = next(event for event in heard if event["event"] == "auto_retry_end")
    assert (ended["success"], ended["finalError"]) == (False, "cancelled by the user")
    states = [event["state"] for event in heard if event["event"] == "state_changed"]
    assert states == ["preparing", "streaming", "retrying", "cancelling", "idle"]


async def test_the_first_prompts_come_in_their_order(world: World, server: ModelServer) -> None:
    """Also where the conversation has yet to be opened for writing."""
    texts = [f"Prompt {number}" for number in range(8)]
    for _ in range(3):
        server.script(*[answer(Say("Yes.")) for _ in texts])
        async with conversation(world) as (client, session):
            meta = {"north": {"behavior": "followUp"}}
            asked = [
                await client.start_request(
                    "session/prompt",
                    {"sessionId": session, "prompt": [{"type": "text", "text": text}], "_meta": meta},
                )
                for text in texts
            ]
            for id in asked:
                assert (await client.answer(id))["stopReason"] == "end_turn"
        said = [text for role, text in sent(server)[-1] if role == "user"]
        assert said == texts


async def test_a_cancel_right_behind_the_first_prompts_finds_them_all(world: World, server: ModelServer) -> None:
    async with conversation(world) as (client, session):
        asked = [
            await client.start_request(
                "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": f"Prompt {number}"}]}
            )
            for number in range(3)
        ]
        await client.notify("session/cancel", {"sessionId": session})
        for id in asked:
            assert (await client.answer(id))["stopReason"] == "cancelled"


def hold_writing(monkeypatch: pytest.MonkeyPatch, holds: Callable[[], bool]) -> tuple[asyncio.Event, asyncio.Event]:
    """Have a conversation wait for the second event as it is written to the disk, where it `holds`; sets the first."""
    writing, stopped = asyncio.Event(), asyncio.Event()
    sync = SavedConversation.sync

    async def slow(saved: SavedConversation) -> None:
        if holds():
            writing.set()
            await stopped.wait()
        await sync(saved)

    monkeypatch.setattr(SavedConversation, "sync", slow)
    return writing, stopped


async def test_a_prompt_is_in_the_conversation_or_back_with_the_user_but_never_both(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user stops just as a prompt that had waited is written to the disk."""
    writing, stopped = hold_writing(
        monkeypatch, lambda: any('"role":"user"' in line and "later" in line for line in world.log_entries())
    )
    server.script(answer(Say("One."), Gate("here")), answer(Say("Two."), Gate("never")))
    async with inside(world.environ, None, {"events": True}) as client:
        session = await opened(client, world)
        first = await start(client, session, "first")
        await server.reached("here")
        await ask(client, session, "followUp", prompt=text_blocks("later"))
        server.open("here")
        await asyncio.wait_for(writing.wait(), PATIENCE)
        await client.notify("session/cancel", {"sessionId": session})
        await ask(client, session, "queue/list")
        stopped.set()
        ended = await client.answer(first)
        assert "queued" not in ended.get("_meta", {}).get("north", {})
    said = [row for row in entries(world) if row.get("role") == "user" or row.get("message", {}).get("role") == "user"]
    assert json.dumps(said).count('"later"') == 1


async def test_the_turn_of_a_prompt_that_is_stored_as_the_user_stops_is_told_of(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing, stopped = hold_writing(monkeypatch, lambda: True)
    async with inside(world.environ, None, {"events": True}) as client:
        session = await opened(client, world)
        first = await start(client, session, "first")
        await asyncio.wait_for(writing.wait(), PATIENCE)
        await client.notify("session/cancel", {"sessionId": session})
        await ask(client, session, "queue/list")
        stopped.set()
        assert not is_unsent(await client.answer(first))
        told = [event["event"] for event in events(client)]
    assert told.index("turn_start") < told.index("turn_end")


async def test_what_is_taken_from_the_queue_reaches_who_takes_it() -> None:
    """Whoever waits is told of the queue; the user stops meanwhile."""
    telling, told = anyio.Event(), anyio.Event()

    async def show(event: QueueChanged) -> None:
        if not event.follow_up:
            telling.set()
            await told.wait()

    queue = PromptQueue(show)
    prompt = queue.put("followUp", (TextPart("later"),), "agent")
    taken: list[QueuedPrompt] = []
    async with anyio.create_task_group() as tasks:

        async def take() -> None:
            taken.extend(await queue.take_follow_ups(prompt))

        await queue.changed()
        tasks.start_soon(take)
        await telling.wait()
        tasks.cancel_scope.cancel()
        told.set()
    assert taken == [prompt]
