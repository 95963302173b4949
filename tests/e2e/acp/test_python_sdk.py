"""The official Python SDK as the client, by its own types, with what the scenarios for all editors do not have: a fork,
a form, modes and models, a picture, an MCP server that it passes on."""

import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import acp
import pytest
from acp.schema import (
    AcceptElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ImageContentBlock,
    Implementation,
    McpServerStdio,
    TextContentBlock,
)

from tests.end_to_end.world import COLD_SERVER, World
from tests.support import mcp_server
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import answer, call, say


@dataclass
class Client:
    """Fills every form with `values`, or declines without any."""

    values: dict[str, Any] | None = None
    forms: list[tuple[str, Any]] = field(default_factory=list)
    updates: list[Any] = field(default_factory=list)
    connection: Any = None

    def on_connect(self, conn: Any) -> None:
        """The SDK's hook."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        self.forms.append((message, mode.requested_schema))
        if self.values is None:
            return DeclineElicitationResponse(action="decline")
        return AcceptElicitationResponse(action="accept", content=self.values)

    async def prompt(self, session: str, text: str, *more: Any) -> str:
        """Have a turn; returns what was said in it."""
        begin = len(self.updates)
        blocks = [TextContentBlock(type="text", text=text), *more]
        ended = await self.connection.prompt(session_id=session, prompt=blocks)
        assert ended.stop_reason == "end_turn"
        told = [update for id, update in self.updates[begin:] if id == session]
        return "".join(one.content.text for one in told if one.session_update == "agent_message_chunk")


@asynccontextmanager
async def talk(world: World, client: Client, *servers: McpServerStdio) -> AsyncIterator[str]:
    spawn: Any = acp.spawn_agent_process
    options = {"env": world.environ, "cwd": world.project, "use_unstable_protocol": True}
    async with spawn(client, *COLD_SERVER, "acp", **options) as (connection, _):
        client.connection = connection
        forms = ElicitationCapabilities(form=ElicitationFormCapabilities())
        opened = await connection.initialize(
            protocol_version=1,
            client_capabilities=ClientCapabilities(elicitation=forms),
            client_info=Implementation(name="sdk", version="1"),
        )
        assert opened.agent_capabilities.session_capabilities.fork is not None
        yield (await connection.new_session(cwd=str(world.project), mcp_servers=list(servers))).session_id


async def test_a_copy_continues_alone(world: World, server: ModelServer) -> None:
    client = Client()
    async with talk(world, client) as session:
        server.script(answer(say("The first answer.")), answer(say("In the copy.")), answer(say("In the original.")))
        assert await client.prompt(session, "The first question") == "The first answer."
        copy = (await client.connection.fork_session(session_id=session, cwd=str(world.project))).session_id
        assert copy != session
        assert await client.prompt(copy, "Only in the copy") == "In the copy."
        assert await client.prompt(session, "Only in the original") == "In the original."
        listed = (await client.connection.list_sessions(cwd=str(world.project))).sessions
    assert {row.session_id for row in listed} == {session, copy}
    asked = [str(request.body["messages"]) for request in server.requests[-2:]]
    assert all("The first question" in text and "The first answer." in text for text in asked)
    assert ["Only in the copy" in text for text in asked] == [True, False]


@pytest.mark.parametrize(("values", "stays"), [({"answer": "yes"}, False), (None, True)])
async def test_a_form_is_filled_or_declined(
    world: World, server: ModelServer, values: dict[str, Any] | None, stays: bool
) -> None:
    trash = world.data / "conversations" / "trash" / "a1b2c3-20990101T000000Z"
    trash.mkdir(parents=True)
    (trash / "a1b2c3.jsonl").write_text("x" * 1000)
    client = Client(values)
    async with talk(world, client) as session:
        await client.prompt(session, "/storage clean")
    ((message, schema),) = client.forms
    assert message
    assert schema.required == ["answer"]
    assert trash.exists() == stays


async def test_modes_models_and_resuming(world: World, server: ModelServer) -> None:
    server.script(answer(say("By the other one.")), answer(say("Still there.")))
    client = Client()
    async with talk(world, client) as session:
        await client.connection.set_session_mode(session_id=session, mode_id="ask")
        model = {"config_id": "model", "value": "anthropic/claude-haiku-4-5-20251001"}
        told = await client.connection.set_config_option(session_id=session, **model)
        chosen = {one.id: one.current_value for one in told.config_options}
        assert (chosen["mode"], chosen["model"]) == ("ask", model["value"])
        assert await client.prompt(session, "Who are you?") == "By the other one."
        await client.connection.close_session(session_id=session)
        before = len(client.updates)
        await client.connection.resume_session(session_id=session, cwd=str(world.project))
        assert await client.prompt(session, "And now?") == "Still there."
        kinds = {update.session_update for _, update in client.updates[before:]}
    assert "user_message_chunk" not in kinds  # nothing was replayed
    first, last = (request.body for request in server.requests)
    assert "haiku" in first["model"]
    assert not [tool for tool in first["tools"] if tool["name"].startswith("edit_")]  # of ask mode
    assert "By the other one." in json.dumps(last["messages"])


async def test_a_picture_and_a_tool_server(world: World, server: ModelServer) -> None:
    server.script(answer(call("mcp_test_echo", text="hello there")), answer(say("Seen.")))
    client = Client({"answer": "run"})
    tools = McpServerStdio(name="test", command=sys.executable, args=["-I", mcp_server.__file__], env=[])
    async with talk(world, client, tools) as session:
        data = base64.b64encode(png(4, 4)).decode()
        picture = ImageContentBlock(type="image", mime_type="image/png", data=data)
        assert await client.prompt(session, "Look", picture) == "Seen."
    ((asked, _),) = client.forms
    assert "Run echo of the MCP server test?" in asked
    assert "image/png" in json.dumps(server.requests[0].body["messages"])
    assert "hello there" in json.dumps(server.requests[-1].body["messages"][-1])
