"""What becomes of the chat document while an answer comes: closed, opened again, saved, moved away, not to be changed;
and another conversation beside it."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from tests.end_to_end.world import World
from tests.lsp.test_chat import answered, idle, opened
from tests.support.lsp_client import Failed, LspClient, lsp_client
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer

HALF = Gate("half")
WHOLE = "## You\n\nGo\n\n## North\n\nFirst, second.\n\n## You"


def on_disk(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


def script(server: ModelServer) -> None:
    server.script(answer(Say("First, "), HALF, Say("second.")), answer(Say("Again.")))


async def half(client: LspClient) -> str:
    """Send a prompt, and wait until the first half of its answer is there; return the document's URI."""
    uri = await opened(client)
    client.write(uri, "Go")
    await client.command("north.send", {"uri": uri})
    await client.until(lambda: "First," in client.text(uri))
    return uri


async def test_closed_without_saving_it_is_whole_when_it_is_opened_again(world: World, server: ModelServer) -> None:
    """An editor that closes a document drops what it had not saved: all that came of the answer so far."""
    script(server)
    async with lsp_client(world) as client:
        uri = await half(client)
        client.close(uri)
        server.open(HALF.name)
        await idle(client)
        await opened(client)
        assert WHOLE in client.text(uri)
        client.write(uri, "Once more")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "Once more\n\n## North\n\nAgain.")
        assert client.text(uri).count("First, second.") == 1


async def test_closed_and_opened_in_the_middle_of_an_answer(world: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(world) as client:
        uri = await half(client)
        client.close(uri)
        client.open(uri)
        server.open(HALF.name)
        await idle(client)
        await client.until(lambda: WHOLE in client.text(uri) or client.messages, "all of it")
        if WHOLE not in client.text(uri):
            await client.command("north.renewChat", {"uri": uri})
            await client.until(lambda: WHOLE in client.text(uri), "all of it")


async def test_saved_in_the_middle_of_an_answer(world: World, server: ModelServer) -> None:
    script(server)
    async with lsp_client(world) as client:
        uri = await half(client)
        on_disk(uri).write_text(client.text(uri))
        client.notify("textDocument/didSave", textDocument={"uri": uri})
        server.open(HALF.name)
        await answered(client, uri, WHOLE)
        on_disk(uri).write_text(client.text(uri))
        client.close(uri)
        await opened(client)
        assert client.text(uri).count("First, second.") == 1


async def test_what_the_user_wrote_into_an_answer_is_kept_when_it_is_written_again(
    world: World, server: ModelServer
) -> None:
    script(server)
    server.open(HALF.name)
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, WHOLE)
        await idle(client)
        on_disk(uri).write_text(client.text(uri).replace("First, second.", "First. Mine: ask Ann."))
        client.close(uri)
        await opened(client)
        assert WHOLE in client.text(uri)
        assert "Mine: ask Ann." in on_disk(uri).with_name("chat.old.md").read_text()


async def test_moved_away_it_is_the_users_own_file_and_the_conversation_has_its_own(
    world: World, server: ModelServer
) -> None:
    script(server)
    async with lsp_client(world) as client:
        uri = await half(client)
        mine = world.project / "notes.md"
        mine.write_text(client.text(uri))
        on_disk(uri).unlink()
        client.close(uri)
        client.open(mine.as_uri())
        server.open(HALF.name)
        await idle(client)
        assert "second" not in client.text(mine.as_uri())
        with pytest.raises(Failed, match="must name a chat document"):
            await client.command("north.openChat", {"uri": mine.as_uri()})
        assert WHOLE in client.text(await opened(client))


async def test_where_the_editor_does_not_let_it_be_changed_all_of_it_can_be_shown_later(
    world: World, server: ModelServer
) -> None:
    script(server)
    async with lsp_client(world) as client:
        uri = await half(client)
        client.refuses_edits = True
        server.open(HALF.name)
        await client.until(lambda: any("north.renewChat" in message for message in client.messages))
        await idle(client)
        client.refuses_edits = False
        await client.command("north.renewChat", {"uri": uri})
        await client.until(lambda: WHOLE in client.text(uri))


async def test_two_conversations_have_two_documents_and_the_answers_stay_apart(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")), answer(Say("One again, "), HALF, Say("whole.")))
    server.script(answer(Say("Two again.")))
    async with lsp_client(world) as client:
        first = await opened(client)
        client.write(first, "Go")
        await client.command("north.send", {"uri": first})
        await answered(client, first, "One.")
        await client.command("north.run", "/new")
        await client.until(lambda: len(client.documents) == 2)
        (second,) = set(client.documents) - {first}
        client.write(second, "There")
        await client.command("north.send", {"uri": second})
        await answered(client, second, "Two.")
        client.write(first, "More")
        await client.command("north.send", {"uri": first})
        await client.until(lambda: "One again," in client.text(first))
        client.write(second, "meanwhile")
        await client.command("north.send", {"uri": second})
        await client.until(lambda: any("nother conversation is being answered" in one for one in client.messages))
        assert client.text(second).endswith("meanwhile\n")
        server.open(HALF.name)
        await answered(client, first, "One again, whole.")
        await client.command("north.send", {"uri": second})
        await answered(client, second, "meanwhile\n\n## North\n\nTwo again.")
        assert "Two" not in client.text(first)
        assert "One" not in client.text(second)


async def test_an_editor_with_other_line_ends_has_each_piece_once(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Good morning.\nAnd a good day.\n", 3)))
    async with lsp_client(world) as client:
        client.newline = "\r\n"
        uri = await opened(client)
        client.set(uri, client.text(uri))
        client.write(uri, "Hello")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "And a good day.")
        assert (client.text(uri).count("Good morning."), client.text(uri).count("And a good day.")) == (1, 1)


async def test_folders_that_change_during_a_turn_count_after_it(world: World, server: ModelServer) -> None:
    server.script(answer(Say("It goes "), Gate("here"), Say("on.")))
    other = world.folder / "other"
    other.mkdir()
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Hello")
        await client.command("north.send", {"uri": uri})
        await server.reached("here")
        added = [{"uri": other.as_uri(), "name": "other"}]
        client.notify("workspace/didChangeWorkspaceFolders", event={"added": added, "removed": []})
        await client.command("north.models")
        server.open("here")
        await answered(client, uri, "It goes on.")
        server.script(answer(Say("Both.")))
        client.write(uri, "And now?")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "Both.")
    assert str(other) not in json.dumps(server.requests[0].body)
    assert str(other) in json.dumps(server.requests[1].body)


async def test_what_waited_for_a_turn_that_was_stopped_is_told(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hm."), Gate("never")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Hello")
        await client.command("north.send", {"uri": uri})
        await server.reached("never")
        await client.command("north.run", {"text": "later"})
        await client.until(lambda: "later" in "".join(world.log_entries()), "stored")
        await client.command("north.cancel")
        await client.until(lambda: any("Not sent" in one and "later" in one for one in client.messages))


async def test_what_a_server_that_ended_had_queued_is_told_when_its_conversation_is_loaded(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("Hm."), Gate("never")))
    with suppress(LookupError):  # what ends the client kills the server
        async with lsp_client(world) as client:
            uri = await opened(client)
            client.write(uri, "Hello")
            await client.command("north.send", {"uri": uri})
            await server.reached("never")
            id = (await client.command("north.run", {"text": "later"}))["conversationId"]
            await client.until(lambda: "later" in "".join(world.log_entries()), "stored")
            raise LookupError
    async with lsp_client(world) as client:
        await client.command("north.loadConversation", {"conversationId": id})
        await client.until(lambda: any("Not sent" in one and "later" in one for one in client.messages))
