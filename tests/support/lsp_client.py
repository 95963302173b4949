"""A plain LSP client on real pipes, with the documents of an editor: for tests of what clients of every kind get.

It says only what it is told to say of itself, applies edits by their versions, and does nothing that LSP does not have.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from north_lsp.rpc.framing import HeaderFraming
from north_lsp.workspace.edit.positions import offset_of, position_of
from north_lsp.workspace.language_features import Position
from tests.end_to_end.world import World
from tests.support.patience import PATIENCE

FULL: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"showDocument": {"support": True}, "workDoneProgress": True},
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True},
        "codeLens": {"refreshSupport": True},
    },
    "textDocument": {"codeLens": {}, "codeAction": {}, "publishDiagnostics": {}},
}


def without(capabilities: dict[str, Any], *names: str) -> dict[str, Any]:
    """These capabilities without some, by their paths."""
    left = {key: dict(value) for key, value in capabilities.items()}
    for name in names:
        group, _, key = name.partition(".")
        del left[group][key]
    return left


class Failed(Exception):
    """The server answered with an error."""


@dataclass
class Document:
    text: str
    version: int


class LspClient:
    """`answers` are the titles that the user chooses, in order; None closes a question, and when there are none left it
    stays open. `cursor` is where the server has put it, by URI. One that `holds_changes` tells of them later, one that
    `holds_edits` asks its user about each until they `confirm`. `takes` is the user's word on each of the changes that
    they are to confirm."""

    def __init__(
        self, process: asyncio.subprocess.Process, capabilities: dict[str, Any], unknown: frozenset[str]
    ) -> None:
        self.capabilities = capabilities
        self.documents: dict[str, Document] = {}
        self.answers: list[str | None] = []
        self.questions: list[dict[str, Any]] = []
        self.messages: list[str] = []
        self.cursor: dict[str, Position] = {}
        self.edits: list[dict[str, Any]] = []
        self.diagnostics: dict[str, list[dict[str, Any]]] = {}
        self.progress: list[dict[str, Any]] = []
        self.token: object = None
        self.updates: list[dict[str, Any]] = []
        self.server_capabilities: dict[str, Any] = {}
        self.shown: list[str] = []
        self.refreshed = 0
        self.holds_changes = False
        self.opens_shown = True
        self._untold: list[dict[str, Any]] = []
        self.before_edit: Callable[[], None] | None = None
        self.loses_edits = 0
        self.newline = "\n"
        self.takes: Callable[[dict[str, Any]], bool] = lambda one: True
        self.refuses_edits = False
        self.holds_edits = False
        self.held_edits: list[dict[str, Any]] = []
        self._unknown = unknown
        self._process = process
        self._framing = HeaderFraming()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._ids = 0
        self._news = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def encoding(self) -> str:
        return str(self.capabilities["general"]["positionEncodings"][0])

    # -- the wire ------------------------------------------------------------------------------------------------------

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(self._framing.encode({"jsonrpc": "2.0", **message}))

    def notify(self, method: str, **params: Any) -> None:
        self._send(method=method, params=params)

    async def request(self, method: str, **params: Any) -> Any:
        self._ids += 1
        future = self._waiting[self._ids] = asyncio.get_running_loop().create_future()
        self._send(id=self._ids, method=method, params=params)
        async with asyncio.timeout(PATIENCE):
            return await future

    def cancel(self) -> None:
        """Cancel the last request."""
        self.notify("$/cancelRequest", id=self._ids)

    async def command(self, name: str, *arguments: Any) -> Any:
        return await self.request("workspace/executeCommand", command=name, arguments=list(arguments))

    async def until(self, wanted: Callable[[], Any], what: str = "") -> Any:
        """Wait until something is so."""
        try:
            async with asyncio.timeout(PATIENCE), self._news:
                await self._news.wait_for(wanted)
        except TimeoutError:
            texts = {uri: one.text for uri, one in self.documents.items()}
            raise AssertionError(f"not so after 30 s: {what}; {self.messages=} {texts=}") from None

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while data := await self._process.stdout.read(65536):
            for frame in self._framing.feed(data):
                assert isinstance(frame, dict)
                if "method" not in frame:
                    future = self._waiting.pop(frame["id"])
                    if not future.done():
                        error = frame.get("error")
                        future.set_exception(Failed(error["message"])) if error else future.set_result(frame["result"])
                elif "id" in frame:
                    self._answer(frame)
                else:
                    self._hear(frame["method"], frame["params"])
            async with self._news:
                self._news.notify_all()

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        match method:
            case "window/showMessage":
                self.messages.append(params["message"])
            case "textDocument/publishDiagnostics":
                self.diagnostics[params["uri"]] = params["diagnostics"]
            case "session/update":
                self.updates.append(params["update"])
            case "$/progress":
                self.progress.append(params["value"])
                self.token = params["token"]

    def _answer(self, frame: dict[str, Any]) -> None:
        method, params = frame["method"], frame["params"]
        if method in self._unknown:
            self._send(id=frame["id"], error={"code": -32601, "message": "unknown method"})
            return
        match method:
            case "window/showMessageRequest":
                self.questions.append(params)
                if self.answers:
                    title = self.answers.pop(0)
                    self._send(id=frame["id"], result={"title": title} if title is not None else None)
            case "window/showDocument":
                assert "showDocument" in self.capabilities["window"]
                uri = params["uri"]
                self.shown.append(uri)
                if uri not in self.documents and self.opens_shown:
                    self.open(uri)
                if "selection" in params:
                    start = params["selection"]["start"]
                    self.cursor[uri] = Position(start["line"], start["character"])
                self._send(id=frame["id"], result={"success": True})
            case "workspace/applyEdit" if self.holds_edits:
                self.held_edits.append(frame)
            case "workspace/applyEdit" if self.loses_edits > 0:
                self.loses_edits -= 1
            case "workspace/applyEdit":
                self._send(id=frame["id"], result={"applied": self._apply(params["edit"])})
            case _:
                self.refreshed += method == "workspace/codeLens/refresh"
                self._send(id=frame["id"], result=None)

    # -- documents -----------------------------------------------------------------------------------------------------

    def open(self, uri: str) -> None:
        text = Path(uri.removeprefix("file://")).read_text()
        self.documents[uri] = Document(text, 1)
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": text}
        self.notify("textDocument/didOpen", textDocument=item)

    def close(self, uri: str) -> None:
        del self.documents[uri]
        self.notify("textDocument/didClose", textDocument={"uri": uri})

    def text(self, uri: str) -> str:
        return self.documents[uri].text

    def insert(self, uri: str, offset: int, text: str) -> None:
        """Type something."""
        document = self.documents[uri]
        at = position_of(document.text, offset, self.encoding)
        place = {"line": at.line, "character": at.character}
        document.text = document.text[:offset] + text + document.text[offset:]
        self._changed(uri, [{"range": {"start": place, "end": place}, "text": text}])

    def write(self, uri: str, text: str) -> None:
        """Type something at the end of the last line."""
        self.insert(uri, len(self.text(uri)) - self.text(uri).endswith("\n"), text)

    def set(self, uri: str, text: str) -> None:
        """Have another text, as after an undo."""
        text = text.replace("\r\n", "\n").replace("\n", self.newline)
        self.documents[uri].text = text
        self._changed(uri, [{"text": text}])

    def _changed(self, uri: str, changes: list[dict[str, Any]]) -> None:
        document = self.documents[uri]
        document.version += 1
        about = {"uri": uri, "version": document.version}
        self._untold.append({"textDocument": about, "contentChanges": changes})
        if not self.holds_changes:
            self.tell_changes()

    def tell_changes(self) -> None:
        """Tell the server what has changed, and hold nothing back any more."""
        self.holds_changes = False
        for change in self._untold:
            self.notify("textDocument/didChange", **change)
        self._untold.clear()

    def confirm(self) -> None:
        """Apply the edits that the user was being asked about."""
        self.holds_edits = False
        for frame in self.held_edits:
            self._answer(frame)
        self.held_edits.clear()

    def _apply(self, edit: dict[str, Any]) -> bool:
        assert self.capabilities["workspace"].get("applyEdit")
        self.edits.append(edit)
        if self.before_edit is not None:
            typing, self.before_edit = self.before_edit, None
            typing()
        if self.refuses_edits:
            return False
        if "documentChanges" in edit:
            assert self.capabilities["workspace"].get("workspaceEdit")
            versions = {one["textDocument"]["uri"]: one["textDocument"]["version"] for one in edit["documentChanges"]}
            opened = {uri: one.version for uri, one in self.documents.items()}
            if any(opened.get(uri) != version for uri, version in versions.items()):
                return False
            changes = {one["textDocument"]["uri"]: one["edits"] for one in edit["documentChanges"]}
        else:
            changes = edit["changes"]
        confirmed = edit.get("changeAnnotations", {})
        for uri, edits in changes.items():
            taken = [one for one in edits if one.get("annotationId") not in confirmed or self.takes(one)]
            if taken:
                self.set(uri, self._edited(self.text(uri), taken))
        return True

    def _edited(self, text: str, edits: list[dict[str, Any]]) -> str:
        places = []
        for one in edits:
            start, end = (
                offset_of(text, Position(one["range"][key]["line"], one["range"][key]["character"]), self.encoding)
                for key in ("start", "end")
            )
            places.append((start, end, one["newText"]))
        for start, end, new in reversed(places):
            text = text[:start] + new + text[end:]
        return text

    # -- what is offered -----------------------------------------------------------------------------------------------

    async def lenses(self, uri: str) -> dict[str, dict[str, Any]]:
        found = await self.request("textDocument/codeLens", textDocument={"uri": uri})
        return {lens["command"]["title"]: lens["command"] for lens in found}

    async def actions(self, uri: str, start: int = 0, end: int = 0, **context: Any) -> dict[str, dict[str, Any]]:
        range = {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}
        about = {"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": [], **context}}
        return {one["title"]: one["command"] for one in await self.request("textDocument/codeAction", **about)}

    async def press(self, command: dict[str, Any]) -> Any:
        return await self.command(command["command"], *command["arguments"])

    async def stop(self) -> None:
        await self.request("shutdown")
        self.notify("exit")
        assert await asyncio.wait_for(self._process.wait(), PATIENCE) == 0
        await self._reading

    def end(self) -> None:
        """Let go of the server, whatever has happened."""
        self._reading.cancel()
        if self._process.returncode is None:
            self._process.kill()
        self._process._transport.close()  # type: ignore[attr-defined]  # there is no public way to close its pipes


@asynccontextmanager
async def lsp_client(
    world: World,
    capabilities: dict[str, Any] = FULL,
    *,
    name: str = "an editor",
    unknown: frozenset[str] = frozenset(),
    options: dict[str, Any] | None = None,
) -> AsyncIterator[LspClient]:
    """Start a server and yield its client. `unknown` are requests of the server that the client does not know."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *world.server, "lsp", stdin=pipe, stdout=pipe, env=world.environ, cwd=world.project
    )
    client = LspClient(process, capabilities, unknown)
    result = await client.request(
        "initialize",
        capabilities=capabilities,
        processId=None,
        clientInfo={"name": name},
        workspaceFolders=[{"uri": world.project.as_uri(), "name": "project"}],
        **({"initializationOptions": {"north": options}} if options is not None else {}),
    )
    client.server_capabilities = result["capabilities"]
    client.notify("initialized")
    try:
        yield client
        await client.stop()
    finally:
        client.end()
