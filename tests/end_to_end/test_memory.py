"""Memory: which conversations are read, what is written, what later prompts are told of it, and what its user says."""

import json
import os
import time
from pathlib import Path
from typing import Any

from north_lsp.storage.locations import Locations
from north_lsp.storage.memory_jobs import MemoryJobs
from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_faults import GOOD, configure, entries, fail, opened, prompt, texts
from tests.end_to_end.test_learning import answering
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Gate, Say, answer, call

READ = answer(Say("<memory>\n- Tabs, since the linter says so.\n</memory>\n<synopsis>\nIndentation.\n</synopsis>"))
NOTHING = answer(Say("<memory>\n</memory>\n<synopsis>Small talk.</synopsis>"))
MERGED = """<memory>
# Style
- Tabs, since the linter says so.
</memory>
<summary>
Use tabs (Style).
</summary>
<skill name="release" description="When a release is made">
1. Tag it.
</skill>"""
WRITTEN = answer(Say(MERGED))


def folder(world: World) -> Path:
    return world.data / "memories" / project_hash(world.project)


def on(world: World, **more: object) -> None:
    configure(world, **{"memories.enabled": True, "memories.minRolloutIdleHours": 0} | more)


async def had(world: World, server: ModelServer, *said: str) -> None:
    """Have conversations that are over."""
    for words in said:
        server.script(GOOD)
        async with inside(world.environ) as client:
            await prompt(client, await opened(client, world), words)
    server.requests.clear()


def system_of(server: ModelServer) -> str:
    return str(server.requests[-1].body["system"][0]["text"])


async def told(client: RawAcpClient, words: str) -> None:
    await client.wait(lambda message: words in json.dumps(message, ensure_ascii=False))


async def test_what_lasts_is_written_in_the_background_and_later_prompts_are_told(
    world: World, server: ModelServer
) -> None:
    await had(world, server, "We use tabs", "Hello there")
    on(world)
    server.script(GOOD, READ, NOTHING, WRITTEN)
    async with conversation(world) as (client, session):
        await prompt(client, session, "Begin")
        await told(client, "Read 2 of 2 conversations, for ")
        assert [params["update"] for params in client.updates if "learn-" in json.dumps(params)]
    first, second, merging = server.requests[1:]
    assert "[User]: We use tabs" in json.dumps(first.body)
    assert "[User]: Hello there" in json.dumps(second.body)
    assert "Tabs, since the linter says so." in json.dumps(merging.body)
    assert "Small talk" not in json.dumps(merging.body)
    assert (folder(world) / "MEMORY.md").read_text() == "# Style\n- Tabs, since the linter says so.\n"
    skill = (folder(world) / "skills/release/SKILL.md").read_text()
    assert skill == '---\nname: release\ndescription: "When a release is made"\n---\n\n1. Tag it.\n'
    used = [one["purpose"] for one in entries(world) if one["type"] == "usage_recorded"]
    assert used == ["memory"] * 3
    server.script(
        answer(
            call("read_file", path="memory://root"),
            call("read_file", path="memory://root/skills/release/SKILL.md"),
            call("read_file", path="memory://root/other.md"),
        ),
        GOOD,
    )
    configure(world, **{"memories.enabled": True})
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "Go on")
    assert "# Memory Guidance" in system_of(server)
    assert "<project_text>\nUse tabs (Style).\n</project_text>" in system_of(server)
    assert "`memory://root/skills/release/SKILL.md`" in system_of(server)
    results = [part["content"] for part in server.requests[-1].body["messages"][-1]["content"]]
    assert "Use tabs (Style)." in results[0]
    assert "Tag it." in results[1]
    assert "NOT_FOUND" in results[2]


async def test_off_nothing_is_read_told_or_offered(world: World, server: ModelServer) -> None:
    folder(world).mkdir(parents=True)
    (folder(world) / "memory_summary.md").write_text("Remembered.")
    await had(world, server, "We use tabs")
    server.script(answer(call("read_file", path="memory://root"), call("remember", text="x")), GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Begin")
        for command in ("/memory enqueue", "/memory rebuild"):
            await prompt(client, session, command)
        assert texts(client).count("Memory is off") == 2
        await prompt(client, session, "/memory view")
        assert "Remembered." in texts(client)
    assert len(server.requests) == 2
    assert "Remembered." not in system_of(server)
    assert "remember" not in {tool["name"] for tool in server.requests[0].body["tools"]}
    results = [part["content"] for part in server.requests[-1].body["messages"][-1]["content"]]
    assert all("memory is disabled" in one for one in results)


async def test_only_conversations_that_ended_a_while_ago_and_have_changed_are_read(
    world: World, server: ModelServer
) -> None:
    await had(world, server, "One", "Two", "Three")
    logs = sorted(world.data.glob("conversations/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    old = time.time() - 40 * 24 * 3600
    text = logs[0].read_text()
    logs[0].write_text(text.replace(str(time.gmtime().tm_year), str(time.gmtime().tm_year - 1)))
    os.utime(logs[0], (old, old))
    on(world, **{"memories.maxRolloutsPerStartup": 1})
    server.script(GOOD, NOTHING)
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "Begin")
        await told(client, "Read 1 of 1 conversations")
    assert "[User]: Three" in json.dumps(server.requests[-1].body)
    assert not folder(world).exists()
    on(world, **{"memories.minRolloutIdleHours": 12})
    server.requests.clear()
    server.script(GOOD, GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "Begin")
        await prompt(client, session, "Go on")
    assert len(server.requests) == 2


async def test_it_is_rebuilt_with_what_the_user_changed(world: World, server: ModelServer) -> None:
    await had(world, server, "We use tabs")
    on(world)
    server.script(READ, WRITTEN, READ, WRITTEN)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "/memory rebuild")
        assert "Read 1 of 1 conversations" in texts(client)
        memory = folder(world) / "MEMORY.md"
        memory.write_text("# Style\n- Mine.\n")
        await prompt(client, session, "/memory rebuild")
    assert memory.read_text() == "# Style\n\n## Your changes\n\n- Mine.\n"
    assert "- Mine." in json.dumps(server.requests[-1].body)


async def test_the_work_waits_while_a_turn_runs(world: World, server: ModelServer) -> None:
    await had(world, server, "One")
    on(world)
    first = answer(Say("Looking."), Gate("turn"), call("read_file", path="json/decoder.py"))
    server.script(first, GOOD, READ, WRITTEN)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        blocks = text_blocks("Begin")
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("turn")
        await prompt(client, session, "/memory enqueue")
        await told(client, "Remembering what lasts of earlier conversations")
        await client.request("_north/learned/list", {"sessionId": session})
        server.open("turn")
        await client.answer(running)
        assert "All is well." in texts(client)
        await told(client, "Read 1 of 1 conversations")


async def test_stop_ends_a_rebuild_and_keeps_what_was_read(world: World, server: ModelServer) -> None:
    await had(world, server, "One", "Two")
    on(world)
    server.script(READ, answer(Say("<mem"), Gate("never")), READ, WRITTEN)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        blocks = text_blocks("/memory rebuild")
        running = await client.start_request("session/prompt", {"sessionId": session, "prompt": blocks})
        await server.reached("never")
        await client.notify("session/cancel", {"sessionId": session})
        await client.answer(running)
        assert "it was cancelled" in texts(client)
        await prompt(client, session, "/memory enqueue")
        await told(client, "Read 1 of 1 conversations")
    assert (folder(world) / "MEMORY.md").exists()


async def test_a_failed_answer_leaves_the_memory_as_it_was(world: World, server: ModelServer) -> None:
    await had(world, server, "One")
    on(world)
    server.script(answer(Say("I would rather not.")), fail(401, "authentication_error", "invalid x-api-key"))
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await prompt(client, session, "/memory rebuild")
        assert "Read 0 of 1 conversations" in texts(client)
        await prompt(client, session, "/memory rebuild")
        assert "invalid x-api-key" in texts(client) or "key" in texts(client)
    assert not folder(world).exists()


async def test_another_process_that_works_on_it_is_left_alone(world: World, server: ModelServer) -> None:
    on(world)
    locations = Locations(world.folder / "config", world.data, world.folder / "state")
    assert MemoryJobs(locations, project_hash(world.project)).lease("another")
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "/memory rebuild")
        assert "Another North process works on this project's memory" in texts(client)


async def test_it_is_cleared_after_a_question(world: World, server: ModelServer) -> None:
    await had(world, server, "One")
    on(world)
    server.script(READ, WRITTEN)
    async with inside(world.environ) as client:
        asked = answering(client, "keep", "remove")
        session = await opened(client, world)
        await prompt(client, session, "/memory rebuild")
        for there in (True, False):
            await prompt(client, session, "/memory clear" if there else "/memory reset")
            assert folder(world).exists() is there
        assert len(asked) == 2
        await prompt(client, session, "/memory")
        assert "Nothing is remembered about this project yet." in texts(client)


async def test_what_is_removed_is_not_written_again_by_work_that_is_under_way(
    world: World, server: ModelServer
) -> None:
    await had(world, server, "One")
    on(world)
    server.script(READ, answer(Say(MERGED[:5]), Gate("merging"), Say(MERGED[5:])))
    async with inside(world.environ) as client:
        asked = answering(client, "remove", "remove")
        session = await opened(client, world)
        await prompt(client, session, "/memory enqueue")
        await server.reached("merging")
        await prompt(client, session, "/memory clear")
        assert "or this one does, which `/cancel` ends: try again afterwards" in texts(client)
        server.open("merging")
        await told(client, "Read 1 of 1 conversations")
        await prompt(client, session, "/memory clear")
        assert len(asked) == 2
        assert not folder(world).exists()


async def test_the_model_notes_what_the_user_agrees_to(world: World, server: ModelServer) -> None:
    on(world, **{"memories.minRolloutIdleHours": 12})
    key = "ghp_" + "a1B2" * 9
    server.script(
        answer(call("remember", text=f"Deploys use {key}.", kind="workflow"), call("remember", text="Nonsense")), GOOD,
        WRITTEN,
    )  # fmt: skip
    async with inside(world.environ) as client:
        asked = answering(client, "remember", "no")
        session = await opened(client, world)
        await prompt(client, session, "Note that")
        await told(client, "Read 0 of 0 conversations")
        listed = await client.request("_north/learned/list", {"sessionId": session})
    assert key not in json.dumps(asked)
    assert "Deploys use [masked]." in json.dumps(asked[0])
    notes = (folder(world) / "notes.md").read_text()
    assert notes.endswith(" workflow: Deploys use [masked].\n")
    assert "Nonsense" not in notes
    results: list[dict[str, Any]] = server.requests[1].body["messages"][-1]["content"]
    assert ["REJECTED" in one["content"] for one in results] == [False, True]
    assert "Deploys use" in json.dumps(server.requests[-1].body)
    assert [one["kind"] for one in listed["files"]] == ["summary", "memory", "notes", "skill"]


async def test_nothing_is_remembered_of_a_project_that_is_not_trusted(world: World, server: ModelServer) -> None:
    await had(world, server, "One")
    folder(world).mkdir(parents=True)
    (folder(world) / "memory_summary.md").write_text("Remembered.")
    on(world)
    server.script(GOOD)
    async with inside(world.environ) as client:
        session = await opened(client, world)
        await client.request("_north/trust", {"sessionId": session, "trusted": False})
        await prompt(client, session, "Begin")
        await prompt(client, session, "/memory rebuild")
        assert "not trusted, so nothing about it is remembered" in texts(client)
    assert len(server.requests) == 1
    assert "Remembered." not in system_of(server)


async def test_keys_do_not_get_into_a_memory(world: World, server: ModelServer) -> None:
    key = "ghp_" + "a1B2" * 9
    value = "correct-horse-battery"
    (world.project / ".env").write_text(f"DATABASE_PASSWORD={value}\n")
    await had(world, server, f"The key is {key}, the password {value}")
    on(world)
    leaked: Answer = answer(Say(f"<memory>- Uses {key} and {value}</memory><synopsis>x</synopsis>"))
    server.script(leaked, answer(Say(MERGED.replace("the linter", f"{key} {value} <<$env:S0>>"))))
    async with inside(world.environ) as client:
        await prompt(client, await opened(client, world), "/memory rebuild")
    sent = json.dumps([request.body for request in server.requests])
    assert key not in sent
    assert value not in sent
    assert "since [masked] [masked] [masked] says so" in (folder(world) / "MEMORY.md").read_text()
    assert value.encode() not in (world.data / "memories" / "memory.db").read_bytes()
    assert key.encode() not in (world.data / "memories" / "memory.db").read_bytes()
