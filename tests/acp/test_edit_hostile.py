"""Edits against the real process, with somebody who interferes: what stands at the end, and what the model is told."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acp.test_edit_writes import Files, session, turn
from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call


class Stale(Files):
    """A client that keeps showing the text that it read first."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: dict[str, str] = {}

    async def read(self, params: dict[str, Any]) -> dict[str, Any] | None:
        path = Path(params["path"])
        return {"content": self.shown.setdefault(params["path"], path.read_text())} if path.is_file() else None


async def test_a_client_that_has_not_seen_the_disk_change_does_not_overwrite_it(
    world: World, server: ModelServer
) -> None:
    path = world.project / "a.txt"
    path.write_text("one\ntwo\n")
    files = Stale()
    async with session(world, "accept", files) as (client, asked, id):

        async def meanwhile(params: dict[str, Any]) -> dict[str, Any]:
            path.write_text("one\ntwo\nby a program\n")
            return await asked(params)

        client.handlers["session/request_permission"] = meanwhile
        edit = call("edit_replace_exact", path="a.txt", old="two", new="2")
        _, told = await turn(client, id, server, call("read_file", path="a.txt"), edit)
    assert told["error"]["code"] == "STALE"
    assert "changed on disk" in told["error"]["message"]
    assert path.read_text() == "one\ntwo\nby a program\n"
    assert files.written == []


class Swapping(Files):
    """A client during whose first write somebody does something to the second file's place."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__()
        self.act = act

    async def write(self, params: dict[str, Any]) -> dict[str, Any]:
        done = await super().write(params)
        if len(self.written) == 1:
            self.act()
        return done


@pytest.mark.parametrize("how", ["a link to a folder", "a link", "a hard link", "another folder"])
async def test_what_is_swapped_during_the_first_write_of_a_batch_stops_the_second(
    world: World, server: ModelServer, how: str
) -> None:
    outside, sub = world.project.parent / "outside", world.project / "sub"
    for folder in (outside, sub):
        folder.mkdir()
        (folder / "b.txt").write_text("one\ntwo\n")
    (world.project / "a.txt").write_text("one\ntwo\n")

    def act() -> None:
        match how:
            case "a link to a folder":
                sub.rename(world.project / "gone")
                sub.symlink_to(outside)
            case "a link":
                (sub / "b.txt").unlink()
                (sub / "b.txt").symlink_to(outside / "b.txt")
            case "a hard link":
                (sub / "b.txt").unlink()
                os.link(outside / "b.txt", sub / "b.txt")
            case _:
                sub.rename(world.project / "gone")
                sub.mkdir()
                (sub / "b.txt").write_text("another\n")

    files = Swapping(act)
    names = ("a.txt", "sub/b.txt")
    edits = [{"tool": "edit_replace_exact", "args": {"path": name, "old": "two", "new": "2"}} for name in names]
    async with session(world, "accept", files) as (client, _, id):
        reads = [call("read_file", path=name) for name in names]
        *_, told = await turn(client, id, server, *reads, call("edit_apply_batch", edits=edits))
    assert told["error"]["code"] == "STALE"
    assert (outside / "b.txt").read_text() == "one\ntwo\n"
    assert (world.project / "a.txt").read_text() == "one\ntwo\n"


@pytest.mark.parametrize("auto", [False, True])
async def test_no_client_writes_through_a_hard_link(world: World, server: ModelServer, auto: bool) -> None:
    outside = world.project.parent / "outside.txt"
    outside.write_text("one\ntwo\n")
    os.link(outside, world.project / "notes.txt")
    files = Files()
    async with session(world, "accept", files) as (client, asked, id):
        if auto:
            switch = {"sessionId": id, "configId": "_edits", "value": "auto"}
            await client.request("session/set_config_option", switch)
        edit = call("edit_replace_exact", path="notes.txt", old="two", new="2")
        await turn(client, id, server, call("read_file", path="notes.txt"), edit)
        assert "hard links" in json.dumps(asked.questions[0]["toolCall"]["content"])
    assert (world.project / "notes.txt").read_text() == "one\n2\n"
    assert (outside.read_text(), files.written) == ("one\ntwo\n", [])


async def test_a_batch_makes_no_repository_under_auto_accept(world: World, server: ModelServer) -> None:
    parts = {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tfsmonitor = x\n", "objects/x": "", "refs/x": ""}
    edits = [
        {"tool": "edit_create_file", "args": {"path": f"inner/{name}", "content": text}} for name, text in parts.items()
    ]
    patch = "".join(f"*** Add File: split/{name}\n+x\n" for name in ("HEAD", "commondir"))
    async with session(world, "accept") as (client, asked, id):
        await client.request("session/set_config_option", {"sessionId": id, "configId": "_edits", "value": "auto"})
        told = await turn(
            client,
            id,
            server,
            call("edit_apply_batch", edits=edits),
            call("edit_patch", patch=f"*** Begin Patch\n{patch}*** End Patch\n"),
            call("edit_create_file", path="one/HEAD", content="x"),
            call("edit_create_file", path="one/commondir", content="../x"),
        )
    assert [one.get("error", {}).get("code") for one in told] == ["OUTSIDE_WORKSPACE"] * 2 + [None, "OUTSIDE_WORKSPACE"]
    assert not (world.project / "inner").exists()
    assert not (world.project / "split").exists()
    assert asked.questions == []


async def test_what_the_model_is_told_of_a_very_long_line_is_short(world: World, server: ModelServer) -> None:
    (world.project / "long.txt").write_text(f"{'x' * 300_000}two\n")
    edits = (
        call("read_file", path="long.txt"),
        call("edit_replace_exact", path="long.txt", old="xtwo", new="x2"),
    )
    async with session(world, "accept") as (client, _, id):
        _, told = await turn(client, id, server, *edits)
    assert told["data"]["applied"] is True
    assert "characters left out" in told["data"]["files"][0]["region"]["content"]
    assert len(json.dumps(told)) < 20_000
    assert (world.project / "long.txt").read_text().endswith("x2\n")


async def test_read_only_files_and_linked_names_ask_every_time(world: World, server: ModelServer) -> None:
    (world.project / "a.txt").write_text("one\n")
    (world.project / "a.txt").chmod(0o444)
    (world.project / ".vscode").symlink_to("json")
    async with session(world, "reject") as (client, asked, id):
        switch = {"sessionId": id, "configId": "_edits", "value": "auto"}
        await client.request("session/set_config_option", switch)
        await turn(
            client,
            id,
            server,
            call("read_file", path="a.txt"),
            call("edit_replace_exact", path="a.txt", old="one", new="1"),
            call("edit_patch", patch="*** Begin Patch\n*** Add File: .vscode/tasks.json\n+x\n*** End Patch\n"),
        )
        reasons = [json.dumps(question["toolCall"]["content"]) for question in asked.questions]
    assert len(reasons) == 2
    assert "read-only" in reasons[0]
    assert "json/tasks.json is also known as .vscode/tasks.json, which is a protected file" in reasons[1]
    assert (world.project / "a.txt").read_text() == "one\n"
    assert not (world.project / "json/tasks.json").exists()


async def test_a_new_script_is_executable_and_the_model_knows(world: World, server: ModelServer) -> None:
    async with session(world, "accept") as (client, _, id):
        (told,) = await turn(client, id, server, call("edit_create_file", path="run.sh", content="#!/bin/sh\ntrue\n"))
    assert told["data"]["files"][0]["madeExecutable"] is True
    assert os.access(world.project / "run.sh", os.X_OK)


async def test_accepting_for_this_conversation_ends_with_it(world: World, server: ModelServer) -> None:
    def new(name: str) -> Call:
        return call("edit_create_file", path=name, content="x\n")

    async with session(world, "accept") as (client, asked, id):

        async def accept(params: dict[str, Any]) -> dict[str, Any]:
            return await asked(params) | {"_meta": {"north": {"scope": "session"}}}

        client.handlers["session/request_permission"] = accept
        await turn(client, id, server, new("1.txt"), new("2.txt"), new("package.json"), new("3.txt"))
        assert [question["toolCall"]["title"].split(" (")[0] for question in asked.questions] == [
            "Create 1.txt",
            "Create package.json",  # protected: asks every time
        ]
        assert not (world.project / ".north").exists()
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await turn(client, made["sessionId"], server, new("4.txt"))
        assert len(asked.questions) == 3


async def test_a_rejection_may_end_the_turn(world: World, server: ModelServer) -> None:
    async with session(world, "reject") as (client, asked, id):

        async def stop(params: dict[str, Any]) -> dict[str, Any]:
            return await asked(params) | {"_meta": {"north": {"stop": True}}}

        client.handlers["session/request_permission"] = stop
        server.script(answer(call("edit_create_file", path="a.txt", content="x\n")))
        prompt = {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]}
        assert (await client.request("session/prompt", prompt))["stopReason"] == "cancelled"
    assert not (world.project / "a.txt").exists()


async def test_points_and_the_whole_difference_are_there_for_clients(world: World, server: ModelServer) -> None:
    async with session(world, "accept") as (client, _, id):
        point = (await client.request("_north/checkpoints/name", {"sessionId": id, "name": "start"}))["checkpointId"]
        await turn(client, id, server, call("edit_create_file", path="a.txt", content="x\n"))
        listed = (await client.request("_north/checkpoints/list", {"sessionId": id}))["checkpoints"]
        assert [(row["kind"], row["title"].split(" ")[0]) for row in listed] == [
            ("point", "start"),
            ("edit", "Creating"),
        ]
        whole = await client.request("_north/checkpoints/changes", {"sessionId": id, "since": point})
        assert whole["files"][0]["diff"].endswith("+x\n")
        assert whole["totals"]["created"] == whole["totals"]["linesAdded"] == 1
        await client.request("_north/checkpoints/restore", {"sessionId": id, "since": point})
        assert not (world.project / "a.txt").exists()
        with pytest.raises(RpcFailure, match="1 to 60"):
            await client.request("_north/checkpoints/name", {"sessionId": id, "name": "x" * 61})
