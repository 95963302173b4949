"""Editors that do not run where North is tested, played by what is published of them: which capabilities they announce,
what they send, and what they answer. The official schema checks every message."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support import mcp_server
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say, think

ZED: dict[str, Any] = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True, "terminal-auth": True},
}
ZED_WITH_BETA = ZED | {"session": {"configOptions": {"boolean": {}}, "compaction": {}, "notices": {}}}
ZED_ANSWERS = {
    "session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/kill",
    "terminal/release", "terminal/output", "terminal/wait_for_exit", "elicitation/create",
}  # fmt: skip
JETBRAINS: dict[str, Any] = {"fs": {"readTextFile": True, "writeTextFile": True}}


class Played:
    """An editor with its files, whose user answers each question with the option of the next kind of `presses`."""

    def __init__(self, raw: RawAcpClient) -> None:
        self.raw = raw
        self.presses: list[str] = []
        self.wrote: list[str] = []
        for method, handler in (
            ("session/request_permission", self._decide),
            ("fs/read_text_file", self._read),
            ("fs/write_text_file", self._write),
        ):
            raw.handlers[method] = handler

    async def _decide(self, params: dict[str, Any]) -> dict[str, Any]:
        kind = self.presses.pop(0)
        (option,) = [one["optionId"] for one in params["options"] if one["kind"] == kind]
        return {"outcome": {"outcome": "selected", "optionId": option}}

    async def _read(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"content": Path(params["path"]).read_text()}

    async def _write(self, params: dict[str, Any]) -> dict[str, Any]:
        self.wrote.append(Path(params["path"]).name)
        Path(params["path"]).write_text(params["content"])
        return {}

    async def prompt(self, session: str, *blocks: dict[str, Any]) -> str:
        params = {"sessionId": session, "prompt": list(blocks)}
        return str((await self.raw.request("session/prompt", params))["stopReason"])

    def sent(self) -> list[dict[str, Any]]:
        return [message for sender, message in self.raw.transcript if sender == "agent"]

    def asked(self) -> set[str]:
        """The methods that North has asked of the editor."""
        return {message["method"] for message in self.sent() if "method" in message and "id" in message}


@asynccontextmanager
async def played(world: World, info: dict[str, str], capabilities: dict[str, Any]) -> AsyncIterator[Played]:
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as raw:
        hello = {"protocolVersion": 1, "clientInfo": info, "clientCapabilities": capabilities}
        made = await raw.request("initialize", hello)
        assert made["protocolVersion"] == 1
        yield Played(raw)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def turns(server: ModelServer) -> None:
    """An edit that is accepted, one that is rejected, a command, and an answer."""
    server.script(
        answer(think("hm"), call("read_file", path="a.txt")),
        answer(call("edit_replace_exact", path="a.txt", old="one", new="1")),
        answer(call("edit_replace_exact", path="a.txt", old="two", new="2")),
        answer(call("shell_run", command="echo ran")),
        answer(say("Done.")),
        answer(say("Again.")),
    )


@pytest.mark.parametrize("capabilities", [ZED, ZED_WITH_BETA], ids=["zed", "zed with its beta features"])
async def test_a_client_that_behaves_as_zed_does(
    world: World, server: ModelServer, capabilities: dict[str, Any]
) -> None:
    """Facts of `crates/agent_servers/src/acp.rs` in zed-industries/zed at 0038d2e2cc9b: capabilities, the name `zed`,
    the methods that it answers; mentions are links and embedded files; modes and options are set by their methods; the
    session is closed with its thread, and loaded, listed and deleted from its history. Zed itself was not run."""
    (world.project / "a.txt").write_text("one\ntwo\n")
    turns(server)
    info = {"name": "zed", "title": "Zed", "version": "1.10.3"}
    folder = {"cwd": str(world.project), "mcpServers": []}
    async with played(world, info, capabilities) as zed:
        (hello,) = [message["result"] for message in zed.sent()]
        assert [one.get("type", "agent") for one in hello["authMethods"]] == ["agent", "terminal"]
        made = await zed.raw.request("session/new", folder)
        session = made["sessionId"]
        await zed.raw.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        options = {one["id"]: one for one in made["configOptions"]}
        assert (options["_edits"]["type"], options["model"]["type"]) == ("boolean", "select")
        await zed.raw.request("session/set_mode", {"sessionId": session, "modeId": "agent"})
        switched = {"sessionId": session, "configId": "_edits", "type": "boolean", "value": False}
        assert (await zed.raw.request("session/set_config_option", switched))["configOptions"]
        zed.presses = ["allow_once", "reject_once", "allow_once"]
        link = {"type": "resource_link", "name": "a.txt", "uri": (world.project / "a.txt").as_uri()}
        whole = {"type": "resource", "resource": {"uri": "file:///elsewhere.txt", "text": "words"}}
        assert await zed.prompt(session, text("Change "), link, whole) == "end_turn"
        assert zed.wrote == ["a.txt"]
        assert (world.project / "a.txt").read_text() == "1\ntwo\n"
        assert not zed.presses
        rows = (await zed.raw.request("session/list", {"cwd": str(world.project)}))["sessions"]
        assert [row["sessionId"] for row in rows] == [session]
        await zed.raw.request("session/close", {"sessionId": session})
        zed.raw.updates.clear()
        await zed.raw.request("session/load", {"sessionId": session, **folder})
        said = "".join(str(one["update"].get("content")) for one in zed.raw.updates)
        assert "Done." in said
        assert await zed.prompt(session, text("And?")) == "end_turn"
        await zed.raw.request("session/delete", {"sessionId": session})
        assert (await zed.raw.request("session/list", {}))["sessions"] == []
        assert zed.asked() <= ZED_ANSWERS


async def test_a_client_that_behaves_as_jetbrains_does(world: World, server: ModelServer) -> None:
    """The IDEs are not published. Known of them, from their documentation and from authors of other agents (2025 and
    2026): the name `JetBrains.IntelliJ IDEA`; that they refuse an answer to `initialize` which is not as the schema
    says; that they wait for the answer to `session/new` before they read updates of that session; that they have files
    and no terminals; that they pass on their own MCP server, a program with a port in its variables, where the user
    wants that; that they set options right before a prompt, load a conversation that is opened again, and show nothing
    that comes between two prompts. The IDEs themselves were not run."""
    (world.project / "a.txt").write_text("one\ntwo\n")
    turns(server)
    info = {"name": "JetBrains.IntelliJ IDEA", "title": "IntelliJ IDEA", "version": "2026.2"}
    port = [{"name": "IJ_MCP_SERVER_PORT", "value": "64342"}]
    idea = {"name": "idea", "command": sys.executable, "args": ["-I", mcp_server.__file__], "env": port}
    broken = {"name": "broken", "command": "/no/such/program", "args": [], "env": []}
    folder = {"cwd": str(world.project), "mcpServers": [idea, broken, {"command": "nameless"}]}
    async with played(world, info, JETBRAINS) as ide:
        made = await ide.raw.request("session/new", folder)
        session = made["sessionId"]
        assert not ide.raw.updates or "result" in ide.sent()[1]
        await ide.raw.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        first = next(n for n, one in enumerate(ide.sent()) if one.get("method") == "session/update")
        assert "sessionId" in ide.sent()[first - 1]["result"]
        change = {"sessionId": session, "configId": "mode", "value": "agent"}
        assert (await ide.raw.request("session/set_config_option", change))["configOptions"]
        assert "broken" not in str(ide.raw.updates)
        ide.presses = ["allow_once", "reject_once", "allow_once"]
        assert await ide.prompt(session, text("Change it")) == "end_turn"
        assert ide.wrote == ["a.txt"]
        assert "The MCP server number 3 that this editor passes on has no name" in str(ide.raw.updates)
        await ide.raw.request("session/close", {"sessionId": session})
        ide.raw.updates.clear()
        await ide.raw.request("session/load", {"sessionId": session, **folder})
        assert "Done." in str(ide.raw.updates)
        assert await ide.prompt(session, text("And?")) == "end_turn"
        while "`broken`: failed" not in str(ide.raw.updates):
            await ide.prompt(session, text("/mcp"))
        assert await ide.prompt(session, text("/mcp")) == "end_turn"
        assert "The MCP server broken is not available" in str(ide.raw.updates)
        assert ide.asked() == {"session/request_permission", "fs/read_text_file", "fs/write_text_file"}
        assert all("_meta" not in one.get("params", {}).get("update", {}) for one in ide.sent())
        assert spoken_between_prompts(ide.raw) == []
    assert "mcp_idea_echo" in [tool["name"] for tool in server.requests[-1].body["tools"]]


def spoken_between_prompts(raw: RawAcpClient) -> list[str]:
    """The texts that came while no prompt was answered and no conversation loaded."""
    open_: set[object] = set()
    found = []
    for sender, message in raw.transcript:
        if sender == "client" and message.get("method") in ("session/prompt", "session/load"):
            open_.add(message["id"])
        elif sender == "agent" and "method" not in message:
            open_.discard(message["id"])
        elif sender == "agent" and not open_:
            update = message.get("params", {}).get("update", {})
            if update.get("sessionUpdate") == "agent_message_chunk":
                found.append(update["content"]["text"])
    return found
