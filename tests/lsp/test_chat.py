"""The chat document, in clients of every kind."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from north_lsp.lsp import chat_text
from north_lsp.workspace.edit.positions import offset_of, position_of
from tests.end_to_end.world import World
from tests.support.lsp_client import FULL, Failed, LspClient, lsp_client, without
from tests.support.model_server import ModelServer
from tests.support.script import Gate, Say, answer, call

UTF8 = {**FULL, "general": {"positionEncodings": ["utf-8"]}}
NO_LENSES = {**FULL, "textDocument": {"codeAction": {}}}
DYNAMIC = {
    **FULL,
    "textDocument": {"codeLens": {"dynamicRegistration": True}, "codeAction": {"dynamicRegistration": True}},
}
UNVERSIONED = without(FULL, "workspace.workspaceEdit")
NO_SHOWING = without(FULL, "window.showDocument")
NO_EDITS = without(FULL, "workspace.applyEdit")


async def opened(client: LspClient) -> str:
    """Open the chat document; return its URI."""
    answer = await client.command("north.openChat")
    uri = str(answer["uri"])
    if uri not in client.documents:
        client.open(uri)
    return uri


async def answered(client: LspClient, uri: str, text: str) -> None:
    await client.until(lambda: text in client.text(uri), text)
    await idle(client)


async def idle(client: LspClient) -> None:
    await client.until(
        lambda: (
            [row["kind"] for row in client.progress].count("begin")
            == [row["kind"] for row in client.progress].count("end")
            > 0
        )
    )


@pytest.mark.parametrize(
    "capabilities",
    [FULL, UTF8, NO_LENSES, DYNAMIC, UNVERSIONED, NO_SHOWING],
    ids=["all", "utf-8", "no lenses", "dynamic", "no versions", "no showing"],
)
async def test_what_is_written_below_the_last_heading_is_sent_and_the_answer_comes_above_the_next(
    world: World, server: ModelServer, capabilities: dict[str, Any]
) -> None:
    server.script(answer(Say("Good morning, **Zoë** 😀.\n\n```python\nx = 1\n```\n", 9)), answer(Say("Again.")))
    async with lsp_client(world, capabilities) as client:
        uri = await opened(client)
        if capabilities is NO_SHOWING:
            assert any("chat.md" in message for message in client.messages)
        client.write(uri, "Grüße 😀, who are you?")
        await client.press((await client.actions(uri))["North: send"])
        await answered(client, uri, "x = 1\n```")
        head, _, rest = client.text(uri).partition("## You")
        assert rest == (
            "\n\nGrüße 😀, who are you?\n\n## North\n\nGood morning, **Zoë** 😀.\n\n```python\nx = 1\n```\n\n"
            "## You\n\n\n"
        )
        assert head.startswith("# North\n")
        client.write(uri, "And again")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "## North\n\nAgain.\n\n## You")
        said = [one["content"] for one in server.requests[-1].body["messages"]]
        assert "who are you?" in json.dumps(said[0], ensure_ascii=False)
        assert "And again" in json.dumps(said[-1])


async def test_what_is_typed_meanwhile_and_undone_stays_as_the_user_has_it(world: World, server: ModelServer) -> None:
    gate = Gate("half")
    server.script(answer(Say("First half, "), gate, Say("second half.")), answer(Say("To the next.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: "First half," in client.text(uri))
        client.write(uri, "my next prompt")
        client.before_edit = lambda: client.write(uri, ", longer")
        server.open(gate.name)
        await answered(client, uri, "First half, second half.\n\n## You\n\nmy next prompt, longer")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "my next prompt, longer\n\n## North\n\nTo the next.\n\n## You")
        assert all(not _replaces(edit) for edit in client.edits)


def _replaces(edit: dict[str, Any]) -> bool:
    edits = edit["documentChanges"][0]["edits"]
    return any(one["range"]["start"] != one["range"]["end"] for one in edits)


async def test_an_editor_that_tells_of_its_changes_late_gets_everything_once(world: World, server: ModelServer) -> None:
    server.script(answer(Say("All of it.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        client.holds_changes = True
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: len(client.edits) == 1)
        client.write(uri, "typed")
        client.tell_changes()
        await answered(client, uri, "All of it.")
        assert client.text(uri).partition("## You")[2] == "\n\nGo\n\n## North\n\nAll of it.\n\n## You\n\ntyped\n"


async def test_where_the_place_of_an_answer_was_undone_nothing_is_written_and_all_of_it_can_be_shown(
    world: World, server: ModelServer
) -> None:
    gate = Gate("half")
    server.script(answer(Say("One. "), gate, Say("Two.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: "One." in client.text(uri))
        client.set(uri, "# North\n\nmy own words\n")
        server.open(gate.name)
        await client.until(lambda: any("north.renewChat" in message for message in client.messages))
        await idle(client)
        assert client.text(uri) == "# North\n\nmy own words\n"
        await client.command("north.renewChat", {"uri": uri})
        await client.until(lambda: "## You\n\nGo\n\n## North\n\nOne. Two.\n\n## You" in client.text(uri))


async def test_without_edits_the_answer_comes_into_the_file_and_by_a_message(world: World, server: ModelServer) -> None:
    server.script(answer(Say("In the file.")), answer(Say("Once more.")))
    async with lsp_client(world, NO_EDITS) as client:
        uri = await opened(client)
        path = Path(uri.removeprefix("file://"))
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: any("In the file." in message for message in client.messages))
        assert "## You\n\nGo\n\n## North\n\nIn the file.\n\n## You" in path.read_text()
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: "reload that file before you send more" in client.messages[-1])
        client.set(uri, path.read_text() + "Again\n")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: any("Once more." in message for message in client.messages))
        assert path.read_text().count("## North") == 2


async def test_a_client_that_says_it_takes_edits_and_does_not_gets_the_answer_in_the_file(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("In the file.")))
    async with lsp_client(world, unknown=frozenset({"workspace/applyEdit"})) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: any("In the file." in message for message in client.messages))
        assert "## North\n\nIn the file.\n\n## You" in Path(uri.removeprefix("file://")).read_text()


async def test_a_prompt_during_a_turn_waits_or_steers_and_each_answer_stands_below_its_own(
    world: World, server: ModelServer
) -> None:
    gate = Gate("first")
    server.script(answer(Say("First, "), gate, Say("done.")), answer(Say("Second.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "One")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: "First," in client.text(uri))
        client.write(uri, "Two")
        lenses = await client.lenses(uri)
        assert {"Stop", "Steer with this", "Send when it is done"} <= lenses.keys()
        await client.press(lenses["Send when it is done"])
        server.open(gate.name)
        await answered(client, uri, "Second.")
        assert client.text(uri).partition("## You")[2] == (
            "\n\nOne\n\n## North\n\nFirst, done.\n\n## You\n\nTwo\n\n## North\n\nSecond.\n\n## You\n\n\n"
        )


async def test_calls_are_lines_with_links_that_work_and_their_results_on_hover(
    world: World, server: ModelServer
) -> None:
    path = world.project / "json" / "tool.py"
    server.script(answer(call("read_file", path="json/tool.py")), answer(Say("It is a tool.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Read it")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "It is a tool.")
        lines = client.text(uri).split("\n")
        (row,) = [number for number, line in enumerate(lines) if line.startswith("- ✓ ")]
        assert f"]({path.as_uri()}" in lines[row]
        about = {"textDocument": {"uri": uri}}
        links = await client.request("textDocument/documentLink", **about)
        assert links[0]["target"].startswith(path.as_uri())
        place = {"line": row, "character": lines[row].index("](")}
        found = await client.request("textDocument/definition", position=place, **about)
        assert found["uri"] == path.as_uri()
        hover = await client.request("textDocument/hover", position=place, **about)
        assert hover["contents"]["value"].startswith("```\n 1  ")  # its lines stay lines where it is shown as Markdown
        symbols = await client.request("textDocument/documentSymbol", **about)
        assert [one["name"] for one in symbols] == ["Read it"]
        folds = await client.request("textDocument/foldingRange", **about)
        assert lines[folds[0]["startLine"]] == "## You"
        assert lines[folds[1]["startLine"]] == "## North"


async def test_commands_paths_and_models_are_completed_in_what_is_unsent(world: World, server: ModelServer) -> None:
    async with lsp_client(world, UTF8) as client:
        uri = await opened(client)

        async def complete() -> list[dict[str, Any]]:
            text = client.text(uri)
            at = position_of(text, len(text.rstrip("\n")), "utf-8")
            place = {"line": at.line, "character": at.character}
            found = await client.request("textDocument/completion", textDocument={"uri": uri}, position=place)
            return list(found["items"])

        client.write(uri, "/und")
        (undo,) = [item for item in await complete() if item["label"] == "/undo"]
        assert undo["textEdit"]["range"]["start"]["character"] == 0
        client.set(uri, client.text(uri).replace("/und", "Grüße 😀 @json/to"))
        (first, *_) = await complete()
        assert first["textEdit"]["newText"] == "@json/tool.py"
        start = first["textEdit"]["range"]["start"]
        text = client.text(uri)
        assert text[offset_of(text, _position(start), "utf-8") :].strip() == "@json/to"
        client.set(uri, text.replace("Grüße 😀 @json/to", "/model "))
        assert "offline" in str([item["label"] for item in await complete()])
        client.set(uri, "# North\n\n/und")
        assert await complete() == []


def _position(place: dict[str, int]) -> Any:
    from north_lsp.workspace.language_features import Position

    return Position(place["line"], place["character"])


async def test_everything_a_person_needs_is_at_hand_in_the_document(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Hello.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.answers = ["Ask: Reads and answers; changes nothing and runs nothing."]
        refreshed = client.refreshed
        await client.press((await client.lenses(uri))["Mode: agent"])
        await client.until(lambda: client.refreshed >= refreshed + 3)  # for the question, its end, and the mode
        lenses = await client.lenses(uri)
        assert "Mode: ask" in lenses
        assert {"Undo the last change", "Redo", "Costs", "New conversation", "Other conversations", "Send"} <= {*lenses}
        assert any(title.startswith("Model: ") for title in lenses)
        await client.press(lenses["Costs"])
        await answered(client, uri, "**This conversation**")
        assert "## You\n\n/costs\n\n## North" in client.text(uri)
        client.write(uri, "Say hello")
        await client.press((await client.lenses(uri))["Send"])
        await answered(client, uri, "Hello.")
        await client.press((await client.lenses(uri))["New conversation"])
        await client.until(lambda: len(client.documents) == 2)
        (other,) = client.documents.keys() - {uri}
        assert "Hello." not in client.text(other)
        title = next(iter(await client.command("north.listConversations")))["title"]
        client.close(uri)
        client.answers = [f"{title} ({uri.rpartition('/')[0].rpartition('/')[2][:8]})"]
        await client.press((await client.lenses(other))["Other conversations"])
        await client.until(lambda: uri in client.documents)
        assert "Say hello\n\n## North\n\nHello.\n\n## You" in client.text(uri)


async def test_an_edit_and_a_command_are_decided_in_the_document(world: World, server: ModelServer) -> None:
    path = world.project / "new.txt"
    server.script(
        answer(call("edit_create_file", path="new.txt", content="one\n")),
        answer(call("shell_run", command="touch made; rm new.txt")),
        answer(Say("Done.")),
    )
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Make it")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: len(client.questions) == 1)
        await client.press((await client.lenses(uri))["Accept"])
        await client.until(lambda: len(client.questions) == 2)
        assert path.read_text() == "one\n"
        await client.press((await client.actions(uri))["North: deny"])
        await answered(client, uri, "Done.")
        assert not (world.project / "made").exists()


async def test_where_there_are_no_questions_they_stand_whole_in_the_document(world: World, server: ModelServer) -> None:
    server.script(answer(call("shell_run", command="touch made; rm -f nothing")), answer(Say("Done.")))
    async with lsp_client(world, unknown=frozenset({"window/showMessageRequest"})) as client:
        uri = await opened(client)
        client.write(uri, "Make it")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: ">     touch made; rm -f nothing" in client.text(uri))
        await client.press((await client.lenses(uri))["Run"])
        await answered(client, uri, "Done.")
        assert (world.project / "made").exists()


async def test_a_long_question_stands_whole_in_the_document_where_nothing_else_shows_all_of_it(
    world: World, server: ModelServer
) -> None:
    command = " && ".join(f"echo {number:040}" for number in range(30)) + " && touch made"
    server.script(answer(call("shell_run", command=command)), answer(Say("Done.")))
    async with lsp_client(world, NO_SHOWING) as client:
        uri = await opened(client)
        client.write(uri, "Make it")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: client.questions)
        first, second = client.questions[0]["message"].split("\n\n")[:2]
        assert first == "The full question is also in the chat."
        assert second.endswith("000029 && touch made")
        assert "this command of 1,480 characters in" in second
        await client.until(lambda: f">     {command}" in client.text(uri))
        await client.press((await client.lenses(uri))["Run"])
        await answered(client, uri, "Done.")
        assert (world.project / "made").exists()


async def test_a_question_that_is_not_whole_in_the_document_is_not_answered_there(
    world: World, server: ModelServer
) -> None:
    server.script(answer(call("shell_run", command="touch made; rm -f nothing")), answer(Say("Done.")))
    async with lsp_client(world, unknown=frozenset({"window/showMessageRequest"})) as client:
        uri = await opened(client)
        client.write(uri, "Make it")
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: ">     touch made; rm -f nothing" in client.text(uri))
        client.set(uri, client.text(uri).replace("touch made; rm -f nothing", "ls"))
        with pytest.raises(Failed, match="incomplete in the document"):
            await client.press((await client.lenses(uri))["Run"])
        await client.press((await client.lenses(uri))["Stop"])
        await idle(client)
    assert not (world.project / "made").exists()


async def test_a_conversation_comes_back_into_its_document_with_what_is_unsent(
    world: World, server: ModelServer
) -> None:
    server.script(answer(call("read_file", path="json/tool.py")), answer(Say("Read.")), answer(Say("On.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        path = Path(uri.removeprefix("file://"))
        client.write(uri, "Read it")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "Read.")
        client.write(uri, "not sent yet")
        path.write_text(client.text(uri))
        before = client.text(uri)
    async with lsp_client(world) as client:
        client.open(uri)
        assert "Continue this conversation" in await client.lenses(uri)
        client.close(uri)
        await client.command("north.openConversation", path.parent.name)
        assert client.text(uri) == before
        client.set(uri, before.replace("not sent yet", "go on"))
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "go on\n\n## North\n\nOn.\n\n## You")


async def test_code_actions_on_any_file_ask_about_it_and_fix_what_is_wrong(world: World, server: ModelServer) -> None:
    server.script(answer(Say("It dumps.")), answer(Say("Fixed.")))
    uri = (world.project / "json" / "tool.py").as_uri()
    async with lsp_client(world) as client:
        client.open(uri)
        titles = await client.actions(uri, 4, 7)
        assert [*titles] == [
            "North: ask about the selection",
            "North: explain the selection",
            "North: write tests for the selection",
            "North: document the selection",
        ]
        assert await client.actions(uri, triggerKind=2) == {}
        assert await client.actions(uri, 4, 7, only=["source"]) == {}
        await client.press(titles["North: explain the selection"])
        await client.until(lambda: len(client.documents) == 2)
        (chat,) = client.documents.keys() - {uri}
        await answered(client, chat, "It dumps.")
        assert "Explain lines 5-7 of json/tool.py." in client.text(chat)
        assert 'lines=\\"5-7\\"' in json.dumps(server.requests[-1].body["messages"])
        wrong = {
            "range": {"start": {"line": 4, "character": 0}, "end": {"line": 4, "character": 3}},
            "message": "unused x",
        }
        client.shown.clear()
        await client.press((await client.actions(uri, 4, 4, diagnostics=[wrong]))["North: fix unused x"])
        await answered(client, chat, "Fixed.")
        assert client.shown == [chat]  # it may be hidden behind the file
        assert "- line 5: unused x" in json.dumps(server.requests[-1].body["messages"][-1])
        client.cursor.clear()
        await client.press((await client.actions(uri, 4, 7))["North: ask about the selection"])
        await client.until(lambda: "@json/tool.py:5-7 " in client.text(chat) and chat in client.cursor)
        assert client.text(chat).rstrip("\n").endswith("## You\n\n@json/tool.py:5-7 ")
        at = client.cursor[chat]
        assert client.text(chat).split("\n")[at.line][: at.character] == "@json/tool.py:5-7 "


async def test_what_was_answered_before_and_while_the_document_was_asked_for_is_in_it(
    world: World, server: ModelServer
) -> None:
    gate = Gate("half")
    server.script(answer(Say("Before.")), answer(Say("One. "), gate, Say("Two.")))
    async with lsp_client(world) as client:
        await client.command("north.ask", "First")
        asked = asyncio.create_task(client.command("north.ask", "Second"))
        await client.until(lambda: len(client.progress) > 2)
        uri = await opened(client)
        server.open(gate.name)
        assert (await asked)["text"] == "One. Two."
        await client.until(lambda: "## You\n\nSecond\n\n## North\n\nOne. Two.\n\n## You" in client.text(uri))
        assert client.text(uri).count("## North") == 2


async def test_a_prompt_that_the_user_goes_back_to_is_below_the_last_heading_again(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("One.")), answer(Say("Two.")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        for prompt, said in (("First", "One."), ("Second", "Two.")):
            client.write(uri, prompt)
            await client.command("north.send", {"uri": uri})
            await answered(client, uri, said)
        await client.command("north.run", "/rewind 2 conversation")
        await client.until(lambda: "Two." not in client.text(uri))
        await client.until(lambda: client.text(uri).endswith("\n\n## You\n\nSecond\n\n\n"))


async def test_what_replaces_text_of_the_user_is_confirmed_where_the_editor_can(
    world: World, server: ModelServer
) -> None:
    edits = {"documentChanges": True, "changeAnnotationSupport": {}}
    capabilities = {**FULL, "workspace": {**FULL["workspace"], "workspaceEdit": edits}}
    server.script(answer(Say("One.")))
    async with lsp_client(world, capabilities) as client:
        uri = await opened(client)
        client.write(uri, "First")
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "One.")
        assert all("changeAnnotations" not in edit for edit in client.edits)
        client.set(uri, client.text(uri).replace("One.", "One, as I noted."))
        await client.command("north.renewChat", {"uri": uri})
        await client.until(lambda: "as I noted" not in client.text(uri))
        (annotation,) = client.edits[-1]["changeAnnotations"].values()
        assert annotation["needsConfirmation"] is True


async def test_an_editor_that_shows_the_document_without_north_is_told_of(world: World, server: ModelServer) -> None:
    async with lsp_client(world) as client:
        client.opens_shown = False
        await client.command("north.openChat")
        await client.until(lambda: any("does not connect North" in message for message in client.messages))


async def test_an_editor_that_drops_results_gets_the_answer_in_the_document(world: World, server: ModelServer) -> None:
    server.script(answer(Say("Here it is.")))
    async with lsp_client(world, name="helix") as client:
        await client.command("north.ask", "Where?")
        await client.until(lambda: client.documents)
        (uri,) = client.documents
        await answered(client, uri, "## You\n\nWhere?\n\n## North\n\nHere it is.\n\n## You")


async def test_a_missing_argument_opens_what_asks_for_it_or_says_so(world: World, server: ModelServer) -> None:
    async with lsp_client(world, without(FULL, "window.showDocument"), name="helix") as client:
        await client.command("north.ask")
        assert "Open that file to write and to read." in client.messages[-1]
        await client.command("north.loadConversation")
        await client.until(lambda: "There is no other conversation here yet." in client.messages)
        with pytest.raises(Failed):
            await client.command("north.run", "")
        assert "such as /costs" in client.messages[-1]


async def test_places_of_an_edit_that_waits_are_marked_until_it_is_decided(world: World, server: ModelServer) -> None:
    path = world.project / "many.py"
    path.write_text("ITEM = 1\nrest\n")
    edit = call("edit_replace_exact", path="many.py", old="ITEM = 1", new="ITEM = 2")
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Good.")))
    async with lsp_client(world) as client:
        uri = path.as_uri()
        client.open(uri)
        chat = await opened(client)
        client.write(chat, "Change it")
        await client.command("north.send", {"uri": chat})
        await client.until(lambda: client.diagnostics.get(uri))
        (row,) = client.diagnostics[uri]
        assert row["range"]["start"] == {"line": 0, "character": 0}
        assert "North proposes a change here (+1/-1)" in row["message"]
        place = {"line": 0, "character": 0}
        hover = await client.request("textDocument/hover", textDocument={"uri": uri}, position=place)
        assert "+ITEM = 2" in hover["contents"]["value"]
        await client.press((await client.actions(uri))["North: accept (+1/-1)"])
        await client.until(lambda: client.diagnostics[uri] == [])
        await answered(client, chat, "Good.")
        assert client.text(uri) == "ITEM = 2\nrest\n"


async def test_code_that_an_edit_left_unreadable_is_marked_until_it_can_be_read_again(
    world: World, server: ModelServer
) -> None:
    path = world.project / "sum.py"
    path.write_text("def total(a):\n    return a\n")
    edit = call("edit_replace_exact", path="sum.py", old="def total(a):", new="def total((a:")
    server.script(answer(call("read_file", path="sum.py")), answer(edit), answer(Say("Done.")))
    async with lsp_client(world) as client:
        uri = path.as_uri()
        client.open(uri)
        client.answers = ["Accept"]
        await client.command("north.ask", "Change it")
        await client.until(lambda: client.diagnostics.get(uri))
        (row, *_) = client.diagnostics[uri]
        assert (row["severity"], row["source"]) == (1, "north")
        assert "North's last edit of this file left code here that cannot be parsed" in row["message"]
        assert "North: fix North's last edit of this file left code" in " ".join(
            await client.actions(uri, diagnostics=client.diagnostics[uri])
        )
        client.insert(uri, 0, "# mine\n")  # still broken, and it moves
        await client.until(
            lambda: client.diagnostics[uri][0]["range"]["start"]["line"] != row["range"]["start"]["line"]
        )
        client.set(uri, client.text(uri).replace("total((a:", "total(a):"))
        await client.until(lambda: client.diagnostics[uri] == [])


async def test_code_that_was_unreadable_before_an_edit_is_not_marked(world: World, server: ModelServer) -> None:
    path = world.project / "sum.py"
    path.write_text("def total((a:\n    return a\n")
    edit = call("edit_replace_exact", path="sum.py", old="return a", new="return -a")
    server.script(answer(call("read_file", path="sum.py")), answer(edit), answer(Say("Done.")))
    async with lsp_client(world) as client:
        client.open(path.as_uri())
        client.answers = ["Accept"]
        await client.command("north.ask", "Change it")
        assert "return -a" in client.text(path.as_uri())
    assert all("parsed" not in row["message"] for row in client.diagnostics.get(path.as_uri(), []))


async def test_an_edit_waits_for_an_editor_that_tells_of_it_only_when_a_key_is_pressed(
    world: World, server: ModelServer
) -> None:
    path = world.project / "many.py"
    path.write_text("ITEM = 1\nrest\n")
    edit = call("edit_replace_exact", path="many.py", old="ITEM = 1", new="ITEM = 2")
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Good.")))
    async with lsp_client(world, name="Eglot") as client:
        client.open(path.as_uri())
        client.answers = ["Accept"]
        client.before_edit = lambda: setattr(client, "holds_changes", True)
        asked = asyncio.create_task(client.command("north.ask", "Change it"))
        await client.until(lambda: any(message.startswith("Press a key") for message in client.messages))
        client.tell_changes()
        assert (await asked)["text"].endswith("Good.")
        assert client.text(path.as_uri()) == "ITEM = 2\nrest\n"


def test_nothing_that_a_model_says_is_taken_for_a_heading() -> None:
    text = chat_text.BEGINNING + "## You\n\nGo\n\n## North\n\n## You\n"
    answer = chat_text.Answer()
    for piece in ("Look:\n\n#", "# Yo", "u\n\nno\n## Nor", "th"):
        answer.add_text(piece, "1")
    insertion = chat_text.when_answered(text, 1, answer.take(all=True))
    assert insertion is not None
    new = text[: insertion.offset] + insertion.text + text[insertion.offset :]
    assert len(chat_text.sections(new)) == 3
    assert "\\## You" in new


async def test_a_client_with_a_chat_of_its_own_has_code_actions_that_go_there(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("It dumps.")))
    uri = (world.project / "json" / "tool.py").as_uri()
    async with lsp_client(world, options={"acp": True}) as client:
        client.open(uri)
        actions = await client.actions(uri, 4, 7)
        assert "North: ask about the selection" not in actions
        await client.press(actions["North: explain the selection"])
        await client.until(lambda: any("open North's chat first" in message for message in client.messages))
        await client.request("session/new", cwd=str(world.project), mcpServers=[])
        await client.press(actions["North: explain the selection"])
        await client.until(lambda: "It dumps." in "".join(_said(client, "agent_message_chunk")))
        assert _said(client, "user_message_chunk") == ["Explain lines 5-7 of json/tool.py."]


async def test_a_client_with_a_chat_of_its_own_has_lenses_and_language_features_too(
    world: World, server: ModelServer
) -> None:
    path = world.project / "many.py"
    path.write_text("ITEM = 1\n")
    edit = call("edit_replace_exact", path="many.py", old="ITEM", new="ENTRY")
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Changed.")))
    async with lsp_client(world, options={"acp": True}) as client:
        client.open(path.as_uri())
        uri = await opened(client)
        assert {"Send", "Mode: agent", "Other conversations"} <= set(await client.lenses(uri))
        client.write(uri, "/und")
        place = {"line": client.text(uri).split("\n").index("/und"), "character": 4}
        about = {"textDocument": {"uri": uri}}
        found = await client.request("textDocument/completion", position=place, **about)
        assert "/undo" in [item["label"] for item in found["items"]]
        client.set(uri, client.text(uri).replace("/und", "Change it"))
        assert [one["name"] for one in await client.request("textDocument/documentSymbol", **about)] == ["Change it"]
        await client.press((await client.lenses(uri))["Send"])
        await client.until(lambda: client.questions)
        (waiting,) = client.diagnostics[path.as_uri()]
        assert "waits for your decision" in waiting["message"]
        await client.press((await client.lenses(path.as_uri()))["North: accept (+1/-1)"])
        await answered(client, uri, "Changed.")
        assert client.text(path.as_uri()) == "ENTRY = 1\n"
        assert client.diagnostics[path.as_uri()] == []


async def test_the_progress_of_a_turn_can_be_cancelled(world: World, server: ModelServer) -> None:
    server.script(answer(Say("I begin."), Gate("never")))
    async with lsp_client(world) as client:
        uri = await opened(client)
        client.write(uri, "Go")
        await client.command("north.send", {"uri": uri})
        await server.reached("never")
        (begun,) = [one for one in client.progress if one["kind"] == "begin"]
        assert (begun["message"], begun["cancellable"]) == ("Go", True)
        client.notify("window/workDoneProgress/cancel", token=client.token)
        await answered(client, uri, "Stopped")
        await asyncio.to_thread(server.wait_disconnect)


def _said(client: LspClient, kind: str) -> list[str]:
    return [one["content"]["text"] for one in client.updates if one["sessionUpdate"] == kind]


async def test_a_client_with_code_actions_of_its_own_is_offered_none(world: World) -> None:
    async with lsp_client(world, options={"acp": True, "editorFeatures": False}) as client:
        assert "codeActionProvider" not in client.server_capabilities
        assert "completionProvider" not in client.server_capabilities


async def test_an_edit_that_an_editor_loses_is_made_again(world: World, server: ModelServer) -> None:
    """lsp-mode forgets what it reads together with an answer that it waits for."""
    server.script(answer(Say("All of it.")))
    async with lsp_client(world, name="emacs") as client:
        uri = await opened(client)
        client.write(uri, "Go")
        client.loses_edits = 1
        await client.command("north.send", {"uri": uri})
        await answered(client, uri, "All of it.")
        assert client.text(uri).count("Go\n") == 1


async def test_an_editor_that_tells_late_is_asked_for_a_key_while_the_answer_waits(
    world: World, server: ModelServer
) -> None:
    server.script(answer(Say("All of it.")))
    async with lsp_client(world, name="Eglot") as client:
        uri = await opened(client)
        client.write(uri, "Go")
        client.holds_changes = True
        await client.command("north.send", {"uri": uri})
        await client.until(lambda: any(message.startswith("Press a key") for message in client.messages))
        client.tell_changes()
        await answered(client, uri, "All of it.")
