"""A server is added by a form, which asks for no key."""

import json
import shlex
import sys
from typing import Any

import pytest

from north_lsp.agent.servers.adding import entry_of
from tests.end_to_end.test_faults import opened
from tests.end_to_end.test_mcp import SCRIPT, command
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.model_server import ModelServer


@pytest.mark.parametrize(
    ("values", "entry"),
    [
        ({"kind": "stdio", "place": "uvx 'a b' c"}, {"command": "uvx", "args": ["a b", "c"]}),
        (
            {"kind": "stdio", "place": "x", "variable": "KEY"},
            {"command": "x", "args": [], "env": {"KEY": "${KEY}"}},
        ),
        (
            {"kind": "http", "place": " https://a/mcp ", "variable": "${KEY}"},
            {"type": "http", "url": "https://a/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
        ),
    ],
)
def test_what_a_filled_form_means(values: dict[str, Any], entry: dict[str, Any]) -> None:
    assert entry_of(values) == entry


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"kind": "stdio", "place": "a 'b"}, "the command line cannot be read"),
        ({"kind": "stdio", "place": " "}, "the command line is empty"),
        ({"kind": "http", "place": "https://a", "variable": "sk-12345"}, "write its name, not its value"),
    ],
)
def test_what_makes_no_sense_in_a_form_is_said(values: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        entry_of(values)


async def test_a_server_is_added_by_a_form(world: World, server: ModelServer) -> None:
    asked: list[dict[str, Any]] = []
    line = shlex.join([sys.executable, "-I", SCRIPT])
    answers: list[dict[str, Any]] = [
        {"action": "decline"},
        {"action": "cancel"},
        {"action": "accept", "content": {"name": "new"}},
        {"action": "accept", "content": {"name": "new", "kind": "stdio", "place": line}},
    ]

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return answers.pop(0)

    async with inside(world.environ, capabilities={"elicitation": {"form": {}}}) as client:
        client.handlers["elicitation/create"] = fill
        session = await opened(client, world)
        assert "No MCP server was added" in await command(client, session, "/mcp add")
        assert "No MCP server was added" in await command(client, session, "/mcp add")
        assert "kind is missing" in await command(client, session, "/mcp add")
        assert "`new`: ready" in await command(client, session, "/mcp add new")
    assert asked[-1]["requestedSchema"]["properties"]["name"]["default"] == "new"
    assert "new" in json.loads((world.folder / "config" / "mcp.json").read_text())["mcpServers"]


async def test_a_client_without_forms_is_told_what_to_write(world: World, server: ModelServer) -> None:
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert "/mcp add <name> --url" in await command(client, session, "/mcp add")
