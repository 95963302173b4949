"""Plays a conversation of each protocol in this process with the real service, so that servers that are forked from it
find done what each would do again: patterns compiled, tables read, and the interpreter's instructions fitted to what
they are used for, which takes half of the time of a short conversation."""

import gc
import os
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from north_lsp.rpc.framing import Framing, HeaderFraming, NewlineFraming
from north_lsp.rpc.pipe import DescriptorPipe
from north_lsp.server.connection import serve_acp, serve_lsp
from north_lsp.server.opening import Protocol, open_connection
from north_lsp.server.options import Options
from north_lsp.shell.guardian import GUARDIAN
from north_lsp.workspace import git
from tests.support.lsp_client import FULL
from tests.support.model_server import ModelServer
from tests.support.patience import PATIENCE
from tests.support.script import answer, call, say, think

Ask = Callable[..., Any]
_SOURCE = "import os\n\n\ndef one() -> int:\n    return 1\n"


def rehearse() -> None:
    """Play it, and leave nothing behind: no thread, no process, no open file, nothing that depends on the
    environment."""
    interval = sys.getswitchinterval()
    opened = _descriptors()
    with tempfile.TemporaryDirectory() as folder, ModelServer() as model:
        place = Path(folder).resolve()
        for name in ("project", "home", "config"):
            (place / name).mkdir()
        (place / "project" / "a.py").write_text(_SOURCE)
        model.script(
            answer(think("hm"), say("I read it."), call("read_file", path="a.py"), call("search_text", pattern="one")),
            answer(
                say("I change it."),
                call("edit_create_file", path="new.py", content=_SOURCE),
                call("shell_run", command="echo one && touch made"),
            ),
            answer(say("It is done.")),
        )
        options = _options(place, model.url)
        _play("acp", options, place / "project", _prompt)
        _play("lsp", options, place / "project", _open_chat)
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(PATIENCE)
    sys.setswitchinterval(interval)
    git._git.cache_clear()
    _end_guardian()
    gc.collect()  # closes sockets
    left = {descriptor: name for descriptor, name in _descriptors().items() if descriptor not in opened}
    # Those of `change_notices` are kept by process: nobody uses them but this one.
    assert all(name.endswith(("inotify", "/mountinfo")) for name in left.values()), left
    assert threading.active_count() == 1, threading.enumerate()


def _descriptors() -> dict[str, str]:
    found = {}
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder itself
            found[descriptor] = os.readlink(f"/proc/self/fd/{descriptor}")
    return found


def _end_guardian() -> None:
    if GUARDIAN._socket is not None and GUARDIAN._pid is not None:
        GUARDIAN._socket.close()
        os.waitpid(GUARDIAN._pid, 0)
    GUARDIAN.__init__()  # type: ignore[misc]


def _options(place: Path, model: str) -> Options:
    folders = {f"NORTH_{name}_DIR": str(place / name.lower()) for name in ("CONFIG", "DATA", "STATE")}
    quiet = {"NORTH_DISCOVERY": "off", "NORTH_NO_TITLE": "1", "NORTH_NO_OFFER": "1", "HOME": str(place / "home")}
    keys = {"ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": model}
    return Options(dict(os.environ) | folders | quiet | keys, None, None, None, None)


def _play(protocol: Protocol, options: Options, project: Path, talk: Callable[[Ask, Path], None]) -> None:
    server_reads, client_writes = os.pipe()
    client_reads, server_writes = os.pipe()
    opening = open_connection(protocol, options.environ)
    framing = NewlineFraming() if protocol == "acp" else HeaderFraming()
    client = threading.Thread(target=_client, args=(client_reads, client_writes, framing, project, talk))
    client.start()
    opening.run_blocking(server_reads, server_writes)
    serve = serve_acp if protocol == "acp" else serve_lsp
    code = anyio.run(serve, opening, DescriptorPipe(server_reads, server_writes), options)
    for descriptor in (server_reads, server_writes):
        os.close(descriptor)
    client.join()
    assert code == 0


def _client(reads: int, writes: int, framing: Framing, project: Path, talk: Callable[[Ask, Path], None]) -> None:
    """Talk, and accept whatever is asked."""
    with open(reads, "rb", buffering=0) as reader, open(writes, "wb", buffering=0) as server:
        messages: deque[Any] = deque()

        def send(**message: Any) -> None:
            server.write(framing.encode({"jsonrpc": "2.0", **message}))

        def ask(method: str, **params: Any) -> Any:
            send(id=method, method=method, params=params)
            while True:
                while not messages:
                    data = reader.read(65536)
                    assert data, f"the server ended without an answer to {method}"
                    messages.extend(framing.feed(data))
                message = messages.popleft()
                if "method" not in message:
                    return message["result"]
                if "id" in message:
                    send(id=message["id"], result=_accept(message))

        talk(ask, project)
        if isinstance(framing, HeaderFraming):
            ask("shutdown")
            send(method="exit")


def _accept(message: Any) -> Any:
    if message["method"] == "session/request_permission":
        option = next(one for one in message["params"]["options"] if one["kind"] == "allow_once")
        return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
    return {"applied": True, "success": True}


def _prompt(ask: Ask, project: Path) -> None:
    ask("initialize", protocolVersion=1, clientCapabilities={"_meta": {"north": {}}})
    session = ask("session/new", cwd=str(project), mcpServers=[])["sessionId"]
    ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
    ask("session/load", sessionId=session, cwd=str(project), mcpServers=[])


def _open_chat(ask: Ask, project: Path) -> None:
    folders = [{"uri": project.as_uri(), "name": "project"}]
    ask("initialize", capabilities=FULL, processId=None, workspaceFolders=folders)
    ask("workspace/executeCommand", command="north.openChat", arguments=[])
    ask("textDocument/codeLens", textDocument={"uri": (project / "a.py").as_uri()})
