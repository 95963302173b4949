"""Providers that an editor sends to an endpoint of its own: its headers go there, and no key of the user's does."""

import json
from typing import Any

import pytest

from tests.acp.test_models import agent, ask, new
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import answer, say

SECRET = "an-editors-secret-token"


async def current(client: RawAcpClient, id: str = "anthropic") -> dict[str, Any]:
    rows = (await client.request("providers/list"))["providers"]
    return next(dict(row) for row in rows if row["providerId"] == id)


def everything(world: World) -> str:
    files = [path for path in world.folder.rglob("*") if path.is_file() and "cache" not in path.parts]
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in files)


async def test_requests_go_where_the_editor_says_without_the_users_key(world: World, server: ModelServer) -> None:
    with ModelServer() as theirs:
        theirs.script(answer(say("From there.")))
        async with agent(world) as client:
            session, _ = await new(client, world)
            before = await current(client)
            assert before["supported"] == ["anthropic"]
            assert before["current"] == {"apiType": "anthropic", "baseUrl": server.url}
            route = {"providerId": "anthropic", "apiType": "anthropic", "baseUrl": f"{theirs.url}/"}
            assert await client.request("providers/set", {**route, "headers": {"X-Api-Key": SECRET}}) == {}
            assert (await current(client))["current"]["baseUrl"] == theirs.url
            await ask(client, session)
            told = json.dumps([message for sender, message in client.transcript if sender == "agent"])
        (request,) = theirs.requests
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert headers["x-api-key"] == SECRET
        assert "authorization" not in headers
    assert server.requests == []
    assert "there." in told
    assert SECRET not in told
    assert SECRET not in everything(world)


async def test_a_provider_that_is_switched_off_gets_nothing_until_it_is_routed(
    world: World, server: ModelServer
) -> None:
    async with agent(world) as client:
        session, _ = await new(client, world)
        for id in ("anthropic", "nobody"):
            assert await client.request("providers/disable", {"providerId": id}) == {}
        assert "current" not in await current(client)
        models = (await client.request("_north/models/list", {"available": True}))["models"]
        assert not [row for row in models if row["provider"] == "anthropic"]
        with pytest.raises(RpcFailure, match="this editor has switched Anthropic off"):
            await ask(client, session)
        route = {"providerId": "anthropic", "apiType": "anthropic", "baseUrl": server.url}
        await client.request("providers/set", route)
        server.script(answer(say("Back.")))
        await ask(client, session)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"providerId": "nobody"}, "providerId"),
        ({"providerId": "offline"}, "providerId"),
        ({"apiType": "openai"}, "apiType"),
        ({"baseUrl": "ftp://example.com"}, "baseUrl"),
        ({"baseUrl": "https://me:pass@example.com"}, "baseUrl"),
        ({"baseUrl": "https://["}, "baseUrl"),
        ({"baseUrl": "example.com"}, "baseUrl"),
        ({"headers": {"X-Key": 1}}, "headers"),
        ({"headers": {"X-Key": "a\nb"}}, "headers"),
        ({"headers": {"X Key:": "a"}}, "headers"),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    world: World, server: ModelServer, change: dict[str, Any], field: str
) -> None:
    async with agent(world) as client:
        route = {"providerId": "anthropic", "apiType": "anthropic", "baseUrl": "https://example.com"}
        with pytest.raises(RpcFailure) as failure:
            await client.request("providers/set", route | change)
        assert (failure.value.code, failure.value.data) == (-32602, {"field": field})
        assert (await current(client))["current"]["baseUrl"] == server.url
