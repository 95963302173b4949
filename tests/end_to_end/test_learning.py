"""A project is learned: what models are asked and may look at, what is written, what later prompts are told of it, and
what becomes of a profile that its user has changed."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.learning.topics import topics
from north_lsp.agent.session.learning.learning import Learning
from north_lsp.storage.locks import FileLock, try_lock
from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_faults import GOOD, configure, entries, fail, opened, prompt, texts
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import Answer, Gate, Say, answer, call

TITLES = [one.title for one in topics()]
LOOK = call("read_file", path="json/decoder.py")


def profile(world: World) -> Path:
    return world.data / "projects" / project_hash(world.project) / "profile.md"


def said(title: str) -> Answer:
    return answer(Say(f"What was found of {title}."))


def answering(client: RawAcpClient, *choices: str) -> list[dict[str, Any]]:
    """Answer questions with these options, in order; return what was asked."""
    asked: list[dict[str, Any]] = []

    async def choose(params: dict[str, Any]) -> dict[str, Any]:
        asked.append(params)
        return {"outcome": {"outcome": "selected", "optionId": choices[len(asked) - 1]}}

    client.handlers["session/request_permission"] = choose
    return asked


def costs(client: RawAcpClient) -> list[float]:
    """What the conversation had cost, as the client was told."""
    updates = [params["update"] for params in client.updates]
    return [float(one["cost"]["amount"]) for one in updates if one["sessionUpdate"] == "usage_update"]


def shown(client: RawAcpClient) -> list[dict[str, Any]]:
    """The updates of the call that shows learning."""
    calls = [one["update"] for one in client.updates if one["update"]["sessionUpdate"].startswith("tool_call")]
    return [one for one in calls if one["toolCallId"].startswith("learn-")]


async def test_a_project_is_learned_and_later_prompts_are_told(world: World, server: ModelServer) -> None:
    server.script(answer(LOOK), *map(said, TITLES), GOOD)
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "/learn") == "end_turn"
        assert "Learned 10 of 10 topics" in texts(client)
        assert str(profile(world)) in texts(client)
        await prompt(client, session, "Hello")
        told = await client.request("_north/context", {"sessionId": session})
    offered = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert {"read_file", "search_text"} <= offered
    assert not {name for name in offered if name.startswith(("edit", "shell", "job"))}
    text = profile(world).read_text()
    assert [line.removeprefix("## ") for line in text.split("\n") if line.startswith("## ")] == TITLES
    result = server.requests[1].body["messages"][-1]["content"][0]
    assert "JSONDecoder" in result["content"]
    last = server.requests[-1].body
    assert "<project_text>\n## Project Summary\n\nWhat was found of Project Summary." in last["system"][0]["text"]
    assert "digest" not in last["system"][0]["text"]
    assert "What was found" not in json.dumps(last["messages"])
    assert [part["id"] for part in told["parts"]].count("profile") == 1
    used = [one for one in entries(world) if one["type"] == "usage_recorded"]
    assert [one["purpose"] for one in used] == ["learn"] * 11
    updates = shown(client)
    titles = [one["title"] for one in updates if "title" in one]
    assert "Learning this project: 0 %, Project Summary" in titles
    assert "Learning this project: 90 %, Safety Rails and Footguns" in titles
    assert updates[-1]["status"] == "completed"
    assert [place["path"] for place in updates[-1]["locations"]] == [str(profile(world))]


async def test_a_topic_that_fails_does_not_end_the_others(world: World, server: ModelServer) -> None:
    refused = fail(400, "invalid_request_error", "that is too odd")
    rounds = [answer(call("list_root")) for _ in range(6)]
    server.script(refused, *rounds, *map(said, TITLES[2:]))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "/learn")
        assert "Learned 8 of 10 topics" in texts(client)
    text = profile(world).read_text()
    assert "## Project Summary\n\nnot learned: " in text
    assert "## Architecture Map\n\nnot learned: the model made 5 rounds of calls and wrote nothing" in text
    assert "That was the last round" in json.dumps(server.requests[6].body["messages"][-1])
    assert "That was the last round" not in json.dumps(server.requests[5].body["messages"][-1])


async def test_a_key_that_is_refused_ends_it_and_nothing_is_written(world: World, server: ModelServer) -> None:
    server.script(fail(401, "authentication_error", "invalid x-api-key"))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "/learn")
        assert "Nothing was learned: " in texts(client)
    assert not profile(world).exists()


async def test_a_cancel_keeps_what_was_learned_if_the_user_says_so(world: World, server: ModelServer) -> None:
    server.script(*map(said, TITLES[:3]), answer(Say("Never"), Gate("never")), *map(said, TITLES[3:]))
    async with inside(world.environ) as client:
        asked = answering(client, "save", "missing")
        session = await opened(client, world)
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("/learn")})
        await server.reached("never")
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(running)
        assert "It is 3 of 10 topics: it was cancelled." in json.dumps(asked[0])
        sections = [line for line in profile(world).read_text().split("\n") if line.startswith("## ")]
        assert sections == [f"## {title}" for title in TITLES[:3]]
        await prompt(client, session, "/learn")
        assert "Missing: Domain Model Vocabulary" in json.dumps(asked[1])
    sections = [line for line in profile(world).read_text().split("\n") if line.startswith("## ")]
    assert sections == [f"## {title}" for title in TITLES]
    assert len(server.requests) == 4 + 7


async def test_a_changed_profile_is_used_as_it_is_and_not_replaced_without_a_question(
    world: World, server: ModelServer
) -> None:
    mine = "# Project Profile\n\n## Project Summary\n\nMine alone.\n\n## My own\n\nStays.\n"
    profile(world).parent.mkdir(parents=True)
    profile(world).write_text(mine)
    server.script(GOOD, *map(said, TITLES))
    async with inside(world.environ) as client:
        asked = answering(client, "keep", "anew")
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        assert "Mine alone." in server.requests[0].body["system"][0]["text"]
        await prompt(client, session, "/learn")
        assert "You have changed it" in json.dumps(asked[0])
        assert (profile(world).read_text(), len(server.requests)) == (mine, 1)
        before = costs(client)[-1]
        await prompt(client, session, "/learn")
        assert costs(client)[-1] > before
    text = profile(world).read_text()
    assert "What was found of Project Summary." in text
    assert "Mine alone." not in text
    assert text.endswith("## My own\n\nStays.\n")
    assert profile(world).with_name("profile.md.bak").read_text() == mine


async def test_a_profile_that_is_changed_meanwhile_is_kept_beside(world: World, server: ModelServer) -> None:
    server.script(*map(said, TITLES[:9]), answer(Say("Last"), Gate("last")))
    async with inside(world.environ) as client:
        answering(client, "beside")
        session = await opened(client, world)
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": text_blocks("/learn")})
        await server.reached("last")
        profile(world).parent.mkdir(parents=True, exist_ok=True)
        profile(world).write_text("Written by hand.")
        server.open("last")
        await client.answer(running)
    assert profile(world).read_text() == "Written by hand."
    assert "## Project Summary" in profile(world).with_name("profile.new.md").read_text()


async def test_nothing_is_learned_or_told_of_a_project_that_is_not_trusted(world: World, server: ModelServer) -> None:
    profile(world).parent.mkdir(parents=True)
    profile(world).write_text("Learned earlier.")
    server.script(GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await client.request("_north/trust", {"sessionId": session, "trusted": False})
        await prompt(client, session, "/learn")
        assert "not trusted, so nothing about it is learned" in texts(client)
        await prompt(client, session, "Hello")
    assert len(server.requests) == 1
    assert "Learned earlier." not in server.requests[0].body["system"][0]["text"]


async def test_a_profile_that_cannot_be_read_is_left_out_and_that_is_said(world: World, server: ModelServer) -> None:
    profile(world).mkdir(parents=True)
    server.script(GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        assert "The project's profile" in json.dumps(client.updates)
        await prompt(client, session, "/learn")
        assert "The profile cannot be read or written" in texts(client)
    assert "# Project Profile" not in server.requests[0].body["system"][0]["text"]


async def test_keys_do_not_get_into_a_profile(world: World, server: ModelServer) -> None:
    key = "ghp_" + "a1B2" * 9
    value = "correct-horse-battery"
    (world.project / ".env").write_text(f"DATABASE_PASSWORD={value}\n")
    (world.project / "notes.txt").write_text(f"The key is {key}, the password {value}.\n")
    look = answer(call("read_file", path="notes.txt"))
    server.script(look, answer(Say(f"It uses {key} and {value} or <<$env:S0>>.")), *map(said, TITLES[1:]))
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "/learn")
    sent = json.dumps([request.body for request in server.requests])
    assert key not in sent
    assert value not in sent
    assert "It uses [masked] and [masked] or [masked]." in profile(world).read_text()


async def test_two_processes_do_not_learn_a_project_at_once(world: World, server: ModelServer) -> None:
    locks = world.folder / "state" / "locks"
    locks.mkdir(parents=True)
    lock = try_lock(locks / f"learn-{project_hash(world.project)}.lock")
    assert isinstance(lock, FileLock)
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "/learn")
        assert "This project is being learned already" in texts(client)
    lock.release(remove=True)


async def test_the_role_for_small_tasks_learns(world: World, server: ModelServer) -> None:
    configure(world, modelRoles={"fast": "anthropic/claude-haiku-4-5"})
    server.script(*map(said, TITLES))
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "/learn")
    assert {str(request.body["model"]).split("-2")[0] for request in server.requests} == {"claude-haiku-4-5"}


# -- the offer ---------------------------------------------------------------------------------------------------------


def offering(world: World) -> dict[str, str]:
    return {name: value for name, value in world.environ.items() if name != "NORTH_NO_OFFER"}


async def asked_to_learn(client: RawAcpClient) -> dict[str, Any]:
    return await client.wait(lambda message: message.get("method") == "session/request_permission")


async def test_learning_is_offered_after_the_first_answer_and_a_no_is_kept(world: World, server: ModelServer) -> None:
    server.script(GOOD, GOOD, GOOD)
    async with inside(offering(world)) as client:
        asked = answering(client, "later", "no")
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        assert "Learn this project?" in json.dumps(await asked_to_learn(client))
        assert "All is well." in texts(client)
        await prompt(client, session, "Again")
        assert len(asked) == 1
    async with inside(offering(world)) as client:
        answering(client, "no")
        await prompt(client, await opened(client, world), "Hello")
        await client.wait(lambda message: "does not ask again" in json.dumps(message))
    assert profile(world).with_name("declined.json").exists()
    server.script(GOOD, *map(said, TITLES))
    async with inside(offering(world)) as client:
        asked = answering(client)
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        await prompt(client, session, "/learn")  # runs all the same
        assert asked == []
    assert not profile(world).with_name("declined.json").exists()
    assert profile(world).exists()


async def test_an_offer_that_nobody_answers_goes_with_the_next_prompt(world: World, server: ModelServer) -> None:
    server.script(GOOD, GOOD)
    async with inside(offering(world)) as client:

        async def never(params: dict[str, Any]) -> dict[str, Any]:
            await asyncio.Event().wait()
            return {}

        client.handlers["session/request_permission"] = never
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        asked = await client.wait(lambda message: message.get("method") == "session/request_permission")
        await prompt(client, session, "Again")
        await client.wait(
            lambda message: (
                message.get("method") == "$/cancel_request" and message["params"]["requestId"] == asked["id"]
            )
        )
    assert not profile(world).with_name("declined.json").exists()


async def test_a_yes_learns(world: World, server: ModelServer) -> None:
    server.script(GOOD, *map(said, TITLES))
    async with inside(offering(world)) as client:
        answering(client, "yes")
        await prompt(client, await opened(client, world), "Hello")
        await client.wait(lambda message: "Learned 10 of 10 topics" in json.dumps(message))
    assert profile(world).exists()


async def test_what_was_agreed_to_is_cancelled_by_a_command(world: World, server: ModelServer) -> None:
    server.script(GOOD, answer(Say("Never"), Gate("never")))
    async with inside(offering(world)) as client:
        answering(client, "yes")
        session = await opened(client, world)
        await prompt(client, session, "Hello")
        await server.reached("never")
        await prompt(client, session, "/cancel")
        await client.wait(lambda message: "Nothing was learned: it was cancelled" in json.dumps(message))


async def test_nothing_is_offered_where_it_is_switched_off_or_not_trusted(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()
    is_unknown = Learning._is_unknown

    def noting(learning: Learning) -> bool:
        try:
            return is_unknown(learning)
        finally:
            looked.set()

    monkeypatch.setattr(Learning, "_is_unknown", noting)
    server.script(GOOD, GOOD, fail(400, "invalid_request_error", "odd"))
    async with inside(offering(world)) as client:
        asked = answering(client)
        session = await opened(client, world)
        await client.request("_north/trust", {"sessionId": session, "trusted": False})
        await prompt(client, session, "Hello")
        assert await asyncio.to_thread(looked.wait, PATIENCE)  # before the project is trusted
        await client.request("_north/trust", {"sessionId": session, "trusted": True})
    configure(world, **{"profile.offer": False})
    async with inside(offering(world)) as client:
        answering(client)
        await prompt(client, await opened(client, world), "Hello")
    configure(world)
    async with inside(offering(world)) as client:
        answering(client)
        await prompt(client, await opened(client, world), "Hello")
    assert asked == []


async def test_clients_are_told_the_files(world: World, server: ModelServer) -> None:
    async with inside(world.environ) as client:
        session = await opened(client, world)
        assert await client.request("_north/learned/list", {"sessionId": session}) == {"files": []}
        profile(world).parent.mkdir(parents=True, exist_ok=True)
        profile(world).write_text("Mine.")
        (file,) = (await client.request("_north/learned/list", {"sessionId": session}))["files"]
    assert file == {"kind": "profile", "title": "Project profile", "path": str(profile(world))}
