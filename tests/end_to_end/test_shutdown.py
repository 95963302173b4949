"""The end of conversations and of the server, when something hangs in it: it ends all the same, that is logged, and
nothing that was stored is lost."""

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from north_lsp.agent.session.keeping import closing
from north_lsp.agent.turn.turn import Turn
from north_lsp.shell.runner import CommandRunner
from north_lsp.storage.conversation import Conversation
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_log_events import logged
from tests.end_to_end.test_sessions import there
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Say, answer, call

_BLOCKED = """
import sys, threading
from north_lsp.agent.session.session import Session
from north_lsp.server import ending

async def close(self, reason):
    threading.Event().wait()

Session.close = close
ending.LONGEST_SECONDS = 1.0
from north_lsp.cli.main import main
sys.exit(main(["acp"]))
"""


class Hanging:
    """A step that begins and does not end until `go_on` is set."""

    def __init__(self) -> None:
        self.go_on = threading.Event()

    async def later(self, *_: Any, **__: Any) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.go_on.wait, 60)

    def now(self, *_: Any) -> None:
        self.go_on.wait(60)


def hang_in_turns(patch: pytest.MonkeyPatch, hanging: Hanging) -> None:
    patch.setattr(Turn, "finalize", hanging.later)


def hang_in_processes(patch: pytest.MonkeyPatch, hanging: Hanging) -> None:
    patch.setattr(CommandRunner, "end_all", hanging.later)


def hang_in_saving(patch: pytest.MonkeyPatch, hanging: Hanging) -> None:
    patch.setattr(Conversation, "sync", hanging.now)


@pytest.mark.parametrize(
    ("steps", "hang"),
    [
        (["turn"], hang_in_turns),
        (["processes"], hang_in_processes),
        (["turn", "saving"], hang_in_saving),  # a turn saves at its end, too
    ],
    ids=["turn", "processes", "saving"],
)
async def test_a_step_that_hangs_is_left_and_nothing_is_lost(
    world: World,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[closing.Step],
    hang: Callable[[pytest.MonkeyPatch, Hanging], None],
) -> None:
    server.script(answer(Say("Hello to you.")), answer(Say("I try."), call("shell_run", command="make all")))
    hanging = Hanging()
    try:
        async with inside(world.environ) as client:
            made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
            session = str(made["sessionId"])
            assert await prompt(client, session, "Hello") == "end_turn"
            asked = anyio.Event()

            async def unanswered(params: dict[str, Any]) -> None:
                asked.set()

            client.handlers["session/request_permission"] = unanswered
            await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Try")})
            with anyio.fail_after(PATIENCE):
                await asked.wait()
            hang(monkeypatch, hanging)
            for step in steps:
                monkeypatch.setitem(closing.LIMITS, step, 0.05)
            await client.request("session/close", {"sessionId": session})
            (path,) = world.data.glob("conversations/*.jsonl")
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            assert rows[-1]["type"] == "conversation_ended"
            assert not path.with_suffix(".lock").exists()
            hanging.go_on.set()
    finally:
        hanging.go_on.set()
        monkeypatch.undo()
    assert [row["data"]["step"] for row in logged(world) if row["event"] == "shutdown_cut"] == steps
    async with inside(world.environ) as client:
        await client.request("session/load", there(session, world.project))
        for said in ("Hello", "Hello to you.", "Try", "I try."):
            assert said in str(client.updates)
        assert "pending" not in {update["update"].get("status") for update in client.updates[-3:]}
        server.script(answer(Say("On it goes.")))
        assert await prompt(client, session, "Go on") == "end_turn"
        assert texts(client).endswith("On it goes.")


async def test_a_server_whose_end_hangs_ends_all_the_same(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hello to you.")))
    async with raw_client([sys.executable, "-c", _BLOCKED], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert await prompt(client, str(made["sessionId"]), "Hello") == "end_turn"
        await client.close_stdin()
        assert await client.wait_exit() == 0
    (cut,) = [row for row in logged(world) if row["event"] == "shutdown_cut"]
    assert (cut["level"], cut["data"]["step"]) == ("warn", "sessions")
    assert "Hello to you." in "".join(world.log_entries())
