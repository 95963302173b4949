"""Code completed at the cursor by a small model, where the user has switched that on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.support.lsp_client import Failed, LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer

TEXT = "def add(a, b):\n    return \n\nprint(add(1, 2))\n"
INVOKED, AUTOMATIC = 1, 2


@pytest.fixture
def on(world: World) -> World:
    settings = world.folder / "config" / "config.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"completion.inline": True}))
    return world


def opened(client: LspClient, path: Path) -> str:
    path.write_text(TEXT)
    client.open(path.as_uri())
    return path.as_uri()


async def complete(client: LspClient, uri: str, kind: int = INVOKED) -> Any:
    place = {"line": 1, "character": 11}
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
