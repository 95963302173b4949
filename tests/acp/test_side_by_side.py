"""Several sessions in one process: whatever one of them waits for, the others go on."""

from typing import Any

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, gate, say
from tests.support.selecting import selected

_HELD = 20


async def begin(client: RawAcpClient, world: World, words: str) -> tuple[str, int]:
    made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
    session = str(made["sessionId"])
    prompt = [{"type": "text", "text": words}]
    return session, await client.start_request("session/prompt", {"sessionId": session, "prompt": prompt})


async def test_what_holds_a_session_up_holds_up_no_other(world: World, server: ModelServer) -> None:
    """Streams that stand still, a command that runs, a question that nobody answers."""
    streams = [answer(say("working", chunks=1), gate("never")) for _ in range(_HELD)]
    server.route("Hold on", *streams)
    server.route("Sleep", answer(call("shell_run", command="sleep 100000")))
    server.route("Ask me", answer(call("shell_run", command="touch asked")))
    pieces = "".join(f"piece {number} " for number in range(500))
    server.route("Be quick", answer(say(pieces, chunks=500)))

    async def decide(params: dict[str, Any]) -> dict[str, Any] | None:
        if "sleep" not in str(params["toolCall"]):
            return None
        return selected(params, "run")

    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["session/request_permission"] = decide
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        held = [await begin(client, world, "Hold on") for _ in range(_HELD)]
        held += [await begin(client, world, words) for words in ("Sleep", "Ask me")]
        for session, _ in held[:_HELD]:
            await client.wait(lambda m, id=session: m.get("params", {}).get("sessionId") == id and "working" in str(m))  # type: ignore[misc]
        await client.wait(lambda message: "touch asked" in str(message) and "options" in message.get("params", {}))
        quick, request = await begin(client, world, "Be quick")
        assert (await client.answer(request))["stopReason"] == "end_turn"
        told = [row["update"] for row in client.updates if row["sessionId"] == quick]
        said = "".join(row["content"]["text"] for row in told if row["sessionUpdate"] == "agent_message_chunk")
        assert said == pieces
        for session, _ in held:
            await client.notify("session/cancel", {"sessionId": session})
        for _, request in held:
            assert (await client.answer(request))["stopReason"] == "cancelled"
    assert not (world.project / "asked").exists()
