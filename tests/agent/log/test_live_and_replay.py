"""What is shown live is what is shown when the conversation is loaded."""

from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.test_faults import configure
from tests.end_to_end.world import make_world
from tests.support.model_server import ModelServer
from tests.support.recorded import RECORDED, SETTINGS, Stage, stage
from tests.support.shown import shown


async def live_and_replayed(on: Stage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    live = shown(on.client.updates)
    await on.ask("session/close")
    on.client.updates.clear()
    await on.ask("session/load", cwd=str(on.world.project), mcpServers=[])
    return live, shown(on.client.updates)


@pytest.mark.parametrize("name", RECORDED)
async def test_a_conversation_looks_the_same_when_it_is_loaded(tmp_path: Path, server: ModelServer, name: str) -> None:
    world = make_world(tmp_path / "world", server.url)
    configure(world, **SETTINGS)
    async with stage(world, server) as on:
        await RECORDED[name](on)
        live, replayed = await live_and_replayed(on)
    assert replayed == live
