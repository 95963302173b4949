"""The shell over ACP: state, rules, the sandbox, the user's own commands, the editor's terminals."""

import asyncio
import json
import subprocess
from typing import Any

import pytest

from tests.acp.test_approvals import Asked, session, turn
from tests.end_to_end.world import SERVER, World
from tests.support.client import RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, call, say


def settings(world: World, **values: object) -> None:
    folder = world.folder / "config"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))


def git(world: World, *words: str) -> None:
    subprocess.run(["git", *words], cwd=world.project, check=True)


async def prompt(client: Any, id: str, text: str) -> Any:
    return await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": text}]})


async def test_directory_and_variables_stay_from_call_to_call(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, _, id):
        first, second = await turn(
            client,
            id,
            server,
            call("shell_run", command="cd json; export WORD=kept; f() { echo called; }"),
            call("shell_run", command='basename "$PWD"; echo $WORD; f'),
        )
        assert first == f"(no output)\nthe shell is now in {world.project}/json"
        assert second == "json\nkept\ncalled"


async def test_a_rule_is_offered_shown_stored_and_holds(world: World, server: ModelServer) -> None:
    async with session(world, "rule") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="wc -l json/scanner.py"))
        texts = json.dumps(asked.questions[0]["toolCall"]["content"])
        assert "`wc` with -l, on paths in the workspace" in texts
        stored = json.loads((world.project / ".north/allowlist.json").read_text())
        assert stored["rules"] == [{"words": ["wc"], "flags": ["-l"], "args": "paths"}]
        asked.choice = "deny"
        allowed = [call("shell_run", command=text) for text in ("wc -l json/tool.py", "wc json/tool.py | wc -l")]
        results = await turn(client, id, server, *allowed)
        assert all(isinstance(result, str) for result in results), results
        assert len(asked.questions) == 1
        asking = ["wc -l ../x", "wc -c json/tool.py", "wc -l $(id)", "wc -l json/tool.py; id", "wc -l json/tool.py > x"]
        results = await turn(client, id, server, *[call("shell_run", command=text) for text in asking])
        assert [result["data"] for result in results] == [{"denied": True}] * len(asking)
        reasons = [json.dumps(question["toolCall"]["content"]) for question in asked.questions[1:]]
        assert "`id`: no rule covers it" in reasons[3]
        assert "command substitution" in reasons[2]


async def test_a_changed_shell_asks_again_and_says_why(world: World, server: ModelServer) -> None:
    async with session(world, "always") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="pwd -P"))
        assert await turn(client, id, server, call("shell_run", command="pwd -P")) == [str(world.project)]
        asked.choice = "run"
        await turn(client, id, server, call("shell_run", command="pwd() { touch made; }"))
        asked.choice = "deny"
        results = await turn(client, id, server, call("shell_run", command="pwd -P"))
        assert results[0]["data"] == {"denied": True}
        assert "defined the function pwd" in json.dumps(asked.questions[-1]["toolCall"]["content"])
        assert not (world.project / "made").exists()


async def test_a_denial_has_the_user_s_comment(world: World, server: ModelServer) -> None:
    async with session(world, "deny") as (client, asked, id):

        async def deny(params: dict[str, Any]) -> dict[str, Any]:
            return {"outcome": {"outcome": "selected", "optionId": "deny"}, "_meta": {"north": {"comment": "not now"}}}

        client.handlers["session/request_permission"] = deny
        results = await turn(client, id, server, call("shell_run", command="id"))
        assert results[0]["data"] == {"denied": True, "comment": "not now"}
        assert asked.questions == []


async def test_a_command_that_a_tool_does_better_is_not_run(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, asked, id):
        results = await turn(
            client,
            id,
            server,
            call("shell_run", command="echo hi > new.txt"),
            call("shell_run", command="head -20 json/tool.py"),
            call("shell_run", command="tail -n1 json/tool.py && true"),
        )
        assert [result["error"]["code"] for result in results[:2]] == ["BLOCKED"] * 2
        assert results[0]["error"]["details"]["suggestedTool"] == "edit_create_file"
        assert isinstance(results[2], str)
        assert len(asked.questions) == 1
        assert not (world.project / "new.txt").exists()


async def test_what_the_user_spelled_out_is_not_held_up_by_it(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, asked, id):
        server.script(answer(call("shell_run", command="head -1 json/tool.py")), answer(say("ok")))
        await prompt(client, id, "run `head -1 json/tool.py`")
        assert len(asked.questions) == 1


async def test_settings_switch_the_interceptor_off_and_add_to_what_asks(world: World, server: ModelServer) -> None:
    settings(world, shell={"interceptor": {"enabled": False}, "alwaysAsk": ["deploy"]})
    async with session(world, "all") as (client, asked, id):
        assert await turn(client, id, server, call("shell_run", command="echo on")) == ["on"]
        first = (await turn(client, id, server, call("shell_run", command="head -1 json/tool.py")))[0]
        assert isinstance(first, str)
        asked.choice = "deny"
        results = await turn(client, id, server, call("shell_run", command="echo deploy"))
        assert results[0]["data"] == {"denied": True}


async def test_credentials_reach_a_command_only_if_the_settings_say_so(world: World, server: ModelServer) -> None:
    environ = world.environ | {"MY_TOKEN": "shown", "OTHER_TOKEN": "hidden"}
    settings(world, shell={"passVariables": ["MY_TOKEN"]})
    async with raw_client([*SERVER, "acp"], environ, world.project) as client:
        client.handlers["session/request_permission"] = Asked("run")
        await client.request("initialize", {"protocolVersion": 1})
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        results = await turn(client, id, server, call("shell_run", command="echo [$MY_TOKEN] [$OTHER_TOKEN]"))
        assert results == ["[shown] []"]


async def test_the_sandbox_denies_explains_and_the_user_may_let_out(world: World, server: ModelServer) -> None:
    settings(world, sandbox="workspace")
    outside = world.folder / "outside.txt"
    command = f"touch {outside}"
    async with session(world, "all") as (client, asked, id):
        inside, denied = await turn(
            client, id, server, call("shell_run", command="touch in.txt"), call("shell_run", command=command)
        )
        assert "In the sandbox" in json.dumps(asked.questions[0]["toolCall"]["content"])
        assert inside == "(no output)"
        assert (world.project / "in.txt").exists()
        assert "was not run outside the sandbox: the user declined" in denied  # "all" is no answer to that question
        assert not outside.exists()
        assert len(asked.questions) == 2
        asked.choice = "deny"
        again = call("shell_run", command=command, outside_sandbox=True)
        assert (await turn(client, id, server, again))[0]["data"] == {"denied": True}
        for question in asked.questions[1:3]:
            assert "outside the sandbox" in json.dumps(question["toolCall"]["content"])
            assert [option["optionId"] for option in question["options"]] == ["run", "deny"]
        assert not outside.exists()
        asked.choice = "run"
        again = call("shell_run", command=command, outside_sandbox=True)
        assert await turn(client, id, server, again) == ["(no output)"]
        assert outside.exists()


async def test_rules_for_project_code_hold_in_the_sandbox_by_any_setting(world: World, server: ModelServer) -> None:
    (world.project / "Makefile").write_text("all:\n\t@echo made\n")
    for sandbox, questions in (("workspace", 1), ("off", 0)):
        settings(world, sandbox=sandbox)
        async with session(world, "rule" if sandbox == "workspace" else "deny") as (client, asked, id):
            await turn(client, id, server, call("shell_run", command="make all"))
            await turn(client, id, server, call("shell_run", command="make all"))
            assert len(asked.questions) == questions
    stored = json.loads((world.project / ".north/allowlist.json").read_text())["rules"]
    assert stored == [{"words": ["make", "all"], "flags": [], "args": "none"}]


async def test_what_a_repository_has_git_run_is_held_by_the_sandbox(world: World, server: ModelServer) -> None:
    git(world, "init", "-q")
    async with session(world, "rule") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="git status --short"))
        await turn(client, id, server, call("shell_run", command="git status --short"))
        assert len(asked.questions) == 1
        monitor = f"touch {world.folder}/monitored;true"
        git(world, "config", "core.fsmonitor", monitor)
        asked.choice = "deny"
        results = await turn(client, id, server, call("shell_run", command="git status --short"))
        assert isinstance(results[0], str)
        assert len(asked.questions) == 1
        assert not (world.folder / "monitored").exists()


async def test_a_rule_that_came_with_the_project_allows_nothing(world: World, server: ModelServer) -> None:
    (world.project / ".north").mkdir()
    (world.project / ".north/allowlist.json").write_text(
        '{"rules": [{"words": ["touch"], "args": "any"}, {"words": ["id"]}]}'
    )
    async with session(world, "deny") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="id"))
        assert len(asked.questions) == 1


async def test_the_user_s_own_commands_run_unasked_and_are_recorded(world: World, server: ModelServer) -> None:
    async with session(world, "deny") as (client, asked, id):
        assert (await prompt(client, id, "!echo own words; cd json; exit 3"))["stopReason"] == "end_turn"
        assert (await prompt(client, id, "!!echo kept secret"))["stopReason"] == "end_turn"
        assert server.requests == []
        assert asked.questions == []
        server.script(answer(say("I see.")))
        await prompt(client, id, "What did I run?")
        texts = json.dumps(server.requests[-1].body["messages"])
        assert "own words" in texts
        assert "exit code 3" in texts
        assert "kept secret" not in texts
        shown = json.dumps(client.updates)
        assert "kept secret" in shown
    entries = [json.loads(line) for line in world.log_entries()]
    recorded = [entry["message"] for entry in entries if entry.get("message", {}).get("role") == "bashExecution"]
    assert [message["command"] for message in recorded] == ["echo own words; cd json; exit 3", "echo kept secret"]
    assert recorded[0]["exitCode"] == 3
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        replayed = json.dumps(client.updates)
        assert "own words" in replayed
        assert "!echo own words" in replayed


async def test_a_new_conversation_goes_on_in_the_shell_of_the_one_before(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, _, id):
        await prompt(client, id, "!cd json; kept=1")
        params = {"cwd": str(world.project), "mcpServers": [], "_meta": {"north": {"shellOf": id}}}
        new = (await client.request("session/new", params))["sessionId"]
        await prompt(client, new, '!basename "$PWD"; echo $kept')
        await prompt(client, id, '!echo "[$kept]"')
        outputs = [
            json.loads(line)["message"]["output"] for line in world.log_entries() if '"role":"bashExecution"' in line
        ]
        assert sorted(outputs) == ["", "[]", "json\n1"]


async def test_the_user_s_own_command_can_be_cancelled(world: World, server: ModelServer) -> None:
    async with session(world, "deny") as (client, _, id):
        blocks = [{"type": "text", "text": "!sh -c 'echo $$ > pid; exec sleep 60'"}]
        running = await client.start_request("session/prompt", {"sessionId": id, "prompt": blocks})
        async with asyncio.timeout(PATIENCE):
            while not (world.project / "pid").exists():
                await asyncio.sleep(0.01)
        await client.notify("session/cancel", {"sessionId": id})
        assert (await client.answer(running))["stopReason"] == "cancelled"
        assert server.requests == []


async def test_the_user_runs_a_command_while_a_turn_runs(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, _, id):
        waiting = call("shell_run", command="touch begun; until [ -e go ]; do sleep 0.01; done; echo over")
        server.script(answer(waiting), answer(say("ok")))
        blocks = [{"type": "text", "text": "go"}]
        running = await client.start_request("session/prompt", {"sessionId": id, "prompt": blocks})
        async with asyncio.timeout(PATIENCE):
            while not (world.project / "begun").exists():
                await asyncio.sleep(0.01)
            assert (await prompt(client, id, "!echo beside; touch go"))["stopReason"] == "end_turn"
            assert (await client.answer(running))["stopReason"] == "end_turn"
        assert "over" in json.dumps(server.requests[-1].body["messages"])
        server.script(answer(say("I see.")))
        await prompt(client, id, "What did I run?")
        assert "beside" in json.dumps(server.requests[-1].body["messages"])


async def test_an_editor_says_that_a_workspace_is_not_trusted(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="echo one"))
        assert {option["optionId"] for option in asked.questions[-1]["options"]} >= {"always", "all"}
        assert await client.request("_north/trust", {"sessionId": id}) == {"trusted": None, "by": None}
        answered = await client.request("_north/trust", {"sessionId": id, "trusted": False})
        assert answered == {"trusted": False, "by": "editor"}
        await turn(client, id, server, call("shell_run", command="echo one"))
        assert {option["optionId"] for option in asked.questions[-1]["options"]} == {"run", "deny"}
        assert "is not trusted" in json.dumps(asked.questions[-1]["toolCall"]["content"])
        with pytest.raises(RpcFailure):
            await client.request("_north/trust", {"sessionId": id, "trusted": "yes"})


async def test_what_the_user_lets_go_on_is_found_by_the_next_north(world: World, server: ModelServer) -> None:
    async with session(world, "run") as (client, asked, id):
        kept = call("shell_run", command="echo up; exec sleep 600", background=True, keep=True)
        (text,) = await turn(client, id, server, kept)
        assert "outlives North; its whole output: artifact://" in text
        assert "keeps running after North has ended" in json.dumps(asked.questions[0]["toolCall"]["content"])
        assert {option["optionId"] for option in asked.questions[0]["options"]} == {"run", "deny"}
    async with session(world, "run") as (client, _, id):
        told = await client.wait_update(lambda update: "still runs: job 1" in json.dumps(update))
        assert "exec sleep 600" in json.dumps(told)
        (text,) = await turn(client, id, server, call("job", action="output", jobId="1"))
        assert text.endswith("\nup")
        assert "still runs" in json.dumps(server.requests[-1].body["messages"])
        await prompt(client, id, "/jobs kill 1")
        await client.wait_update(lambda update: "Job 1 ended" in json.dumps(update))


async def test_what_was_allowed_is_listed_and_taken_back(world: World, server: ModelServer) -> None:
    async with session(world, "always") as (client, asked, id):
        await turn(client, id, server, call("shell_run", command="echo one"))
        (row,) = (await client.request("_north/permissions/list", {"sessionId": id}))["permissions"]
        assert (row["id"], row["allows"], row["origin"]) == ("command:echo one", "`echo one`, exactly", "user")
        for revoked in (True, False):
            answered = await client.request("_north/permissions/revoke", {"sessionId": id, "id": row["id"]})
            assert answered == {"revoked": revoked}
        await turn(client, id, server, call("shell_run", command="echo one"))
        assert len(asked.questions) == 2


class Terminals:
    """A client's terminals, played by the test."""

    def __init__(self, code: int | None = 0) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.code = code
        self.ended = asyncio.Event()

    def serve(self, client: Any) -> None:
        for name in ("create", "output", "wait_for_exit", "kill", "release"):
            client.handlers[f"terminal/{name}"] = self._handler(name)

    def _handler(self, name: str) -> Any:
        async def handle(params: dict[str, Any]) -> dict[str, Any]:
            self.calls.append((name, params))
            match name:
                case "create":
                    return {"terminalId": "t1"}
                case "output":
                    return {"output": "from the terminal\n", "truncated": False}
                case "wait_for_exit":
                    if self.code is None:
                        await self.ended.wait()
                    return {"exitCode": self.code}
                case "kill":
                    self.ended.set()
            return {}

        return handle


async def test_a_command_runs_in_the_editor_s_terminal_where_it_has_one(world: World, server: ModelServer) -> None:
    settings(world, shell={"useClientTerminal": True})
    for announced in (True, False):
        async with raw_client([*SERVER, "acp"], world.environ | {"MY_TOKEN": "x"}, world.project) as client:
            asked = client.handlers["session/request_permission"] = Asked("run")
            terminals = Terminals(2)
            terminals.serve(client)
            await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": announced}})
            id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
            results = await turn(client, id, server, call("shell_run", command="echo own"))
            assert len(asked.questions) == 1
            if not announced:
                assert results == ["own"]
                assert terminals.calls == []
                continue
            assert results == ["from the terminal\nexit code 2"]
            assert [name for name, _ in terminals.calls] == ["create", "wait_for_exit", "output", "release"]
            created = terminals.calls[0][1]
            assert created["args"][-2:] == ["-c", "echo own"]
            assert "MY_TOKEN" in created["args"]
            assert {"name": "GIT_TERMINAL_PROMPT", "value": "0"} in created["env"]
            embedded = [update for update in client.updates if '"terminalId": "t1"' in json.dumps(update)]
            assert embedded


async def test_a_terminal_that_opens_after_the_stop_is_closed_and_not_waited_for(
    world: World, server: ModelServer
) -> None:
    settings(world, shell={"useClientTerminal": True})
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        client.handlers["session/request_permission"] = Asked("run")
        terminals = Terminals()
        terminals.serve(client)
        asked, opens, closed = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def create(_: dict[str, Any]) -> dict[str, Any]:
            asked.set()
            await opens.wait()
            return {"terminalId": "late"}

        async def release(params: dict[str, Any]) -> dict[str, Any]:
            terminals.calls.append(("release", params))
            closed.set()
            return {}

        client.handlers |= {"terminal/create": create, "terminal/release": release}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": True}})
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        server.script(answer(call("shell_run", command="echo late")))
        params = {"sessionId": id, "prompt": [{"type": "text", "text": "Go"}]}
        prompt = asyncio.ensure_future(client.request("session/prompt", params))
        await asyncio.wait_for(asked.wait(), PATIENCE)
        await client.notify("session/cancel", {"sessionId": id})
        assert (await prompt)["stopReason"] == "cancelled"
        opens.set()
        await asyncio.wait_for(closed.wait(), PATIENCE)
        named = {"sessionId": id, "terminalId": "late"}
        assert terminals.calls == [("kill", named), ("release", named)]


async def test_the_editor_s_terminal_is_held_to_the_time_limit_and_denied_like_any(
    world: World, server: ModelServer
) -> None:
    settings(world, shell={"useClientTerminal": True})
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        asked = client.handlers["session/request_permission"] = Asked("run")
        terminals = Terminals(None)
        terminals.serve(client)
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {"terminal": True}})
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        results = await turn(client, id, server, call("shell_run", command="sleep 60", timeout=1))
        assert "stopped after 1 s (time limit)" in results[0]
        assert [name for name, _ in terminals.calls] == ["create", "wait_for_exit", "kill", "output", "release"]
        asked.choice = "deny"
        await turn(client, id, server, call("shell_run", command="sleep 61"))
        assert len(terminals.calls) == 5
