"""The tools that look, through the real process: shortened results stay readable, also after a restart."""

import json
from typing import Any

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say

LONG = "email/message.py"


async def turn(client: RawAcpClient, id: str, server: ModelServer, *calls: Call) -> list[Any]:
    """Let the model make these calls, and give the results it read."""
    server.script(answer(*calls), answer(say("ok")))
    await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
    content = server.requests[-1].body["messages"][-1]["content"]
    return [json.loads(part["content"]) if part["content"].startswith("{") else part["content"] for part in content]


async def test_a_shortened_result_is_whole_again_after_a_restart(world: World, server: ModelServer) -> None:
    lines = (world.project / LONG).read_text().split("\n")
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        short, found = await turn(
            client, id, server, call("read_file", path=LONG), call("search_text", query="import", type="py")
        )
        assert short["data"]["outputId"] == "1"
        assert "... 440 more lines" in short["data"]["content"]
        assert len(found["data"]["matches"]) == 10
        (part,) = await turn(client, id, server, call("expand_output", outputId="1", startLine=200, endLine=200))
        assert part["data"]["content"] == f"200→200→{lines[199]}\n"
        first, *_, last = (request.body["messages"] for request in server.requests)
        assert last[: len(first)] == first
        await client.close_stdin()
        assert await client.wait_exit() == 0
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        part, again, listed = await turn(
            client,
            id,
            server,
            call("expand_output", outputId="1", startLine=300, endLine=300),
            call("read_file", path="artifact://2", startLine=1, endLine=1),
            call("shell_run", command="seq 100"),
        )
        assert part["data"]["content"] == f"300→300→{lines[299]}\n"
        assert again["data"]["content"].startswith("1→email/")
        assert "Denied" in str(listed) or "denied" in str(listed)
    artifacts = sorted(path.name for path in (world.data / "conversations" / id).iterdir())
    assert artifacts[:2] == ["1.read_file.log", "2.search_text.log"]


async def test_readers_run_beside_each_other_and_tell_where_they_look(world: World, server: ModelServer) -> None:
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        results = await turn(
            client,
            id,
            server,
            call("read_around", path="json/scanner.py", anchor="NUMBER_RE = "),
            call("find_files", pattern="*.py", path="json"),
            call("get_file_outline", path="json/decoder.py"),
            call("find_code_block", path="json/decoder.py", query="JSONDecoder", kind="class"),
            call("get_file_symbols", path="json/gone.py"),
        )
        assert [result["ok"] for result in results] == [True, True, True, True, False]
        ended = [
            update["update"] for update in client.updates if update["update"].get("status") in ("completed", "failed")
        ]
        titles = [update["title"] for update in ended if "title" in update]
        assert titles[:2] == ["Reading scanner.py", f"Finding *.py - {len(results[1]['data']['files'])} files"]
        line = results[0]["data"]["matchLine"]
        assert ended[0]["locations"] == [{"path": str(world.project / "json/scanner.py"), "line": line}]
