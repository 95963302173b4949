"""Skills that a model loads and works by, over ACP: their texts, their phases, and that they lift nothing."""

import json
from typing import Any

from tests.end_to_end.editors import plain_editor
from tests.end_to_end.test_agents import talking, told
from tests.end_to_end.test_ask import answering
from tests.end_to_end.test_faults import entries, prompt, sent, texts
from tests.end_to_end.test_goals import MAKE
from tests.end_to_end.test_rewind import events
from tests.end_to_end.test_workflows import came
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Say, answer, call

WELL = answer(Say("Well."))
BODY = "Draw it before you bake it."
HEAD = "name: tart\ndescription: Bakes tarts\nphases: [draw, bake, eat]\ninitialPhase: draw"


def skill(world: World, name: str = "tart", head: str = HEAD) -> None:
    folder = world.folder / "config" / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(f"---\n{head}\n---\n{BODY}\n")


def use(name: str, **more: Any) -> Answer:
    return answer(call("skill", name=name, **more))


def phase(to: str, **more: Any) -> Answer:
    return answer(call("skill_phase", to=to, **more))


def offered(server: ModelServer) -> list[set[str]]:
    return [{tool["name"] for tool in one.body["tools"]} & {"skill", "skill_phase"} for one in server.requests]


async def test_a_model_loads_a_skill_and_takes_it_through_its_phases(world: World, server: ModelServer) -> None:
    skill(world)
    server.script(use("cake"), use("tart", args="with pears"), use("tart"), phase("eat"), phase("fry"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Bake")
        told_of = came(server)
        assert "there is no skill 'cake'" in told_of[0]
        assert "skills: tart" in told_of[0]
        assert BODY in told_of[1]
        assert "SKILL.md" in told_of[1]
        assert "User: with pears" in told_of[1]
        assert "is active already" in told_of[2]
        assert "tart is in the phase eat now" in told_of[3]
        assert "tart cannot go from eat to 'fry'" in told_of[4]
        assert "allowed: draw, bake" in told_of[4]
        assert offered(server)[:2] == [{"skill", "skill_phase"}] * 2
        shown = events(client, "work_changed")
        assert [one["workflow"]["phase"] for one in shown] == ["draw", "eat"]
        assert [one["prompt"] for one in shown[-1]["decisions"]] == ["/skill stop"]
        await client.request("session/close", {"sessionId": session})
        await client.request("session/load", {"sessionId": session, "cwd": str(world.project), "mcpServers": []})
        await prompt(client, session, "/skill")
        assert "`tart`, in the phase `eat`" in texts(client)
        server.script(phase("bake"), phase("bake"), WELL)
        await prompt(client, session, "Go on")
        assert "tart is in the phase bake now" in came(server, 7)[0]
        await prompt(client, session, "/skill stop")
        assert events(client, "work_changed")[-1]["workflow"] is None
        server.script(phase("eat"), WELL)
        await prompt(client, session, "Go on")
    assert "no skill with phases is active" in told(server)


async def test_a_skill_that_a_summary_replaced_is_loaded_again(world: World, server: ModelServer) -> None:
    skill(world)
    written = json.dumps({"goal": "A tart", "openTasks": ["bake"], "shortSummary": "Baking"})
    server.script(use("tart"), WELL, answer(Say(written)), use("tart"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Bake: " + "and bake, " * 400)
        await prompt(client, session, "/summarize --keep-last 0")
        await prompt(client, session, "Go on")
    assert BODY in told(server)


async def test_without_skills_there_is_no_tool_for_them(world: World, server: ModelServer) -> None:
    server.script(WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Bake")
        await prompt(client, session, "/skill stop")
    assert offered(server) == [set()]
    assert "No skill is active" in texts(client)


async def test_a_skill_that_the_user_calls_is_active_and_known(world: World, server: ModelServer) -> None:
    skill(world)
    server.script(use("tart"), phase("bake", note="The oven is hot"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/skill:tart")
        await prompt(client, session, "/skill")
    assert "is active already" in came(server)[0]
    assert "`tart`, in the phase `bake`: The oven is hot" in texts(client)
    assert [one["data"]["phase"] for one in entries(world) if one.get("customType") == "skill_state"] == [
        "draw",
        "bake",
    ]


async def test_a_skill_does_not_lift_what_a_workflow_holds(world: World, server: ModelServer) -> None:
    skill(world, "clarify", "name: clarify\ndescription: Not the workflow\nphases: [one, two]")
    server.script(use("clarify"), MAKE, WELL)
    async with talking(world) as (client, session):
        shown = answering(client)
        await prompt(client, session, "/work start clarify Something")
    assert BODY in came(server)[0]
    assert "BLOCKED: clarify is active (phase intake)" in came(server)[1]
    assert shown == []


async def test_what_is_wrong_with_the_phases_of_a_skill_is_listed(world: World, server: ModelServer) -> None:
    skill(world, "tart", "name: tart\ndescription: x\nphases: draw")
    skill(world, "cake", "name: cake\ndescription: x\nphases: [mix, bake]\ninitialPhase: eat")
    server.script(use("cake"), use("tart"), WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "/skills")
        assert "`phases` must be a list of names" in texts(client)
        assert "`initialPhase` is not one of its `phases`" in texts(client)
        await prompt(client, session, "Bake")
    states = [one["data"] for one in entries(world) if one.get("customType") == "skill_state"]
    assert [(one["skill"], one["phase"]) for one in states] == [("cake", "mix"), ("tart", "")]


async def test_a_skill_in_a_plain_client(world: World, server: ModelServer) -> None:
    skill(world)
    server.script(use("tart"), WELL)
    async with plain_editor(world) as editor:
        await editor.prompt("Bake")
        assert BODY in json.dumps(sent(server)[-1])
        assert "`tart`, in the phase `draw`" in (await editor.prompt("/skill")).text


async def test_a_skill_says_when_it_is_there_by_itself(world: World, server: ModelServer) -> None:
    skill(world, "tart", "description: Bakes\nglobs: ['*.tart', 'json/*.py']")
    skill(world, "house", "description: How we write\nalwaysApply: true")
    server.script(answer(call("read_file", path="json/tool.py")), WELL, WELL)
    async with talking(world) as (client, session):
        await prompt(client, session, "Look at it")
        await prompt(client, session, "Again: @json/tool.py")
    first, second, third = (json.dumps(one.body) for one in server.requests)
    assert f"## Skill house\\n<user_text>\\n{BODY}" in first
    assert "- tart: Bakes" in first
    assert "- house" not in first
    news = "The skill tart is about json/tool.py: load it before you work on that."
    assert [one.count(news) for one in (first, second, third)] == [0, 1, 1]
