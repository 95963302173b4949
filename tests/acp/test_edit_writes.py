"""Edits against the real process: what asks in spite of auto-accept, and clients that write files themselves."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say
from tests.support.selecting import selected


class Asked:
    def __init__(self, choice: str) -> None:
        self.choice = choice
        self.questions: list[dict[str, Any]] = []

    async def __call__(self, params: dict[str, Any]) -> dict[str, Any]:
        self.questions.append(params)
        return selected(params, self.choice)


class Files:
    """A client's `fs/*` on real files. `spoils` is written wrongly."""

    def __init__(self, spoils: str | None = None) -> None:
        self.spoils = spoils
        self.written: list[tuple[str, str]] = []

    async def read(self, params: dict[str, Any]) -> dict[str, Any] | None:
        path = Path(params["path"])
        return {"content": path.read_text() if path.is_file() else ""}

    async def write(self, params: dict[str, Any]) -> dict[str, Any]:
        path = Path(params["path"])
        self.written.append((path.name, params["content"]))
        path.write_text("spoilt\n" if path.name == self.spoils else params["content"])
        return {}


@asynccontextmanager
async def session(
    world: World, choice: str, files: Files | None = None, *, can_write: bool = True
) -> AsyncIterator[tuple[RawAcpClient, Asked, str]]:
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        asked = client.handlers["session/request_permission"] = Asked(choice)
        capabilities: dict[str, Any] = {}
        if files is not None:
            capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}}
            client.handlers["fs/read_text_file"] = files.read
            if can_write:
                client.handlers["fs/write_text_file"] = files.write
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        yield client, asked, made["sessionId"]


async def turn(client: RawAcpClient, id: str, server: ModelServer, *calls: Call) -> list[Any]:
    server.script(answer(*calls), answer(say("ok")))
    await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
    return [json.loads(part["content"]) for part in server.requests[-1].body["messages"][-1]["content"]]


BATCH = [
    {"tool": "edit_replace_exact", "args": {"path": name, "old": "two", "new": "2"}}
    for name in ("a.txt", "b.txt", "c.txt")
]


def three(world: World) -> list[Call]:
    for name in ("a.txt", "b.txt", "c.txt"):
        (world.project / name).write_text("one\ntwo\n")
    reads = [call("read_file", path=name) for name in ("a.txt", "b.txt", "c.txt")]
    return [*reads, call("edit_apply_batch", edits=BATCH)]


def texts(world: World) -> list[str]:
    return [(world.project / name).read_text() for name in ("a.txt", "b.txt", "c.txt")]


PROTECTED = [
    call("edit_delete_file", path=".vscode/settings.json"),
    call("edit_move_file", **{"from": "a.txt", "to": ".vscode/tasks.json"}),
    call("edit_delete_file", path=".vscode/empty"),
    call("edit_move_file", **{"from": "empty", "to": ".idea"}),
    call("edit_move_file", **{"from": ".env", "to": "env.txt"}),
    call("edit_create_file", path=".github/workflows/x.yml", content="x"),
    call(
        "edit_apply_batch",
        edits=[
            {"tool": "edit_create_file", "args": {"path": "fine.txt", "content": "x"}},
            {"tool": "edit_create_file", "args": {"path": "package.json", "content": "{}"}},
        ],
    ),
    call("edit_patch", patch="*** Begin Patch\n*** Add File: .bashrc\n+x\n*** End Patch\n"),
]


@pytest.mark.parametrize("wanted", PROTECTED, ids=lambda one: f"{one.name}")
async def test_protected_files_ask_even_under_auto_accept(world: World, server: ModelServer, wanted: Call) -> None:
    (world.project / ".vscode/empty").mkdir(parents=True)
    (world.project / "empty").mkdir()
    (world.project / ".vscode/settings.json").write_text("{}\n")
    (world.project / ".env").write_text("SECRET=1\n")
    (world.project / "a.txt").write_text("a\n")
    before = {path: path.read_bytes() for path in world.project.rglob("*") if path.is_file()}
    async with session(world, "reject") as (client, asked, id):
        switch = {"sessionId": id, "configId": "_edits", "value": "auto"}
        await client.request("session/set_config_option", switch)
        await turn(client, id, server, wanted)
        (question,) = asked.questions
        assert "always" not in [option["optionId"] for option in question["options"]]
        assert "asks every time" in json.dumps(question["toolCall"]["content"])
    after = {path: path.read_bytes() for path in world.project.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if ".north" not in path.parts} == before


async def test_unprotected_files_do_not(world: World, server: ModelServer) -> None:
    async with session(world, "reject") as (client, asked, id):
        await client.request("session/set_config_option", {"sessionId": id, "configId": "_edits", "value": "auto"})
        results = await turn(client, id, server, *three(world))
        assert results[-1]["data"]["applied"]
        results = await turn(client, id, server, call("edit_delete_file", path="a.txt"))
        assert results[0]["data"]["files"] == [
            {"path": "a.txt", "action": "delete", "linesAdded": 0, "linesRemoved": 2}
        ]
        results = await turn(client, id, server, call("undo_edit"))
        assert results[0]["data"]["files"][0]["action"] == "create"
        assert asked.questions == []
    assert texts(world) == ["one\n2\n"] * 3


async def test_ask_mode_refuses_every_edit_tool(world: World, server: ModelServer) -> None:
    calls = three(world)
    async with session(world, "accept") as (client, asked, id):
        await client.request("session/set_mode", {"sessionId": id, "modeId": "ask"})
        more = [call("edit_delete_file", path="a.txt"), call("edit_move_file", **{"from": "a.txt", "to": "x"})]
        results = await turn(client, id, server, *calls, *more, call("edit_patch", patch="x"), call("undo_edit"))
        assert [result["error"]["code"] for result in results[3:]] == ["MODE_FORBIDDEN"] * 5
        assert asked.questions == []
    assert texts(world) == ["one\ntwo\n"] * 3


async def test_a_client_that_writes_files_gets_them_one_by_one(world: World, server: ModelServer) -> None:
    files = Files()
    async with session(world, "accept", files) as (client, _, id):
        results = await turn(client, id, server, *three(world))
        assert results[-1]["data"]["applied"]
        assert files.written == [(name, "one\n2\n") for name in ("a.txt", "b.txt", "c.txt")]
    assert texts(world) == ["one\n2\n"] * 3


async def test_when_a_client_spoils_one_file_all_have_their_old_texts_again(world: World, server: ModelServer) -> None:
    files = Files(spoils="b.txt")
    async with session(world, "accept", files) as (client, _, id):
        results = await turn(client, id, server, *three(world))
        assert results[-1]["error"]["code"] == "IO_ERROR"
        assert files.written[-1] == ("a.txt", "one\ntwo\n")
        listed = await client.request("_north/checkpoints/list", {"sessionId": id})
        assert listed["checkpoints"] == []
    assert texts(world) == ["one\ntwo\n"] * 3


async def test_when_a_client_cannot_write_after_all_the_disk_is_written(world: World, server: ModelServer) -> None:
    async with session(world, "accept", Files(), can_write=False) as (client, _, id):
        results = await turn(client, id, server, *three(world))
        assert results[-1]["data"]["applied"]
    assert texts(world) == ["one\n2\n"] * 3
