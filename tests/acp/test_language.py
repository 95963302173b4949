"""The editor's language servers over the wire, and the tools that a client may use itself."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.acp.test_approvals import Asked, code, turn
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import call

ANNOUNCED: dict[str, Any] = {"_meta": {"north": {"languageFeatures": True}}}


class LanguageServers:
    """Answers by action; what was asked is kept."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    async def __call__(self, params: dict[str, Any]) -> Any:
        self.asked.append(params)
        answer = self.answers.get(params["action"], {})
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, RpcFailure):
            raise answer
        return answer


@asynccontextmanager
async def opened(
    world: World, servers: LanguageServers, capabilities: dict[str, Any] = ANNOUNCED
) -> AsyncIterator[tuple[RawAcpClient, str]]:
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["session/request_permission"] = Asked("accept")
        client.handlers["_north/languageFeature"] = servers
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        result = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        yield client, result["sessionId"]


def at(line: int, start: int, end: int) -> dict[str, Any]:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


def problem(world: World, line: int, message: str, severity: str = "error") -> dict[str, Any]:
    uri = (world.project / "lamp.py").as_uri()
    return {"uri": uri, "range": at(line, 0, 1), "severity": severity, "message": message, "source": "pyright"}


async def test_what_an_edit_made_wrong_is_told_with_its_result(world: World, server: ModelServer) -> None:
    old, new = problem(world, 0, "old"), problem(world, 1, "new")
    moved = problem(world, 2, "old")
    hint = problem(world, 1, "idle", "hint")
    after = {"diagnostics": [moved, hint, new, {"uri": 1}]}
    servers = LanguageServers(diagnostics=[{"diagnostics": [old], "known": [old["uri"], 3]}, after])
    (world.project / "lamp.py").write_text("one\n")
    async with opened(world, servers) as (client, id):
        [_, result] = await turn(
            client,
            id,
            server,
            call("read_file", path="lamp.py"),
            call("edit_replace_exact", path="lamp.py", old="one", new="one\ntwo\nthree"),
        )
        assert result["data"]["applied"]
        row = {"path": "lamp.py", "line": 2, "severity": "error", "message": "new", "source": "pyright"}
        assert result["data"]["diagnostics"] == [row]
        assert [one.get("wait", False) for one in servers.asked] == [False, True]
        assert servers.asked[1]["uris"] == [(world.project / "lamp.py").as_uri()]


async def test_in_a_file_that_nobody_had_looked_at_the_edited_lines_count(world: World, server: ModelServer) -> None:
    (world.project / "lamp.py").write_text("".join(f"line {number}\n" for number in range(40)))
    after = {"diagnostics": [problem(world, 2, "far"), problem(world, 30, "near"), problem(world, 39, "far, too")]}
    async with opened(world, LanguageServers(diagnostics=[{"diagnostics": []}, after])) as (client, id):
        calls = (
            call("read_file", path="lamp.py"),
            call("edit_replace_exact", path="lamp.py", old="line 30", new="lime 30"),
        )
        [_, result] = await turn(client, id, server, *calls)
        assert [row["message"] for row in result["data"]["diagnostics"]] == ["near"]


async def test_an_edit_stands_whatever_the_language_servers_do(world: World, server: ModelServer) -> None:
    failure = RpcFailure({"code": -32603, "message": "they are starting"})
    for answers in ([failure], [{"diagnostics": []}, failure], [{"diagnostics": 3}], [None, {"diagnostics": [None]}]):
        (world.project / "lamp.py").write_text("one\n")
        async with opened(world, LanguageServers(diagnostics=answers)) as (client, id):
            calls = (
                call("read_file", path="lamp.py"),
                call("edit_replace_exact", path="lamp.py", old="one", new="two"),
            )
            [_, result] = await turn(client, id, server, *calls)
            assert result["data"]["applied"]
            assert "diagnostics" not in result["data"]
            assert (world.project / "lamp.py").read_text() == "two\n"


async def test_the_model_is_told_of_which_code_nothing_is_known(world: World, server: ModelServer) -> None:
    names = ("checked.py", "other.py", "notes.md")
    uris = [(world.project / name).as_uri() for name in names]
    failure = RpcFailure({"code": -32603, "message": "they are starting"})
    some = {"diagnostics": [], "known": uris[:1]}
    for after, unknown in ((some, ["other.py"]), (failure, ["checked.py", "other.py"])):
        for name in names:
            (world.project / name).unlink(missing_ok=True)
        async with opened(world, LanguageServers(diagnostics=after)) as (client, id):
            edits = [{"tool": "edit_create_file", "args": {"path": name, "content": "x\n"}} for name in names]
            [result] = await turn(client, id, server, call("edit_apply_batch", edits=edits))
            assert result["data"]["applied"], result
            assert result["data"]["diagnosticsUnknown"] == unknown


async def test_problems_of_a_file_that_nobody_checked_are_not_told_as_none(world: World, server: ModelServer) -> None:
    (world.project / "lamp.py").write_text("one\n")
    uri = (world.project / "lamp.py").as_uri()
    for known, told in (([], True), ([uri], False)):
        async with opened(world, LanguageServers(diagnostics={"diagnostics": [], "known": known})) as (client, id):
            [result] = await turn(client, id, server, call("lsp", action="diagnostics", path="lamp.py"))
            assert ("No language server of the editor has checked this file" in str(result)) == told


async def test_nobody_is_asked_who_did_not_offer_it_or_with_the_setting_off(world: World, server: ModelServer) -> None:
    (world.folder / "config").mkdir(exist_ok=True)
    for capabilities, settings in ((ANNOUNCED, '{"lsp.diagnosticsOnWrite": false}'), ({}, "{}")):
        (world.folder / "config/config.json").write_text(settings)
        servers = LanguageServers()
        async with opened(world, servers, capabilities) as (client, id):
            await turn(client, id, server, call("edit_create_file", path=f"new{len(settings)}.py", content="x"))
            offered = {tool["name"] for tool in server.requests[-1].body["tools"]}
            assert ("lsp" in offered) == bool(capabilities)
            assert servers.asked == []


async def test_language_servers_can_be_left_alone(world: World, server: ModelServer) -> None:
    (world.folder / "config").mkdir(exist_ok=True)
    (world.folder / "config/config.json").write_text('{"lsp.enabled": false}')
    servers = LanguageServers()
    async with opened(world, servers) as (client, id):
        [result] = await turn(client, id, server, call("edit_create_file", path="new.py", content="x"))
        assert "diagnosticsUnknown" not in result["data"]
        offered = {tool["name"] for tool in server.requests[-1].body["tools"]}
        assert not offered & {"lsp", "edit_rename_symbol", "edit_format_file"}
        assert servers.asked == []


async def test_the_model_asks_for_a_definition_and_for_a_rename(world: World, server: ModelServer) -> None:
    (world.project / "lamp.py").write_text("lamp = 1\n")
    (world.project / "use.py").write_text("from lamp import lamp\n")
    lamp, use = ((world.project / name).as_uri() for name in ("lamp.py", "use.py"))
    servers = LanguageServers(
        definition={"locations": [{"uri": lamp, "range": at(0, 0, 4)}, {"uri": "https://x", "range": at(0, 0, 1)}]},
        rename={
            "files": [
                {"uri": lamp, "edits": [{"range": at(0, 0, 4), "newText": "torch"}]},
                {"uri": use, "edits": [{"range": at(0, 17, 21), "newText": "torch"}]},
            ]
        },
    )
    rename: dict[str, Any] = {"path": "use.py", "line": 1, "symbol": "lamp", "occurrence": 2, "newName": "torch"}
    async with opened(world, servers) as (client, id):
        found, renamed = await turn(
            client,
            id,
            server,
            call("lsp", action="definition", path="use.py", line=1, symbol="lamp", occurrence=2),
            call("edit_rename_symbol", **rename),
        )
        assert found["data"]["locations"] == [{"path": "lamp.py", "line": 1, "column": 1, "text": "lamp = 1"}]
        assert renamed["data"]["applied"]
        assert (world.project / "use.py").read_text() == "from lamp import torch\n"
        assert (world.project / "lamp.py").read_text() == "torch = 1\n"
        asked = next(one for one in servers.asked if one["action"] == "rename")
        assert (asked["uri"], asked["position"], asked["newName"]) == (use, {"line": 0, "character": 17}, "torch")
        servers.answers["rename"] = {"files": [{"uri": lamp, "edits": [{"range": at(0, 0, 5)}]}]}
        [broken] = await turn(
            client, id, server, call("edit_rename_symbol", **rename | {"symbol": "torch", "occurrence": 1})
        )
        assert code(broken) == "UNAVAILABLE"


async def test_the_model_has_a_file_formatted(world: World, server: ModelServer) -> None:
    (world.project / "lamp.py").write_text("lamp=1\n")
    # The SHA-256 of the text, as every client works it out.
    digest = hashlib.sha256(b"lamp=1\n").hexdigest()
    servers = LanguageServers(format={"edits": [{"range": at(0, 4, 5), "newText": " = "}], "sha256": digest})
    async with opened(world, servers) as (client, id):
        [result] = await turn(client, id, server, call("edit_format_file", path="lamp.py"))
        assert result["data"]["applied"]
        assert (world.project / "lamp.py").read_text() == "lamp = 1\n"
        asked = next(one for one in servers.asked if one["action"] == "format")
        assert asked["uri"] == (world.project / "lamp.py").as_uri()
        answers: list[Any] = [{"edits": []}, {"edits": [{"newText": ""}], "sha256": digest}, None]
        for servers.answers["format"] in [*answers, RpcFailure({"code": -32603, "message": "it crashed"})]:
            [broken] = await turn(client, id, server, call("edit_format_file", path="lamp.py"))
            assert code(broken) == "UNAVAILABLE"


async def test_a_client_looks_itself_by_the_rules_that_hold_for_the_model(world: World, server: ModelServer) -> None:
    (world.project / ".northignore").write_text("secret.txt\n")
    (world.project / "secret.txt").write_text("the key\n")
    (world.project / "open.txt").write_text("the lamp\n")

    async with opened(world, LanguageServers(), {}) as (client, id):

        async def look(tool: str, **arguments: object) -> str:
            result = await client.request("_north/look", {"sessionId": id, "tool": tool, "arguments": arguments})
            return str(result["text"])

        assert "the lamp" in await look("read_file", path="open.txt")
        found = await look("search_text", query="the ", glob="*.txt")
        assert "the lamp" in found
        assert "the key" not in found
        assert "secret.txt" not in await look("find_files", pattern="*.txt")
        for tool, arguments in (
            ("read_file", {"path": "secret.txt"}),
            ("read_file", {"path": "../x"}),
            ("read_file", {"path": "conversation://"}),
            ("read_file", {}),
            ("edit_create_file", {"path": "x", "content": "x"}),
            ("shell_run", {"command": "true"}),
        ):
            with pytest.raises(RpcFailure):
                await look(tool, **arguments)
        # The model has seen nothing by that.
        [result] = await turn(client, id, server, call("edit_replace_exact", path="open.txt", old="lamp", new="torch"))
        assert code(result) == "STALE"
