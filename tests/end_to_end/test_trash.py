"""Deleted conversations come back: by North's methods, by slash command, and on the command line."""

import re
from pathlib import Path
from typing import Any

import pytest

from north_lsp import acp
from north_lsp.rpc.messages import METHOD_NOT_FOUND
from north_lsp.storage.locks import FileLock, LockHeld, try_lock
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_finding import chosen, ids, said
from tests.end_to_end.test_queue import start
from tests.end_to_end.test_sessions import another, there
from tests.end_to_end.test_turns import conversation
from tests.end_to_end.world import World
from tests.support.client import RawAcpClient, RpcFailure
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer


async def in_trash(client: RawAcpClient, **params: object) -> list[dict[str, Any]]:
    return list((await client.request("_north/sessions/trash", params))["sessions"])


async def test_a_deleted_conversation_is_listed_and_comes_back(world: World, server: ModelServer) -> None:
    first = await said(world, server, ("Explain the cache", "It holds quokkas."))
    second = await said(world, server, ("Rename it", "Done."))
    async with another(world) as client:
        assert await in_trash(client) == []
        for session in (first, second):
            await client.request("session/delete", {"sessionId": session})
        rows = await in_trash(client, cwd=str(world.project))
        assert {row["sessionId"]: row["name"] for row in rows} == {first: "Explain the cache", second: "Rename it"}
        assert all(row["deletedAt"].endswith("Z") for row in rows)
        assert [row["sessionId"] for row in await in_trash(client, query="CACHE explain")] == [first]
        assert await in_trash(client, cwd=str(world.folder)) == []
        restored = await client.request("_north/sessions/restore", {"sessionId": first})
        assert (restored["sessionId"], restored["cwd"]) == (first, str(world.project))
        assert await ids(client) == [first]
        await client.request("session/load", there(first, world.project))
        assert "It holds quokkas." in texts(client)
        with pytest.raises(RpcFailure, match="no session 'ffffff' in the trash") as refused:
            await client.request("_north/sessions/restore", {"sessionId": "ffffff"})
        assert refused.value.code == -32002
        with pytest.raises(RpcFailure) as refused:
            await in_trash(client, cwd="relative")
        assert refused.value.code == -32602


async def test_a_slash_command_lists_the_trash_and_restores(world: World, server: ModelServer) -> None:
    first = await said(world, server, ("Explain the cache", "It holds quokkas."))
    second = await said(world, server, ("Explain the rest", "Done."))
    async with conversation(world) as (client, session):

        async def type_(text: str) -> str:
            client.updates.clear()
            await prompt(client, session, text)
            return texts(client)

        assert "Nothing about this project is in the trash." in await type_("/restore")
        for one in (first, second):
            await client.request("session/delete", {"sessionId": one})
        assert f"- `{first}` **Explain the cache**, deleted just now, 2 messages" in await type_("/restore")
        assert "and none there has that in it" in await type_("/restore zebra")
        assert f"(`{first}`) is in the lists again" in await type_(f"/restore {first}")
        client.handlers["session/request_permission"] = lambda params: chosen(params, "reject_once")
        assert "Nothing was restored." in await type_("/restore explain rest")
        client.handlers["session/request_permission"] = lambda params: chosen(params, "allow_once")
        assert f"`/resume {second}` opens it" in await type_("/restore explain rest")
        assert set(await ids(client)) == {first, second}


async def test_a_slash_command_deletes_another_conversation_after_a_question(world: World, server: ModelServer) -> None:
    first = await said(world, server, ("Explain the cache", "It holds quokkas."))
    second = await said(world, server, ("Explain the rest", "Done."))
    async with conversation(world) as (client, session):

        async def type_(text: str, *answers: str) -> str:
            client.updates.clear()
            left = [*answers]
            client.handlers["session/request_permission"] = lambda params: chosen(params, left.pop(0))
            await prompt(client, session, text)
            assert not left
            return texts(client)

        assert "and none here has that in it" in await type_("/delete zebra")
        assert "Nothing was deleted." in await type_("/delete explain", "reject_once")
        assert "Nothing was deleted." in await type_(f"/delete {first}", "reject_once")
        assert await ids(client) == [second, first]
        told = await type_("/delete explain", "allow_always", "allow_once")
        assert (
            f"**Explain the cache** (`{first}`) is in the trash for 30 days: `/restore {first}` puts it back." in told
        )
        assert await ids(client) == [second]
        assert "is in the trash" in await type_("/delete", "allow_once", "allow_once")
        assert "There is no other conversation here." in await type_("/delete")
        server.script(answer(Say("Two.")))
        await prompt(client, session, "Hello")
        assert "This conversation is open" in await type_(f"/delete {session}")
        assert await ids(client) == [session]


async def test_a_slash_command_does_not_delete_what_is_open(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One."), Gate("one"), Say("Two.")))
    async with conversation(world) as (client, session):
        busy = str((await client.request("session/new", {"cwd": str(world.project), "mcpServers": []}))["sessionId"])
        turn = await start(client, busy, "Explain the cache")
        await server.reached("one")
        client.handlers["session/request_permission"] = lambda params: chosen(params, "allow_once")
        await prompt(client, session, f"/delete {busy}")
        told = f"(`{busy}`) is open in another chat or editor: close it there first, or delete it in the list"
        assert told in texts(client)
        server.open("one")
        assert (await client.answer(turn))["stopReason"] == "end_turn"
        assert await ids(client) == [busy]
        client.updates.clear()
        await client.request("session/close", {"sessionId": busy})
        await prompt(client, session, f"/delete {busy}")
        assert f"(`{busy}`) is in the trash for 30 days" in texts(client)


async def test_a_slash_command_does_not_delete_what_was_opened_during_its_question(
    world: World, server: ModelServer
) -> None:
    first = await said(world, server, ("Explain the cache", "It holds quokkas."))
    async with conversation(world) as (client, session):
        held: list[FileLock | LockHeld] = []

        async def opened(params: dict[str, Any]) -> object:
            held.append(try_lock(world.data / "conversations" / f"{first}.lock"))
            return await chosen(params, "allow_once")

        client.handlers["session/request_permission"] = opened
        await prompt(client, session, f"/delete {first}")
        assert f"(`{first}`) is open in another chat or editor" in texts(client)
        assert await ids(client) == [first]
        (lock,) = held
        assert isinstance(lock, FileLock)
        lock.release(remove=True)


async def test_a_log_from_elsewhere_is_imported(world: World, server: ModelServer) -> None:
    session = await said(world, server, ("Explain the cache", "It holds quokkas."))
    log = world.data / "conversations" / f"{session}.jsonl"
    file = world.folder / "from elsewhere.jsonl"
    file.write_text(log.read_text())
    damaged = world.folder / "damaged.jsonl"
    damaged.write_text("not a header\n" + log.read_text().partition("\n")[2])
    async with another(world) as client:

        async def take_in(path: Path | str, **more: object) -> dict[str, Any]:
            params = {"path": str(path), "cwd": str(world.project), **more}
            return dict(await client.request("_north/sessions/import", params))

        got = await take_in(file)
        assert (got["name"], got["messages"], got["leftOut"], got["warnings"]) == ("Explain the cache", 2, 0, [])
        assert got["sessionId"] != session
        await client.request("session/load", there(got["sessionId"], world.project))
        assert "It holds quokkas." in texts(client)
        for path, why, can in ((damaged, "line 1 of the log", True), (world.folder / "no", "file not found", None)):
            with pytest.raises(RpcFailure, match=why) as refused:
                await take_in(path)
            assert (refused.value.data or {}).get("canBeSalvaged") == can
        assert (await take_in(damaged, salvage=True))["leftOut"] == 1
        for more in ({"salvage": "yes"}, {"cwd": "relative"}):
            with pytest.raises(RpcFailure) as refused:
                await take_in(file, **more)
            assert refused.value.code == -32602
        with pytest.raises(RpcFailure, match="must be an absolute path"):
            await take_in("relative.jsonl")
        assert len(await ids(client)) == 3


async def test_what_is_offered_is_announced(world: World) -> None:
    async with another(world) as client:
        opened = await client.request("session/new", {"cwd": str(world.project), "mcpServers": []})
        (answered,) = [
            message["result"]
            for _, message in client.transcript
            if "agentCapabilities" in str(message.get("result", ""))
        ]
        announced = set(answered["agentCapabilities"]["_meta"]["north"]["methods"])
        assert {"_north/sessions/trash", "_north/sessions/restore", "_north/storage/get"} <= announced
        unknown = [method for method in sorted(announced) if await code_of(client, method, opened) == METHOD_NOT_FOUND]
        assert unknown == []
    sources = "".join(path.read_text() for path in Path(acp.__path__[0]).glob("*.py"))
    served = set(re.findall(r'^ +"(_north/[a-zA-Z/]+)":', sources, re.MULTILINE))
    assert served - {"_north/leaving"} <= announced


async def code_of(client: RawAcpClient, method: str, opened: dict[str, Any]) -> int | None:
    try:
        await client.request(method, {"sessionId": opened["sessionId"]})
    except RpcFailure as refused:
        return refused.code
    return None
