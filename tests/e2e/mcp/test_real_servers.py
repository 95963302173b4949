"""Tool servers of other people, as their users start them: with the official SDKs for Python and TypeScript, over every
carrier."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_mcp import DONE, command, last_result, offered, own, talk
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import answer, call


@cache
def programs() -> Path:
    """The folder of the servers' programs, set up first when it is not there yet."""
    setup = Path(__file__).parents[1] / "setup-mcp.sh"
    folder = subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    return Path(folder) / "bin"


@pytest.fixture
def world(world: World) -> World:
    """A project that is a git repository."""
    git = ["git", "-C", str(world.project), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "The first commit"]):
        subprocess.run([*git, *words], check=True)
    return world


async def test_git_by_the_sdk_for_python(world: World, server: ModelServer) -> None:
    own(
        world,
        git={"command": str(programs() / "mcp-server-git")},
        fetch={"command": str(programs() / "mcp-server-fetch")},
    )
    log = call("mcp_git_log", repo_path=str(world.project), max_count=1)
    status = call("mcp_git_status", repo_path=str(world.folder))
    server.script(answer(log), answer(status), DONE)
    async with talk(world) as (client, session):
        await ready(client, session, "git", "fetch")
        assert await prompt(client, session, "What was done?") == "end_turn"
    assert "The first commit" in json.dumps(server.requests[1].body)
    assert "Error" in last_result(server)  # that folder is no repository


async def test_files_and_everything_by_the_sdk_for_typescript(world: World, server: ModelServer) -> None:
    (world.project / "notes.txt").write_text("a line of notes")
    files = {"command": str(programs() / "mcp-server-filesystem"), "args": ["${workspaceFolder}"]}
    every = {"command": str(programs() / "mcp-server-everything"), "tools": {"include": ["echo", "get-tiny-image"]}}
    own(world, files=files, every=every)
    read = call("mcp_files_read_text_file", path=str(world.project / "notes.txt"))
    image = call("mcp_every_get_tiny_image")
    server.script(answer(read), answer(call("mcp_every_echo", message="hello")), answer(image), DONE)
    async with talk(world) as (client, session):
        await ready(client, session, "files", "every")
        assert await prompt(client, session, "Read my notes") == "end_turn"
    told = json.dumps(server.requests[-1].body)
    assert "a line of notes" in told
    assert "Echo: hello" in told
    assert "image/png" in told  # its checksum is wrong, so models are not shown it


@pytest.mark.parametrize(("mode", "carrier", "path"), [("streamableHttp", "http", "/mcp"), ("sse", "sse", "/sse")])
async def test_everything_behind_an_address(
    world: World, server: ModelServer, mode: str, carrier: str, path: str
) -> None:
    steps = call("mcp_every_trigger_long_running_operation", duration=1, steps=2)
    server.script(answer(call("mcp_every_echo", message="hello")), answer(steps), DONE)
    only = {"include": ["echo", "trigger-long-running-operation"]}
    with everything(mode) as address:
        own(world, every={"type": carrier, "url": address + path, "tools": only})
        async with talk(world) as (client, session):
            await ready(client, session, "every")
            assert await prompt(client, session, "Say hello") == "end_turn"
            assert any("1/2" in json.dumps(one) for one in client.updates)
            assert "no sense" not in await command(client, session, "/mcp")
    assert "Echo: hello" in json.dumps(server.requests[1].body)
    assert set(offered(server)) >= {"mcp_every_echo", "mcp_every_trigger_long_running_operation"}
    assert "completed" in last_result(server)


async def ready(client: Any, session: str, *names: str) -> None:
    """Wait until servers have told their tools."""
    with anyio.fail_after(60):
        while True:
            listed = await command(client, session, "/mcp")
            if all(f"`{name}`: ready" in listed for name in names):
                return
            await anyio.sleep(0.1)


@contextmanager
def everything(mode: str) -> Iterator[str]:
    """Run the server behind an address of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "PORT": str(port)}
    argv = [str(programs() / "mcp-server-everything"), mode]
    with subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
