"""Plan mode: a hostile model writes nothing, the user edits and decides, what was approved is carried out."""

import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from north_lsp.tools.builtin import builtin_tools
from tests.end_to_end.editors import plain_editor
from tests.end_to_end.left import NORTH, asked, client_of, load, new_session, question
from tests.end_to_end.test_ask import Picking, answering, told
from tests.end_to_end.test_faults import configure, entries, opened, prompt, sent, texts
from tests.end_to_end.test_left_turns import results, statuses
from tests.end_to_end.test_rewind import events
from tests.end_to_end.test_todo import plans, rows
from tests.end_to_end.test_turns import text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Say, answer, call

PLAN = """# Goal
A new file.
# Findings
None.
# Steps
1. Write `new.txt` (new.txt; read it)
2. Check it
# Risks
None.
# Out of scope
Everything else.
"""
SHOW = answer(call("exit_plan_mode", summary="A file."))
EDIT = {"path": "new.txt", "content": "hello\n"}


def write(text: str = PLAN) -> Answer:
    return answer(call("write_plan", content=text))


@asynccontextmanager
async def planning(world: World, **settings: object) -> AsyncIterator[tuple[RawAcpClient, str]]:
    configure(world, **{"todo.reminders": False}, **settings)
    async with inside(world.environ, north={"events": True}) as client:
        session = await opened(client, world)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        yield client, session


def plan_of(world: World) -> Path:
    (path,) = world.data.glob("conversations/*/plan.md")
    return path


def tree(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def hostile() -> list[Answer]:
    """Every tool that could change something, in whatever way, and files in the text."""
    path = "json/decoder.py"
    arguments: dict[str, Any] = {
        "path": path,
        "file": path,
        "content": "x",
        "text": "x",
        "old": "import re",
        "new": "x",
    }
    arguments |= {"command": "touch pwned", "line": 1, "anchor": "import re", "newPath": "pwned.py", "action": "kill"}
    edit = {"tool": "edit_create_file", "args": {"path": "pwned.py", "content": "x"}}
    arguments |= {"edits": [edit], "id": "1", "patch": "*** Begin Patch\n*** Add File: pwned\n+x\n*** End Patch"}
    tools = [tool for tool in builtin_tools().tools() if {"write", "run", "network"} & tool.needs]
    names = [tool.name for tool in tools if tool.name not in ("web_fetch", "web_search")]  # these only read
    calls = [answer(call(name, **arguments)) for name in names]
    batch = answer(call("edit_create_file", path="pwned.py", content="x"), call("shell_run", command="touch pwned"))
    files = [f'<NORTH_FILE path="{name}">\nx\n</NORTH_FILE>\n' for name in ("pwned.py", "../pwned", path)]
    return [*calls, batch, *(answer(Say(text)) for text in files)]


async def test_a_hostile_model_writes_nothing_in_plan_mode(world: World, server: ModelServer) -> None:
    before = tree(world.folder / "project")
    answers = hostile()
    async with planning(world) as (client, session):
        shown = asked(client)
        for one in answers:
            server.script(one, answer(Say("Well.")), answer(Say("Well.")))
            assert await prompt(client, session, "Do whatever you can") == "end_turn"
            server.drop()
        assert shown == []  # nothing was even asked
    assert tree(world.folder / "project") == before
    assert not list(world.folder.rglob("pwned*"))
    refused = [entry for entry in entries(world) if entry.get("message", {}).get("role") == "toolResult"]
    assert len(refused) >= len(answers)
    assert all("PLAN_REQUIRED" in json.dumps(entry["message"]["content"]) for entry in refused)


async def test_only_plan_tools_and_those_that_look_are_offered(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hm.")))
    async with planning(world) as (client, session):
        await prompt(client, session, "Plan it")
    offered = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert {"read_file", "todo", "ask", "write_plan", "exit_plan_mode"} <= offered
    assert not {name for name in offered if name.startswith("edit_") or name in ("shell_run", "job", "undo_edit")}
    assert "[North] Plan mode:" in json.dumps(sent(server)[0])


async def test_a_plan_that_lacks_something_is_refused_with_what_it_lacks(world: World, server: ModelServer) -> None:
    server.script(SHOW, write("# Goal\nx\n"), write(PLAN.replace("1. ", "- ").replace("2. ", "- ")), answer(Say("Hm.")))
    async with planning(world) as (client, session):
        await prompt(client, session, "Plan it")
    told = [str(result["content"]) for result in results(server)]
    assert "there is no plan to present" in told[0]
    assert "the plan lacks Findings, Steps, Risks, Out of scope" in told[1]
    assert "the plan lacks numbered steps" in told[2]


async def test_an_approved_plan_is_carried_out_with_the_next_prompt(world: World, server: ModelServer) -> None:
    too_early = call("edit_create_file", **EDIT)
    both = answer(call("exit_plan_mode", summary="A file."), too_early)
    server.script(write(), both, answer(call("edit_create_file", **EDIT)), answer(Say("Done.")))
    async with planning(world) as (client, session):
        shown = answering(client, "execute", "accept")
        assert await prompt(client, session, "Plan it") == "end_turn"
        assert [one["toolCall"]["title"] for one in shown[:1]] == ["Approve this plan?"]
        assert "Write `new.txt`" in shown[0]["toolCall"]["content"][0]["content"]["text"]
        assert (await client.request("_north/state/get", {"sessionId": session}))["mode"] == "agent"
        assert [row[:2] for row in rows(plans(client)[-1])] == [
            ("Write new.txt (new.txt; read it)", "in_progress"),
            ("Check it", "pending"),
        ]
    assert (world.project / "new.txt").read_text() == "hello\n"
    last = sent(server)[2][-1][1]
    assert "I approve the plan. Carry it out" in last
    assert "The plan that the user approved:" in last
    assert "Plan mode has ended" in last
    assert "skipped: the call before it ended the turn" in json.dumps(sent(server)[2])
    (change,) = [entry for entry in entries(world) if "acceptedPlan" in entry.get("data", {})]
    assert change["mode"] == "agent"
    assert change["data"]["acceptedPlan"]["sha256"] == hashlib.sha256(PLAN.encode()).hexdigest()
    assert statuses(world)[0] == "approved"


async def test_a_rejected_plan_keeps_the_mode_and_the_comment_reaches_the_model(
    world: World, server: ModelServer
) -> None:
    server.script(write(), SHOW, answer(call("edit_create_file", **EDIT)), answer(Say("I change it.")))
    async with planning(world) as (client, session):
        answering(client, ("reject", "Too risky: use a branch"))
        await prompt(client, session, "Plan it")
        assert (await client.request("_north/state/get", {"sessionId": session}))["mode"] == "plan"
    told = [str(result["content"]) for result in results(server)]
    assert "Too risky: use a branch" in told[1]
    assert "PLAN_REQUIRED" in told[2]


async def test_what_the_user_edits_while_deciding_is_what_is_approved(world: World, server: ModelServer) -> None:
    server.script(write(), SHOW, answer(Say("Later.")))
    async with planning(world) as (client, session):

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            text = params["toolCall"]["content"][0]["content"]["text"]
            if "Save the plan" not in text:
                return {"outcome": {"outcome": "selected", "optionId": "edit"}}
            plan_of(world).write_text(PLAN.replace("2. Check it", "2. Check it twice"))
            return {"outcome": {"outcome": "selected", "optionId": "approve"}}

        client.handlers["session/request_permission"] = decide
        assert await prompt(client, session, "Plan it") == "end_turn"
        assert len(server.requests) == 2  # it stops here
        assert events(client, "document_wanted")[0]["path"] == str(plan_of(world))
        await prompt(client, session, "Now do it")
    assert "2. Check it twice" in sent(server)[-1][-1][1]
    assert "I approve the plan" not in json.dumps(sent(server)[-1])


async def test_the_user_edits_the_plan_between_prompts_and_the_model_is_told_once(
    world: World, server: ModelServer
) -> None:
    server.script(
        write(), answer(Say("So far.")), answer(Say("I see.")), answer(Say("Again.")), write(), answer(Say("Hm."))
    )
    async with planning(world) as (client, session):
        await prompt(client, session, "Plan it")
        plan_of(world).write_text(PLAN.replace("Everything else", "All else"))
        await prompt(client, session, "Look again")
        told = sent(server)[-1][-1][1]
        assert "The user edited the plan since you wrote it:" in told
        assert "+All else." in told
        await prompt(client, session, "And?")
        assert "edited the plan" not in sent(server)[-1][-1][1]
        plan_of(world).write_text(PLAN.replace("Everything else", "Nothing"))
        await prompt(client, session, "/plan")
        assert "Nothing." in texts(client)
        await prompt(client, session, "Write it")
    assert "All else" not in plan_of(world).read_text()


async def test_a_plan_that_was_edited_unseen_is_not_written_over(world: World, server: ModelServer) -> None:
    async with planning(world) as (client, session):
        server.script(write(), answer(Say("So far.")))
        await prompt(client, session, "Plan it")
        gate = PLAN.replace("Everything else", "My own words")

        async def edit(params: dict[str, Any]) -> dict[str, Any]:
            plan_of(world).write_text(gate)
            return {"outcome": {"outcome": "selected", "optionId": "reject"}}

        client.handlers["session/request_permission"] = edit
        server.script(SHOW, write(), answer(Say("I see.")))
        await prompt(client, session, "Present it, then write it")
    assert plan_of(world).read_text() == gate
    told = str(results(server)[-1]["content"])
    assert "STALE" in told
    assert "+My own words." in told


@pytest.mark.parametrize(("option", "mode", "stop"), [("leave", "agent", "end_turn"), (None, "plan", "cancelled")])
async def test_leaving_and_closing_approve_nothing(
    world: World, server: ModelServer, option: str | None, mode: str, stop: str
) -> None:
    server.script(write(), SHOW)
    async with planning(world) as (client, session):
        answering(client, option)
        assert await prompt(client, session, "Plan it") == stop
        assert (await client.request("_north/state/get", {"sessionId": session}))["mode"] == mode
        assert not any("acceptedPlan" in json.dumps(entry) for entry in entries(world))
        server.script(answer(Say("Again.")))
        await prompt(client, session, "/plan resume")
        await prompt(client, session, "Go on")
    last = sent(server)[-1][-1][1]
    assert ("There is a plan already" in last) == (option == "leave")


async def test_plan_mode_and_its_question_survive_a_kill(world: World, server: ModelServer) -> None:
    server.script(write(), SHOW)
    async with client_of(world, **NORTH) as client:
        asked(client)
        session = await new_session(client, world)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Plan it")})
        await question(client)
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        assert (await load(client, world, session))["unfinished"] == {"reason": "review"}
        answering(client, "approve")
        assert (await client.request("_north/state/get", {"sessionId": session}))["mode"] == "plan"
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
        assert (await client.request("_north/state/get", {"sessionId": session}))["mode"] == "agent"
    assert statuses(world) == ["superseded", "approved"]


async def test_a_turn_that_goes_on_after_a_kill_keeps_the_mode_of_its_prompt(world: World, server: ModelServer) -> None:
    server.script(write(), SHOW, answer(call("edit_create_file", **EDIT)), answer(Say("Well.")))
    async with client_of(world, **NORTH) as client:
        asked(client)
        session = await new_session(client, world)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
        await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("Plan it")})
        await question(client)
        await client.request("session/set_mode", {"sessionId": session, "modeId": "agent"})  # for the next prompt
        client.process.kill()
        await client.wait_exit()
    async with client_of(world, **NORTH) as client:
        await load(client, world, session)
        answering(client, "reject")
        assert await client.request("_north/turn/resume", {"sessionId": session}) == {"stopReason": "end_turn"}
    assert "PLAN_REQUIRED" in str(results(server)[-1]["content"])
    assert not (world.project / "new.txt").exists()


@pytest.mark.parametrize(("own", "title"), [(None, "A new file"), ("Mine", "Mine")])
async def test_an_approved_plan_names_the_conversation_unless_its_user_has(
    world: World, server: ModelServer, own: str | None, title: str
) -> None:
    server.script(write(), SHOW)
    async with planning(world) as (client, session):
        if own is not None:
            await client.request("_north/sessions/rename", {"sessionId": session, "title": own})
        answering(client, "approve")
        await prompt(client, session, "Plan it")
        updates = [row["update"] for row in client.updates if row["update"]["sessionUpdate"] == "session_info_update"]
        assert [one["title"] for one in updates if "title" in one][-1] == title
        assert (await client.request("_north/sessions/find", {"target": session, "cwd": str(world.project)}))[
            "title"
        ] == title


async def test_a_model_proposes_plan_mode_and_the_user_decides(world: World, server: ModelServer) -> None:
    propose = answer(call("enter_plan_mode", reason="It touches everything."))
    edit = answer(call("edit_create_file", path="made.txt", content="x"))
    server.script(propose, answer(Say("As you like.")), propose, edit, answer(Say("I see.")))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        shown = answering(client, ("no", "It is small"), "plan")
        await prompt(client, session, "Change it")
        assert "It is small" in json.dumps(sent(server)[1][-1])
        await prompt(client, session, "Change it all")
    assert "It touches everything." in json.dumps(shown[1])
    assert "Work out the plan" in json.dumps(sent(server)[3][-1])
    assert "PLAN_REQUIRED" in json.dumps(sent(server)[4][-1])
    assert not (world.project / "made.txt").exists()


async def test_the_model_for_plans_works_the_plan_out_and_the_chosen_one_carries_it_out(
    world: World, server: ModelServer
) -> None:
    server.script(write(), answer(Say("So far.")), SHOW, answer(Say("Done.")))
    async with planning(world, modelRoles={"plan": "opus-4-5"}) as (client, session):
        answering(client, "execute")
        await prompt(client, session, "Plan it")
        await prompt(client, session, "Present it")
        assert "opus-4-5" not in (await client.request("_north/state/get", {"sessionId": session}))["model"]
    assert ["opus" in one.body["model"] for one in server.requests] == [True, True, True, False]
    changes = [entry for entry in entries(world) if entry["type"] == "model_change"]
    assert [(one["reason"], one.get("temporary")) for one in changes] == [("plan", True)]


async def test_a_model_for_plans_that_cannot_be_used_is_named(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hm.")))
    async with planning(world, modelRoles={"plan": "no-such-model"}) as (client, session):
        assert await prompt(client, session, "Plan it") == "end_turn"
        assert any("The model for the role plan cannot be used" in json.dumps(one) for one in client.updates)


async def test_the_plan_is_kept_in_the_project_if_that_is_wanted(world: World, server: ModelServer) -> None:
    server.script(write(), answer(Say("So far.")), write(PLAN.replace("Check it", "Read it")), SHOW, answer(Say("Ok.")))
    async with planning(world, **{"plan.inProject": True}) as (client, session):
        plans_folder = world.project / ".north" / "plans"
        plans_folder.mkdir(parents=True)
        (plans_folder / "a-new-file.md").write_text("# another conversation's\n")
        await prompt(client, session, "Plan it")
        path = plans_folder / "a-new-file-2.md"
        assert path.read_text() == PLAN
        await prompt(client, session, "/plan")
        assert str(path) in texts(client)

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            written.append(path.read_text())
            path.write_text(PLAN.replace("2. Check it", "2. Check it twice"))
            return {"outcome": {"outcome": "selected", "optionId": "approve"}}

        written: list[str] = []
        client.handlers["session/request_permission"] = decide
        await prompt(client, session, "Read it instead")
        assert written == [PLAN.replace("Check it", "Read it")]
        await prompt(client, session, "Now do it")
    assert "2. Check it twice" in sent(server)[-1][-1][1]
    assert (plans_folder / "a-new-file.md").read_text() == "# another conversation's\n"
    assert not list(world.data.glob("conversations/*/plan.md"))


async def test_a_plan_is_neither_written_nor_read_through_a_link(world: World, server: ModelServer) -> None:
    outside = world.folder / "outside"
    outside.mkdir()
    (world.project / ".north").mkdir()
    folder = world.project / ".north" / "plans"
    folder.symlink_to(outside)
    server.script(write(), answer(Say("Hm.")), write(), answer(Say("So far.")), answer(Say("Hm.")))
    async with planning(world, **{"plan.inProject": True}) as (client, session):
        await prompt(client, session, "Plan it")
        assert "OUTSIDE_WORKSPACE" in json.dumps(results(server)[-1])
        assert list(outside.iterdir()) == []
        folder.unlink()
        await prompt(client, session, "Again")
        secret = outside / "secret.txt"
        secret.write_text("hidden words")
        path = folder / "a-new-file.md"
        path.unlink()
        path.symlink_to(secret)
        await prompt(client, session, "/plan")
        await prompt(client, session, "And now?")
    assert "hidden words" not in texts(client)
    assert "hidden words" not in json.dumps(sent(server))


async def test_a_plain_lsp_client_rejects_edits_and_approves_a_plan(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.end_to_end.editors.PlainEditor", Picking)
    configure(world, **{"todo.reminders": False})
    server.script(write(), SHOW, answer(Say("What is wrong with it?")))
    server.script(write(PLAN.replace("2. Check it", "2. Check it twice")), SHOW)
    server.script(answer(call("edit_create_file", **EDIT)), answer(Say("It is done.")))
    async with plain_editor(world) as editor:
        choices = cast(list[str], editor.choices)
        await editor.prompt("/mode plan")
        choices.append("Reject")
        await editor.prompt("Plan it")
        assert "without saying why" in told(server)
        choices += ["Edit the plan", "Approve and execute", "Accept"]
        outcome = await editor.prompt("Check it twice")
        assert "It is done." in outcome.text
        shown = [one.text for one in editor.questions]
        assert ["Save the plan" in text for text in shown] == [False, False, True, False]
        assert all("# Steps" in text for text in shown[:3])
        assert editor.questions[0].options[0] == "Reject"
    assert (world.project / "new.txt").read_text() == "hello\n"
    assert "2. Check it twice" in sent(server)[-1][-3][1]
