"""An exception anywhere in the loop ends neither the turn nor the process: each step fails once in turn, and the calls
have their results, the user a notice, a report the stack, and the next prompt its answer."""

import inspect
import json
from collections.abc import Callable
from typing import Any

import pytest

from north_lsp.acp import v1
from north_lsp.acp.editor import AcpEditor
from north_lsp.agent.calls import dispatch
from north_lsp.agent.calls.leak_guard import LeakGuard
from north_lsp.agent.calls.open_calls import OpenCalls
from north_lsp.agent.calls.previews import Previews
from north_lsp.agent.calls.repetition import Repetition
from north_lsp.agent.calls.titles import Titles
from north_lsp.agent.costs import recorder as costs
from north_lsp.agent.costs.account import Account
from north_lsp.agent.edits import review as edits
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.models.choice import ModelChoice
from north_lsp.agent.session.turns.preparing import Preparation
from north_lsp.agent.shell import run as commands
from north_lsp.agent.shell.approve import CommandApprover
from north_lsp.agent.turn.arriving_calls import ArrivingCalls
from north_lsp.agent.turn.file_blocks import FileBlocks
from north_lsp.agent.turn.queue import PromptQueue
from north_lsp.agent.turn.reminders import Reminders
from north_lsp.agent.turn.request_builder import RequestBuilder
from north_lsp.storage.partial_file import PartialFile
from north_lsp.tools.read.read_file import ReadFile
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say

_ENDED = "the turn was ended; what was done is kept"
_SAID = "Something failed inside North"

# What may fail without the turn's noticing: the step is left out, or the call fails alone.
_GOES_ON: list[tuple[object, str]] = [
    (AcpEditor, "show"),
    (v1, "updates"),
    (ReadFile, "title"),
    (ReadFile, "run"),
    (Titles, "_places"),
    (LeakGuard, "cleaned"),
    (dispatch, "repair_arguments"),
    (OpenCalls, "_store"),
    (dispatch.ToolRunner, "_of_output"),
    (Repetition, "note"),
    (ArrivingCalls, "_look_ahead"),
    (PartialFile, "flush"),
    (Previews, "note"),
    (edits, "_protected_reasons"),
    (edits, "applied_rows"),
    (CommandApprover, "_decide"),
    (commands, "report_to_model"),
    (Checkpoints, "record"),
    (Account, "report"),
    (costs.CostRecorder, "record"),
    (costs.CostRecorder, "finish"),
    (costs.CostRecorder, "look"),
    (ModelChoice, "look_after"),
    (Preparation, "recover"),
]
# Where there is nothing to go on with: the turn ends in words.
_ENDS: list[tuple[object, str]] = [
    (RequestBuilder, "build"),
    (Reminders, "remind"),
    (FileBlocks, "review_finished"),
    (PromptQueue, "take_steering"),
    (dispatch.Dispatcher, "run"),
]


def failing_once(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> list[str]:
    """Make a step raise at its first use; the list tells whether it was used."""
    real: Callable[..., Any] = getattr(owner, name)
    used: list[str] = []

    def trip() -> bool:
        used.append(name)
        return len(used) == 1

    if inspect.iscoroutinefunction(real):

        async def later(*arguments: Any, **named: Any) -> Any:
            if trip():
                raise RuntimeError(f"injected into {name}")
            return await real(*arguments, **named)

        monkeypatch.setattr(owner, name, later)
    else:

        def now(*arguments: Any, **named: Any) -> Any:
            if trip():
                raise RuntimeError(f"injected into {name}")
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, now)
    return used


async def played(
    world: World, server: ModelServer, fail: Callable[[], list[str]]
) -> tuple[str, str, list[dict[str, Any]]]:
    """A turn with a look, an edit and a command, and one after it. Gives what was said in each, and the model's last
    messages."""
    (world.project / "a.txt").write_text("one\ntwo\nthree\n")
    server.script(
        answer(say("Looking."), call("read_file", path="a.txt")),
        answer(call("edit_replace_exact", path="a.txt", old="two\n", new="second\n")),
        answer(call("shell_run", command="echo ran")),
        answer(say("First done.")),
        answer(say("Second done.")),
    )

    async def allow(params: dict[str, Any]) -> dict[str, Any]:
        kinds = {option["kind"]: option["optionId"] for option in params["options"]}
        return {"outcome": {"outcome": "selected", "optionId": kinds["allow_once"]}}

    async with inside(world.environ) as client:
        client.handlers["session/request_permission"] = allow
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        await client.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        used = fail()
        shown: list[str] = []
        while len(shown) < 4 and not any("Second done." in one for one in shown):
            client.updates.clear()
            asked = {"sessionId": made["sessionId"], "prompt": [{"type": "text", "text": "Do it."}]}
            assert (await client.request("session/prompt", asked))["stopReason"] == "end_turn"
            shown.append(told(client))
    assert used
    return shown[0], shown[-1], server.requests[-1].body["messages"]


def told(client: RawAcpClient) -> str:
    chunks = [one["update"] for one in client.updates if one["update"]["sessionUpdate"] == "agent_message_chunk"]
    return "".join(chunk["content"]["text"] for chunk in chunks)


def results(messages: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return (
        [block["id"] for block in blocks if block["type"] == "tool_use"],
        [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"],
    )


def logged(world: World) -> str:
    """What the reports of failures say. The log has where they are, and nothing of what they say."""
    log = next((world.folder / "state").rglob("north.log")).read_text()
    reports = list((world.folder / "state" / "crash").glob("*.txt"))
    assert reports
    assert all(report.name in log for report in reports)
    assert "injected into" not in log
    return "".join(report.read_text() for report in reports)


def ids(rows: list[tuple[object, str]]) -> list[str]:
    return [f"{str(getattr(owner, '__name__', owner)).rpartition('.')[2]}.{name}" for owner, name in rows]


@pytest.mark.parametrize(("owner", "name"), _GOES_ON, ids=ids(_GOES_ON))
async def test_the_turn_goes_on(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    first, second, messages = await played(world, server, lambda: failing_once(monkeypatch, owner, name))
    asked, answered = results(messages)
    assert len(asked) == 3
    assert asked == answered
    assert "First done." in first or name in ("show", "updates")
    assert "Second done." in second
    assert _ENDED not in first
    assert _SAID in first or "INTERNAL" in json.dumps(messages)
    assert f"injected into {name}" in logged(world)


@pytest.mark.parametrize(("owner", "name"), _ENDS, ids=ids(_ENDS))
async def test_the_turn_ends_in_words(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch, owner: object, name: str
) -> None:
    first, second, messages = await played(world, server, lambda: failing_once(monkeypatch, owner, name))
    asked, answered = results(messages)
    assert asked == answered
    assert _ENDED in first
    assert "Second done." in second
    assert f"injected into {name}" in logged(world)
