"""The main job, end to end: the same scenarios through ACP, through LSP with the chat, and through plain LSP."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.editors import Base, Editor, LspEditor, SdkEditor, opted_in_editor, plain_editor, sdk_editor
from tests.end_to_end.world import COLD_SERVER, World
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, call, gate, say, think

Open = Callable[..., AbstractAsyncContextManager[Any]]
editors = pytest.mark.parametrize(
    "open_editor", [sdk_editor, opted_in_editor, plain_editor], ids=["acp", "lsp-opted-in", "lsp-plain"]
)
TARGET = "json/scanner.py"
OLD = "NUMBER_RE = re.compile("
NEW = "NUMBER_PATTERN = re.compile("
EDIT = {"path": TARGET, "old": OLD, "new": NEW}


def results_of(server: ModelServer, request: int = -1) -> list[Any]:
    """The tool results in the newest user message of a request, as the model read them."""
    content = server.requests[request].body["messages"][-1]["content"]
    return [json.loads(part["content"]) if part["content"].startswith("{") else part["content"] for part in content]


@editors
async def test_chat(open_editor: Open, world: World, server: ModelServer) -> None:
    world = replace(world, server=tuple(COLD_SERVER))
    server.script(
        answer(think("hm"), say("I look. "), call("read_file", path=TARGET, endLine=5), call("list_root")),
        answer(say("It is the scanner.")),
    )
    async with open_editor(world) as editor:
        outcome = await editor.prompt("What is the scanner?")
        assert outcome.stop_reason == "end_turn"
        assert "I look." in outcome.text
        assert "It is the scanner." in outcome.text
        read, listed = results_of(server)
        assert read["data"]["content"].startswith("1→")
        assert [entry["name"] for entry in listed["data"]["entries"]] == ["email", "http", "json"]
        assert editor.questions == []
        first, second = (request.body for request in server.requests)
        assert second["messages"][: len(first["messages"])] == first["messages"]
        assert (first["system"], first["tools"]) == (second["system"], second["tools"])


@editors
@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
async def test_edit_accepted(open_editor: Open, world: World, server: ModelServer, is_open: bool) -> None:
    path = world.project / TARGET
    before = path.read_text()
    server.script(
        answer(call("read_file", path=TARGET, aroundMatch=OLD)),
        answer(call("edit_replace_exact", **EDIT)),
        answer(say("Renamed.")),
    )
    async with open_editor(world) as editor:
        text = f"# unsaved\n{before}" if is_open else before
        if is_open and isinstance(editor, LspEditor):
            editor.open(path, text)
        elif is_open:
            editor.texts[path] = text
        editor.choices = ["accept"]
        outcome = await editor.prompt("Rename it")
        assert outcome.stop_reason == "end_turn"
        result = results_of(server)[0]
        assert result["ok"], result
        assert result["data"]["applied"]
        assert NEW in result["data"]["files"][0]["region"]["content"]
        assert OLD in editor.questions[0].text
        assert NEW in editor.questions[0].text
        wanted = text.replace(OLD, NEW)
        if is_open:
            assert editor.texts[path] == wanted
            assert path.read_text() == before
        else:
            assert path.read_text() == wanted


@editors
async def test_edit_rejected(open_editor: Open, world: World, server: ModelServer) -> None:
    path = world.project / TARGET
    before = path.read_bytes()
    server.script(
        answer(call("read_file", path=TARGET, aroundMatch=OLD)),
        answer(call("edit_replace_exact", **EDIT), call("edit_create_file", path="new/file.txt", content="x")),
        answer(say("As you wish.")),
    )
    async with open_editor(world) as editor:
        editor.choices = ["reject", "reject"]
        outcome = await editor.prompt("Rename it")
        assert outcome.stop_reason == "end_turn"
        assert [result["data"] for result in results_of(server)] == [{"applied": False, "reason": "rejected"}] * 2
        assert path.read_bytes() == before
        assert not (world.project / "new").exists()


@editors
async def test_command_approved(open_editor: Open, world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="echo made > made.txt; echo out; exit 3")), answer(say("Done.")))
    async with open_editor(world) as editor:
        editor.choices = ["accept"]
        outcome = await editor.prompt("Run it")
        assert outcome.stop_reason == "end_turn"
        assert "echo made > made.txt; echo out; exit 3" in editor.questions[0].text
        assert results_of(server) == ["out\nexit code 3"]
        assert (world.project / "made.txt").read_text() == "made\n"


@editors
async def test_command_denied(open_editor: Open, world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="touch made.txt")), answer(say("I did not.")))
    async with open_editor(world) as editor:
        editor.choices = ["reject"]
        outcome = await editor.prompt("Run it")
        assert outcome.stop_reason == "end_turn"
        assert results_of(server) == [{"ok": True, "data": {"denied": True}}]
        assert not (world.project / "made.txt").exists()


async def cancelled(editor: Editor, prompt: "asyncio.Task[Any]") -> Any:
    """Cancel and give the prompt's outcome, which has to come at once."""
    await editor.cancel()
    outcome = await asyncio.wait_for(prompt, PATIENCE)
    assert outcome.stop_reason == "cancelled"
    return outcome


@editors
async def test_cancel_while_streaming(open_editor: Open, world: World, server: ModelServer) -> None:
    server.script(answer(say("The beginning ", 1), gate("never"), say("the end")), answer(say("Again.")))
    async with open_editor(world) as editor:
        prompt = asyncio.create_task(editor.prompt("Talk"))
        await server.reached("never")
        await editor.streamed("The beginning")
        outcome = await cancelled(editor, prompt)
        assert "the end" not in outcome.text
        await asyncio.to_thread(server.wait_disconnect, 5)
        assert (await editor.prompt("Once more")).stop_reason == "end_turn"
        kept = server.requests[-1].body["messages"]
        assert [message["role"] for message in kept] == ["user", "assistant", "user"]
        assert kept[1]["content"][0]["text"].startswith("The beginning")
        assert kept[1]["content"][0]["text"].endswith("[Cancelled]")


@editors
async def test_cancel_during_a_review(open_editor: Open, world: World, server: ModelServer) -> None:
    before = (world.project / TARGET).read_bytes()
    server.script(
        answer(call("read_file", path=TARGET, aroundMatch=OLD)),
        answer(call("edit_replace_exact", **EDIT), call("shell_run", command="touch made.txt")),
        answer(say("Yes?")),
    )
    async with open_editor(world) as editor:
        editor.choices = ["hang"]
        prompt = asyncio.create_task(editor.prompt("Rename it"))
        await editor.asked()
        await cancelled(editor, prompt)
        assert (world.project / TARGET).read_bytes() == before
        assert (await editor.prompt("And now?")).stop_reason == "end_turn"
        results = list(server.requests[-1].body["messages"][-2]["content"])
        assert [json.loads(part["content"])["error"]["code"] for part in results] == ["CANCELLED"] * 2
        assert not (world.project / "made.txt").exists()


@editors
async def test_cancel_during_a_command(open_editor: Open, world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="sh -c 'echo $$ > pid; exec sleep 60'")), answer(say("Yes?")))
    async with open_editor(world) as editor:
        editor.choices = ["accept"]
        prompt = asyncio.create_task(editor.prompt("Wait"))
        pid = await written(world.project / "pid")
        await cancelled(editor, prompt)
        async with asyncio.timeout(PATIENCE):
            while Path(f"/proc/{pid}").exists():
                await asyncio.sleep(0.01)
        assert (await editor.prompt("And now?")).stop_reason == "end_turn"


async def written(path: Path) -> str:
    """The content of a file, once there is some."""
    async with asyncio.timeout(PATIENCE):
        while not (path.exists() and path.read_text().strip()):
            await asyncio.sleep(0.01)
    return path.read_text().strip()


@editors
async def test_load_after_a_kill(open_editor: Open, world: World, server: ModelServer) -> None:
    world = replace(world, server=tuple(COLD_SERVER))
    server.script(
        answer(say("First answer."), call("read_file", path=TARGET, aroundMatch=OLD)),
        answer(say("Now the edit."), call("edit_replace_exact", **EDIT)),
        answer(say("Welcome back.")),
    )
    async with open_editor(world) as editor:
        editor.choices = ["hang"]
        prompt = asyncio.create_task(editor.prompt("Rename it"))
        await editor.asked()
        editor.kill()
        prompt.cancel()
        await asyncio.gather(prompt, return_exceptions=True)
        conversation = editor.conversation or next(world.data.glob("conversations/*.jsonl")).stem
    async with open_editor(world, start=False) as editor:
        text = await editor.load(conversation)
        for shown in ("Rename it", "First answer.", "Now the edit."):
            assert shown in text
        outcome = await editor.prompt("Go on")
        assert "Welcome back." in outcome.text
        last = server.requests[-1].body["messages"]
        results = [part for message in last for part in message["content"] if part["type"] == "tool_result"]
        assert len(results) == 2
        assert json.loads(results[1]["content"])["error"]["code"] == "CANCELLED"


def final_calls(updates: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each tool call looks like in the end."""
    calls: dict[str, dict[str, Any]] = {}
    for update in updates:
        if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            fields = {name: value for name, value in update.items() if name not in ("sessionUpdate", "toolCallId")}
            calls.setdefault(update["toolCallId"], {}).update(fields)
    return calls


async def test_what_is_replayed_is_what_was_shown(world: World, server: ModelServer) -> None:
    server.script(
        answer(think("I think."), say("One. "), call("read_file", path=TARGET, aroundMatch=OLD), call("nonsense", a=1)),
        answer(call("edit_replace_exact", **EDIT), call("shell_run", command="echo hi")),
        answer(call("edit_create_file", path="a/b.txt", content="b\n")),
        answer(say("Two.")),
    )
    async with sdk_editor(world) as editor:
        editor.choices = ["accept", "accept", "reject"]
        await editor.prompt("Do it all")
        live, conversation = list(editor.updates), editor.conversation
    async with sdk_editor(world, start=False) as editor:
        await editor.load(conversation)
        replayed = editor.updates

    def text(updates: list[dict[str, Any]], kind: str) -> str:
        return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == kind)

    for kind in ("agent_message_chunk", "agent_thought_chunk"):
        assert text(live, kind) == text(replayed, kind) != ""
    assert final_calls(live) == final_calls(replayed)
    assert len(final_calls(live)) == 5
    assert text(replayed, "user_message_chunk") == "Do it all"
    for kind in ("usage_update", "session_info_update"):
        of_kind = [
            [update for update in updates if update["sessionUpdate"] == kind][-1] for updates in (live, replayed)
        ]
        assert {**of_kind[0], "updatedAt": 0} == {**of_kind[1], "updatedAt": 0}


async def test_a_text_that_changed_during_the_review_is_not_overwritten(world: World, server: ModelServer) -> None:
    path = world.project / TARGET
    server.script(
        answer(call("read_file", path=TARGET, aroundMatch=OLD)),
        answer(call("edit_replace_exact", **EDIT)),
        answer(say("I see.")),
    )

    class Meddling(SdkEditor):
        async def choose(self, question: Any) -> tuple[str, str] | None:
            path.write_text("changed meanwhile\n")
            return await Base.choose(self, question)

    async with sdk_editor(world) as editor:
        editor.__class__ = Meddling
        editor.choices = ["accept"]
        await editor.prompt("Rename it")
        assert results_of(server)[0]["error"]["code"] == "STALE"
        assert path.read_text() == "changed meanwhile\n"
