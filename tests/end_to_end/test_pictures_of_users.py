"""Pictures that a user sends, through the real process: to the model, into the log, and back."""

import base64
import json
from typing import Any

import pytest

from north_lsp.workspace.formats.pictures import recognize
from tests.end_to_end.test_sessions import another, there
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import SERVER, World, make_world
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.model_server import ModelServer
from tests.support.png import png
from tests.support.script import Gate, Say, answer

PICTURE = png()
WORDS = {"type": "text", "text": "What is on it?"}


def block(data: bytes, mime_type: str = "image/png") -> dict[str, str]:
    return {"type": "image", "mimeType": mime_type, "data": base64.b64encode(data).decode()}


def pictures_in(message: dict[str, Any]) -> list[bytes]:
    parts = [part for part in message["content"] if part["type"] == "image"]
    return [base64.b64decode(part["source"]["data"]) for part in parts]


def shown(client: RawAcpClient) -> list[dict[str, Any]]:
    updates = [params["update"] for params in client.updates]
    return [one["content"] for one in updates if one["sessionUpdate"] == "user_message_chunk"]


async def test_a_picture_is_announced_sent_kept_and_sent_again(world: World, server: ModelServer) -> None:
    server.script(answer(Say("A white square.")), answer(Say("Still white.")))
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        made = await client.request("initialize", {"protocolVersion": 1})
        assert made["agentCapabilities"]["promptCapabilities"]["image"] is True
        id = (await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"]
        # What it is, is told by its content, not by its name.
        prompt = [WORDS, block(PICTURE, "image/jpeg")]
        await client.request("session/prompt", {"sessionId": id, "prompt": prompt})
        (message,) = server.requests[0].body["messages"]
        assert pictures_in(message) == [PICTURE]
        assert message["content"][0]["source"]["media_type"] == "image/png"
        await client.close_stdin()
        assert await client.wait_exit() == 0
    assert base64.b64encode(PICTURE).decode() not in "\n".join(world.log_entries())
    assert '"width":4,"height":3' in "\n".join(world.log_entries())  # which estimates go by
    async with raw_client([*SERVER, "acp"], world.environ, world.project) as client:
        await client.request("initialize", {"protocolVersion": 1})
        await client.request("session/load", {"sessionId": id, "cwd": str(world.project), "mcpServers": []})
        assert shown(client) == [WORDS, block(PICTURE)]
        await client.request("session/prompt", {"sessionId": id, "prompt": [{"type": "text", "text": "And now?"}]})
        assert pictures_in(server.requests[1].body["messages"][0]) == [PICTURE]


async def test_a_picture_alone_is_a_prompt(world: World, server: ModelServer) -> None:
    server.script(answer(Say("A white square.")))
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [block(PICTURE)]})
    assert [part["type"] for part in server.requests[0].body["messages"][0]["content"]] == ["image"]


async def test_a_picture_that_is_linked_or_mentioned_is_seen(world: World, server: ModelServer) -> None:
    for name, data in (("shot.png", PICTURE), ("art/with blank.png", png(7, 5)), ("half.png", PICTURE[:-9])):
        (world.project / name).parent.mkdir(exist_ok=True)
        (world.project / name).write_bytes(data)
    (world.project / ".northignore").write_text("closed.png\n")
    (world.project / "closed.png").write_bytes(png(2, 2))
    server.script(*(answer(Say("I see.")) for _ in range(3)))
    link = {"type": "resource_link", "uri": (world.project / "shot.png").as_uri(), "name": "shot.png"}
    words = {"type": "text", "text": 'Is it like @"art/with blank.png" and @closed.png?'}
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [words, link]})
        await client.request("session/prompt", {"sessionId": id, "prompt": [{**words, "text": "And @half.png?"}]})
    (message,) = server.requests[0].body["messages"]
    assert pictures_in(message) == [PICTURE, png(7, 5)]
    told = "".join(part.get("text", "") for part in message["content"])
    assert "[The next picture is shot.png]" in told
    assert "[The next picture is art/with blank.png]" in told
    half = server.requests[1].body["messages"][-1]
    assert pictures_in(half) == []
    assert "half.png" in str(half)
    assert "is a damaged PNG picture" in str(half)


async def test_a_steered_picture_is_shown_where_it_joined(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Well."), Gate("here"), Say("Well.")), answer(Say("White.")))
    async with conversation(world) as (client, id):
        turn = await client.start_request("session/prompt", {"sessionId": id, "prompt": [WORDS]})
        await server.reached("here")
        steered = await client.start_request("_north/steer", {"sessionId": id, "prompt": [WORDS, block(PICTURE)]})
        await client.request("_north/costs/get", {"sessionId": id})
        server.open("here")
        assert await client.answer(steered) == {"delivered": True}
        await client.answer(turn)
        assert shown(client) == [WORDS, block(PICTURE)]
    assert pictures_in(server.requests[-1].body["messages"][-1]) == [PICTURE]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"hello", "not a picture that models take"),
        (PICTURE[:-6], "damaged PNG"),
        (PICTURE.replace(b"IDAT", b"IDAX"), "damaged PNG"),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x05\0\x06", "damaged JPEG"),
        (b"GIF89a\1\0\1\0", "damaged GIF"),
        (png(20_000, 5_000), "20000 x 5000 pixels"),
    ],
)
async def test_what_no_vendor_would_take_is_refused_at_once(
    world: World, server: ModelServer, data: bytes, why: str
) -> None:
    async with conversation(world) as (client, id):
        with pytest.raises(RpcFailure, match=why) as failure:
            await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS, block(data)]})
        assert failure.value.code == -32602
        assert "prompt[1].data" in failure.value.message
        server.script(answer(Say("Good.")))
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS]})
    assert len(server.requests) == 1


async def test_large_pictures_are_scaled_down(world: World, server: ModelServer) -> None:
    pytest.importorskip("PIL")
    server.script(answer(Say("Wide.")))
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS, block(png(2500, 50))]})
    (shown,) = pictures_in(server.requests[0].body["messages"][0])
    assert recognize(shown) == ("PNG", (2000, 40))


async def test_a_model_that_cannot_see_is_told_in_words_and_so_is_the_user(world: World, server: ModelServer) -> None:
    models = "providers: {anthropic: {modelOverrides: {claude-sonnet-4-5-20250929: {input: [text]}}}}\n"
    (world.folder / "config" / "models.yml").write_text(models)
    server.script(answer(Say("I cannot see it.")))
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS, block(PICTURE)]})
        said = [one["update"].get("content", {}) for one in client.updates]
        assert any("cannot see pictures" in str(one) for one in said)
    (part,) = server.requests[0].body["messages"][0]["content"]
    assert part["text"] == "What is on it?\n[image omitted: model has no vision]"


async def test_a_picture_that_is_gone_does_not_stop_the_conversation(world: World, server: ModelServer) -> None:
    server.script(answer(Say("White.")), answer(Say("Gone.")))
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS, block(PICTURE)]})
        kept = [path for path in world.data.rglob("*") if path.is_file() and path.read_bytes() == PICTURE]
        assert len(kept) == 1
        kept[0].unlink()
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS]})
    assert "[image unavailable]" in server.requests[-1].body["messages"][0]["content"][0]["text"]
    async with another(world) as client:
        await client.request("session/load", there(id, world.project))
        await client.wait_update(lambda update: "1 picture of this conversation cannot be shown" in str(update))


async def test_a_picture_whose_data_is_in_the_log_is_shown_and_sent(world: World, server: ModelServer) -> None:
    server.script(answer(Say("White.")), answer(Say("Still.")))
    async with conversation(world) as (client, id):
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS]})
    log = world.data / "conversations" / f"{id}.jsonl"
    part = json.dumps({"type": "image", "mimeType": "image/png", "data": base64.b64encode(PICTURE).decode()})
    text = log.read_text()
    begins = '"content":[{"type":"text","text":"What is on it?"}'
    assert begins in text
    log.write_text(text.replace(begins, f"{begins},{part}"))
    async with another(world) as client:
        await client.request("session/load", there(id, world.project))
        await client.request("session/prompt", {"sessionId": id, "prompt": [WORDS]})
        assert base64.b64encode(PICTURE).decode() in str(client.updates)
        assert "cannot be shown" not in str(client.updates)
    assert base64.b64encode(PICTURE).decode() in str(server.requests[-1].body["messages"][0])


async def test_the_offline_model_answers_a_picture(tmp_path: Any) -> None:
    async with conversation(make_world(tmp_path / "world")) as (client, id):
        answered = await client.request("session/prompt", {"sessionId": id, "prompt": [block(PICTURE)]})
        assert answered["stopReason"] == "end_turn"
