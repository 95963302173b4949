"""What is typed while an accepted edit is on its way to a plain LSP client is never written over."""

import json
from typing import Any

import pytest
from lsprotocol import types

from tests.end_to_end.editors import PlainEditor, plain_editor
from tests.end_to_end.world import World
from tests.lsp.test_saving import OLD, script, told
from tests.support.model_server import ModelServer


class Typed(PlainEditor):
    """The user has `typing` by the instant at which an edit comes; the server is told behind the answer. It
    compares the version of an edit's first text only, and confirms what it left out, as Neovim does."""

    client_name = "Neovim"
    versioned = False
    typing: dict[str, str]

    def start_handlers(self) -> None:
        super().start_handlers()
        self.typing = {}

    def apply_edit(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        late = {path: self.typing.pop(path.name) for path in self.texts if path.name in self.typing}
        for number, change in enumerate(edit.document_changes or ()):
            assert isinstance(change, types.TextDocumentEdit)
            path = next(path for path in self.texts if path.as_uri() == change.text_document.uri)
            if number == 0 and (path in late or change.text_document.version != self.versions[path]):
                continue
            self._edit(change.text_document.uri, list(change.edits))
        for path, text in late.items():
            self.texts[path] = text
            self._tell(path)
        return types.ApplyWorkspaceEditResult(applied=True)


class Blind(PlainEditor):
    """Does not say that it compares versions, and is sent no edit."""

    versioned = False

    def apply_edit(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        raise AssertionError("an edit that would overwrite what is typed")


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.end_to_end.editors.PlainEditor", Typed)


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.end_to_end.editors.PlainEditor", Blind)


async def opened(editor: Any, world: World, *names: str) -> None:
    for name in names:
        (world.project / name).write_text(OLD)
        editor.open(world.project / name)
    editor.choices = ["accept", "accept"]


@pytest.mark.parametrize("late", ["a.txt", "b.txt"])
@pytest.mark.usefixtures("typed")
async def test_each_text_of_a_batch_is_compared_and_what_was_typed_is_merged(
    world: World, server: ModelServer, late: str
) -> None:
    script(server, "b.txt")
    async with plain_editor(world) as editor:
        assert isinstance(editor, Typed)
        await opened(editor, world, "a.txt", "b.txt")
        editor.typing = {late: "typed\n" + OLD}
        await editor.prompt("Go")
        texts = {path.name: text for path, text in editor.texts.items()}
        assert texts == {"a.txt": "one\n2\nthree\n", "b.txt": "one\n2\nthree\n"} | {late: "typed\none\n2\nthree\n"}
        assert f"{late} changed while the edit was waiting; both changes were merged" in told(server)[-2]


@pytest.mark.usefixtures("typed")
async def test_what_was_typed_at_the_same_place_stays_and_the_rest_of_the_batch_is_taken_back(
    world: World, server: ModelServer
) -> None:
    script(server, "b.txt")
    async with plain_editor(world) as editor:
        assert isinstance(editor, Typed)
        await opened(editor, world, "a.txt", "b.txt")
        clash = world.project / "b.txt"
        editor.typing = {"b.txt": OLD.replace("two", "TYPED")}
        await editor.prompt("Go")
        assert editor.texts[clash] == "one\nTYPED\nthree\n"
        assert editor.texts[world.project / "a.txt"] == OLD
        assert "b.txt was changed in the editor while the edit was being applied" in told(server)[-2]


@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("name", ["tests", "kakoune-lsp"])
async def test_a_client_that_compares_no_versions_gets_a_saved_file_s_edit_by_the_disk(
    world: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(Blind, "client_name", name)
    monkeypatch.setattr(Blind, "versioned", name == "kakoune-lsp")  # which says so and does not
    script(server)
    async with plain_editor(world) as editor:
        await opened(editor, world, "a.txt")
        await editor.prompt("Go")
        assert (world.project / "a.txt").read_text() == "one\n2\nthree\n"
        assert editor.texts[world.project / "a.txt"] == OLD  # the editor's to read again, or to ask about


@pytest.mark.usefixtures("blind")
async def test_a_client_that_compares_no_versions_is_refused_what_it_has_not_saved(
    world: World, server: ModelServer
) -> None:
    script(server)
    async with plain_editor(world) as editor:
        await opened(editor, world, "a.txt")
        editor.open(world.project / "a.txt", OLD + "typed\n")
        await editor.prompt("Go")
        assert (world.project / "a.txt").read_text() == OLD
        assert editor.texts[world.project / "a.txt"] == OLD + "typed\n"
        assert "ask the user to save the file" in json.dumps(told(server)[-2])
