"""Opening, signing in and attaching with clients that know ACP's stable part only."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.world import World
from tests.support.client import RpcFailure
from tests.support.foreign import ForeignClient, Habits, foreign
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, gate, say


def last_words(server: ModelServer) -> str:
    """The newest words of the user, as the model has them."""
    content = server.requests[-1].body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


async def test_a_client_that_signs_in_first_has_its_chat_without_a_key(tmp_path: Path) -> None:
    from tests.end_to_end.world import make_world

    world = make_world(tmp_path / "no-key")
    async with foreign(world, Habits(authenticates=True)) as client:
        assert (await client.prompt("Hello"))["stopReason"] == "end_turn"
        assert client.said()


def resource(uri: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "text": text}}


TEXT = "".join(f"line {number}\n" for number in range(1, 13)) + "same\nsame\n"
CASES = [
    ("", "line 5\nline 6\n", '<selection path="json/a file.py" lines="5-6">'),
    ("", "line 5\nline 6", '<selection path="json/a file.py" lines="5-6">'),
    ("", "ne 5\nli", '<selection path="json/a file.py" lines="5-6">'),
    ("", TEXT, '<file path="json/a file.py">'),
    ("#L5-L6", "line 5\nline 6\n", '<selection path="json/a file.py" lines="5-6">'),
    ("#L13:13", "same\n", '<selection path="json/a file.py" lines="13-13">'),
    ("?symbol=x#L2:3", "line 2\nline 3\n", '<selection path="json/a file.py" lines="2-3">'),
    ("", "same\n", '<selection path="json/a file.py" lines="unknown, the text occurs more than once">'),
    ("", "not in it\n", '<selection path="json/a file.py" lines="unknown">'),
]


@pytest.mark.parametrize(("fragment", "text", "tag"), CASES)
async def test_a_part_of_a_file_comes_with_its_path_and_lines(
    world: World, server: ModelServer, fragment: str, text: str, tag: str
) -> None:
    path = world.project / "json" / "a file.py"
    path.write_text(TEXT)
    async with foreign(world) as client:
        server.script(answer(say("ok")))
        await client.prompt("What is this?", resource(path.as_uri() + fragment, text))
    told = last_words(server)
    assert tag in told
    assert text.strip("\n") in told
    assert "file:" not in told


async def test_a_part_of_an_unsaved_text_is_found_in_that(world: World, server: ModelServer) -> None:
    path = world.project / "a.py"
    path.write_text("one\n")
    async with foreign(world) as client:
        client.buffers[path] = "zero\none\ntwo\n"
        server.script(answer(say("ok")))
        await client.prompt("What?", resource(path.as_uri(), "two\n"))
    assert '<selection path="a.py" lines="3-3">' in last_words(server)


async def test_a_resource_of_another_place_is_named_by_its_path(world: World, server: ModelServer) -> None:
    async with foreign(world) as client:
        server.script(answer(say("ok")))
        await client.prompt(
            "What?", resource("file:///somewhere/else%20there.py", "x\n"), resource("zed:///rule/1", "be good")
        )
    assert '<file path="/somewhere/else there.py">' in last_words(server)
    assert '<file path="zed:///rule/1">' in last_words(server)


async def test_a_link_with_lines_is_those_lines(world: World, server: ModelServer) -> None:
    path = world.project / "a.py"
    path.write_text(TEXT)
    async with foreign(world) as client:
        server.script(answer(say("ok")))
        await client.prompt("What?", {"type": "resource_link", "name": "a.py", "uri": f"{path.as_uri()}#L5-L6"})
    assert '<selection path="a.py" lines="5-6">\nline 5\nline 6\n' in last_words(server)


async def test_loading_what_another_process_writes_says_so_at_once(world: World, server: ModelServer) -> None:
    server.script(answer(say("mine")), answer(say("free again")))
    async with foreign(world) as owner:
        await owner.prompt("Hello")
        async with foreign(world) as other:
            params = {"sessionId": owner.session, "cwd": str(world.project), "mcpServers": []}
            await other.raw.request("session/load", params)
            await other.raw.wait_update(lambda update: "open in another editor" in json.dumps(update))
            assert f"process {owner.raw.process.pid}" in other.said() or "process" in other.said()
            other.session = owner.session
            refused = await failing(other, "Go on")
            assert "close it there to continue it here with the next prompt, or start a new one" in refused
            await owner.raw.request("session/close", {"sessionId": owner.session})
            assert (await other.prompt("Go on"))["stopReason"] == "end_turn"
            assert "free again" in other.said()
            again = len(other.raw.updates)
            await other.raw.request("session/load", params)
            assert "open in another" not in json.dumps(other.raw.updates[again:])


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize("cancelled", [False, True])
async def test_a_prompt_right_behind_the_loading_waits_for_it(
    world: World, server: ModelServer, method: str, cancelled: bool
) -> None:
    server.script(answer(say("first")), answer(gate("go"), say("second")))
    async with foreign(world) as client:
        await client.prompt("Hello")
        session = client.session
    async with foreign(world) as client:
        opening = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        words = {"sessionId": session, "prompt": [{"type": "text", "text": "Go on"}]}
        loading = await client.raw.start_request(method, opening)
        prompting = await client.raw.start_request("session/prompt", words)
        if cancelled:
            await client.raw.notify("session/cancel", {"sessionId": session})
        assert "configOptions" in await client.raw.answer(loading)
        before = json.dumps(client.raw.updates)
        assert ("first" in before) == (method == "session/load")
        assert "second" not in before
        server.open("go")
        ended = await client.raw.answer(prompting)
        assert ended["stopReason"] == ("cancelled" if cancelled else "end_turn")
        assert ("second" in client.said()) != cancelled
    assert len(server.requests) == (1 if cancelled else 2)


async def test_a_prompt_behind_a_loading_that_fails_fails_too(world: World) -> None:
    async with foreign(world) as client:
        where = {"cwd": str(world.project), "mcpServers": []}
        loading = await client.raw.start_request("session/load", {"sessionId": "none", **where})
        words = {"sessionId": "none", "prompt": [{"type": "text", "text": "Go on"}]}
        prompting = await client.raw.start_request("session/prompt", words)
        for one in (loading, prompting):
            with pytest.raises(RpcFailure, match="no session 'none'"):
                await client.raw.answer(one)


async def failing(client: ForeignClient, text: str) -> str:
    with pytest.raises(RpcFailure) as failure:
        await client.prompt(text)
    return failure.value.message


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_what_has_been_used_is_told_when_a_session_is_opened(
    world: World, server: ModelServer, method: str
) -> None:
    async with foreign(world) as client:
        server.script(answer(say("ok")))
        await client.prompt("Hello")
        session = client.session
    async with foreign(world) as client:
        params = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
        await client.raw.request(method, params)
        update = await client.raw.wait_update(lambda update: update["sessionUpdate"] == "usage_update")
        assert update["used"] > 0


async def test_a_cancelled_answer_has_no_words_of_norths_in_it(world: World, server: ModelServer) -> None:
    """Every client marks it by itself; the model is told."""
    async with foreign(world) as client:
        server.script(answer(say("begun", chunks=1), gate("never")), answer(say("ok")))
        running = await client.raw.start_request(
            "session/prompt", {"sessionId": client.session, "prompt": [{"type": "text", "text": "Go"}]}
        )
        await client.raw.wait_update(lambda update: "begun" in json.dumps(update))
        await client.raw.notify("session/cancel", {"sessionId": client.session})
        await client.raw.answer(running)
        assert client.said() == "begun"
        await client.prompt("Again")
        assert "begun [Cancelled]" in json.dumps(server.requests[-1].body)
        start = len(client.raw.updates)
        params = {"sessionId": client.session, "cwd": str(world.project), "mcpServers": []}
        await client.raw.request("session/load", params)
        assert "Cancelled" not in json.dumps(client.raw.updates[start:])


async def test_a_terminal_that_does_not_answer_is_told_in_a_whole_sentence(world: World, server: ModelServer) -> None:
    (world.folder / "config" / "config.json").write_text('{"shell.useClientTerminal": true}')

    async with foreign(world, Habits(capabilities={"terminal": True})) as client:

        async def failing(params: dict[str, Any]) -> Any:
            raise RpcFailure({"code": -32603, "message": "no pty"})

        client.raw.handlers["terminal/create"] = failing
        server.script(answer(call("shell_run", command="echo hi")), answer(say("ok")))
        await client.prompt("Go")
        assert "the editor's terminal failed at terminal/create: no pty" in json.dumps(server.requests[-1].body)


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_a_session_that_was_never_prompted_goes_on_in_another_process(
    world: World, server: ModelServer, method: str
) -> None:
    async with foreign(world) as client:
        session = client.session
        await client.raw.request("session/set_mode", {"sessionId": session, "modeId": "ask"})
        level = {"sessionId": session, "configId": "thought_level", "value": "high"}
        await client.raw.request("session/set_config_option", level)
        await client.raw.close_stdin()
        await client.raw.wait_exit()
    for _ in range(2):  # it is still not prompted the second time
        async with foreign(world) as client:
            params = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
            state = await client.raw.request(method, params)
            assert state["modes"]["currentModeId"] == "ask"
            values = {option["id"]: option["currentValue"] for option in state["configOptions"]}
            assert values["thought_level"] == "high"
            listed = await client.raw.request("session/list", {})
            assert listed["sessions"] == []
            await client.raw.close_stdin()
            await client.raw.wait_exit()
    server.script(answer(say("ok")))
    async with foreign(world) as client:
        await client.raw.request(method, {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        client.session = session
        assert (await client.prompt("Hello"))["stopReason"] == "end_turn"
        listed = await client.raw.request("session/list", {})
        assert [row["sessionId"] for row in listed["sessions"]] == [session]
        await client.raw.close_stdin()
        await client.raw.wait_exit()


async def test_a_session_that_was_never_prompted_belongs_to_its_project_and_can_be_deleted(
    world: World, server: ModelServer
) -> None:
    async with foreign(world) as client:
        session = client.session
        await client.raw.request("session/close", {"sessionId": session})
        elsewhere = {"sessionId": session, "cwd": str(world.folder), "mcpServers": []}
        with pytest.raises(RpcFailure) as failure:
            await client.raw.request("session/load", elsewhere)
        assert failure.value.code == -32602
        await client.raw.request("session/delete", {"sessionId": session})
        with pytest.raises(RpcFailure) as failure:
            await client.raw.request("session/load", {**elsewhere, "cwd": str(world.project)})
        assert failure.value.code == -32002
