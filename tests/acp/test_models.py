"""Models, how much they think, and keys: over the wire, against the real process and the official schema."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.end_to_end.world import PACE, SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, gate, say, think

SECRET = "sk-pasted-0123456789abcdef"
LOCAL = "providers: {{local: {{baseUrl: '{url}/v1', api: openai-completions, auth: none, models: [{{id: m}}]}}}}"


@asynccontextmanager
async def agent(world: World, *arguments: str, **environ: str) -> AsyncIterator[RawAcpClient]:
    async with raw_client([*SERVER, "acp", *arguments], world.environ | environ, world.project) as client:
        capabilities: dict[str, Any] = {"_meta": {"north": {}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        yield client


async def new(client: RawAcpClient, world: World) -> tuple[str, list[dict[str, Any]]]:
    result = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
    return result["sessionId"], result["configOptions"]


async def choose(client: RawAcpClient, session: str, id: str, value: str) -> dict[str, dict[str, Any]]:
    params = {"sessionId": session, "configId": id, "value": value}
    return by_id((await client.request("session/set_config_option", params))["configOptions"])


def by_id(options: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {option["id"]: option for option in options}


async def ask(client: RawAcpClient, session: str) -> None:
    await client.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Hi"}]})


def settings(world: World, **values: object) -> None:
    (world.folder / "config" / "config.json").write_text(json.dumps(values))


async def test_how_much_a_model_thinks_is_an_option(world: World, server: ModelServer) -> None:
    server.script(*[answer(say("Hi"))] * 3)
    async with agent(world) as client:
        session, options = await new(client, world)
        assert [option["id"] for option in options] == ["mode", "model", "thought_level", "_edits", "_shell"]
        level = by_id(options)["thought_level"]
        assert (level["category"], level["currentValue"]) == ("thought_level", "medium")
        assert [one["value"] for one in level["options"]] == ["off", "minimal", "low", "medium", "high", "xhigh"]
        await ask(client, session)
        assert (await choose(client, session, "thought_level", "high"))["thought_level"]["currentValue"] == "high"
        await ask(client, session)
        # It stays for a model that thinks, and there is none for one that does not.
        assert "thought_level" not in await choose(client, session, "model", "offline")
        found = await choose(client, session, "model", "haiku-4-5")
        assert found["thought_level"]["currentValue"] == "high"
        found = await choose(client, session, "model", "sonnet-4-5:off")
        assert found["thought_level"]["currentValue"] == "off"
        await ask(client, session)
        with pytest.raises(RpcFailure, match="must be one of off, minimal"):
            await choose(client, session, "thought_level", "deep")
    budgets = [(request.body.get("thinking") or {}).get("budget_tokens") for request in server.requests]
    assert budgets == [10_000, 20_000, None]
    assert sum('"thinking_level_change"' in line for line in world.log_entries()) == 2
    async with agent(world) as client:
        params = {"cwd": str(world.project), "sessionId": session, "mcpServers": []}
        found = by_id((await client.request("session/load", params))["configOptions"])
        assert found["thought_level"]["currentValue"] == "off"


async def test_the_settings_say_how_much_and_whether_thoughts_are_shown(world: World, server: ModelServer) -> None:
    settings(world, **{"thinking.level": "low", "thinking.show": False})
    server.script(answer(think("secret thought"), say("Hello")))
    async with agent(world) as client:
        session, options = await new(client, world)
        assert by_id(options)["thought_level"]["currentValue"] == "low"
        await ask(client, session)
        assert "secret thought" not in str(client.updates)
        assert "Hello" in "".join(str(update) for update in client.updates)
    assert server.requests[0].body["thinking"]["budget_tokens"] == 5000
    assert any("secret thought" in line for line in world.log_entries())


async def test_a_choice_is_the_default_of_new_conversations(world: World) -> None:
    async with agent(world) as client:
        session, _ = await new(client, world)
        await choose(client, session, "model", "haiku-4-5")
        _, options = await new(client, world)
        assert by_id(options)["model"]["currentValue"] == "anthropic/claude-haiku-4-5-20251001"
    text = (world.folder / "config" / "config.json").read_text()
    assert json.loads(text) == PACE | {"selectedModel": "anthropic/claude-haiku-4-5-20251001"}


async def test_models_that_may_not_be_used(world: World) -> None:
    settings(world, enabledModels=[{"path": str(world.project), "models": ["haiku-4-5"]}, 7], selectedModel="opus-4-5")
    async with agent(world) as client:
        session, options = await new(client, world)
        model = by_id(options)["model"]
        assert model["currentValue"] == "anthropic/claude-haiku-4-5-20251001"
        assert [one["name"] for one in model["options"]] == ["Claude Haiku 4.5", "Offline (rule-based stand-in)"]
        with pytest.raises(RpcFailure, match="may not be used here: it is not listed in enabledModels"):
            await choose(client, session, "model", "opus-4-5")
        await client.wait_update(lambda update: "enabledModels has item 2" in str(update))


async def test_a_saved_model_without_its_key_is_passed_over_and_said_to_be(world: World) -> None:
    settings(world, selectedModel="gpt-5")
    async with agent(world) as client:
        await new(client, world)
        told = await client.wait_update(lambda update: "OPENAI_API_KEY" in str(update))
        assert "Claude Sonnet 4.5 answers instead" in str(told)


async def test_a_conversation_whose_model_is_gone_goes_on_with_another(world: World, server: ModelServer) -> None:
    server.script(answer(say("Hi")))
    async with agent(world) as client:
        session, _ = await new(client, world)
        await ask(client, session)
    async with agent(World(world.folder)) as client:
        params = {"cwd": str(world.project), "sessionId": session, "mcpServers": []}
        found = by_id((await client.request("session/load", params))["configOptions"])
        assert found["model"]["currentValue"] == "offline/offline"
        told = await client.wait_update(lambda update: "answers instead" in str(update))
        assert "claude-sonnet-4-5-20250929 cannot be used: its key is missing" in str(told)


async def test_an_edited_models_file_is_announced(world: World, server: ModelServer) -> None:
    path = world.folder / "config" / "models.yml"
    async with agent(world) as client:
        session, _ = await new(client, world)
        path.write_text(LOCAL.format(url=server.url))
        found = await client.request("_north/models/list", {"pattern": "local/"})
        assert [row["selector"] for row in found["models"]] == ["local/m"]
        told = await client.wait_update(lambda update: update["sessionUpdate"] == "config_option_update")
        assert "local/m" in [one["value"] for one in by_id(told["configOptions"])["model"]["options"]]
        await choose(client, session, "model", "local/m")
        path.write_text("providers: {local: {baseUrl: 7}}")
        server.script(answer(say("Hi")))
        await ask(client, session)  # what was chosen still answers
        assert server.requests[-1].path == "/v1/chat/completions"
        problem = await client.wait_update(lambda update: "expected a string, found 7" in str(update))
        assert "models.yml, line 1" in str(problem)


async def test_a_key_is_tried_out_stored_used_and_forgotten(world: World, server: ModelServer) -> None:
    openai = {"OPENAI_BASE_URL": f"{server.url}/v1"}
    async with agent(World(world.folder), **openai) as client:
        session, _ = await new(client, world)
        await client.request("authenticate", {"methodId": "api-key"})  # the offline model needs no key
        key = {"provider": "openai", "key": SECRET, "label": "work"}
        server.pages = {"/v1/models": {"data": []}}
        await client.request("authenticate", {"methodId": "api-key", "_meta": {"north": key}})
        told = await client.wait_update(lambda update: update["sessionUpdate"] == "config_option_update")
        assert "openai/gpt-5.1" in str(told)
        listed = await client.request("_north/keys/list")
        assert [(row["provider"], row["label"], row["ending"]) for row in listed["keys"]] == [
            ("openai", "work", "…cdef")
        ]
        await client.request("authenticate", {"methodId": "api-key"})
        await choose(client, session, "model", "gpt-5.1")
        server.script(answer(say("Hi")))
        await ask(client, session)
        headers = {name.lower(): value for name, value in server.requests[-1].headers.items()}
        assert headers["authorization"] == f"Bearer {SECRET}"
        await client.request("logout", {})
        assert (await client.request("_north/keys/list"))["keys"] == []
        with pytest.raises(RpcFailure) as failure:
            await ask(client, session)
        assert failure.value.code == -32000
        assert "north-lsp login openai" in failure.value.message
        assert SECRET not in "".join(line.decode() for line in client.lines)
    files = [path for path in world.folder.rglob("*") if path.is_file() and "project" not in path.parts]
    assert all(SECRET.encode() not in path.read_bytes() for path in files)


async def test_keys_of_this_process_and_keys_that_are_refused(world: World, server: ModelServer) -> None:
    async with agent(World(world.folder), OPENAI_BASE_URL=f"{server.url}/v1") as client:
        key = {"provider": "openai", "key": SECRET}
        with pytest.raises(RpcFailure, match="'nobody'"):
            await client.request("_north/keys/set", key | {"provider": "nobody"})
        with pytest.raises(RpcFailure, match="not a valid API key"):
            await client.request("_north/keys/set", key | {"key": "with blanks"})
        assert await client.request("_north/keys/set", key | {"runtime": True, "force": True}) == {}
        found = await client.request("_north/models/list", {"pattern": "gpt-5-nano", "available": True})
        assert [row["reason"] for row in found["models"]] == [None]
        assert await client.request("_north/keys/remove", {"provider": "openai"}) == {"removed": 0}
        found = await client.request("_north/models/list", {"pattern": "gpt-5-nano"})
        assert [row["reason"] for row in found["models"]] == ["needs a key (OPENAI_API_KEY)"]
        stored = (await client.request("_north/keys/set", key | {"force": True}))["key"]
        assert await client.request("_north/keys/remove", {"id": stored["id"]}) == {"removed": 1}
        for wrong in ({}, {"id": "x"}, {"id": 1, "provider": "openai"}):
            with pytest.raises(RpcFailure) as failure:
                await client.request("_north/keys/remove", wrong)
            assert failure.value.code == -32602


async def test_a_terminal_is_offered_to_a_client_that_has_one(world: World) -> None:
    for capabilities, ids in (({}, ["api-key"]), ({"auth": {"terminal": True}}, ["api-key", "login"])):
        async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
            params = {"protocolVersion": 1, "clientCapabilities": capabilities}
            result = await client.request("initialize", params)
            assert [method["id"] for method in result["authMethods"]] == ids
            assert result["agentCapabilities"]["auth"] == {"logout": {}, "status": {}}


async def test_the_test_provider_answers_by_its_script(world: World) -> None:
    script = world.folder / "script.json"
    script.write_text(json.dumps([[{"think": "hm"}, {"say": "by the script"}]]))
    async with agent(World(world.folder), "--model", "north-test/test", NORTH_TEST_PROVIDER=str(script)) as client:
        session, _ = await new(client, world)
        await ask(client, session)
        assert "by the script" in str(client.updates)


async def test_a_choice_within_a_turn_is_that_of_the_next_request(world: World, server: ModelServer) -> None:
    slow = answer(say("I look."), gate("here"), call("list_root"))
    server.script(slow, answer(say("Done.")), answer(say("Still here.")))
    async with inside(world.environ) as client:
        session, _ = await new(client, world)
        blocks = [{"type": "text", "text": "Look"}]
        asked = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("here")
        await choose(client, session, "model", "haiku-4-5")
        await choose(client, session, "thought_level", "high")
        server.open("here")
        assert (await client.answer(asked))["stopReason"] == "end_turn"
        await ask(client, session)
    models = [request.body["model"] for request in server.requests]
    assert ["haiku" in model for model in models] == [False, True, True]
    # A tool loop that another model has begun goes on without thinking; then it thinks as it was told to.
    budgets = [(request.body.get("thinking") or {}).get("budget_tokens") for request in server.requests]
    assert budgets == [10_000, None, 10_000]
    assert "tool_result" in str(server.requests[1].body["messages"][-1])


async def test_a_model_without_a_key_does_not_take_over_a_turn(world: World, server: ModelServer) -> None:
    server.script(answer(say("I look."), gate("here"), call("list_root")), answer(say("Done.")))
    async with inside(world.environ) as client:
        session, _ = await new(client, world)
        blocks = [{"type": "text", "text": "Look"}]
        asked = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("here")
        await choose(client, session, "model", "gpt-5")
        server.open("here")
        assert (await client.answer(asked))["stopReason"] == "end_turn"
        assert str(client.updates).count("GPT-5 needs a key") == 1
        with pytest.raises(RpcFailure, match="GPT-5 needs a key"):
            await ask(client, session)


async def test_slash_commands_choose_models_and_levels(world: World, server: ModelServer) -> None:
    settings(world, enabledModels=["sonnet-4-5", "haiku-4-5", "local/*"])
    (world.folder / "config" / "models.yml").write_text("providers: {}")
    async with inside(world.environ) as client:
        session, _ = await new(client, world)

        async def say_back(text: str) -> str:
            client.updates.clear()
            blocks = [{"type": "text", "text": text}]
            await client.request("session/prompt", {"sessionId": session, "prompt": blocks})
            chunks = (params["update"] for params in client.updates)
            return "".join(one["content"]["text"] for one in chunks if one["sessionUpdate"] == "agent_message_chunk")

        assert "Thinking is `medium`. Others: `off`, `minimal`" in await say_back("/thinking")
        assert "Thinking is `high`, from the next request on." in await say_back("/thinking HIGH")
        assert "Thinking is `off`" in await say_back("/thinking off")
        assert "Thinking is `high`" in await say_back("/thinking on")
        assert "There is no thinking level 'deep': use on, off, minimal" in await say_back("/thinking deep")
        assert "Usage: `/thinking" in await say_back("/thinking a b")
        assert "may not be used here: it is not listed in enabledModels" in await say_back("/model opus-4-5")
        assert "opus" not in await say_back("/model")
        assert "the closest are haiku-4-5" in await say_back("/model hiku-4-5")
        (world.folder / "config" / "models.yml").write_text(LOCAL.format(url=server.url))
        assert "The model is m, from the next request on." in await say_back("/model local/m")
        assert "`local/m` has no thinking level. `high` will apply" in await say_back("/thinking on")
