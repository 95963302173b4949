"""With the log's level at `debug`, a conversation keeps with each answer what the vendor itself counted."""

from typing import Any

import pytest

from tests.end_to_end.test_faults import APIS, configure, entries, opened, prompt, serve
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, usage

COUNTED: dict[str, dict[str, Any]] = {
    "anthropic-messages": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 30},
    "openai-responses": {"input_tokens": 40, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 30}},
    "openai-completions": {"prompt_tokens": 40, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 30}},
    "google-generative-ai": {"promptTokenCount": 40, "candidatesTokenCount": 5, "cachedContentTokenCount": 30},
    "bedrock-converse-stream": {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 30},
}


async def stored(world: World, server: ModelServer, level: str) -> dict[str, Any]:
    configure(world, **{"log.level": level})
    server.script(answer(Say("Hello."), usage(input=10, output=5, cache_read=30)))
    async with inside(world.environ, "there/m-1") as client:
        assert await prompt(client, await opened(client, world), "Hello") == "end_turn"
    answers = [one["message"] for one in entries(world) if one.get("message", {}).get("role") == "assistant"]
    assert len(answers) == 1
    return dict(answers[0])


@pytest.mark.parametrize("api", APIS)
async def test_the_vendors_own_counts_are_kept_at_level_debug(world: World, server: ModelServer, api: str) -> None:
    serve(world, api, server.url, "m-1")
    message = await stored(world, server, "debug")
    said = message["details"]["usage"]
    for name, count in COUNTED[api].items():
        found = {key: said[name][key] for key in count} if isinstance(count, dict) else said[name]
        assert found == count
    counted = {key: message["usage"][key] for key in ("input", "output", "cacheRead")}
    assert counted == {"input": 10, "output": 5, "cacheRead": 30}


async def test_else_there_are_the_counts_alone(world: World, server: ModelServer) -> None:
    serve(world, "anthropic-messages", server.url, "m-1")
    assert "details" not in await stored(world, server, "info")
