"""Plays a conversation in this process with the real service, so that servers that are forked from it find done what
each would do again: patterns compiled, tables read, and the interpreter's instructions fitted to what they are used
for, which takes half of the time of a short conversation."""

import gc
import json
import os
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from north_lsp.rpc.pipe import DescriptorPipe
from north_lsp.server.connection import serve_acp
from north_lsp.server.opening import open_connection
from north_lsp.server.options import Options
from north_lsp.shell.guardian import GUARDIAN
from north_lsp.workspace import git
from tests.support.model_server import ModelServer
from tests.support.script import answer, call, say, think

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
        _play(_options(place, model.url), str(place / "project"))
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


def _play(options: Options, project: str) -> None:
    server_reads, client_writes = os.pipe()
    client_reads, server_writes = os.pipe()
    client = threading.Thread(target=_client, args=(client_reads, client_writes, project))
    client.start()
    opening = open_connection("acp")
    opening.run_blocking(server_reads, server_writes)
    code = anyio.run(serve_acp, opening, DescriptorPipe(server_reads, server_writes), options)
    for descriptor in (server_reads, server_writes):
        os.close(descriptor)
    client.join()
    assert code == 0


def _client(reads: int, writes: int, project: str) -> None:
    """Prompt once, and accept whatever is asked."""
    with open(reads, "rb") as lines, open(writes, "wb", buffering=0) as server:

        def send(**message: Any) -> None:
            server.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

        def ask(method: str, **params: Any) -> Any:
            send(id=method, method=method, params=params)
            for message in map(json.loads, lines):
                if message.get("id") == method:
                    return message["result"]
                if message.get("method") == "session/request_permission":
                    option = next(one for one in message["params"]["options"] if one["kind"] == "allow_once")
                    outcome = {"outcome": "selected", "optionId": option["optionId"]}
                    send(id=message["id"], result={"outcome": outcome})
            raise AssertionError(f"the server ended without an answer to {method}")

        ask("initialize", protocolVersion=1, clientCapabilities={"_meta": {"north": {}}})
        session = ask("session/new", cwd=project, mcpServers=[])["sessionId"]
        ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "go"}])
        ask("session/load", sessionId=session, cwd=project, mcpServers=[])
