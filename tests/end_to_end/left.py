"""A second process that goes on with what a first one left: what the tests of both say to each other."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client

NORTH = {"events": True, "resumesTurns": True}


@asynccontextmanager
async def client_of(world: World, **north: object) -> AsyncIterator[RawAcpClient]:
    """Yield a client that announces these of North's extensions."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        capabilities = {"_meta": {"north": north}, "session": {"notices": {}}} if north else {}
        info = {"name": "Tests", "version": "1"}
        opening = {"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info}
        await client.request("initialize", opening)
        yield client


async def new_session(client: RawAcpClient, world: World) -> str:
    return str((await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"])


async def load(client: RawAcpClient, world: World, session: str) -> dict[str, Any]:
    """Load a conversation; returns what the answer says beyond ACP."""
    where = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
    opened = await client.request("session/load", where)
    return dict(opened.get("_meta", {}).get("north", {}))


def asked(client: RawAcpClient) -> list[dict[str, Any]]:
    """Have no question answered; returns those that have come."""
    questions: list[dict[str, Any]] = []

    async def note(params: dict[str, Any]) -> None:
        questions.append(params)

    client.handlers["session/request_permission"] = note
    return questions


async def question(client: RawAcpClient) -> dict[str, Any]:
    message = await client.wait(lambda message: message.get("method") == "session/request_permission")
    return dict(message["params"])


async def killed_while_asked(world: World, text: str) -> str:
    """Prompt, wait for the question, and kill the server. Returns the session."""
    async with client_of(world, **NORTH) as client:
        asked(client)
        session = await new_session(client, world)
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks(text)})
        await question(client)
        client.process.kill()
        await client.wait_exit()
    return session
