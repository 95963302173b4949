"""One editor, three ways: the official ACP client, an LSP client that opted in to the chat, and a plain LSP client.

The scenarios are written once against `Editor` and run in all three.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import acp
import pytest_lsp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    ReadTextFileResponse,
    RequestPermissionResponse,
    TextContentBlock,
)
from lsprotocol import types
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

from tests.end_to_end.world import World
from tests.support.acp_schema import Oracle
from tests.support.patience import PATIENCE

Choice = Literal["accept", "always", "reject", "hang"]
_CHOICES = {
    "edit": {
        "accept": ("accept", "Accept"),
        "always": ("always", "Accept this and all later edits in this project"),
        "reject": ("reject", "Reject"),
    },
    "execute": {"accept": ("run", "Run"), "always": ("always", "Always run this command"), "reject": ("deny", "Deny")},
}


@dataclass
class Question:
    """What the user was asked; `text` is all that was shown."""

    kind: str
    text: str
    options: list[str]


@dataclass
class Outcome:
    stop_reason: str
    text: str


@dataclass
class Base:
    """State and waiting that all editors share. `choices` are the user's answers, in order; "hang" never answers."""

    world: World
    choices: list[Choice] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    texts: dict[Path, str] = field(default_factory=dict)
    conversation: str = ""
    pid: int = 0
    killed: bool = False
    _seen: list[Any] = field(default_factory=list)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def note(self, what: object) -> None:
        async with self._news:
            self._seen.append(what)
            self._news.notify_all()

    async def wait(self, wanted: Callable[[Any], bool]) -> None:
        """Until something that the server sent fits."""
        try:
            async with asyncio.timeout(PATIENCE), self._news:
                await self._news.wait_for(lambda: any(wanted(what) for what in self._seen))
        except TimeoutError:
            raise AssertionError(f"not seen in 30 s; what was: {self._seen}") from None

    async def asked(self) -> None:
        await self.wait(lambda what: isinstance(what, Question))

    async def choose(self, question: Question) -> tuple[str, str] | None:
        """The chosen option's id and title; waits for ever for "hang"."""
        self.questions.append(question)
        await self.note(question)
        choice = self.choices.pop(0)
        if choice == "hang":
            await asyncio.Event().wait()
        return _CHOICES[question.kind][choice]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.killed = True


class Editor(Protocol):
    world: World
    choices: list[Choice]
    questions: list[Question]
    texts: dict[Path, str]
    conversation: str

    async def prompt(self, text: str) -> Outcome: ...
    async def cancel(self) -> None: ...
    async def load(self, conversation: str) -> str: ...
    async def wait(self, wanted: Callable[[Any], bool]) -> None: ...
    async def asked(self) -> None: ...
    async def streamed(self, text: str) -> None: ...
    def kill(self) -> None: ...


def _updates_text(updates: list[dict[str, Any]]) -> str:
    kinds = ("agent_message_chunk", "user_message_chunk")
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] in kinds)


# -- ACP, with the official SDK ------------------------------------------------------------------------------------


class SdkEditor(Base):
    """The official ACP Python SDK as the client."""

    connection: Any = None
    updates: list[dict[str, Any]]

    def on_connect(self, conn: Any) -> None:
        """The SDK's hook."""

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        data = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.append(data)
        await self.note(data)

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:
        call = tool_call.model_dump(mode="json", by_alias=True, exclude_none=True)
        question = Question(
            call["kind"], f"{call['title']}\n{call.get('content')}", [option.name for option in options]
        )
        chosen = await self.choose(question)
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        (id,) = [option.option_id for option in options if option.name == chosen[1]]
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=id))

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> Any:
        text = self.texts.get(Path(path))
        return ReadTextFileResponse(content=text if text is not None else Path(path).read_text())

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        if Path(path) in self.texts:
            self.texts[Path(path)] = content
        else:
            Path(path).write_text(content)

    async def prompt(self, text: str) -> Outcome:
        start = len(self.updates)
        answer = await self.connection.prompt(
            session_id=self.conversation, prompt=[TextContentBlock(type="text", text=text)]
        )
        return Outcome(answer.stop_reason, _updates_text(self.updates[start:]))

    async def cancel(self) -> None:
        await self.connection.cancel(session_id=self.conversation)

    async def streamed(self, text: str) -> None:
        await self.wait(lambda _: text in _updates_text(self.updates))

    async def load(self, conversation: str) -> str:
        start = len(self.updates)
        await self.connection.load_session(cwd=str(self.world.project), session_id=conversation, mcp_servers=[])
        self.conversation = conversation
        return _updates_text(self.updates[start:])


@asynccontextmanager
async def sdk_editor(world: World, *, start: bool = True) -> AsyncIterator[SdkEditor]:
    editor = SdkEditor(world)
    editor.updates = []
    spawn = acp.spawn_agent_process(editor, *world.server, "acp", env=world.environ, cwd=world.project)  # type: ignore[arg-type]  # the SDK's client protocol has more methods than a client needs
    async with spawn as (connection, process):
        editor.connection, editor.pid = connection, process.pid
        files = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        await connection.initialize(
            protocol_version=1,
            client_capabilities=ClientCapabilities(fs=files),
            client_info=Implementation(name="test", version="1"),
        )
        if start:
            editor.conversation = (await connection.new_session(cwd=str(world.project), mcp_servers=[])).session_id
        yield editor


# -- LSP, with pytest-lsp ------------------------------------------------------------------------------------------


class _Protocol(pytest_lsp.LanguageClientProtocol):
    """ACP's messages as plain dicts; pygls would turn their params into tuples with other names."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        method = str(data.get("method", ""))
        if method.startswith(("session/", "_north/")):
            if "id" in data:
                return JsonRPCRequestMessage(data["id"], method, "2.0", data.get("params"))
            return JsonRPCNotification(method, "2.0", data.get("params"))
        if "result" in data and self._result_types.get(data["id"]) is None:
            self._result_types.pop(data["id"], None)
            return JsonRPCResponseMessage(data["id"], "2.0", data["result"])
        return super().structure_message(data)


class LspEditor(Base):
    """What both LSP editors share: documents, and edits applied to them in one step. One that `denies` applies an edit
    and says that it did not; one that is `versioned` says that it compares versions; `on_save` is what it makes of a
    text that it is asked to save (None: it cannot)."""

    client: pytest_lsp.LanguageClient
    denies = False
    versioned = True
    client_name = "tests"
    versions: dict[Path, int]
    saves: list[list[dict[str, Any]]]
    on_save: Callable[[str], str | None] = staticmethod(lambda text: text)

    def start_handlers(self) -> None:
        @self.client.feature(types.WORKSPACE_APPLY_EDIT)
        def apply_edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            return self.apply_edit(params.edit)

        self.versions, self.saves = {}, []

        @self.client.feature("_north/saveFiles")
        def save(params: dict[str, Any]) -> dict[str, Any]:
            self.saves.append(params["files"])
            answer: dict[str, list[Any]] = {"saved": [], "failed": []}
            for file in params["files"]:
                path = next(path for path in self.texts if path.as_uri() == file["uri"])
                text = self.on_save(self.texts[path])
                if text is None or file["version"] != self.versions[path]:
                    answer["failed"].append({"uri": file["uri"], "reason": "it cannot be saved"})
                    continue
                if text != self.texts[path]:
                    self.texts[path] = text
                    self._tell(path)
                path.write_text(text)
                answer["saved"].append(file["uri"])
            return answer

    def apply_edit(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            self._edit(change.text_document.uri, list(change.edits))
        return types.ApplyWorkspaceEditResult(applied=not self.denies)

    def open(self, path: Path, text: str | None = None) -> None:
        self.texts[path] = text if text is not None else path.read_text()
        self.versions[path] = 1
        document = types.TextDocumentItem(path.as_uri(), "python", 1, self.texts[path])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def _edit(self, uri: str, edits: list[Any]) -> None:
        path = next(path for path in self.texts if path.as_uri() == uri)
        lines = self.texts[path].splitlines(keepends=True)
        for edit in sorted(edits, key=lambda edit: -edit.range.start.line):
            assert edit.range.start.character == edit.range.end.character == 0
            lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
        self.texts[path] = "".join(lines)
        self._tell(path)

    def _tell(self, path: Path) -> None:
        self.versions[path] += 1
        whole = types.TextDocumentContentChangeWholeDocument(self.texts[path])
        document = types.VersionedTextDocumentIdentifier(version=self.versions[path], uri=path.as_uri())
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))


class OptedInEditor(LspEditor):
    """ACP's methods on the language server's connection."""

    updates: list[dict[str, Any]]
    oracle: Oracle

    def start_handlers(self) -> None:
        super().start_handlers()

        @self.client.feature("session/update")
        async def update(params: dict[str, Any]) -> None:
            self.oracle.check_notification("session/update", params, "agent")
            self.updates.append(params["update"])
            await self.note(params["update"])

        @self.client.feature("session/request_permission")
        async def permission(params: dict[str, Any]) -> Any:
            self.oracle.check_request("session/request_permission", params, "agent")
            call = params["toolCall"]
            names = [option["name"] for option in params["options"]]
            chosen = await self.choose(Question(call["kind"], f"{call['title']}\n{call.get('content')}", names))
            if chosen is None:
                return {"outcome": {"outcome": "cancelled"}}
            return {"outcome": {"outcome": "selected", "optionId": chosen[0]}}

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        result = await self.client.protocol.send_request_async(method, params)
        self.oracle.check_result(method, result, "agent")
        return result

    async def prompt(self, text: str) -> Outcome:
        start = len(self.updates)
        blocks = [{"type": "text", "text": text}]
        answer = await self.call("session/prompt", {"sessionId": self.conversation, "prompt": blocks})
        return Outcome(answer["stopReason"], _updates_text(self.updates[start:]))

    async def cancel(self) -> None:
        self.client.protocol.notify("session/cancel", {"sessionId": self.conversation})

    async def streamed(self, text: str) -> None:
        await self.wait(lambda _: text in _updates_text(self.updates))

    async def load(self, conversation: str) -> str:
        start = len(self.updates)
        params = {"cwd": str(self.world.project), "sessionId": conversation, "mcpServers": []}
        await self.call("session/load", params)
        self.conversation = conversation
        return _updates_text(self.updates[start:])


class PlainEditor(LspEditor):
    """Nothing but LSP."""

    def start_handlers(self) -> None:
        super().start_handlers()

        @self.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        async def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            titles = [action.title for action in params.actions or ()]
            kind = "execute" if "Run" in titles else "edit"
            chosen = await self.choose(Question(kind, params.message, titles))
            return types.MessageActionItem(chosen[1]) if chosen is not None else None

        @self.client.feature(types.PROGRESS)
        async def progress(params: types.ProgressParams) -> None:
            await self.note(params)

    async def prompt(self, text: str) -> Outcome:
        answer = await self._command("north.ask", text)
        self.conversation = answer["conversationId"]
        return Outcome(answer["stopReason"], answer["text"])

    async def _command(self, name: str, *arguments: object) -> Any:
        params = types.ExecuteCommandParams(command=name, arguments=list(arguments), work_done_token="t")
        return await self.client.protocol.send_request_async("workspace/executeCommand", params)

    async def cancel(self) -> None:
        await self._command("north.cancel")

    async def streamed(self, text: str) -> None:
        """A plain client sees no text while it streams: the turn has begun when its progress has."""
        await self.wait(lambda what: isinstance(what, types.ProgressParams))

    async def load(self, conversation: str) -> str:
        answer = await self._command("north.loadConversation", conversation)
        self.conversation = conversation
        return str(answer["text"])


async def _start(editor: LspEditor, options: dict[str, Any]) -> Any:
    world = editor.world
    editor.client = pytest_lsp.LanguageClient(protocol_cls=_Protocol, converter_factory=_converter)
    editor.start_handlers()
    await editor.client.start_io(*world.server, "lsp", env=world.environ, cwd=str(world.project))
    assert editor.client._server is not None
    editor.pid = editor.client._server.pid
    capabilities = pytest_lsp.client_capabilities("visual-studio-code")
    assert capabilities.workspace is not None
    assert capabilities.workspace.workspace_edit is not None
    capabilities.workspace.workspace_edit.document_changes = editor.versioned or None
    return await editor.client.initialize_session(
        types.InitializeParams(
            capabilities=capabilities,
            client_info=types.ClientInfo(editor.client_name),
            workspace_folders=[types.WorkspaceFolder(world.project.as_uri(), "project")],
            initialization_options=options,
            process_id=os.getpid(),
        )
    )


def _converter() -> Any:
    from pygls.protocol import default_converter

    return default_converter()


@asynccontextmanager
async def opted_in_editor(world: World, *, start: bool = True, saves: bool = False) -> AsyncIterator[OptedInEditor]:
    editor = OptedInEditor(world)
    editor.updates, editor.oracle = [], Oracle.load()
    capabilities = {"_meta": {"north": {"saveFiles": True}}} if saves else {}
    await _start(editor, {"north": {"acp": True, "clientCapabilities": capabilities}})
    try:
        if start:
            answer = await editor.call("session/new", {"cwd": str(world.project), "mcpServers": []})
            editor.conversation = answer["sessionId"]
        yield editor
    finally:
        await _stop(editor)


@asynccontextmanager
async def plain_editor(world: World, *, start: bool = True, saves: bool = False) -> AsyncIterator[PlainEditor]:
    editor = PlainEditor(world)
    await _start(editor, {"north": {"saveFiles": True}} if saves else {})
    try:
        yield editor
    finally:
        await _stop(editor)


async def _stop(editor: LspEditor) -> None:
    if not editor.killed:
        await asyncio.wait_for(editor.client.shutdown_session(), PATIENCE)
        await asyncio.wait_for(editor.client.stop(), PATIENCE)
        return
    for future in editor.client.protocol._request_futures.values():  # a question that nobody answers any more
        future.cancel()
    editor.client.protocol._request_futures.clear()
    await asyncio.wait_for(editor.client.stop(), PATIENCE)
