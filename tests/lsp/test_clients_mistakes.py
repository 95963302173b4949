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
