"""What a killed server left half written is taken back by the next one, whatever session it opens."""

import os

import pytest

from north_lsp.storage.locations import Locations
from north_lsp.workspace.apply.apply import write
from north_lsp.workspace.edit.diff import make_change
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.project_root import project_hash
from north_lsp.workspace.proposal import TextEncoding
from tests.end_to_end.world import SERVER, World
from tests.support.client import raw_client
from tests.support.model_server import ModelServer


@pytest.mark.parametrize("method", ["session/new", "session/load"])
async def test_the_next_session_takes_back_what_was_cut_off(world: World, server: ModelServer, method: str) -> None:
    root = world.project
    old = "whole\n"
    (root / "a.txt").write_text(old)
    params = {"cwd": str(root), "mcpServers": []}
    if method == "session/load":
        from tests.support.script import answer, say

        async with raw_client([*SERVER, "acp"], world.environ, root) as client:
            await client.request("initialize", {"protocolVersion": 1})
            params["sessionId"] = (await client.request("session/new", params))["sessionId"]
            server.script(answer(say("ok")))
            text = [{"type": "text", "text": "go"}]
            await client.request("session/prompt", {"sessionId": params["sessionId"], "prompt": text})
            await client.close_stdin()
            await client.wait_exit()
    changes = [
        make_change(root / "a.txt", "a.txt", old, "half\n", TextEncoding()),
        make_change(root / "made/new.py", "made/new.py", None, "half\n", TextEncoding()),
    ]
    locations = Locations(world.folder / "config", world.data, world.folder / "state")
    journals = locations.journals(project_hash(root))
    written = write(changes, Roots.of(root), journals)
    assert written._note is not None
    os.close(written._note._descriptor)  # the kernel frees the lock of a dead process
    async with raw_client([*SERVER, "acp"], world.environ, root) as client:
        await client.request("initialize", {"protocolVersion": 1})
        await client.request(method, params)
        told = await client.wait_update(lambda update: "An interrupted edit" in str(update.get("content")))
        assert "a.txt, made/new.py" in told["content"]["text"]
    assert (root / "a.txt").read_text() == old
    assert not (root / "made").exists()
    assert list(journals.iterdir()) == []
