"""Conversations whose folder was copied elsewhere and removed: asked about once, and continued there."""

import asyncio
import inspect
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from north_lsp.agent.log.log import Log
from north_lsp.agent.session.factory import SessionFactory
from north_lsp.agent.session.session import Session
from north_lsp.storage.conversation import Conversation
from north_lsp.storage.locations import Locations
from north_lsp.storage.projects import read_project
from north_lsp.workspace.files.ignore import IgnoreRules
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.project_root import project_hash
from tests.end_to_end.test_faults import prompt, texts
from tests.end_to_end.test_sessions import another, answering, there
from tests.end_to_end.test_turns import conversation, text_blocks
from tests.end_to_end.world import SERVER, World
from tests.support.client import RawAcpClient, RpcFailure, raw_client
from tests.support.inside import inside
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer
from tests.workspace.test_identity import git


@asynccontextmanager
async def own_client(world: World, answers: str | None) -> AsyncIterator[tuple[RawAcpClient, list[dict[str, Any]]]]:
    """A client that knows North, in a process of its own; questions are answered so, or not at all."""
    asked: list[dict[str, Any]] = []

    async def permit(params: dict[str, Any]) -> Any:
        asked.append(params)
        return {"outcome": {"outcome": "selected", "optionId": answers}} if answers is not None else None

    async with raw_client([*SERVER, "acp"], world.environ, world.folder) as client:
        client.handlers["session/request_permission"] = permit
        capabilities: dict[str, Any] = {"_meta": {"north": {}}}
        await client.request("initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        yield client, asked


async def listed(client: RawAcpClient, folder: Path) -> list[str]:
    return [row["sessionId"] for row in (await client.request("session/list", {"cwd": str(folder)}))["sessions"]]


async def new(client: RawAcpClient, folder: Path) -> str:
    return str((await client.request("session/new", {"cwd": str(folder), "mcpServers": []}))["sessionId"])


async def known(world: World) -> None:
    """Wait until North has noted what distinguishes the project's folder, which it does beside the turns."""
    locations = Locations(world.folder / "config", world.data, world.folder / "state")
    while (noted := read_project(locations, project_hash(world.project))) is None or noted.identity.is_vague:
        await asyncio.sleep(0.01)


@pytest.fixture
async def copied(world: World, server: ModelServer) -> tuple[str, Path]:
    """A conversation about a repository that was copied and then removed."""
    git(world.project, "init")
    git(world.project, "add", "json")
    git(world.project, "commit", "-m", "first")
    server.script(*(answer(Say(f"{word}.")) for word in ("One", "Two", "Three")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        await known(world)
    target = world.folder / "copied"
    shutil.copytree(world.project, target)
    shutil.rmtree(world.project)
    return session, target


async def test_it_is_asked_once_and_continues(world: World, copied: tuple[str, Path]) -> None:
    session, target = copied
    async with own_client(world, "yes") as (client, asked):
        assert await listed(client, target) == []
        await new(client, target)
        told = f"1 conversation of {world.project} continues in {target}."
        await client.wait_update(lambda update: told in str(update))
        assert "the same git history" in asked[0]["toolCall"]["title"]
        assert await listed(client, target) == [session]
        await client.request("session/load", there(session, target))
        assert await prompt(client, session, "second") == "end_turn"
        await new(client, target)
        assert len(asked) == 1
    rows = [json.loads(line) for line in world.log_entries()]
    (moved,) = [row for row in rows if row["type"] == "session_moved"]
    assert (moved["repoRoot"], moved["cwd"]) == (str(target), str(target))


async def test_a_no_is_remembered_and_silence_is_not(world: World, copied: tuple[str, Path]) -> None:
    session, target = copied
    async with own_client(world, None) as (client, asked):
        opened = await new(client, target)
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        await client.request("session/close", {"sessionId": opened})  # gives the question up
    for count in (1, 0):
        async with own_client(world, "no") as (client, asked):
            opened = await new(client, target)
            if count:
                await client.wait(lambda message: message.get("method") == "session/request_permission")
            await client.request("session/prompt", {"sessionId": opened, "prompt": text_blocks("/move from " + "x")})
            assert len(asked) == count
            assert await listed(client, target) == []
    async with own_client(world, "no") as (client, _):  # what was declined can still be named
        opened = await new(client, target)
        typed = text_blocks(f"/move from {world.project}")
        await client.request("session/prompt", {"sessionId": opened, "prompt": typed})
        assert f"1 conversation of {world.project} continues in {target}." in texts(client)
        assert session in await listed(client, target)


async def test_a_plain_client_is_told_the_command(world: World, copied: tuple[str, Path]) -> None:
    _, target = copied
    async with another(world) as client:
        opened = await new(client, target)
        await client.wait_update(lambda update: f"`/move from {world.project}` continues its" in str(update))
        assert not [message for _, message in client.transcript if "request_permission" in str(message.get("method"))]
        await client.request("session/close", {"sessionId": opened})


async def test_another_folder_with_the_same_inode_is_not_taken_for_it(
    world: World, server: ModelServer, copied: tuple[str, Path]
) -> None:
    session, _ = copied
    other = world.folder / "other"
    (other / "sub").mkdir(parents=True)
    (other / "a.txt").write_text("something else")
    git(other, "init")
    git(other, "add", ".")
    git(other, "commit", "-m", "other")
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    header, rest = log.read_text().split("\n", 1)
    row = json.loads(header) | {"rootInode": other.stat().st_ino}  # as if the system had given it out again
    log.write_text(json.dumps(row) + "\n" + rest)
    async with own_client(world, "yes") as (client, asked):
        assert await listed(client, other) == []
        await new(client, other)
        assert asked == []
    (world.data / "projects").rename(world.data / "elsewhere")  # without what is known of the former folder
    async with own_client(world, "yes") as (client, asked):
        assert await listed(client, other) == [session]


async def another_repository(world: World) -> Path:
    other = world.folder / "other"
    other.mkdir()
    (other / "a.txt").write_text("something else")
    git(other, "init")
    git(other, "add", ".")
    git(other, "commit", "-m", "other")
    return other


def questions(client: RawAcpClient) -> list[dict[str, Any]]:
    return [m["params"] for _, m in client.transcript if m.get("method") == "session/request_permission"]


async def test_a_folder_that_is_another_one_is_asked_about(world: World, copied: tuple[str, Path]) -> None:
    session, target = copied
    other = await another_repository(world)
    for folder, words in ((target, ";"), (other, ", which was not like this folder;")):
        async with another(world) as client:
            client.handlers["session/request_permission"] = answering("allow_once")
            await client.request("session/load", there(session, folder))
            was = world.project if folder == target else target
            text = f"This conversation belonged to {was}{words} it continues in {folder}"
            await client.wait_update(lambda update, text=text: text in str(update))  # type: ignore[misc]
            asked = [params["toolCall"]["title"] for params in questions(client)]
            question = (
                f"This conversation is about {target}, which is gone; {other} is another folder. Continue it here?"
            )
            assert asked == ([] if folder == target else [question])
        if folder == target:
            target.rename(world.folder / "gone")


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.parametrize("said", ["leave", "cancelled", "nothing"])
async def test_without_a_yes_it_is_not_taken_over(
    world: World, copied: tuple[str, Path], method: str, said: str
) -> None:
    session, target = copied
    other = await another_repository(world)
    target.rename(world.folder / "gone")
    (log,) = world.data.glob(f"conversations/{session}.jsonl")
    before = log.read_bytes()
    async with another(world) as client:
        if said == "leave":
            client.handlers["session/request_permission"] = answering("reject_once")
        elif said == "cancelled":
            client.handlers["session/request_permission"] = cancelled
        with pytest.raises(RpcFailure, match=f"is about {world.project}, which is gone, and was not taken") as refused:
            await client.request(method, there(session, other))  # "nothing": the client knows no such question
        assert refused.value.code == -32600
        assert refused.value.data == {"code": "OTHER_FOLDER", "folder": str(world.project)}
        assert [one["sessionId"] for one in questions(client)] == [session]
        assert "One." not in texts(client)
        assert log.read_bytes() == before
        client.handlers["session/request_permission"] = answering("allow_once")
        await client.request(method, there(session, other))  # it is asked again
    assert b"session_moved" in log.read_bytes()


async def test_a_client_that_has_asked_itself_says_so(world: World, copied: tuple[str, Path]) -> None:
    session, target = copied
    other = await another_repository(world)
    target.rename(world.folder / "gone")
    async with another(world) as client:
        for said in (False, "yes"):  # only a plain yes is one
            with pytest.raises(RpcFailure):
                await client.request("session/load", there(session, other) | asked_there(said))
        assert len(questions(client)) == 2
        await client.request("session/load", there(session, other) | asked_there(True))
        assert len(questions(client)) == 2
        assert texts(client).startswith("One.")
        found = await client.request("_north/sessions/find", {"target": session, "cwd": str(other)})
        assert found["isHere"] is True


def asked_there(said: object) -> dict[str, Any]:
    return {"_meta": {"north": {"continuesHere": said}}}


async def test_what_a_folder_was_called_before_is_here(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")))
    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
    renamed = world.folder / "renamed"
    world.project.rename(renamed)
    async with another(world) as client:
        for folder, is_here in ((renamed, True), (world.folder, False)):
            found = await client.request("_north/sessions/find", {"target": session, "cwd": str(folder)})
            assert (found["cwd"], found["isHere"]) == (str(world.project), is_here)


async def cancelled(params: dict[str, Any]) -> dict[str, Any]:
    return {"outcome": {"outcome": "cancelled"}}


async def test_others_are_served_while_it_is_asked(world: World, copied: tuple[str, Path]) -> None:
    session, target = copied
    other = await another_repository(world)
    target.rename(world.folder / "gone")
    async with own_client(world, None) as (client, asked):
        loading = await client.start_request("session/load", there(session, other))
        await client.wait(lambda message: message.get("method") == "session/request_permission")
        assert await new(client, other) != session
        await client.notify("$/cancel_request", {"requestId": loading})
        with pytest.raises(RpcFailure) as refused:
            await client.answer(loading)
        assert refused.value.code == -32800
        assert len(asked) == 1


async def test_one_conversation_moves_to_another_folder(world: World, server: ModelServer) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    target = world.folder / "target"
    target.mkdir()
    (target / "only-here.txt").write_text("a")

    async def say(text: str) -> None:
        await client.request("session/prompt", {"sessionId": session, "prompt": text_blocks(text)})

    async with conversation(world) as (client, session):
        await prompt(client, session, "first")
        await say("/move /no/such/folder")
        assert "There is no folder /no/such/folder" in texts(client)
        await say(f"/move from {target}")
        assert f"{target} is still there" in texts(client)
        await say("/move from /no/such/folder")
        assert "There are no conversations about /no/such/folder" in texts(client)
        await say(f"/move {world.project}")
        assert "already" in texts(client)
        await say("/move ../target")
        assert f"This conversation continues in {target}." in texts(client)
        assert (await listed(client, target), await listed(client, world.project)) == ([session], [])
        found = await client.request("_north/paths/complete", {"sessionId": session, "query": "only"})
        assert "only-here.txt" in str(found)
        assert await prompt(client, session, "second") == "end_turn"
    assert f"{target}" in json.dumps(server.requests[-1].body["system"])
    async with another(world) as client:
        await client.request("session/load", there(session, target))
        assert texts(client).startswith("One.")


STEPS: list[tuple[object, str]] = [
    (Log, "move"),
    (Roots, "of"),
    (Conversation, "open"),
    (SessionFactory, "_finish_interrupted_reviews"),
    (Log, "path"),
    (IgnoreRules, "of"),
    (SessionFactory, "_bind"),
]


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ValueError("cannot be")])
@pytest.mark.parametrize(("owner", "name"), STEPS, ids=[name for _, name in STEPS])
async def test_a_move_of_which_a_step_fails_leaves_the_conversation_where_it_was(
    world: World, server: ModelServer, owner: object, name: str, error: Exception
) -> None:
    target = world.folder / "target"
    target.mkdir()
    (target / "only-here.txt").write_text("a")
    server.script(answer(Say("One.")), answer(Say("Two.")))
    is_first = (owner, name) == (Log, "move")
    failed: list[str] = []

    async with inside(world.environ) as client:
        session = await new(client, world.project)
        await prompt(client, session, "first")
        with pytest.MonkeyPatch.context() as patch:
            real, moving = inspect.getattr_static(owner, name), Session.move

            def once(*arguments: Any, **more: Any) -> Any:
                if not failed:
                    failed.append(name)
                    raise error
                is_bound = isinstance(real, staticmethod | classmethod)
                call = real.__get__(None, owner) if is_bound else real
                return call(*arguments, **more)

            def begin() -> None:
                kept = staticmethod(once) if isinstance(real, staticmethod | classmethod) else once
                patch.setattr(owner, name, kept)

            async def move(moved: Session, root: Path) -> None:
                if is_first:
                    begin()
                await moving(moved, root)
                begin()  # what comes after the new place was written

            patch.setattr(Session, "move", move)
            typed = text_blocks(f"/move {target}")
            await client.request("session/prompt", {"sessionId": session, "prompt": typed})
        assert failed == [name]
        if not is_first:
            told = f"This conversation could not continue in {target}: "
            await client.wait_update(lambda update: told in str(update))
            assert f"It continues in {world.project}" in str(client.updates)
        rows = (await client.request("session/list"))["sessions"]
        assert [row["cwd"] for row in rows] == [str(world.project)]
        found = await client.request("_north/paths/complete", {"sessionId": session, "query": "only"})
        assert "only-here.txt" not in str(found)
        assert await prompt(client, session, "second") == "end_turn"
    assert str(target) not in json.dumps(server.requests[-1].body["system"])
    async with another(world) as client:
        await client.request("session/load", there(session, world.project))
        assert "One." in texts(client)
        assert "Two." in texts(client)


async def test_what_cannot_be_saved_is_not_moved(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = world.folder / "target"
    target.mkdir()
    server.script(answer(Say("One.")))
    async with inside(world.environ) as client:
        session = await new(client, world.project)
        await prompt(client, session, "first")
        full = property(lambda _: OSError(28, "No space left on device"))
        monkeypatch.setattr(Conversation, "write_error", full)
        typed = text_blocks(f"/move {target}")
        await client.request("session/prompt", {"sessionId": session, "prompt": typed})
        told = f"This conversation cannot be saved (No space left on device), so it stays in {world.project}"
        assert told in texts(client)
        monkeypatch.undo()
        assert (await listed(client, target), await listed(client, world.project)) == ([], [session])
