"""What a client does wrong is answered, and is no failure of North's."""

from tests.end_to_end.world import SERVER, World
from tests.lsp.test_language_server import finish, raw, start


async def test_unknown_methods_and_params_that_do_not_fit_are_no_crashes(world: World) -> None:
    process = await start(world, server=SERVER)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.send(method="textDocument/didChange", params={"textDocument": 7})
    unknown = await client.call(2, "textDocument/rename", textDocument={"uri": "file:///a"})
    assert unknown["error"]["code"] in (-32601, -32602)
    assert (await client.call(3, "textDocument/hover", textDocument=7))["error"]["code"] == -32602
    assert (await client.call(4, "no/such"))["error"]["code"] == -32601
    await client.send(method="exit")
    await finish(process)
    assert not list((world.folder / "state").rglob("crash/*.txt"))


async def test_changes_of_texts_that_nobody_opened_are_no_crashes(world: World) -> None:
    process = await start(world, server=SERVER)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    no_language = {"uri": "file:///b.py", "version": 1, "text": "b"}
    await client.send(method="textDocument/didOpen", params={"textDocument": no_language})
    for uri in ("file:///a.py", "file:///b.py"):
        changed = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": "x"}]}
        await client.send(method="textDocument/didChange", params=changed)
    notebook = {"notebookDocument": {"uri": "file:///a.ipynb", "version": 2}, "change": {}}
    await client.send(method="notebookDocument/didChange", params=notebook)
    asked = await client.call(2, "textDocument/didChange", **changed)
    assert asked["error"] == {"code": -32600, "message": "textDocument/didChange is a notification: it has no id"}
    assert "result" in await client.call(3, "textDocument/hover", **_at("file:///a.py"))
    await client.send(method="exit")
    await finish(process)
    assert not list((world.folder / "state").rglob("crash/*.txt"))


def _at(uri: str) -> dict[str, object]:
    return {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}
