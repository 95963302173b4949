"""Which edit tools a model is offered."""

import pytest

from tests.end_to_end.test_faults import prompt
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer

_ANCHORS = {"edit_after_anchor", "edit_before_anchor", "edit_by_anchor", "edit_replace_block"}


@pytest.mark.parametrize("wants", [True, False])
async def test_a_models_compat_adds_patches_to_the_other_edits(world: World, server: ModelServer, wants: bool) -> None:
    flag = "true" if wants else "false"
    text = f"providers: {{anthropic: {{compat: {{editPatch: {flag}}}}}}}\n"
    (world.folder / "config" / "models.yml").write_text(text)
    server.script(answer(Say("Hello.")))
    async with conversation(world) as (client, session):
        assert await prompt(client, session, "Hello") == "end_turn"
    names = {tool["name"] for tool in server.requests[0].body["tools"]}
    assert names > _ANCHORS
    assert ("edit_patch" in names) == wants
