"""Editors that have MCP servers in themselves by an older draft of the protocol, with connections (`mcp/connect`), as
several SDKs still have it. The present schema does not know their messages."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from north_lsp.acp.editor_servers import EditorServers
from north_lsp.acp.servers import read_servers
from north_lsp.agent.ports.servers import Connection, ServerSpec
from north_lsp.errors import ToolError
from north_lsp.mcp.connect import Connector
from north_lsp.rpc.messages import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Call
from north_lsp.storage.locations import Locations

TOOL = {"name": "echo", "description": "Says it.", "inputSchema": {"type": "object"}}


class OlderEditor:
    """The peer of such an editor; without a `key`, it has no servers at all."""

    def __init__(self, key: str = "serverId") -> None:
        self.key = key
        self.methods: list[str] = []
        self.servers = EditorServers(cast(Any, self))

    def tell_cancels(self) -> None: ...

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        self.methods.append(params["method"])

    async def request(self, method: str, params: Mapping[str, Any], *, cancellable: bool = False) -> object:
        if not self.key:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method {method}")
        if method == "mcp/connect" and params[self.key] == "tools-1":
            return {"connectionId": "c1"}
        if method == "mcp/disconnect":
            self.methods.append(method)
            return {}
        if params.get("connectionId") != "c1":
            raise RpcError(INVALID_PARAMS, "connectionId is missing")
        self.methods.append(params["method"])
        match params["method"]:
            case "initialize":
                version = params["params"]["protocolVersion"]
                about = {"serverInfo": {"name": "idea", "version": "3"}, "capabilities": {"tools": {}}}
                return {"protocolVersion": version, **about}
            case "tools/list":
                return {"tools": [TOOL]}
            case "tools/call":
                told = {"progressToken": params["params"]["_meta"]["progressToken"], "progress": 7}
                for id in ("c1", "other"):
                    self.servers.take({"connectionId": id, "method": "notifications/progress", "params": told})
                return {"content": [{"type": "text", "text": f"echo: {params['params']['arguments']['text']}"}]}
        raise RpcError(METHOD_NOT_FOUND, "no such method")


class Heard:
    """Listens to nothing in particular."""

    def tools_changed(self) -> None: ...

    def logged(self, line: str) -> None: ...


def spec_of(editor: OlderEditor, key: str) -> ServerSpec:
    (spec,), problems = read_servers([{"type": "acp", "name": "idea", key: "tools-1"}], editor.servers)
    assert problems == []
    return spec


@pytest.fixture
def locations(tmp_path: Path) -> Locations:
    return Locations(tmp_path, tmp_path, tmp_path)


@asynccontextmanager
async def connected(editor: OlderEditor, key: str, locations: Locations) -> Any:
    opening: AbstractAsyncContextManager[Connection] = Connector({}, frozenset, locations)(
        spec_of(editor, key), [locations.data], Heard()
    )
    async with opening as connection:
        yield connection


@pytest.mark.parametrize(("named", "key"), [("serverId", "serverId"), ("id", "acpId")])
async def test_an_editor_with_connections_is_spoken_to_over_one(locations: Locations, named: str, key: str) -> None:
    editor, progress = OlderEditor(key), list[str]()

    async def report(text: str) -> None:
        progress.append(text)

    with anyio.fail_after(60):
        async with connected(editor, named, locations) as connection:
            assert connection.title == "idea 3"
            (tool,), _ = await connection.tools()
            assert (await connection.call(tool.name, {"text": "hello"}, report)).text == "echo: hello"
            assert await editor.servers.answer({"connectionId": "c1", "method": "ping"}, Call(1)) == {}
            for wrong in (
                {"connectionId": "c1", "method": "sampling/createMessage"},
                {"connectionId": [], "method": "ping"},
            ):
                with pytest.raises(RpcError):
                    await editor.servers.answer(wrong, Call(2))
    assert [method for method in editor.methods if method != "notifications/initialized"] == [
        "initialize", "tools/list", "tools/call", "mcp/disconnect",
    ]  # fmt: skip
    assert "notifications/initialized" in editor.methods
    with pytest.raises(RpcError):
        await editor.servers.answer({"connectionId": "c1", "method": "ping"}, Call(3))


async def test_an_editor_without_servers_says_so_itself(locations: Locations) -> None:
    with anyio.fail_after(60), pytest.raises(ToolError, match="unknown method mcp/message"):
        async with connected(OlderEditor(""), "serverId", locations):
            pass
