"""The settings file while North runs: what is wrong in it is said in the chat, and what changes in it counts."""

from tests.acp.test_bad_input import ask
from tests.acp.test_models import agent, new
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say


async def test_a_change_counts_from_the_next_prompt_and_what_is_wrong_is_said(
    world: World, server: ModelServer
) -> None:
    path = world.folder / "config" / "config.json"
    path.write_text('{"edits.tolerence": "none", "retry": {"baseDelayMs": 8}}')
    async with agent(world) as client:
        session, _ = await new(client, world)
        await client.wait_update(lambda update: "did you mean edits.tolerance?" in str(update))
        server.script(answer(say("One.")))
        assert (await ask(client, session, "Hello"))[1] == ["One."]  # it is said once
        path.write_text('{"turn.maxRequests": 1, "sandbox": "workspace", "shell.timeoutS": 0}')
        server.script(answer(call("get_line_count", path="json/decoder.py")))
        stopped, told, _ = await ask(client, session, "Count")
        assert stopped == "max_turn_requests"
        assert any("sandbox" in text and "when North restarts" in text for text in told)
        assert any("shell.timeoutS must be from 1 to 3600, not 0" in text for text in told)
        path.write_text('{"turn.maxRequests": 5')
        server.script(answer(call("get_line_count", path="json/decoder.py")))
        stopped, told, _ = await ask(client, session, "Count")
        assert stopped == "max_turn_requests"
        assert any("the settings that it had before are used" in text for text in told)


async def test_a_file_that_was_never_right_leaves_the_offline_model_and_asks_about_everything(
    world: World, server: ModelServer
) -> None:
    (world.folder / "config" / "config.json").write_text('{"sandbox": "workspace",}}')
    async with agent(world) as client:
        session, _ = await new(client, world)
        await client.wait_update(lambda update: "only the offline model answers" in str(update))
        stopped, _, _ = await ask(client, session, "Hello")
        assert stopped == "end_turn"
    assert server.requests == []


async def test_the_level_of_the_log_is_a_setting(world: World, server: ModelServer) -> None:
    (world.folder / "config" / "config.json").write_text('{"log.level": "warn"}')
    async with agent(world) as client:
        await new(client, world)
    log = world.folder / "state" / "north.log"
    assert "app_start" not in (log.read_text() if log.exists() else "")
