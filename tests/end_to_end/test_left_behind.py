"""What a killed North leaves behind: nothing that runs."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, call, say
from tests.support.selecting import selected

_WAYS = {
    "in the background": "sleep {n} & echo started",
    "disowned": "sleep {n} & disown; echo started",
    "in a subshell": "(sleep {n} &) ; echo started",
    "in a session of its own": "setsid sleep {n} & echo started",
    "without the signal": "nohup sleep {n} >/dev/null 2>&1 & echo started",
    "without an environment": "env -i setsid sleep {n} & echo started",
    "as a daemon": "python3 -c 'import os; os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0);"
    ' os.execvpe("sleep", ["sleep", "{n}"], {{}})\' && echo started',
}


def sleepers(seconds: str) -> list[int]:
    """The processes that sleep for so long."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"sleep" in words[0] and seconds.encode() in words:
                found.append(int(entry.name))
    return found


async def until(seconds: str, *, runs: bool) -> None:
    with anyio.fail_after(PATIENCE):
        while bool(sleepers(seconds)) != runs:
            await anyio.sleep(0.01)


async def begin(client: RawAcpClient, world: World) -> str:
    async def allow(params: dict[str, object]) -> dict[str, object]:
        return selected(params, "run")

    client.handlers["session/request_permission"] = allow
    await client.request("initialize", {"protocolVersion": 1})
    made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
    return str(made["sessionId"])


async def prompt(client: RawAcpClient, session: str) -> None:
    blocks = [{"type": "text", "text": "Do it."}]
    await client.request("session/prompt", {"sessionId": session, "prompt": blocks})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGTERM], ids=["kill", "hangup", "terminate"])
async def test_nothing_goes_on_after_north(world: World, server: ModelServer, number: signal.Signals) -> None:
    times = [f"{86_400 + os.getpid() * 10 + at}" for at in range(len(_WAYS))]
    commands = [way.format(n=time) for way, time in zip(_WAYS.values(), times, strict=True)]
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        session = await begin(client, world)
        server.script(*[answer(call("shell_run", command=command)) for command in commands], answer(say("Done.")))
        await prompt(client, session)
        for time in times:
            await until(time, runs=True)
        client.process.send_signal(number)
        await client.wait_exit()
        for time in times:
            await until(time, runs=False)


async def test_a_command_under_way_and_a_job_end_with_a_killed_north(world: World, server: ModelServer) -> None:
    job, command = f"{86_400 + os.getpid() * 10 + 8}", f"{86_400 + os.getpid() * 10 + 9}"
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        session = await begin(client, world)
        server.script(
            answer(call("shell_run", command=f"sleep {job}", background=True)),
            answer(call("shell_run", command=f"trap '' HUP TERM INT; sleep {command}; true")),
        )
        await client.start_request(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Do it."}]}
        )
        await until(job, runs=True)
        await until(command, runs=True)
        client.process.kill()
        await client.wait_exit()
        await until(job, runs=False)
        await until(command, runs=False)


async def test_a_command_that_was_to_go_on_goes_on(world: World, server: ModelServer) -> None:
    kept = f"{86_400 + os.getpid() * 10 + 7}"
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        session = await begin(client, world)
        server.script(
            answer(call("shell_run", command=f"sleep {kept}", background=True, keep=True)),
            answer(call("shell_run", command="sleep 0.01 & true")),
            answer(say("Done.")),
        )
        await prompt(client, session)
        await until(kept, runs=True)
        client.process.kill()
        await client.wait_exit()
        [pid] = sleepers(kept)
        os.kill(pid, signal.SIGKILL)
        await until(kept, runs=False)
