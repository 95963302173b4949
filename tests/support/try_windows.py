"""Tries on Windows what no other system can try: names and links that Windows gives a meaning, locks, the server with
an edit and commands, and that nothing is left of a killed one. Ends with 1 if anything is not as it should be.

`python -m tests.support.try_windows [SHELL]` runs it; SHELL is the setting `shell.path`.
"""

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from north_lsp import systems
from north_lsp.errors import ToolError
from north_lsp.workspace.files.trees import Trees
from north_lsp.workspace.guards.edit_guard import refusal
from north_lsp.workspace.opening import open_real
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.proposal import FileChange, TextEncoding

_PATIENCE = 300.0
_HOLDING = (
    "import sys; from north_lsp import systems; systems.lock_folder(sys.argv[1]); print('held', flush=True); input()"
)
_REFUSED = (
    "NUL", "src/con.txt", "COM1", "a.txt:stream", "a.txt::$DATA", "C:a.txt", "//host/share/a",
    "\\\\?\\C:\\a", "\\\\.\\C:\\a", "a.", "a ",
    "../a", "C:/Windows/win.ini", "GIT~1/config", "/a.txt", "a<b",
)  # fmt: skip
_wrong: list[str] = []


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def check(what: str, *, holds: bool, told: object = "") -> None:
    """Note whether something is as it should be."""
    _say(f"{'ok   ' if holds else 'WRONG'} {what} {told}".rstrip())
    if not holds:
        _wrong.append(what)


class Server:
    """A server on this machine, and the client's side of its connection."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        command = [sys.executable, "-m", "north_lsp", "acp", "--model", "offline"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, env=dict(environ)
        )
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._count = 0
        threading.Thread(target=self._read, daemon=True).start()

    def request(self, method: str, **params: object) -> dict[str, Any]:
        self._count += 1
        self._write({"id": self._count, "method": method, "params": params})
        answer = self._answers.get(timeout=_PATIENCE)
        if answer is None or "error" in answer:
            raise RuntimeError(f"{method}: {answer}")
        found: dict[str, Any] = answer["result"]
        return found

    def prompt(self, session: str, text: str) -> str:
        """Send a prompt; every question is answered with its first option. Returns what was shown of its calls."""
        self.updates.clear()
        self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        return json.dumps([one for one in self.updates if one["sessionUpdate"] == "tool_call_update"])

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if "method" not in message:
                self._answers.put(message)
            elif "id" in message:
                self.asked.append(message["params"])
                chosen = message["params"]["options"][0]["optionId"]
                self._write({"id": message["id"], "result": {"outcome": {"outcome": "selected", "optionId": chosen}}})
            elif message["method"] == "session/update":
                self.updates.append(message["params"]["update"])
        self._answers.put(None)

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self.process.stdin.flush()


def try_paths(folder: Path) -> None:
    roots = Roots.of(folder)
    for path in _REFUSED:
        told: object = "was accepted"
        try:
            roots.resolve(path)
        except ToolError as error:
            told = error.code
        check(f"refused: {path}", holds=told != "was accepted", told=told)
    for path in ("src/a.py", "SRC\\A.py", str(folder / "src" / "a.py"), (folder / "src" / "a.py").as_uri()):
        check(f"known by its true name: {path}", holds=roots.resolve(path).relative == "src/a.py")


def try_closed(folder: Path) -> None:
    names = ("secret.txt", "sub/hidden/x", "sub/deeper/y.key", "sub/open.txt", "build/out", ".git/config")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    (folder / ".northignore").write_text("secret.txt\nsub/hidden/\nsub/deeper/*.key\n")
    (folder / ".gitignore").write_text("build/\n")
    os.link(folder / "secret.txt", folder / "alias.txt")
    trees = Trees.of(Roots.of(folder))
    closed = ("secret.txt", "SECRET.TXT", "sub\\Hidden\\x", "sub/deeper/y.key", "alias.txt")
    for name in closed:
        told = ""
        try:
            trees.resolve(name)
        except ToolError as error:
            told = error.code
        check(f"closed by .northignore: {name}", holds=told == "IGNORED", told=told)
    check("open beside it", holds=trees.resolve("sub\\open.txt").relative == "sub/open.txt")
    listed = trees.tree(folder).listing().files
    check("lists leave out what is closed and ignored", holds=listed == (".gitignore", ".northignore", "sub/open.txt"))
    for name in (".git/config", ".GIT/config", "sub/.Git/hooks/x", ".git/new"):
        resolved = trees.roots.resolve(name)
        change = FileChange(resolved.path, resolved.relative, "create", None, "x", TextEncoding("utf-8"), (), 1, 0)
        check(f"never written: {name}", holds=refusal([change], trees.roots) is not None)


def try_links(folder: Path, outside: Path) -> None:
    calls: Any = import_module("_winapi")
    makers: dict[str, Callable[[Path], None]] = {
        "junction": lambda path: calls.CreateJunction(str(outside), str(path)),
        "link": lambda path: path.symlink_to(outside, target_is_directory=True),
    }
    for kind, make in makers.items():
        path = folder / kind
        try:
            make(path)
            if not os.path.lexists(path):
                raise OSError("it was not made")
        except OSError as error:
            _say(f"      no {kind} can be made here: {error}")
            continue
        refused = False
        with suppress(ToolError):
            Roots.of(folder).resolve(f"{kind}/secret")
            refused = True
        check(f"a {kind} leads nowhere", holds=not refused)
        opened = None
        with suppress(OSError):
            opened = open_real(path / "secret")
        check(f"nothing is opened through a {kind}", holds=opened is None)


def try_locks(folder: Path) -> None:
    held = subprocess.Popen(
        [sys.executable, "-c", _HOLDING, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert held.stdout is not None
    held.stdout.readline()
    taken = True
    try:
        os.close(systems.lock_folder(folder))
    except BlockingIOError:
        taken = False
    check("a lock keeps another process out", holds=not taken)
    held.kill()
    held.wait()
    os.close(systems.lock_folder(folder, wait=True))
    check("the lock of a killed process is free", holds=True)


def try_server(folder: Path, home: Path, shell: str | None) -> None:
    environ = {**os.environ, **{f"NORTH_{name}_DIR": str(home / name) for name in ("CONFIG", "DATA", "STATE")}}
    (home / "CONFIG").mkdir(parents=True)
    (home / "CONFIG" / "config.json").write_text(json.dumps({"shell.path": shell} if shell else {}))
    server = Server(environ, folder)
    files = {"readTextFile": False, "writeTextFile": False}
    server.request("initialize", protocolVersion=1, clientCapabilities={"fs": files, "terminal": False})
    session = server.request("session/new", cwd=str(folder), mcpServers=[])["sessionId"]
    source = folder / "src" / "a.py"
    server.prompt(session, 'replace "return 1" with "return 2" in src/a.py')
    check("an edit is asked about and written", holds=b"return 2" in source.read_bytes() and len(server.asked) == 1)
    server.prompt(session, "/undo")
    check("it is undone", holds=b"return 1" in source.read_bytes())
    server.prompt(session, 'create deep/er/notes.txt with "hello"')
    check("a file is created in new folders", holds=(folder / "deep" / "er" / "notes.txt").exists())
    check("nothing is left beside it", holds=sorted(os.listdir(folder)) == ["deep", "src"], told=os.listdir(folder))
    check("a search finds it", holds="a.py" in server.prompt(session, 'search for "return"'))
    server.asked.clear()
    shown = server.prompt(session, "run `echo told-by-the-shell`")
    check("a command is asked about and runs", holds="told-by-the-shell" in shown and len(server.asked) == 1)
    check("the directory stays", holds="src" in server.prompt(session, "run `cd src`"))
    server.prompt(session, "run `echo x > here.txt`")
    check("the next command runs there", holds=(folder / "src" / "here.txt").exists())
    mark = home / "began"
    waiting = f'{sys.executable} -c "import time; held = open({str(mark)!r}, {"w"!r}); time.sleep(600)"'
    server._write(
        {
            "id": 0,
            "method": "session/prompt",
            "params": {"sessionId": session, "prompt": [{"type": "text", "text": f"run `{waiting}`"}]},
        }
    )
    deadline = time.monotonic() + _PATIENCE
    while not mark.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    server.process.kill()
    server.process.wait()
    check("a command ends with a server that is killed", holds=_can_be_removed(mark, deadline))
    again = Server(environ, folder)
    again.request("initialize", protocolVersion=1, clientCapabilities={"fs": files, "terminal": False})
    again.request("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
    check("its conversation is loaded by the next one", holds="told-by-the-shell" in json.dumps(again.updates))
    assert again.process.stdin is not None
    again.process.stdin.close()
    check("a server ends with its input", holds=again.process.wait(_PATIENCE) == 0)


def _can_be_removed(mark: Path, deadline: float) -> bool:
    """Tell whether no process runs any more that was told to hold a file open."""
    while time.monotonic() < deadline:
        with suppress(OSError):
            mark.unlink()
            return True
        time.sleep(0.05)
    return False


def main() -> None:
    """Try everything in folders that are removed afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        base = Path(systems.true_path(made))
        folder, outside, closed = base / "project", base / "outside", base / "closed"
        (folder / "src").mkdir(parents=True)
        (folder / "src" / "a.py").write_text("def one():\n    return 1\n")
        outside.mkdir()
        (outside / "secret").write_text("secret")
        closed.mkdir()
        try_paths(folder)
        try_closed(closed)
        try_locks(outside)
        try_server(folder, base / "home", sys.argv[1] if len(sys.argv) > 1 else None)
        try_links(folder, outside)
    _say(f"{len(_wrong)} wrong" if _wrong else "all as it should be")
    sys.exit(bool(_wrong))


if __name__ == "__main__":
    main()
