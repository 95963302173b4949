"""A setting that is changed while a conversation goes on counts in it from the next prompt on, and not before."""

import json
from typing import Any

import pytest

from tests.acp.test_approvals import session, turn
from tests.end_to_end.test_faults import configure, prompt
from tests.end_to_end.test_mcp import DONE, command, offered, stdio, talk
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import call

_READ = {"path": "json/decoder.py"}


@pytest.mark.parametrize(
    ("key", "value", "name", "arguments", "seen"),
    [
        ("limits.readLines", 20, "read_file", _READ, '"endLine": 40'),
        ("limits.readKb", 4, "read_file", {**_READ, "startLine": 1, "endLine": 356}, "nextRange"),
        ("limits.files", 20, "find_files", {"pattern": "*", "limit": 100}, "limit is 20, its maximum"),
        ("limits.matches", 20, "search_text", {"query": "def", "limit": 100}, "limit is 20, its maximum"),
        ("limits.windowLines", 5, "read_file", {**_READ, "aroundMatch": "def", "windowLines": 9}, "windowLines is 5"),
        ("limits.aroundLines", 5, "read_around", {**_READ, "anchor": "class JSONDecoder", "before": 9}, "before is 5"),
        ("edits.protected", ["*.txt"], "edit_create_file", {"path": "{}.txt", "content": "x\n"}, "protected"),
        ("shell.alwaysAsk", ["one"], "shell_run", {"command": "echo one"}, "denied"),
        ("shell.interceptor.enabled", False, "shell_run", {"command": "head -2 json/tool.py"}, "Command-line tool"),
    ],
)
async def test_a_change_counts_from_the_next_prompt_on(
    world: World, server: ModelServer, key: str, value: object, name: str, arguments: dict[str, Any], seen: str
) -> None:
    async with session(world, "always") as (client, asked, id):

        async def result(round: str) -> str:
            filled = {name: text.format(round) if isinstance(text, str) else text for name, text in arguments.items()}
            return json.dumps(await turn(client, id, server, call(name, **filled)))

        assert seen not in await result("before")
        place = {"sessionId": id, "key": key, "place": "session"}
        assert (await client.request("_north/config/set", {**place, "value": value}))["origin"] == "session"
        asked.choice = "deny" if key == "shell.alwaysAsk" else "always"
        assert seen in await result("set")
        assert (await client.request("_north/config/reset", place))["origin"] == "default"
        assert seen not in await result("reset")


@pytest.mark.parametrize("written", ["sandbox", None])
async def test_a_project_has_its_commands_run_in_the_sandbox(
    world: World, server: ModelServer, written: str | None
) -> None:
    folder = world.project / ".north"
    folder.mkdir(exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({written: "workspace"} if written else {}))
    async with session(world, "deny") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="touch in.txt"))
        said = "In the sandbox" in json.dumps(asked.questions[0]["toolCall"]["content"])
        assert said == (written is not None)


async def test_items_that_are_switched_off_are_not_offered(world: World, server: ModelServer) -> None:
    """Servers and agents, also ones that come from elsewhere; both come back with the next prompt."""
    configure(world, disabledItems=["mcp:test", "agent:librarian"])
    server.script(DONE, DONE)
    async with talk(world, stdio()) as (client, session):
        assert await prompt(client, session, "Hello") == "end_turn"
        assert "mcp_test_echo" not in offered(server)
        assert "librarian" not in offered(server)["task"]["description"]
        assert "switched off" in await command(client, session, "/mcp")
        assert "the setting `disabledItems` names it" in await command(client, session, "/agents")
        before = len(client.updates)
        await prompt(client, session, "/mcp enable test")
        assert "The setting `disabledItems` names `mcp:test`" in str(client.updates[before:])
        configure(world)
        assert await prompt(client, session, "Hello") == "end_turn"
        assert "mcp_test_echo" in offered(server)
        assert "librarian" in offered(server)["task"]["description"]
