"""What the protocol asks of an agent, against the real process; the official schema checks every message."""

import array
import asyncio
import errno
import fcntl
import json
import subprocess
import termios
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from tests.end_to_end.world import SERVER, World, make_world
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.patience import PATIENCE
from tests.support.selecting import selected


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


@asynccontextmanager
async def agent(world: World, *arguments: str, **capabilities: Any) -> AsyncIterator[RawAcpClient]:
    """An initialized connection; the offline model answers."""
    async with raw_client([*SERVER, "acp", *arguments], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        yield client


async def new_session(client: RawAcpClient, world: World, **more: Any) -> str:
    result = await client.request("session/new", {"cwd": str(world.project), "mcpServers": [], **more})
    return str(result["sessionId"])


async def prompt(client: RawAcpClient, session: str, text: str, *blocks: dict[str, Any]) -> str:
    content = [{"type": "text", "text": text}, *blocks]
    return str((await client.request("session/prompt", {"sessionId": session, "prompt": content}))["stopReason"])


def answers(client: RawAcpClient, session: str | None = None) -> str:
    return "".join(
        params["update"]["content"]["text"]
        for params in client.updates
        if params["update"]["sessionUpdate"] == "agent_message_chunk" and session in (None, params["sessionId"])
    )


def choosing(option: str) -> Any:
    async def handler(params: dict[str, Any]) -> dict[str, Any]:
        return selected(params, option)

    return handler


async def fails(client: RawAcpClient, method: str, params: dict[str, Any]) -> RpcFailure:
    with pytest.raises(RpcFailure) as failure:
        await client.request(method, params)
    return failure.value


# -- transport -----------------------------------------------------------------------------------------------------


async def test_every_line_of_output_is_one_utf8_message_also_after_the_input_ended(world: World) -> None:
    """TRANSPORT-001, TRANSPORT-002, SHUTDOWN-001."""
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "find é → 😀")
        await client.close_stdin()
        assert await client.wait_exit() == 0
        assert all(isinstance(json.loads(line.decode("utf-8")), dict) for line in client.lines)


async def test_the_end_of_input_in_the_middle_of_a_turn_is_an_exit(world: World) -> None:
    """SHUTDOWN-001."""
    async with agent(world) as client:
        client.handlers["session/request_permission"] = choosing("run")
        session = await new_session(client, world)
        blocks = [{"type": "text", "text": "run `echo $$ > pid; sleep 60`"}]
        await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        pid = world.project / "pid"
        async with asyncio.timeout(PATIENCE):
            while not (pid.exists() and pid.read_text().strip()):
                await asyncio.sleep(0.01)
        await client.close_stdin()
        assert await client.wait_exit() == 0  # and not when the command ends
        assert not Path(f"/proc/{pid.read_text().strip()}").exists()


@pytest.mark.parametrize("id", [7, 0, -1, "text", ""])
async def test_ids_come_back_with_their_type(world: World, id: object) -> None:
    """JSONRPC-001, JSONRPC-002."""
    async with agent(world) as client:
        await client.send({"id": id, "method": "session/list", "params": {}})
        message = await client.wait(lambda message: message.get("id") == id and type(message["id"]) is type(id))
        assert "result" in message


async def test_unknown_methods_are_refused_and_unknown_notifications_ignored(world: World) -> None:
    """JSONRPC-003, JSONRPC-004, JSONRPC-005, EXT-001."""
    async with agent(world) as client:
        for method in ("nonsense", "session/nonsense", "_custom/method", "fs/read_text_file"):
            assert (await fails(client, method, {})).code == -32601
        for method in ("nonsense", "_custom/notification", "session/cancel", "$/cancel_request"):
            await client.notify(method, {})
        assert (await client.request("session/list"))["sessions"] == []
        assert len([1 for sender, message in client.transcript if sender == "agent"]) == 6


@pytest.mark.parametrize("line", [b"{broken", b"[]", b'"text"', b"\xff\xfe", b'{"jsonrpc":"2.0"}', b"[" * 20_000])
async def test_bad_input_is_answered_and_the_connection_lives(world: World, line: bytes) -> None:
    """JSONRPC-005, INFO-PARSE-001, INFO-INVALIDREQ-001."""
    async with agent(world) as client:
        await client.send_raw(line + b"\n")
        message = await client.wait(lambda message: message.get("id") is None and "error" in message)
        assert message["error"]["code"] in (-32700, -32600)
        assert "sessions" in await client.request("session/list")


# -- initialize ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("asked", "got"), [(1, 1), (2, 2), (0, 2), (65535, 2)])
async def test_the_answer_names_a_version_that_north_has(world: World, asked: int, got: int) -> None:
    """INIT-001 to 004, AUTH-001, AUTH-002: the one that was asked for, or the latest."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project, version=got) as client:
        result = await client.request("initialize", {"protocolVersion": asked})
        assert result["protocolVersion"] == got
        assert result["agentInfo" if got == 1 else "info"]["name"] == "north"
        methods = [method["id" if got == 1 else "methodId"] for method in result["authMethods"]]
        assert len(methods) == len(set(methods))


async def test_nothing_works_before_initialize_and_nothing_initialises_twice(world: World) -> None:
    """INIT-001."""
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        assert (await fails(client, "session/new", {"cwd": "/"})).code == -32600
        assert (await fails(client, "initialize", {})).code == -32602
        await client.request("initialize", {"protocolVersion": 1, "_meta": {"x": 1}, "unknown": True})
        assert (await fails(client, "initialize", {"protocolVersion": 1})).code == -32600


# -- sessions ------------------------------------------------------------------------------------------------------


async def test_sessions_have_ids_of_their_own_and_are_not_listed_until_a_prompt(world: World) -> None:
    """SESSION-001, SESSION-002."""
    async with agent(world) as client:
        ids = {await new_session(client, world) for _ in range(5)}
        assert len(ids) == 5
        assert (await client.request("session/list"))["sessions"] == []
    assert len(world.log_entries()) == 5


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "cwd"),
        ({"cwd": "relative"}, "cwd"),
        ({"cwd": 5}, "cwd"),
        ({"cwd": "/does/not/exist"}, "cwd"),
        ({"cwd": "/", "additionalDirectories": ["x"]}, "additionalDirectories[0]"),
        ({"cwd": "/", "additionalDirectories": "x"}, "additionalDirectories"),
    ],
)
async def test_bad_params_name_the_field(world: World, params: dict[str, Any], field: str) -> None:
    """ERROR-001."""
    async with agent(world) as client:
        failure = await fails(client, "session/new", params)
        assert failure.code == -32602
        assert field in failure.message
        assert failure.data == {"field": field}


async def test_an_unknown_session_is_a_resource_that_was_not_found(world: World) -> None:
    """INFO-UNKNOWNSESSION-001, DELETE-002."""
    async with agent(world) as client:
        cwd = str(world.project)
        for method, params in (
            ("session/prompt", {"prompt": []}),
            ("session/load", {"cwd": cwd, "mcpServers": []}),
            ("session/resume", {"cwd": cwd}),
            ("session/close", {}),
            ("session/set_mode", {"modeId": "ask"}),
            ("session/set_config_option", {"configId": "mode", "value": "ask"}),
        ):
            for id in ("abcdef", "../../etc/passwd", ""):
                assert (await fails(client, method, {"sessionId": id, **params})).code == -32002
        assert await client.request("session/delete", {"sessionId": "abcdef"}) == {}


async def test_list_is_newest_first_filtered_and_paged(world: World, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with agent(world) as client:
        ids = []
        for number in range(52):
            session = await new_session(client, world)
            await prompt(client, session, f"hello {number}")
            ids.append(session)
        elsewhere = (await client.request("session/new", {"cwd": str(other), "mcpServers": []}))["sessionId"]
        await prompt(client, elsewhere, "hello elsewhere")
        first = await client.request("session/list", {"cwd": str(world.project)})
        second = await client.request("session/list", {"cwd": str(world.project), "cursor": first["nextCursor"]})
        listed = [row["sessionId"] for row in first["sessions"] + second["sessions"]]
        assert sorted(listed) == sorted(ids)
        assert (len(first["sessions"]), len(second["sessions"])) == (50, 2)
        assert "nextCursor" not in second
        times = [row["updatedAt"] for row in first["sessions"]]
        assert times == sorted(times, reverse=True)
        assert {row["cwd"] for row in first["sessions"]} == {str(world.project)}
        assert elsewhere in [row["sessionId"] for row in (await client.request("session/list"))["sessions"]]
        assert (await fails(client, "session/list", {"cursor": "nonsense"})).code == -32602


async def test_load_replays_before_it_answers_and_resume_does_not(world: World) -> None:
    """LOAD-001, LOAD-002, RESUME-001, RESUME-002."""
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "find JSONDecodeError in json/decoder.py")
        shown = answers(client)
    params = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
    async with agent(world) as client:
        result = await client.request("session/load", params)
        answer_at = next(at for at, (_, message) in enumerate(client.transcript) if message.get("result") == result)
        before = [message for _, message in client.transcript[:answer_at] if message.get("method") == "session/update"]
        kinds = [message["params"]["update"]["sessionUpdate"] for message in before]
        assert kinds[0] == "user_message_chunk"
        assert "tool_call" in kinds
        assert answers(client) == shown
        assert result["modes"]["currentModeId"] == "agent"
    async with agent(world) as client:
        await client.request("session/resume", params)
        await client.wait_update(lambda update: update["sessionUpdate"] == "available_commands_update")
        assert answers(client) == ""
        assert await prompt(client, session, "hello") == "end_turn"


async def test_delete_then_list(world: World) -> None:
    """DELETE-001."""
    async with agent(world) as client:
        session = await new_session(client, world)
        await prompt(client, session, "hello")
        assert await client.request("session/delete", {"sessionId": session}) == {}
        assert (await client.request("session/list"))["sessions"] == []
        assert (await fails(client, "session/prompt", {"sessionId": session, "prompt": []})).code == -32002


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
async def test_closing_during_a_permission_request_answers_cancelled(world: World, method: str) -> None:
    """CLOSE-002."""
    async with agent(world) as client:

        async def never(params: dict[str, Any]) -> None:
            await asyncio.Event().wait()

        client.handlers["session/request_permission"] = never
        session = await new_session(client, world)
        blocks = [{"type": "text", "text": "run `touch made`"}]
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        await client.request(method, {"sessionId": session})
        assert (await client.answer(running))["stopReason"] == "cancelled"
        assert not (world.project / "made").exists()


async def test_additional_directories_are_roots(world: World, tmp_path: Path) -> None:
    """ADDDIRS-001."""
    more = tmp_path / "more"
    more.mkdir()
    (more / "note.txt").write_text("remember this\n")
    async with agent(world) as client:
        session = await new_session(client, world, additionalDirectories=[str(more)])
        await prompt(client, session, f"read {more}/note.txt")
        assert "remember this" in answers(client, session)
        without = await new_session(client, world)
        await prompt(client, without, f"read {more}/note.txt")
        assert "outside" in answers(client, without).lower()


async def test_a_list_tells_the_further_roots_that_a_session_had_last(world: World, tmp_path: Path) -> None:
    """ADDDIRS-001, LIST-001."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()

    async def told(client: RawAcpClient) -> tuple[object, str]:
        (row,) = (await client.request("session/list", {"cwd": str(world.project)}))["sessions"]
        return row.get("additionalDirectories"), row["updatedAt"]

    async with agent(world) as client:
        session = await new_session(client, world, additionalDirectories=[str(first), str(second)])
        await prompt(client, session, "hello")
        before = await told(client)
        assert before[0] == [str(first), str(second)]
        copy = (await client.request("session/fork", {"sessionId": session, "cwd": str(world.project)}))["sessionId"]
        assert await client.request("session/delete", {"sessionId": copy}) == {}
    params = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
    async with agent(world) as client:
        await client.request("session/resume", {**params, "additionalDirectories": [str(second)]})
        after = await told(client)
        assert after == ([str(second)], before[1])  # opening it makes it no newer
        await client.request("session/close", {"sessionId": session})
        await client.request("session/load", params)
        assert await told(client) == (None, before[1])


# -- prompts -------------------------------------------------------------------------------------------------------


async def test_what_was_announced_is_accepted_and_the_rest_refused(world: World) -> None:
    """PROMPT-003, PROMPTCAP-002."""
    async with agent(world) as client:
        session = await new_session(client, world)
        link = {"type": "resource_link", "name": "scanner", "uri": (world.project / "json/scanner.py").as_uri()}
        text = {"uri": "file:///elsewhere/x.py", "text": "def attached():\n    pass\n"}
        assert await prompt(client, session, "hello", link, {"type": "resource", "resource": text}) == "end_turn"
        for block in (
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},  # no picture
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///x", "blob": "no base64"}},
            {"type": "resource", "resource": {"uri": "file:///x"}},
            {"type": "resource", "resource": 7},
            {"type": "unknown"},
        ):
            failure = await fails(client, "session/prompt", {"sessionId": session, "prompt": [block]})
            assert failure.code == -32602
            assert "prompt[0]" in failure.message
        assert (await fails(client, "session/prompt", {"sessionId": session, "prompt": []})).code == -32600


async def test_a_link_out_of_the_workspace_is_not_read(world: World, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the secret\n")
    async with agent(world) as client:
        session = await new_session(client, world)
        link = {"type": "resource_link", "name": "s", "uri": (tmp_path / "secret.txt").as_uri()}
        await prompt(client, session, "explain this", link)
    assert "the secret" not in "\n".join(world.log_entries())


async def test_a_prompt_to_a_model_without_its_key_is_kept_and_says_what_to_do(world: World) -> None:
    async with agent(world) as client:
        session = await new_session(client, world)
        set_model = {"sessionId": session, "configId": "model", "value": "sonnet-4"}
        await client.request("session/set_config_option", set_model)
        failure = await fails(
            client, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "keep this"}]}
        )
        assert failure.code == -32000
        assert "ANTHROPIC_API_KEY" in failure.message
        assert "keep this" in "\n".join(world.log_entries())
        await client.request("session/set_config_option", {**set_model, "value": "offline"})
        assert await prompt(client, session, "hello") == "end_turn"


async def test_a_second_prompt_waits_for_the_first(world: World) -> None:
    async with agent(world) as client:
        asked = asyncio.Event()
        release = asyncio.Event()

        async def later(params: dict[str, Any]) -> dict[str, Any]:
            asked.set()
            await release.wait()
            return selected(params, "deny")

        client.handlers["session/request_permission"] = later
        session = await new_session(client, world)
        first = {"sessionId": session, "prompt": [{"type": "text", "text": "run `true`"}]}
        second = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
        running = await client.start_request("session/prompt", first)
        await asked.wait()
        waiting = await client.start_request("session/prompt", second)
        release.set()
        assert (await client.answer(running))["stopReason"] == "end_turn"
        assert (await client.answer(waiting))["stopReason"] == "end_turn"
        order = [message["id"] for _, message in client.transcript if message.get("result", {}).get("stopReason")]
        assert order == [running, waiting]


@pytest.mark.parametrize("notification", ["session/cancel", "$/cancel_request"])
async def test_nothing_follows_the_answer_of_a_cancelled_turn(world: World, notification: str) -> None:
    """CANCEL-001, CANCEL-002."""
    async with agent(world) as client:

        async def never(params: dict[str, Any]) -> None:
            await asyncio.Event().wait()

        client.handlers["session/request_permission"] = never
        session = await new_session(client, world)
        blocks = [{"type": "text", "text": "run `true`"}]
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        key = {"sessionId": session} if notification == "session/cancel" else {"requestId": running}
        await client.notify(notification, key)
        assert (await client.answer(running))["stopReason"] == "cancelled"
        await client.request("session/list")
        at = next(
            at
            for at, (_, message) in enumerate(client.transcript)
            if message.get("id") == running and "result" in message
        )
        assert [
            message for _, message in client.transcript[at + 1 :] if message.get("method") == "session/update"
        ] == []
        status = [params["update"].get("status") for params in client.updates if "toolCallId" in params["update"]]
        assert status[-1] == "failed"
        told = [message for sender, message in client.transcript if message.get("method") == "$/cancel_request"]
        assert bool(told) == (notification != "session/cancel"), "withdrawn only for a client that knows how"


async def test_a_cancel_when_idle_does_nothing(world: World) -> None:
    async with agent(world) as client:
        session = await new_session(client, world)
        await client.notify("session/cancel", {"sessionId": session})
        assert await prompt(client, session, "hello") == "end_turn"


# -- modes and options ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "ask"}),
        ("session/set_config_option", {"configId": "mode", "value": "ask"}),
    ],
)
async def test_switching_the_mode_shows_in_both_forms(world: World, method: str, params: dict[str, Any]) -> None:
    """MODES-002, CONFIG-002, CONFIG-003."""
    async with agent(world) as client:
        session = await new_session(client, world)
        await client.request(method, {"sessionId": session, **params})
        await client.wait_update(lambda update: update.get("currentModeId") == "ask")
        options = await client.wait_update(lambda update: update["sessionUpdate"] == "config_option_update")
        assert options["configOptions"][0]["currentValue"] == "ask"
        assert {option["type"] for option in options["configOptions"]} == {"select"}
        await prompt(client, session, 'create x.txt with "y"')
        assert not (world.project / "x.txt").exists()
        assert not [
            message for _, message in client.transcript if message.get("method") == "session/request_permission"
        ]


async def test_wrong_modes_and_options_are_refused(world: World) -> None:
    async with agent(world) as client:
        session = await new_session(client, world)
        assert (await fails(client, "session/set_mode", {"sessionId": session, "modeId": "yolo"})).code == -32602
        for config, value in (("mode", "yolo"), ("model", "nothing"), ("colour", "red")):
            params = {"sessionId": session, "configId": config, "value": value}
            assert (await fails(client, "session/set_config_option", params)).code == -32602


async def test_the_mode_of_the_command_line_is_the_first(world: World) -> None:
    async with agent(world, "--mode", "ask") as client:
        result = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        assert result["modes"]["currentModeId"] == "ask"
        assert result["configOptions"][0]["currentValue"] == "ask"


# -- the client's side ---------------------------------------------------------------------------------------------


async def test_a_client_that_announces_nothing_is_asked_for_nothing_but_permission(world: World) -> None:
    """CLIENTCAP-001 to 003, SCHEMA-001, SCHEMA-002."""
    async with agent(world) as client:
        client.handlers["session/request_permission"] = choosing("accept")
        session = await new_session(client, world)
        await prompt(client, session, 'replace "NUMBER_RE" by "NUMBER" in json/scanner.py')
        asked = {
            message["method"]
            for sender, message in client.transcript
            if sender == "agent" and "id" in message and "method" in message
        }
        assert asked == {"session/request_permission"}
        assert "NUMBER_RE" not in (world.project / "json/scanner.py").read_text()


@pytest.mark.parametrize(
    "outcome",
    [
        {"outcome": {"outcome": "selected", "optionId": "nonsense"}},
        {"outcome": {"outcome": "whatever"}},
        {"outcome": None},
        {},
        5,
    ],
)
async def test_an_outcome_that_is_no_offered_option_is_a_refusal(world: World, outcome: Any) -> None:
    async with agent(world) as client:

        async def odd(params: dict[str, Any]) -> Any:
            return outcome

        client.handlers["session/request_permission"] = odd
        session = await new_session(client, world)
        assert await prompt(client, session, "run `touch made`") == "end_turn"
        assert not (world.project / "made").exists()


async def test_a_cancelled_question_ends_the_turn(world: World) -> None:
    async with agent(world) as client:

        async def cancelled(params: dict[str, Any]) -> Any:
            return {"outcome": {"outcome": "cancelled"}}

        client.handlers["session/request_permission"] = cancelled
        session = await new_session(client, world)
        assert await prompt(client, session, "run `touch made`") == "cancelled"
        assert not (world.project / "made").exists()


async def test_unsaved_text_is_read_and_written_through_the_client(world: World) -> None:
    path = world.project / "json/scanner.py"
    before = path.read_text()
    texts = {str(path): "# NUMBER_RE only here\n"}
    async with agent(world, fs={"readTextFile": True, "writeTextFile": True}) as client:

        async def read(params: dict[str, Any]) -> Any:
            return {"content": texts[params["path"]]} if params["path"] in texts else {}

        async def write(params: dict[str, Any]) -> Any:
            texts[params["path"]] = params["content"]
            return {}

        client.handlers |= {
            "fs/read_text_file": read,
            "fs/write_text_file": write,
            "session/request_permission": choosing("accept"),
        }
        session = await new_session(client, world)
        await prompt(client, session, 'replace "NUMBER_RE" by "NUMBER" in json/scanner.py')
        assert texts == {str(path): "# NUMBER only here\n"}
        assert path.read_text() == before


async def test_mcp_servers_that_cannot_be_started_are_said_to_be_so(world: World) -> None:
    async with agent(world) as client:
        server = {"name": "x", "command": "/bin/false", "args": [], "env": []}
        await client.request("session/new", {"cwd": str(world.project), "mcpServers": [server]})
        told = await client.wait_update(lambda update: "MCP" in str(update.get("content", "")))
        assert told["messageId"]  # as every chunk has


async def test_authentication_refuses_unknown_methods(world: World) -> None:
    async with agent(world) as client:
        assert (await fails(client, "authenticate", {"methodId": "x"})).code == -32602
        assert (await fails(client, "authenticate", {})).code == -32602


async def test_nothing_is_said_on_standard_error(world: World) -> None:
    """STDERR-001."""
    async with agent(world) as client:
        await prompt(client, await new_session(client, world), "find loads")
        await client.close_stdin()
        await client.wait_exit()
    assert client.stderr == ""


async def test_cancelling_a_waiting_prompt_leaves_the_running_one_alone(world: World) -> None:
    async with agent(world) as client:
        asked, release = asyncio.Event(), asyncio.Event()

        async def later(params: dict[str, Any]) -> dict[str, Any]:
            asked.set()
            await release.wait()
            return selected(params, "run")

        client.handlers["session/request_permission"] = later
        session = await new_session(client, world)
        first = {"sessionId": session, "prompt": [{"type": "text", "text": "run `echo done`"}]}
        running = await client.start_request("session/prompt", first)
        await asked.wait()
        waiting = await client.start_request("session/prompt", first)
        await client.request("session/list")
        await client.notify("$/cancel_request", {"requestId": waiting})
        assert (await client.answer(waiting))["stopReason"] == "cancelled"
        release.set()
        assert (await client.answer(running))["stopReason"] == "end_turn"
        assert "done" in json.dumps(client.updates)


def make_small(pipe: IO[bytes]) -> None:
    """Give a pipe room for one page; it is refused as long as more than that is in it, as the news of a new session."""
    while True:
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            pipe.readline()
        else:
            return


def test_a_client_that_stops_reading_does_not_keep_the_process(world: World) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*SERVER, "acp"], stdin=pipe, stdout=pipe, env=world.environ, cwd=world.project) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(id: int, method: str, **params: Any) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode())
            process.stdin.write(b"\n")
            process.stdin.flush()

        send(1, "initialize", protocolVersion=1)
        process.stdout.readline()
        send(2, "session/new", cwd=str(world.project), mcpServers=[])
        session = json.loads(process.stdout.readline())["result"]["sessionId"]
        make_small(process.stdout)
        for id in range(3, 103):
            send(id, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hello"}])
        waiting = array.array("i", [0])
        deadline = time.monotonic() + 20
        while waiting[0] < 1_500:  # of a page: the messages that follow do not fit any more
            assert time.monotonic() < deadline
            fcntl.ioctl(process.stdout, termios.FIONREAD, waiting)
        process.stdin.close()
        assert process.wait(5) == 0
