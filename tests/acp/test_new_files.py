"""New files through clients that write files: what they make of one is the result, and none stays of an edit that
failed."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.acp.test_foreign_files import client_error, replace, turn
from tests.end_to_end.world import World
from tests.support.foreign import Habits, foreign
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say

NEW = "x=1\ny=2\n"


def create(path: str = "made/new.py", content: str = NEW) -> Call:
    return call("edit_create_file", path=path, content=content)


def leftovers(world: World) -> list[str]:
    return sorted(path.name for path in world.project.rglob("*") if path.name in ("made", "new.py"))


async def test_a_new_file_is_written_by_the_client_into_a_folder_that_is_there(
    world: World, server: ModelServer
) -> None:
    async with foreign(world, Habits(remakes=lambda text: text.replace("=", " = "))) as client:
        (done,) = await turn(client, server, create())
        assert client.written == [("new.py", NEW)]
        assert (world.project / "made/new.py").read_text() == "x = 1\ny = 2\n"
        assert done["data"]["notices"] == ["the editor changed made/new.py while writing it"]
        (told,) = done["data"]["changedByEditor"]
        assert "+x = 1" in told["diff"]
        assert done["data"]["files"][0]["action"] == "create"
        client.habits = Habits()
        (again,) = await turn(client, server, replace("x = 1", "x=3", "made/new.py"))
        assert again["data"]["applied"]
        for _ in range(2):
            (undone,) = await turn(client, server, call("undo_edit"))
            assert undone["data"]["applied"], undone
        assert leftovers(world) == []


async def test_what_the_disk_has_to_write_it_writes(world: World, server: ModelServer) -> None:
    """A script needs a mode that the protocol cannot give it."""
    async with foreign(world) as client:
        (done,) = await turn(client, server, create("run.sh", "#!/bin/sh\ntrue\n"))
        assert done["data"]["applied"]
        assert client.written == []
    assert (world.project / "run.sh").stat().st_mode & 0o100


@pytest.mark.parametrize("code", [-32601, -32603])
async def test_a_client_that_refuses_to_write_it_leaves_it_to_the_disk(
    world: World, server: ModelServer, code: int
) -> None:
    async with foreign(world) as client:

        async def refuse(params: dict[str, Any]) -> Any:
            raise client_error(code, "no")

        client.raw.handlers["fs/write_text_file"] = refuse
        (done,) = await turn(client, server, create())
        assert done["data"]["applied"]
    assert (world.project / "made/new.py").read_text() == NEW


SPOILS: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda text: "", "is empty"),
    "cut off": (lambda text: text[:3], "is cut off after 3 of"),
    "unrelated": (lambda text: "something else\n" * 30, ""),
}


@pytest.mark.parametrize("name", SPOILS)
async def test_a_new_file_that_is_not_the_accepted_one_does_not_stay(
    world: World, server: ModelServer, name: str
) -> None:
    spoil, reason = SPOILS[name]
    (world.project / "a.txt").write_text("one\ntwo\n")

    def remake(text: str) -> str:
        return spoil(text) if text == NEW else text

    edits = [
        {"tool": "edit_replace_exact", "args": {"path": "a.txt", "old": "two", "new": "2"}},
        {"tool": "edit_create_file", "args": {"path": "made/new.py", "content": NEW}},
    ]
    async with foreign(world, Habits(remakes=remake)) as client:
        _, failed = await turn(client, server, call("read_file", path="a.txt"), call("edit_apply_batch", edits=edits))
        assert failed["error"]["code"] == "IO_ERROR"
        assert reason in failed["error"]["message"]
        assert client.written[-1] == ("a.txt", "one\ntwo\n")
    assert (world.project / "a.txt").read_text() == "one\ntwo\n"
    assert leftovers(world) == []


async def test_a_new_file_goes_when_a_later_one_of_its_edit_fails(world: World, server: ModelServer) -> None:
    (world.project / "z.txt").write_text("one\ntwo\n")
    edits = [
        {"tool": "edit_create_file", "args": {"path": "made/new.py", "content": NEW}},
        {"tool": "edit_replace_exact", "args": {"path": "z.txt", "old": "two", "new": "2"}},
    ]
    async with foreign(world, Habits(remakes=lambda text: None if text == "one\n2\n" else text)) as client:
        _, failed = await turn(client, server, call("read_file", path="z.txt"), call("edit_apply_batch", edits=edits))
        assert "still has the old text" in failed["error"]["message"]
    assert (world.project / "z.txt").read_text() == "one\ntwo\n"
    assert leftovers(world) == []


async def test_a_client_that_takes_its_time_is_waited_for(world: World, server: ModelServer) -> None:
    (world.project / "a.py").write_text("x=1\n")
    async with foreign(world) as client:
        write, go_on = client.raw.handlers["fs/write_text_file"], asyncio.Event()

        async def late(params: dict[str, Any]) -> Any:
            await go_on.wait()
            return await write(params)

        client.raw.handlers["fs/write_text_file"] = late
        server.script(answer(call("read_file", path="a.py")), answer(replace("x=1", "x=2")), answer(say("ok")))
        text = [{"type": "text", "text": "go"}]
        running = await client.raw.start_request("session/prompt", {"sessionId": client.session, "prompt": text})
        await client.raw.wait(lambda message: message.get("method") == "fs/write_text_file")
        assert (world.project / "a.py").read_text() == "x=1\n"
        assert not any(message.get("id") == running and "result" in message for _, message in client.raw.transcript)
        go_on.set()
        await client.raw.answer(running)
    assert (world.project / "a.py").read_text() == "x=2\n"
