"""What happens to files while somebody else works on them: during a review, in another conversation, over a restart."""

from pathlib import Path
from typing import Any

import pytest

from tests.acp.test_hunk_reviews import NEW, OLD, Reviewer, edit, session, turn
from tests.end_to_end.world import SERVER, World
from tests.support.client import raw_client
from tests.support.model_server import ModelServer
from tests.support.script import call

ONE, MIDDLE, LAST = ("line 3\n", "third\n"), ("line 20\n", "twentieth\n"), ("line 38\n", "last but two\n")


@pytest.mark.parametrize(
    ("theirs", "stands"),
    [(("line 20\n", "somebody's\n"), True), (("line 10\n", "somebody's\n"), True), (("line 3\n", "theirs\n"), False)],
)
@pytest.mark.parametrize("where", ["disk", "buffer"])
async def test_only_a_change_at_an_accepted_hunk_is_in_the_way(
    world: World, server: ModelServer, theirs: tuple[str, str], stands: bool, where: str
) -> None:
    path = world.project / "a.txt"
    buffer: dict[str, str] = {}

    def decide(params: dict[str, Any]) -> dict[str, Any]:
        if where == "disk":
            path.write_text(OLD.replace(*theirs))
        else:
            buffer[str(path)] = OLD.replace(*theirs)
        return {"hunks": {str(path): ["h1", "h3"]}}

    reviewer = Reviewer(decide)
    path.write_text(OLD)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:

        async def read(params: dict[str, Any]) -> dict[str, Any]:
            return {"content": buffer.get(params["path"]) or Path(params["path"]).read_text()}

        async def write(params: dict[str, Any]) -> dict[str, Any]:
            buffer.pop(params["path"], None)
            Path(params["path"]).write_text(params["content"])
            return {}

        client.handlers["session/request_permission"] = reviewer
        capabilities: dict[str, Any] = {"_meta": {"north": {"hunks": True}}}
        if where == "buffer":
            client.handlers["fs/read_text_file"], client.handlers["fs/write_text_file"] = read, write
            capabilities["fs"] = {"readTextFile": True, "writeTextFile": True}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        made = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        _, told = await turn(client, made["sessionId"], server, *edit())
    if not stands:
        assert told["error"]["code"] == "STALE"
        assert "line 3" in told["error"]["message"]
        assert path.read_text() == (OLD.replace(*theirs) if where == "disk" else OLD)
        return
    assert path.read_text() == OLD.replace(*ONE).replace(*theirs).replace(*LAST)
    assert told["data"]["partial"] is True
    assert told["data"]["notices"] == ["a.txt changed while the edit was waiting; both changes were merged"]
    assert [hunk["header"] for hunk in told["data"]["rejectedHunks"]] == ["a.txt @@ -17,7 +17,7 @@"]


async def test_two_conversations_undo_their_own_changes(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"

    def one(place: tuple[str, str]) -> tuple[Any, Any]:
        return call("read_file", path="a.txt"), call("edit_replace_exact", path="a.txt", old=place[0], new=place[1])

    async with session(world, Reviewer(lambda params: {})) as (client, first):
        other = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        await turn(client, first, server, *one(ONE))
        await turn(client, other, server, *one(LAST))
        # The first one edits a text that the other one has changed since: it is fitted, and the model is told.
        (told,) = await turn(
            client, first, server, call("edit_replace_exact", path="a.txt", old=MIDDLE[0], new=MIDDLE[1])
        )
        assert told["data"]["notices"] == [
            "a.txt has changed since it was read; the edit was applied to its current text"
        ]
        assert path.read_text() == NEW
        done = await client.request("_north/checkpoints/restore", {"sessionId": first, "steps": 2})
        assert [file["outcome"] for file in done["files"]] == ["merged"]
        assert path.read_text() == OLD.replace(*LAST)
        done = await client.request("_north/checkpoints/restore", {"sessionId": other, "steps": 1})
        assert path.read_text() == OLD
        await client.request("_north/checkpoints/restore", {"sessionId": first, "redo": 1})
        assert path.read_text() == OLD.replace(*ONE).replace(*MIDDLE)


async def test_what_was_changed_before_a_restart_is_undone_and_done_again(world: World, server: ModelServer) -> None:
    path = world.project / "a.txt"
    async with session(world, Reviewer(lambda params: {})) as (client, id):
        await turn(client, id, server, *edit())
        await turn(client, id, server, call("edit_move_file", **{"from": "a.txt", "to": "new/b.txt"}))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        await client.request("_north/checkpoints/restore", {"sessionId": id, "steps": 2})
        assert path.read_text() == OLD
        assert not (world.project / "new").exists()
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        await client.request("_north/checkpoints/restore", {"sessionId": id, "redo": 1})
        assert (world.project / "new/b.txt").read_text() == NEW
        assert not path.exists()
