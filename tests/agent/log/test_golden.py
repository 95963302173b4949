"""Logs as former versions wrote them: they are shown, sent and counted as they were then.

`NORTH_GOLDEN=write` writes what is expected anew; what changes is to be read line by line.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.costs.totals import spent_by_model, usage_of
from north_lsp.agent.edits.checkpoints import Checkpoints
from north_lsp.agent.log.export import as_markdown
from north_lsp.agent.log.log import Log
from north_lsp.agent.log.seen_files import sightings_of
from north_lsp.agent.log.transcript import broke_off, messages_of
from north_lsp.providers.catalog.loading import load_catalog
from north_lsp.storage.blobs import Blobs
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.listing import list_conversations
from north_lsp.storage.locations import Locations
from tests.end_to_end.test_sessions import answering
from tests.end_to_end.world import World
from tests.support.inside import inside
from tests.support.recorded import local, portable

GOLDEN = Path(__file__).with_name("golden")
NAMES = sorted(path.stem for path in GOLDEN.glob("*.jsonl"))
MODEL = next(model for model in load_catalog(Path("/nowhere"), {}).models if model.id == "claude-sonnet-4-5-20250929")
ELSEWHERE = {"available_commands_update", "config_option_update"}  # what they offer is no part of a conversation


def plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"": type(value).__name__} | {key: one for key, one in fields.items() if one not in (None, "", [], {})}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def read(world: World, id: str) -> dict[str, Any]:
    """What is made of a log beside showing it."""
    store = Locations(world.folder / "config", world.data, world.folder / "state")
    (row,) = list_conversations(store)
    conversation = Conversation.open(store, id)
    log = Log(conversation)
    path = log.path()
    checkpoints = Checkpoints(log, Blobs(world.folder / "blobs"), world.folder / "journals")
    return {
        "name": row.name,
        "messages": plain(messages_of(path, MODEL)),
        "usage": plain(usage_of(path, 1000)),
        "spent": plain(spent_by_model(path)),
        "seen": plain(sightings_of(path)),
        "brokeOff": broke_off(path),
        "checkpoints": plain(checkpoints.all()),
        "unsaid": checkpoints.unsaid(),
        "unanswered": plain(checkpoints.unanswered()),
        "markdown": as_markdown("title", path).split("\n"),
    }


async def shown(world: World, id: str) -> list[Any]:
    async with inside(world.environ | {"ANTHROPIC_API_KEY": "test-key"}) as client:
        client.handlers["session/request_permission"] = answering("take")  # the folder of foreign logs is gone
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        updates = [params["update"] for params in client.updates]
    return [update for update in updates if update["sessionUpdate"] not in ELSEWHERE]


@pytest.mark.parametrize("name", NAMES)
async def test_a_log_is_understood_as_it_was(tmp_path: Path, name: str) -> None:
    world = World(tmp_path.resolve())
    world.project.mkdir()
    log = world.data / "conversations" / "a1b2c3.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text(local((GOLDEN / f"{name}.jsonl").read_text(), world))
    found = {"updates": await shown(world, "a1b2c3")} | read(world, "a1b2c3")
    text = portable(json.dumps(found, indent=1, ensure_ascii=False), world) + "\n"
    expected = GOLDEN / f"{name}.json"
    if os.environ.get("NORTH_GOLDEN") == "write":
        expected.write_text(text)
    assert json.loads(text) == json.loads(expected.read_text())
