"""Code completed at the cursor by a small model, where the user has switched that on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.support.lsp_client import Failed, LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, stop

TEXT = "def add(a, b):\n    return \n\nprint(add(1, 2))\n"
INVOKED, AUTOMATIC = 1, 2


RENAMED = TEXT.replace("def add", "def total")
WHOLE = RENAMED.replace("print(add", "print(total")


def with_setting(world: World, name: str) -> World:
    settings = world.folder / "config" / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {name: True}))
    return world


@pytest.fixture
def on(world: World) -> World:
    return with_setting(world, "completion.inline")


@pytest.fixture
def predicting(world: World) -> World:
    return with_setting(world, "completion.nextEdits")


def opened(client: LspClient, path: Path) -> str:
    path.write_text(TEXT)
    client.open(path.as_uri())
    return path.as_uri()


async def complete(client: LspClient, uri: str, kind: int = INVOKED, line: int = 1) -> Any:
    place = {"line": line, "character": 11}
    about = {"textDocument": {"uri": uri}, "position": place, "context": {"triggerKind": kind}}
    return await client.request("textDocument/inlineCompletion", **about)


async def test_a_small_model_completes_what_has_begun(on: World, server: ModelServer) -> None:
    server.script(answer(Say("```python\n    return a + b\n```")))
    async with lsp_client(on) as client:
        uri = opened(client, on.project / "add.py")
        place = {"line": 1, "character": 11}
        found = await complete(client, uri)
        assert found == {"items": [{"insertText": "a + b", "range": {"start": place, "end": place}}]}
    (request,) = server.requests
    assert "haiku" in request.body["model"]
    assert "tools" not in request.body


async def test_only_the_last_pause_is_asked_about(on: World, server: ModelServer) -> None:
    server.script(answer(Say("a + b")))
    async with lsp_client(on) as client:
        uri = opened(client, on.project / "add.py")
        first, second = [asyncio.create_task(complete(client, uri, AUTOMATIC)) for _ in range(2)]
        assert await first is None
        assert (await second)["items"][0]["insertText"] == "a + b"
    assert len(server.requests) == 1


@pytest.mark.parametrize("ends", ["cancelled", "newer"])
async def test_what_the_model_writes_is_ended_by_a_cancel_and_by_a_newer_request(
    on: World, server: ModelServer, ends: str
) -> None:
    server.script(answer(Say("a"), Gate("never")), answer(Say("a + b")))
    async with lsp_client(on) as client:
        uri = opened(client, on.project / "add.py")
        asked = asyncio.create_task(complete(client, uri))
        await server.reached("never")
        if ends == "cancelled":
            client.cancel()
            with pytest.raises(Failed):
                await asked
        else:
            assert (await complete(client, uri))["items"][0]["insertText"] == "a + b"
            assert await asked is None
        await asyncio.to_thread(server.wait_disconnect)


async def test_nothing_is_asked_while_it_is_off(world: World, server: ModelServer) -> None:
    async with lsp_client(world) as client:
        assert await complete(client, opened(client, world.project / "add.py")) is None
    assert server.requests == []


async def test_nothing_of_a_closed_file_or_of_another_folder_is_sent(on: World, server: ModelServer) -> None:
    (on.project / ".northignore").write_text("closed.py\n")
    async with lsp_client(on) as client:
        assert await complete(client, opened(client, on.project / "closed.py")) == {"items": []}
        assert await complete(client, opened(client, on.folder / "elsewhere.py")) is None
        with pytest.raises(Failed, match="position"):
            await client.request(
                "textDocument/inlineCompletion", textDocument={"uri": "file:///x"}, position={"line": "a"}
            )
    assert server.requests == []


async def test_nothing_is_asked_once_a_limit_is_reached(on: World, server: ModelServer) -> None:
    settings = on.folder / "config" / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"cost.dayLimitUsd": 0.000001}))
    server.script(answer(Say("Hello.")))
    async with lsp_client(on) as client:
        uri = opened(client, on.project / "add.py")
        await client.command("north.ask", "Say hello")
        assert await complete(client, uri) == {"items": []}
    assert len(server.requests) == 1


async def test_the_edit_that_follows_from_the_last_one_is_proposed(predicting: World, server: ModelServer) -> None:
    server.script(answer(Say(WHOLE)))
    async with lsp_client(predicting, options={"nextEdits": True}) as client:
        uri = opened(client, predicting.project / "add.py")
        assert await complete(client, uri) == {"items": []}  # nothing was changed yet
        client.set(uri, RENAMED)
        place = {"start": {"line": 3, "character": 6}, "end": {"line": 3, "character": 9}}
        assert await complete(client, uri) == {"items": [{"insertText": "total", "range": place}]}
    (request,) = server.requests
    asked = json.dumps(request.body["messages"])
    assert "-def add(a, b):" in asked
    assert "+def total(a, b):" in asked
    assert "haiku" in request.body["model"]


async def test_a_client_that_knows_only_lsp_gets_edits_of_the_line_with_the_cursor(
    predicting: World, server: ModelServer
) -> None:
    server.script(answer(Say(WHOLE)), answer(Say(WHOLE)))
    async with lsp_client(predicting) as client:
        uri = opened(client, predicting.project / "add.py")
        client.set(uri, RENAMED)
        assert await complete(client, uri, line=0) == {"items": []}
        found = await complete(client, uri, line=3)
        assert [one["insertText"] for one in found["items"]] == ["total"]


async def test_nothing_of_a_closed_file_is_told_of_the_last_edits(predicting: World, server: ModelServer) -> None:
    (predicting.project / ".northignore").write_text("closed.py\n")
    server.script(answer(Say(WHOLE)))
    async with lsp_client(predicting, options={"nextEdits": True}) as client:
        closed = opened(client, predicting.project / "closed.py")
        client.set(closed, "secret words\n")
        assert await complete(client, closed) == {"items": []}
        uri = opened(client, predicting.project / "add.py")
        client.set(uri, RENAMED)
        assert len((await complete(client, uri))["items"]) == 1
    assert "secret words" not in json.dumps([request.body for request in server.requests])
    assert len(server.requests) == 1


async def test_an_answer_that_was_cut_off_is_no_edit(predicting: World, server: ModelServer) -> None:
    server.script(answer(Say(WHOLE), stop("max_tokens")))
    async with lsp_client(predicting, options={"nextEdits": True}) as client:
        uri = opened(client, predicting.project / "add.py")
        client.set(uri, RENAMED)
        assert await complete(client, uri) == {"items": []}


async def test_a_client_with_a_chat_is_answered_by_its_own_conversation(predicting: World, server: ModelServer) -> None:
    server.script(answer(Say(WHOLE)))
    own = {"acp": True, "clientCapabilities": {"_meta": {"north": {"nextEdits": True}}}}
    async with lsp_client(predicting, options=own) as client:
        uri = opened(client, predicting.project / "add.py")
        client.set(uri, RENAMED)
        assert await complete(client, uri) is None  # no conversation is open
        await client.request("session/new", cwd=str(predicting.project), mcpServers=[])
        assert len((await complete(client, uri))["items"]) == 1
