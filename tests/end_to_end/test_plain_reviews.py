"""An edit decided in a plain LSP client: by code lenses in the file, and by changing the document with the diff."""

import asyncio
import json
from pathlib import Path
from typing import Any

from lsprotocol import types

from tests.end_to_end.editors import PlainEditor, plain_editor
from tests.end_to_end.test_hunks import NEW, OLD
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import Say, answer, call


class Shown(PlainEditor):
    """Shows the documents that the server asks for, by opening them."""

    document: Path

    def start_handlers(self) -> None:
        super().start_handlers()

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)  # type: ignore[untyped-decorator]  # pygls leaves it untyped
        async def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.document = Path(params.uri.removeprefix("file://"))
            self.open(self.document)
            return types.ShowDocumentResult(success=not params.take_focus)

    async def lenses(self, path: Path) -> list[types.Command]:
        params = types.CodeLensParams(types.TextDocumentIdentifier(path.as_uri()))
        found = await self.client.text_document_code_lens_async(params)
        return [lens.command for lens in found or () if lens.command is not None]

    async def press(self, command: types.Command) -> Any:
        return await self._command(command.command, *(command.arguments or ()))

    def type(self, path: Path, old: str, new: str) -> None:
        assert old in self.texts[path]
        self.texts[path] = self.texts[path].replace(old, new)
        whole = types.TextDocumentContentChangeWholeDocument(self.texts[path])
        document = types.VersionedTextDocumentIdentifier(version=9, uri=path.as_uri())
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))


async def test_hunks_are_decided_where_they_stand_and_the_text_in_the_document(
    world: World, server: ModelServer, monkeypatch: Any
) -> None:
    path = world.project / "many.py"
    path.write_text(OLD)
    edit = call("edit_replace_exact", path="many.py", old="ITEM", new="ENTRY", expectedOccurrences=3)
    server.script(answer(call("read_file", path="many.py")), answer(edit), answer(Say("Good.")))
    monkeypatch.setattr("tests.end_to_end.editors.PlainEditor", Shown)
    async with plain_editor(world) as editor:
        assert isinstance(editor, Shown)
        editor.open(path)
        editor.choices.append("hang")
        turn = asyncio.create_task(editor.prompt("Rename it"))
        await editor.asked()
        assert "north-review.diff" in editor.questions[0].text
        lenses = await editor.lenses(path)
        assert [lens.title for lens in lenses] == ["North: accept (+1/-1)", "North: reject"] * 3
        assert await editor.press(lenses[0]) == {"decided": False}
        assert await editor.press(lenses[3]) == {"decided": False}
        assert (await editor.lenses(path))[1].title == "North: rejected (accept instead)"
        editor.type(editor.document, "+ENTRY = 3", "+ENTRY = 33")
        editor.type(editor.document, "\n\ndiff", "\nThe second has to stay.\ndiff")
        (rest, *_) = await editor.lenses(editor.document)
        assert rest.title == "North: accept the rest"
        assert await editor.press(rest) == {"decided": True}
        await turn
        wanted = NEW.replace("ENTRY = 2", "ITEM = 2").replace("ENTRY = 3", "ENTRY = 33")
        assert editor.texts[path] == wanted
        assert not editor.document.exists()
        assert await editor.lenses(path) == []
    told = json.loads(server.requests[-1].body["messages"][-1]["content"][0]["content"])["data"]
    assert told["applied"] is True
    assert told["comment"] == "The second has to stay."
    (changed,) = told["changedByUser"]
    assert "-ENTRY = 2\n+ITEM = 2" in changed["diff"]
    assert "-ENTRY = 3\n+ENTRY = 33" in changed["diff"]
