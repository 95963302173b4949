"""The language server's own side: the declared capabilities, documents, life cycle and TCP."""

import asyncio
import itertools
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from north_lsp.lsp.documents import text_edits
from north_lsp.lsp.initialize import server_capabilities
from north_lsp.lsp.pygls_server import make_server
from north_lsp.rpc.framing import HeaderFraming
from tests.end_to_end.world import COLD_SERVER, SERVER, World, make_world
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, say, usage


@pytest.mark.parametrize("encodings", [None, ["utf-8"], ["utf-32", "utf-8"], ["utf-7", "utf-16"], []])
def test_the_declared_capabilities_are_what_pygls_computes(encodings: list[str] | None) -> None:
    written: list[dict[str, Any]] = []
    server = make_server(lambda data: written.append(json.loads(data)), lambda where, error: None, cast(Any, None))
    general = {} if encodings is None else {"general": {"positionEncodings": encodings}}
    params: dict[str, Any] = {"capabilities": general, "processId": None, "rootUri": None}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    server.protocol.handle_message(server.protocol.structure_message(message))
    assert written[0]["result"]["capabilities"] == server_capabilities(params)
    server.shutdown()  # type: ignore[no-untyped-call]  # pygls leaves it untyped


lines = st.text(st.sampled_from("ab\n\r😀é"), max_size=20)


@given(lines, lines, st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_text_edits_turn_the_old_text_into_the_new_one(old: str, new: str, encoding: str) -> None:
    """Applied as LSP says: positions in the old text, lines ended by \\n, \\r\\n or \\r, characters in code units."""
    ends = [0]
    at = 0
    while at < len(old):
        size = 2 if old.startswith("\r\n", at) else 1
        if old[at] in "\r\n":
            ends.append(at + size)
        at += size
    units = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}

    def offset(position: dict[str, int]) -> int:
        if position["line"] >= len(ends):
            return len(old)
        start = ends[position["line"]]
        codec, size = units[encoding]
        rest = old[start:].encode(codec)[: position["character"] * size]
        return start + len(rest.decode(codec))

    result, edits = old, text_edits(old, new, encoding)
    spans = [(offset(edit["range"]["start"]), offset(edit["range"]["end"]), edit["newText"]) for edit in edits]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    for start, end, text in reversed(spans):
        result = result[:start] + text + result[end:]
    assert result == new


_START = {"line": 0, "character": 0}


class Raw:
    """A bare LSP client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._framing = HeaderFraming()
        self._frames: list[Any] = []

    async def send(self, **message: Any) -> None:
        await self.send_bytes(self._framing.encode({"jsonrpc": "2.0", **message}))

    async def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self, id: int) -> Any:
        return await self.find(lambda frame: frame.get("id") == id and "method" not in frame)

    async def find(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        """The first message that fits, past or to come; None at the end of the stream."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for frame in self._frames:
                    if wanted(frame):
                        return frame
                data = await self._reader.read(65536)
                if not data:
                    return None
                self._frames.extend(self._framing.feed(data))

    async def call(self, id: int, method: str, **params: Any) -> Any:
        await self.send(id=id, method=method, params=params)
        return await self.answer(id)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def start(
    world: World, *arguments: str, server: Sequence[str] = SERVER, **environ: str
) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        *server,
        "lsp",
        *arguments,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=world.environ | environ,
        cwd=world.project,
    )


def raw(process: asyncio.subprocess.Process) -> Raw:
    assert process.stdin is not None
    assert process.stdout is not None
    return Raw(process.stdout, process.stdin)


async def finish(process: asyncio.subprocess.Process) -> int:
    code = await asyncio.wait_for(process.wait(), PATIENCE)
    process._transport.close()  # type: ignore[attr-defined]  # the process object has no public way to close its pipes
    return code


@pytest.fixture
def offline(tmp_path: Path) -> World:
    return make_world(tmp_path / "world")


async def test_the_life_of_a_connection(offline: World) -> None:
    process = await start(offline, server=COLD_SERVER)
    client = raw(process)
    assert (await client.call(1, "textDocument/hover"))["error"]["code"] == -32002
    result = (await client.call(2, "initialize", capabilities={}, processId=os.getpid()))["result"]
    assert result["serverInfo"]["name"] == "north"
    assert "experimental" not in result["capabilities"]
    await client.send(method="initialized", params={})
    assert (await client.call(3, "initialize", capabilities={}))["error"]["code"] == -32600
    assert (await client.call(4, "textDocument/hover"))["error"]["code"] in (-32601, -32602)
    assert (await client.call(5, "session/new", cwd="/"))["error"]["code"] == -32601
    unknown = await client.call(6, "workspace/executeCommand", command="north.nothing")
    assert unknown["error"]["code"] == -32602
    no_folder = await client.call(7, "workspace/executeCommand", command="north.ask", arguments=["hello"])
    assert "open" in no_folder["error"]["message"]
    assert (await client.call(8, "shutdown"))["result"] is None
    assert (await client.call(9, "workspace/executeCommand", command="north.cancel"))["error"]["code"] == -32600
    await client.send(method="exit")
    assert await finish(process) == 0


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["interrupt", "terminate", "hang up"],
)
async def test_a_signal_ends_it_at_once(offline: World, number: signal.Signals, code: int) -> None:
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.call(2, "workspace/executeCommand", command="north.cancel")
    process.send_signal(number)
    assert await finish(process) == code


async def test_a_mistake_in_the_users_files_is_shown(offline: World) -> None:
    (offline.folder / "config" / "models.yml").write_text("providers:\n  local: {base: x}\n")
    (offline.folder / "config" / "config.json").write_text('{"thinking.level": "huge"}')
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    for words in ("models.yml, line 2: providers.local.base: this key is unknown", "thinking.level must be one of"):
        shown = await client.find(lambda frame, words=words: words in str(frame))  # type: ignore[misc]
        assert shown["method"] == "window/showMessage"
        assert shown["params"]["type"] == 2
    await client.send(method="exit")
    assert await finish(process) == 1


async def test_what_the_user_has_set_in_the_editor_counts_and_mistakes_in_it_are_shown(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    options = {"north": {"settings": {"thinking.level": "huge"}}}
    await client.call(
        1, "initialize", capabilities={}, processId=None, workspaceFolders=folder, initializationOptions=options
    )
    shown = await client.find(lambda frame: "setting north.thinking.level" in str(frame))
    assert shown["method"] == "window/showMessage"
    changed = {"north": {"turn.maxRequests": "many"}}
    await client.send(method="workspace/didChangeConfiguration", params={"settings": changed})
    await client.send(id=2, method="workspace/executeCommand", params={"command": "north.ask", "arguments": ["hello"]})
    await client.find(lambda frame: "setting north.turn.maxRequests" in str(frame))
    await client.send(method="exit")
    await finish(process)


@pytest.mark.parametrize("options", [{}, {"acp": True}])
async def test_a_client_that_tells_no_settings_is_asked_for_them_at_the_start_and_when_they_change(
    offline: World, options: dict[str, object]
) -> None:
    process = await start(offline)
    client = raw(process)
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    capabilities = {"workspace": {"configuration": True}}
    given = {"processId": None, "workspaceFolders": folder, "initializationOptions": {"north": options}}
    await client.call(1, "initialize", capabilities=capabilities, **given)
    await client.send(method="initialized", params={})
    asked = await client.find(lambda frame: frame.get("method") == "workspace/configuration")
    assert asked["params"] == {"items": [{"section": "north"}]}
    await client.send(id=asked["id"], result=[{"turn": {"maxRequests": 7}}])
    await client.send(method="workspace/didChangeConfiguration", params={"settings": None})
    again = await client.find(lambda frame: frame.get("id") != asked["id"] and "workspace/conf" in str(frame))
    await client.send(id=again["id"], result=[{"turn": {"maxRequests": "many"}}])
    await client.send(id=2, method="workspace/executeCommand", params={"command": "north.ask", "arguments": ["hello"]})
    await client.find(lambda frame: "setting north.turn.maxRequests" in str(frame))
    await client.send(method="exit")
    await finish(process)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("way", ["asked", "told"])
async def test_settings_of_which_the_opened_folder_may_have_made_some_loosen_nothing(
    offline: World, way: str, own: bool
) -> None:
    process = await start(offline)
    client = raw(process)
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    options: dict[str, object] = {"north": {"settings": {}} if own else {}}
    capabilities = {"workspace": {"configuration": way == "asked"}}
    given = {"processId": None, "workspaceFolders": folder, "initializationOptions": options}
    await client.call(1, "initialize", capabilities=capabilities, **given)
    await client.send(method="initialized", params={})
    mixed = {"shell.prefix": "evil", "turn.maxRequests": "many"}
    if way == "asked" and not own:
        asked = await client.find(lambda frame: frame.get("method") == "workspace/configuration")
        await client.send(id=asked["id"], result=[mixed])
    else:
        await client.send(method="workspace/didChangeConfiguration", params={"settings": {"north": mixed}})
    await client.send(id=2, method="workspace/executeCommand", params={"command": "north.ask", "arguments": ["hello"]})
    await client.find(lambda frame: "setting north.turn.maxRequests" in str(frame))
    if not own:
        await client.find(lambda frame: "setting north.shell.prefix: it has no effect" in str(frame))
    await client.send(method="exit")
    said = await client.find(lambda frame: "setting north.shell.prefix" in str(frame))
    assert (said is None) is own
    await finish(process)


async def test_a_client_that_told_its_settings_is_not_asked(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    options: dict[str, object] = {"north": {"settings": {}}}
    capabilities = {"workspace": {"configuration": True}}
    await client.call(1, "initialize", capabilities=capabilities, processId=None, initializationOptions=options)
    await client.send(method="initialized", params={})
    await client.call(2, "shutdown")
    await client.send(method="exit")
    await client.find(lambda frame: False)
    assert await client.find(lambda frame: frame.get("method") == "workspace/configuration") is None
    await finish(process)


async def test_a_model_that_is_unknown_is_said_in_the_answer(offline: World) -> None:
    process = await start(offline, NORTH_MODEL="sonet-4-5")
    client = raw(process)
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    await client.call(1, "initialize", capabilities={}, processId=None, workspaceFolders=folder)
    for id, text, says in (
        (2, "hello", "there is no model 'sonet-4-5'; the closest are sonnet-4-5"),
        (3, "/model offline", "The model is Offline"),
        (4, "list the files", "`json/`"),
    ):
        answer = await client.call(id, "workspace/executeCommand", command="north.ask", arguments=[text])
        assert says in answer["result"]["text"]
    await client.send(method="exit")
    assert await finish(process) == 1


async def test_a_question_is_asked_as_a_message(world: World, server: ModelServer) -> None:
    (world.folder / "config" / "config.json").write_text('{"cost.sessionLimitUsd": 0.1}')
    server.script(*[answer(say("Dear."), usage(input=100_000))] * 2)
    process = await start(world)
    client = raw(process)
    folder = [{"uri": world.project.as_uri(), "name": "p"}]
    await client.call(1, "initialize", capabilities={}, processId=None, workspaceFolders=folder)
    await client.call(2, "workspace/executeCommand", command="north.ask", arguments=["hello"])
    seen: set[object] = set()

    async def ask(id: int, result: dict[str, str] | None) -> str:
        params = {"command": "north.ask", "arguments": ["again"]}
        await client.send(id=id, method="workspace/executeCommand", params=params)
        asked = await client.find(
            lambda frame: frame.get("method") == "window/showMessageRequest" and frame["id"] not in seen
        )
        seen.add(asked["id"])
        assert "$0.30 is spent for this conversation" in asked["params"]["message"]
        titles = [action["title"] for action in asked["params"]["actions"]]
        assert titles == ["Stop here", "Continue this turn", "Raise the limit to $0.60 for this conversation"]
        await client.send(id=asked["id"], result=result)
        return str((await client.answer(id))["result"]["text"])

    assert await ask(3, None) == ""  # closed: that is no consent
    told = await client.find(lambda frame: "the turn was stopped" in str(frame))
    assert told["method"] == "window/showMessage"
    assert "Dear." in await ask(4, {"title": "Continue this turn"})
    assert len(server.requests) == 2
    await client.send(method="exit")
    assert await finish(process) == 1


async def test_what_was_used_and_what_the_log_warns_of_are_log_messages(world: World, server: ModelServer) -> None:
    server.script(answer(say("Dear."), usage(input=12_000)), answer(say("Done.")))
    process = await start(world)
    client = raw(process)
    folder = [{"uri": world.project.as_uri(), "name": "p"}]
    await client.call(1, "initialize", capabilities={}, processId=None, workspaceFolders=folder)

    async def run(id: int, command: str, *arguments: str) -> Any:
        return (await client.call(id, "workspace/executeCommand", command=command, arguments=arguments))["result"]

    def logs(type: int, words: str) -> Callable[[dict[str, Any]], bool]:
        def fits(frame: dict[str, Any]) -> bool:
            if frame.get("method") != "window/logMessage" or frame["params"]["type"] != type:
                return False
            return words in frame["params"]["message"]

        return fits

    id = (await run(2, "north.ask", "hello"))["conversationId"]
    used = await client.find(logs(4, "this conversation has used 12,0"))
    assert "tokens, $0.0" in used["params"]["message"]
    await run(3, "north.newConversation")
    (path,) = world.data.glob(f"conversations/{id}.jsonl")
    path.write_bytes(path.read_bytes() + b"{torn\n")
    await run(4, "north.loadConversation", id)
    assert await client.find(logs(2, "session_load_warning  message=")) is not None
    await client.send(method="exit")
    assert await finish(process) == 1


async def test_however_much_a_client_tells_that_never_asks_its_prompts_are_answered(offline: World) -> None:
    """What nothing handles is kept for pygls, which is loaded when it is asked, or when much is kept."""
    process = await start(offline)
    client = raw(process)
    options = {"north": {"acp": True, "editorFeatures": False}}
    await client.call(1, "initialize", capabilities={}, processId=None, initializationOptions=options)
    for _ in range(3000):
        await client.send(method="workspace/didChangeWatchedFiles", params={"changes": []})
    session = (await client.call(2, "session/new", cwd=str(offline.project), mcpServers=[]))["result"]["sessionId"]
    prompt = [{"type": "text", "text": "Hello"}]
    assert (await client.call(3, "session/prompt", sessionId=session, prompt=prompt))["result"]["stopReason"]
    hovered = await client.call(4, "textDocument/hover", textDocument={"uri": "file:///a"}, position=_START)
    assert hovered["result"] is None
    await client.send(method="exit")
    await finish(process)


async def test_exit_without_shutdown_is_an_error(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.send(method="exit")
    assert await finish(process) == 1


async def test_it_ends_with_the_process_that_it_belongs_to(offline: World) -> None:
    parent = await asyncio.create_subprocess_exec("sleep", "60")
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=parent.pid)
    parent.kill()
    await parent.wait()
    assert await finish(process) == 1


async def test_a_closed_output_ends_it(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.call(2, "workspace/executeCommand", command="north.cancel")
    process._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]  # the reading end
    await asyncio.sleep(0)  # which is closed in the loop's next round
    await client.send(id=3, method="workspace/executeCommand", params={"command": "north.cancel"})
    assert await finish(process) == 0


async def listening(world: World, **environ: str) -> tuple[asyncio.subprocess.Process, int, str]:
    process = await start(world, "--tcp", "127.0.0.1:0", **environ)
    assert process.stderr is not None
    words = (await asyncio.wait_for(process.stderr.readline(), PATIENCE)).decode().split()
    return process, int(words[3].rpartition(":")[2]), words[-1]


async def connect(port: int) -> Raw:
    return Raw(*await asyncio.open_connection("127.0.0.1", port))


async def test_tcp_demands_the_token_and_serves_one_client(offline: World) -> None:
    process, port, token = await listening(offline)
    refused_options: list[dict[str, Any]] = [{}, {"north": {}}, {"north": {"token": "x"}}, {"north": {"token": 5}}]
    for wrong in refused_options:
        intruder = await connect(port)
        refused = await intruder.call(1, "initialize", capabilities={}, initializationOptions=wrong)
        assert refused["error"]["code"] == -32600
        assert (await intruder.call(2, "workspace/executeCommand", command="north.ask"))["error"]["code"] == -32002
        await intruder.close()
    client = await connect(port)
    options = {"north": {"token": token, "acp": True}}
    result = (await client.call(1, "initialize", capabilities={}, initializationOptions=options))["result"]
    assert result["capabilities"]["experimental"]["north"]["protocolVersion"] == 1
    session = (await client.call(2, "session/new", cwd=str(offline.project), mcpServers=[]))["result"]["sessionId"]
    blocks = [{"type": "text", "text": "find loads"}]
    answer = await client.call(3, "session/prompt", sessionId=session, prompt=blocks)
    assert answer["result"]["stopReason"] == "end_turn"
    assert (await client.call(4, "shutdown"))["result"] is None
    late = await client.call(5, "session/new", cwd=str(offline.project), mcpServers=[])
    assert late["error"]["code"] == -32600
    await client.send(method="exit")
    await client.close()
    assert await finish(process) == 0


async def test_the_token_of_the_environment_is_not_printed_and_not_inherited(offline: World) -> None:
    process, port, last = await listening(offline, NORTH_TCP_TOKEN="secret-token")
    assert last.startswith("127.0.0.1:")
    client = await connect(port)
    options = {"north": {"token": "secret-token"}}
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    await client.call(1, "initialize", capabilities={}, initializationOptions=options, workspaceFolders=folder)
    await client.send(method="exit")
    assert await finish(process) == 1
    await client.close()


async def test_a_question_about_a_selection_quotes_it(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    folder = [{"uri": offline.project.as_uri(), "name": "p"}]
    await client.call(1, "initialize", capabilities={}, processId=None, workspaceFolders=folder)
    path = offline.project / "own.py"
    path.write_text("one = 1\n\ndef shout(text):\n    return text.upper()\n")
    place = {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 0}}
    given = {"prompt": "explain this", "uri": path.as_uri(), "range": place}
    answer = await client.call(2, "workspace/executeCommand", command="north.ask", arguments=[given])
    assert "shout" in answer["result"]["text"]
    assert "one = 1" not in answer["result"]["text"]
    await client.call(3, "shutdown")
    await client.send(method="exit")
    assert await finish(process) == 0


async def test_folders_that_are_opened_and_closed_are_followed(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    other = offline.project.parent / "other"
    other.mkdir()
    (other / "there.py").write_text("def only_there():\n    return 1\n")
    first, second = ({"uri": path.as_uri(), "name": path.name} for path in (offline.project, other))
    await client.call(1, "initialize", capabilities={}, processId=None, workspaceFolders=[first])

    async def ask(id: int, text: str) -> dict[str, Any]:
        answer = await client.call(id, "workspace/executeCommand", command="north.ask", arguments=[text])
        return cast(dict[str, Any], answer["result"])

    async def change(**event: list[dict[str, str]]) -> None:
        folders: dict[str, list[dict[str, str]]] = {"added": [], "removed": []}
        await client.send(method="workspace/didChangeWorkspaceFolders", params={"event": folders | event})

    before = await ask(2, "find only_there")
    assert "there.py" not in before["text"]
    await change(added=[second])
    with_both = await ask(3, "find only_there")
    assert "there.py" in with_both["text"]
    assert with_both["conversationId"] == before["conversationId"]
    await change(removed=[second])
    assert "there.py" not in (await ask(4, "find only_there"))["text"]
    await change(removed=[first], added=[second])
    elsewhere = await ask(5, "find only_there")
    assert "there.py" in elsewhere["text"]
    assert elsewhere["conversationId"] != before["conversationId"]
    await client.call(6, "shutdown")
    await client.send(method="exit")
    assert await finish(process) == 0


async def test_messages_that_make_no_sense_are_answered(offline: World) -> None:
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.send(method="textDocument/didOpen", params={"nonsense": 1})
    bad = await client.call(2, "textDocument/completion", nonsense=1)
    assert bad["error"]["code"] in (-32601, -32602)
    await client.send(method="textDocument/didChange", params={"textDocument": {"uri": "file:///x", "version": 1}})
    assert (await client.call(3, "shutdown"))["result"] is None
    await client.send(method="exit")
    assert await finish(process) == 0


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


_OPENED = {"uri": "file:///x.py", "languageId": "python", "version": 1, "text": "a\nb\n"}
_SENSELESS: list[dict[str, Any]] = [
    {"jsonrpc": None, "method": "textDocument/didOpen", "params": {"textDocument": _OPENED}},
    {"jsonrpc": "1.0", "method": "textDocument/didSave", "params": {"textDocument": _OPENED}},
    {"method": "$/cancelRequest", "params": {"id": [1]}},
    {"method": "$/cancelRequest", "params": {"id": {"a": 1}}},
    {"method": "$/cancelRequest", "params": {}},
    {"method": "$/cancelRequest"},
    {"method": "$/cancelRequest", "params": [1]},
    {"method": "$/setTrace", "params": {"value": 5}},
    {"method": "$/progress", "params": {"token": [1], "value": {}}},
    {"method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///x.py", "version": 2}}},
    {"method": "textDocument/didChange", "params": {"textDocument": {"uri": ["x"], "version": 2}}},
    {"method": "textDocument/didOpen", "params": _nested(900)},
    {"method": "textDocument/didOpen", "jsonrpc": 2, "params": {"textDocument": _nested(900)}},
    {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": {"added": [1], "removed": "x"}}},
    {"method": "workspace/didChangeWorkspaceFolders", "params": {"event": 7}},
    {"method": "workspace/didChangeConfiguration", "params": _nested(800)},
    {"method": "window/workDoneProgress/cancel", "params": {"token": {"a": []}}},
    {"method": "no/such/notification", "params": _nested(900)},
    {"method": "initialized", "params": _nested(10)},
    {"id": "x1", "result": _nested(900)},
    {"id": 10**30, "result": 1},
    {"id": None, "error": {"code": "x", "message": ["y"]}},
    {"id": "n1", "error": 5},
    {"result": 5},
    {},
]
_ODD_CHANGES = [
    {"range": {"start": {"line": line, "character": character}, "end": {"line": 0, "character": 0}}, "text": "z"}
    for line, character in [(10**30, 0), (-1, 0), (0, -5), ("0", "x"), (None, 0), ([], {}), (1.5, 2.5)]
]


async def test_no_message_ends_the_server(offline: World) -> None:
    """Notifications and answers that make no sense, in every form that a request can be told from; then a request of
    each kind is answered."""
    process = await start(offline)
    client = raw(process)
    await client.call(1, "initialize", capabilities={}, processId=None)
    await client.send(method="textDocument/didOpen", params={"textDocument": _OPENED})
    changed = {"uri": "file:///x.py", "version": 2}
    for message in _SENSELESS:
        await client.send(**message)
    for change in _ODD_CHANGES:
        await client.send(method="textDocument/didChange", params={"textDocument": changed, "contentChanges": [change]})
    for body in (b'{"line": 1e999}', b"[1, 2", b"\xff", b"", b"[" * 100_000, b'{"method":"x","params":NaN}', b"null"):
        await client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    await client.send_bytes(b"Content-Length: none\r\n\r\n")
    for number, (method, params) in enumerate(
        [
            ("textDocument/completion", {"textDocument": _nested(900)}),
            ("textDocument/codeLens", {"textDocument": {"uri": 5}}),
            ("textDocument/codeAction", {"range": 5}),
            ("workspace/executeCommand", {"command": ["x"], "arguments": 5}),
            ("workspace/executeCommand", {"command": "north.ask", "arguments": [_nested(500)]}),
            ("no/such/request", {"x": _nested(900)}),
        ]
    ):
        answered = await client.call(100 + number, method, **params)
        assert "error" in answered or answered["result"] is None or answered["result"] == []
    await client.send(jsonrpc="1.0", id=200, method="no/such/request")
    assert (await client.answer(200))["error"]["code"] == -32601
    assert (await client.call(201, "workspace/executeCommand", command="north.cancel"))["result"] is None
    assert (await client.call(202, "shutdown"))["result"] is None
    await client.send(method="exit")
    assert await finish(process) == 0
