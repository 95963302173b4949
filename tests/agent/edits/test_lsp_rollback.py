"""An LSP editor that does half of an edit and refuses it: its text and the disk are as they were."""

from tests.end_to_end.editors import opted_in_editor
from tests.end_to_end.world import World
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say


async def test_what_an_editor_did_before_it_refused_is_taken_back(world: World, server: ModelServer) -> None:
    for name in ("open.txt", "closed.txt"):
        (world.project / name).write_text("one\ntwo\nthree\n")
    edits = [
        {"tool": "edit_replace_exact", "args": {"path": name, "old": "two", "new": "2"}}
        for name in ("open.txt", "closed.txt")
    ]
    reads = [call("read_file", path=name) for name in ("open.txt", "closed.txt")]
    server.script(answer(*reads), answer(call("edit_apply_batch", edits=edits)), answer(say("ok")))
    server.script(answer(call("edit_apply_batch", edits=edits)), answer(say("ok")))
    path = world.project / "open.txt"
    async with opted_in_editor(world) as editor:
        editor.open(path, "one\ntwo\nthree\nunsaved\n")
        editor.choices = ["accept", "accept"]
        editor.denies = True
        await editor.prompt("Go")
        assert "refused the edit" in str(server.requests[-1].body["messages"][-1])
        assert editor.texts[path] == "one\ntwo\nthree\nunsaved\n"
        assert (world.project / "closed.txt").read_text() == "one\ntwo\nthree\n"
        editor.denies = False
        await editor.prompt("Again")
        assert editor.texts[path] == "one\n2\nthree\nunsaved\n"
        assert (world.project / "closed.txt").read_text() == "one\n2\nthree\n"
        assert path.read_text() == "one\ntwo\nthree\n"
