"""The tools that look, through the real process: shortened results stay readable, also after a restart."""

import base64
import json
from typing import Any

import pytest

from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, raw_client
from tests.support.model_server import ModelServer
from tests.support.script import Call, answer, call, say

LONG = "email/message.py"

KNOWS = {"protocolVersion": 1, "clientCapabilities": {"_meta": {"north": {}}}}
"""An `initialize` of a client that knows North."""


async def turn(client: RawAcpClient, id: str, server: ModelServer, *calls: Call) -> list[Any]:
    """Let the model make these calls, and give the results it read."""
    server.script(answer(*calls), answer(say("ok")))
    await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
    content = server.requests[-1].body["messages"][-1]["content"]
    return [json.loads(part["content"]) if part["content"].startswith("{") else part["content"] for part in content]


async def test_a_shortened_result_is_whole_again_after_a_restart(world: World, server: ModelServer) -> None:
    lines = (world.project / LONG).read_text().split("\n")
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        short, found = await turn(
            client, id, server, call("read_file", path=LONG), call("search_text", query="import", type="py")
        )
        output, other = short["data"]["outputId"], found["data"]["outputId"]
        assert "... 440 more lines" in short["data"]["content"]
        assert len(found["data"]["matches"]) == 10
        (part,) = await turn(client, id, server, call("expand_output", outputId=output, startLine=200, endLine=200))
        assert part["data"]["content"] == f"200→200→{lines[199]}\n"
        first, *_, last = (request.body["messages"] for request in server.requests)
        assert last[: len(first)] == first
        await client.close_stdin()
        assert await client.wait_exit() == 0
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        part, again, listed = await turn(
            client,
            id,
            server,
            call("expand_output", outputId=output, startLine=300, endLine=300),
            call("read_file", path=f"artifact://{other}", startLine=1, endLine=1),
            call("shell_run", command="seq 100"),
        )
        assert part["data"]["content"] == f"300→300→{lines[299]}\n"
        assert again["data"]["content"].startswith("1→email/")
        assert "Denied" in str(listed) or "denied" in str(listed)
    artifacts = sorted(path.name for path in (world.data / "conversations" / id).iterdir())
    assert artifacts[:2] == sorted([f"{output}.read_file.log", f"{other}.search_text.log"])


async def test_what_was_read_before_a_restart_may_be_edited_unless_it_has_changed(
    world: World, server: ModelServer
) -> None:
    old = "import sys\n"
    for name in ("read.py", "searched.py", "outlined.py", "changed.py", "unread.py"):
        (world.project / name).write_text(old)
    mention = {"type": "resource_link", "uri": (world.project / "attached.py").as_uri(), "name": "attached.py"}
    (world.project / "attached.py").write_text(old)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        server.script(
            answer(
                call("read_file", path="read.py"),
                call("search_text", query="sys", glob="/searched.py"),
                call("get_file_outline", path="outlined.py"),
                call("read_file", path="changed.py"),
            ),
            answer(say("ok")),
        )
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}, mention]})
        await client.close_stdin()
        assert await client.wait_exit() == 0
    (world.project / "changed.py").write_text(old + "import os\n")
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:

        async def decide(params: dict[str, Any]) -> dict[str, Any]:
            chosen = next(one["optionId"] for one in params["options"] if one["kind"] == "allow_once")
            return {"outcome": {"outcome": "selected", "optionId": chosen}}

        client.handlers["session/request_permission"] = decide
        await client.request("initialize", KNOWS)
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        names = ("read.py", "searched.py", "outlined.py", "attached.py", "changed.py", "unread.py")
        results = await turn(
            client, id, server, *(call("edit_replace_exact", path=name, old="sys", new="os") for name in names)
        )
    assert [result["ok"] for result in results] == [True, True, True, True, False, False]
    assert "has changed since it was read" in results[4]["error"]["message"]
    assert "was not read" in results[5]["error"]["message"]
    assert (world.project / "searched.py").read_text() == "import os\n"
    assert (world.project / "changed.py").read_text() == old + "import os\n"


async def test_readers_run_beside_each_other_and_tell_where_they_look(world: World, server: ModelServer) -> None:
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
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


async def test_pictures_groups_and_whole_outputs_reach_their_readers(world: World, server: ModelServer) -> None:
    picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x20"
    (world.project / "a.png").write_bytes(picture)
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        server.script(answer(call("read_file", path="a.png"), call("read_file", path=LONG)), answer(say("ok")))
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "go"}]})
        image, text = server.requests[-1].body["messages"][-1]["content"]
        assert "16 x 32 pixels" in image["content"][0]["text"]
        assert base64.b64decode(image["content"][1]["source"]["data"]) == picture
        assert '"width":16,"height":32' in "\n".join(world.log_entries())  # which estimates go by
        assert json.loads(text["content"])["data"]["outputId"] == "1"
        updates = [update["update"] for update in client.updates if "toolCallId" in update["update"]]
        assert len({update["_meta"]["north"]["group"] for update in updates}) == 1
        named = [update for update in updates if "rawInput" in update]
        assert [update["locations"] for update in named] == [
            [{"path": str(world.project / "a.png")}],
            [{"path": str(world.project / LONG)}],
        ]
        missing = updates[-1]["_meta"]["north"]["truncation"]
        assert (missing["artifactId"], missing["shownRange"][0]) == ("1", [1, 50])
        known = await client.request("_north/artifacts/list", {"sessionId": id})
        assert known == {"artifacts": [{"artifactId": "1"}]}
        asked = {"sessionId": id, "artifactId": "1", "offset": 2, "limit": 5}
        part = await client.request("_north/artifacts/read", asked)
        assert part["nextOffset"] == 7
        assert len(part["text"]) == 5
        before = [update for update in client.updates if "toolCallId" in update["update"]]
        await client.close_stdin()
        assert await client.wait_exit() == 0
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", KNOWS)
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        again = [update for update in client.updates if "toolCallId" in update["update"]]
        assert again[-1]["update"]["_meta"] == before[-1]["update"]["_meta"]
        server.script(answer(say("ok")))
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "more"}]})
        image = server.requests[-1].body["messages"][2]["content"][0]
        assert base64.b64decode(image["content"][1]["source"]["data"]) == picture


@pytest.mark.parametrize("digest", [True, False])
async def test_the_whole_of_a_flood_is_kept(world: World, server: ModelServer, digest: bool) -> None:
    (world.folder / "config" / "config.json").write_text(json.dumps({"digest": {"enabled": digest}}))
    whole = "".join(f"{number}\n" for number in range(1, 30_001))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:

        async def run(params: dict[str, Any]) -> dict[str, Any]:
            return {"outcome": {"outcome": "selected", "optionId": "run"}}

        client.handlers["session/request_permission"] = run
        await client.request("initialize", KNOWS)
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        flood, read = await turn(
            client, id, server, call("shell_run", command="seq 30000"), call("read_file", path=LONG, startLine=None)
        )
        rows = flood.split("\n")
        assert (rows[0], rows[-1]) == ("1", "Complete output: artifact://1")
        assert (len(rows) < 40) == digest
        assert len(rows) <= 2003  # 2,000 lines, what is left out, how long it all is and where it is
        assert ("outputId" in read["data"]) == digest
        ended = next(update["update"] for update in client.updates if update["update"].get("status") == "completed")
        missing = ended["_meta"]["north"]["truncation"]
        assert (missing["totalLines"], missing["totalBytes"], missing["artifactId"]) == (30_000, len(whole), "1")
        part = await client.request("_north/artifacts/read", {"sessionId": id, "artifactId": "1"})
        assert part == {"text": whole, "totalCharacters": len(whole)}
