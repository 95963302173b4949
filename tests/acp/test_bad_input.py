"""What is wrong with names, keys, files and addresses of models is said once, in the chat, with the next step; and when
it is put right, the conversation goes on."""

import json
from typing import Any

import pytest

from tests.acp.test_models import LOCAL, agent, choose, new, settings
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Fail, Raw, answer, say

CHOOSE = "choose a model in the editor or with `/model <name>`, or correct --model or NORTH_MODEL"


async def ask(client: RawAcpClient, session: str, text: str) -> tuple[str, list[str], dict[str, Any]]:
    """The stop reason, the messages that were shown meanwhile (one for each id), and the rest of the answer."""
    client.updates.clear()
    blocks = [{"type": "text", "text": text}]
    answered = await client.request("session/prompt", {"sessionId": session, "prompt": blocks})
    return str(answered["stopReason"]), messages(client), answered.get("_meta", {}).get("north", {})


def messages(client: RawAcpClient) -> list[str]:
    texts: dict[str, str] = {}
    for params in client.updates:
        update = params["update"]
        if update["sessionUpdate"] == "agent_message_chunk":
            id = str(update.get("messageId", len(texts)))
            texts[id] = texts.get(id, "") + update["content"]["text"]
    return list(texts.values())


async def goes_on(client: RawAcpClient, server: ModelServer, session: str, before: str) -> None:
    """The next prompt is answered, and the model gets what was said before once."""
    server.script(answer(say("Here I am.")))
    assert (await ask(client, session, "And now?"))[:2] == ("end_turn", ["Here I am."])
    told = json.dumps(server.requests[-1].body)
    assert told.count(before) == 1
    assert told.count("And now?") == 1


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("sonet-4-5", "there is no model 'sonet-4-5'; the closest are sonnet-4-5"),
        ("antropic/sonnet-4-5", "nor a provider 'antropic' (did you mean anthropic?)"),
        ("nobody/at-all", "nor a provider 'nobody'; there are"),
        ("opus", "the model 'opus' is ambiguous: choose one of opus-4"),
    ],
)
async def test_a_model_that_nothing_has_the_name_of(world: World, server: ModelServer, asked: str, says: str) -> None:
    async with agent(world, NORTH_MODEL=asked) as client:
        session, options = await new(client, world)
        model = next(option for option in options if option["id"] == "model")
        assert model["currentValue"] in [one["value"] for one in model["options"]]
        stopped, told, north = await ask(client, session, "Hello there")
        assert stopped == "end_turn"
        assert len(told) == 1
        assert says in told[0]
        assert CHOOSE in told[0]
        assert north["error"]["retryable"] is False
        assert server.requests == []
        await choose(client, session, "model", "haiku-4-5")
        await goes_on(client, server, session, "Hello there")


async def test_a_name_may_come_to_be_a_model(world: World, server: ModelServer) -> None:
    """--model names one of models.yml, which has a typo: nobody else gets the prompt. Mended, it answers."""
    path = world.folder / "config" / "models.yml"
    path.write_text(LOCAL.format(url=server.url).replace("baseUrl", "baseurl"))
    async with agent(world, "--model", "local/m:high") as client:
        session, _ = await new(client, world)
        await client.wait_update(lambda update: "models.yml, line 1" in str(update))
        [problem] = messages(client)
        assert "baseurl" in problem
        stopped, told, _ = await ask(client, session, "Hello there")
        assert (stopped, len(told)) == ("end_turn", 1)
        assert "there is no model 'local/m:high', nor a provider 'local'" in told[0]
        assert server.requests == []
        path.write_text(LOCAL.format(url=server.url))
        await goes_on(client, server, session, "Hello there")
        assert server.requests[-1].path == "/v1/chat/completions"
        assert "config_option_update" in str(client.updates)
    async with agent(world) as client:  # which model it was is known from then on
        params = {"cwd": str(world.project), "sessionId": session, "mcpServers": []}
        found = await client.request("session/load", params)
        assert "'currentValue': 'local/m'" in str(found["configOptions"])


async def test_a_model_that_is_asked_for_and_has_no_key(world: World, server: ModelServer) -> None:
    async with agent(world, "--model", "gpt-5", OPENAI_BASE_URL=f"{server.url}/v1") as client:
        session, _ = await new(client, world)
        with pytest.raises(RpcFailure, match="GPT-5 needs a key: set OPENAI_API_KEY in the environment") as failure:
            await ask(client, session, "Hello there")
        assert "north-lsp login openai" in failure.value.message
        assert failure.value.code == -32000
        assert messages(client) == []
        key = {"provider": "openai", "key": "sk-0123456789abcdef", "runtime": True, "force": True}
        await client.request("_north/keys/set", key)
        await goes_on(client, server, session, "Hello there")


async def test_a_key_that_the_server_refuses(world: World, server: ModelServer) -> None:
    server.script(answer(Fail(401, "authentication_error", "invalid x-api-key")))
    async with agent(world) as client:
        session, _ = await new(client, world)
        stopped, told, north = await ask(client, session, "Hello there")
        assert (stopped, len(told)) == ("end_turn", 1)
        assert "check the key in ANTHROPIC_API_KEY" in told[0]
        assert north["error"] == {"kind": "auth", "status": 401, "retryable": False}
        assert len(server.requests) == 1
        key = {"provider": "anthropic", "key": "sk-0123456789abcdef", "runtime": True, "force": True}
        await client.request("_north/keys/set", key)
        await goes_on(client, server, session, "Hello there")
        assert "sk-0123456789abcdef" in str(server.requests[-1].headers)


async def test_a_models_file_with_a_typo(world: World, server: ModelServer) -> None:
    path = world.folder / "config" / "models.yml"
    path.write_text("providers:\n  local:\n    baseurl: http://127.0.0.1:8/v1\n")
    async with agent(world) as client:
        session, _ = await new(client, world)
        await client.wait_update(lambda update: "models.yml, line" in str(update))
        [told] = messages(client)
        assert "models.yml, line 3" in told
        assert "this key is unknown; the closest is baseUrl; until it is fixed, only the shipped models" in told
        await new(client, world)
        await goes_on(client, server, session, "And now?")  # the shipped models work, and it is not said again
        path.write_text(LOCAL.format(url=server.url))
        await client.request("_north/models/list", {})
        await choose(client, session, "model", "local/m")
        server.script(answer(say("Yes.")))
        assert (await ask(client, session, "Better?"))[1] == ["Yes."]


@pytest.mark.parametrize(
    "wrong",
    [
        Raw(b"<h1>Welcome</h1>", "text/html"),
        Fail(404, "not_found", "no such page"),
        Raw(b'{"hello": "world"}', "application/json"),
    ],
    ids=["a page", "nothing there", "something else"],
)
async def test_an_address_that_is_no_model_server(world: World, server: ModelServer, wrong: Raw | Fail) -> None:
    path = world.folder / "config" / "models.yml"
    path.write_text(LOCAL.format(url=f"{server.url}/elsewhere"))
    server.script(answer(wrong))
    async with agent(world, "--model", "local/m") as client:
        session, _ = await new(client, world)
        stopped, told, _ = await ask(client, session, "Hello there")
        assert (stopped, len(told)) == ("end_turn", 1)
        assert "check" in told[0]
        assert f"{server.url}/elsewhere" in told[0]
        assert len(server.requests) == 1
        path.write_text(LOCAL.format(url=server.url))
        await goes_on(client, server, session, "Hello there")


async def test_a_chain_with_a_model_that_is_unknown(world: World, server: ModelServer) -> None:
    """It is passed over and said to be; the others of the chain stand."""
    off = {"retry.requestMaxRetries": 0, "retry.maxRetries": 0}
    settings(world, **off, **{"retry.fallbackChains": {"sonnet-4-5": ["hiku-4-5", "haiku-4-5"]}})
    server.script(answer(Fail(529, "overloaded_error", "overloaded")), answer(say("I stand in.")))
    async with agent(world) as client:
        session, _ = await new(client, world)
        await client.wait_update(lambda update: "there is no model 'hiku-4-5'; the closest are haiku" in str(update))
        assert (await ask(client, session, "Hello"))[1][-1] == "I stand in."
    assert "haiku" in server.requests[-1].body["model"]
    # It was for that time: the conversation's own model is still the one that was chosen.
    async with agent(world) as client:
        params = {"cwd": str(world.project), "sessionId": session, "mcpServers": []}
        found = await client.request("session/load", params)
        assert "'currentValue': 'anthropic/claude-sonnet-4-5-20250929'" in str(found["configOptions"])
