"""A client that does not read for a while: nothing piles up for it, and it can still stop the turn."""

import fcntl
import json
import struct
import subprocess
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import COLD_SERVER, World
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Gate, Say, answer

_MEGABYTES = 8
_PIPE = 60_000  # of Linux's 65,536


def _peak_memory(pid: int) -> int:
    """Bytes, of the whole life of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def _waiting(descriptor: int) -> int:
    """Bytes in a pipe."""
    return int(struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0])


def test_a_slow_reader_costs_no_memory_and_can_stop_the_turn(world: World, server: ModelServer) -> None:
    text = "".join(f"{number:>1023}\n" for number in range(_MEGABYTES * 1024))
    server.script(answer(Say("ready")), answer(Say(text, chunks=_MEGABYTES * 1024), Gate("all of it")))
    command = [*COLD_SERVER, "acp"]
    # The first server of an installation puts its byte code into a file, which takes memory for a moment.
    environ = {**world.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    with subprocess.Popen(command, stdin=-1, stdout=-1, env=environ, cwd=world.project) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(**message: Any) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()

        def receive(id: int) -> tuple[dict[str, Any], int]:
            """An answer, and how many characters of text came before it."""
            assert process.stdout is not None
            characters = 0
            for line in process.stdout:
                message = json.loads(line)
                if message.get("id") == id and "method" not in message:
                    return message["result"], characters
                update = message.get("params", {}).get("update", {})
                if update.get("sessionUpdate") == "agent_message_chunk":
                    characters += len(update["content"]["text"])
            raise AssertionError("the server ended")

        send(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
        receive(1)
        send(id=2, method="session/new", params={"cwd": str(world.project), "mcpServers": []})
        session = receive(2)[0]["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}
        send(id=3, method="session/prompt", params=prompt)
        receive(3)  # by now everything is loaded
        before = _peak_memory(process.pid)
        send(id=4, method="session/prompt", params=prompt)
        deadline = time.monotonic() + PATIENCE
        while _waiting(process.stdout.fileno()) < _PIPE:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        with pytest.raises(AssertionError):  # the model is not read either, while nobody reads the answer
            server.wait_reached("all of it", timeout=1)
        send(method="session/cancel", params={"sessionId": session})
        result, characters = receive(4)
        assert result["stopReason"] == "cancelled"
        assert characters < 2**20
        assert _peak_memory(process.pid) - before < 4 * 2**20
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
