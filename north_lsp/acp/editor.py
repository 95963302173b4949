"""The Editor port in ACP's words: updates, permission requests, and the client's files where it offers them."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp.acp import happenings, questions, v1
from north_lsp.acp.groups import ReadGroups
from north_lsp.acp.initialize import Client
from north_lsp.acp.terminals import ClientTerminal
from north_lsp.agent.editor import (
    NOBODY,
    Choice,
    CommandDecision,
    CommandReview,
    Documents,
    EditDecision,
    EditReview,
    unasked_command,
)
from north_lsp.agent.events import ApprovalsChanged, Event, ModeChanged, ModelChanged
from north_lsp.errors import ToolError
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.proposal import FileChange, TextForm
from north_lsp.workspace.text import read_text, to_newlines

FILE_SECONDS = 2.0
_WRITE_SECONDS = 10.0


class AcpEditor:
    """One session's surface over ACP; texts come from `documents`, which differ by carrier."""

    def __init__(
        self,
        peer: Peer,
        session_id: str,
        client: Client,
        documents: Documents,
        options: Callable[[], list[dict[str, Any]]],
        numbers: Iterator[int] | None = None,
    ) -> None:
        self._peer = peer
        self._session_id = session_id
        self._client = client
        self._documents = documents
        self._options = options
        self._groups = ReadGroups()
        self._numbers = numbers if numbers is not None else itertools.count(1)

    async def show(self, event: Event) -> None:
        options = self._options() if isinstance(event, ModeChanged | ModelChanged | ApprovalsChanged) else []
        for update in self._groups.mark(event, v1.updates(event, self._client, options)):
            params: dict[str, Any] = {"sessionId": self._session_id, "update": update}
            if self._client.hears_events:
                params["_meta"] = {"north": self._stamp()}
            await self._peer.notify("session/update", params)
        if self._client.hears_events:
            for name, fields in happenings.named(event):
                if name == "attention" and not self._client.wants_attention:
                    continue
                params = {"sessionId": self._session_id, **self._stamp(), "event": name, **fields}
                await self._peer.notify("_north/event", params)

    def _stamp(self) -> dict[str, Any]:
        """One number after the other for everything that a session tells, and when it happened (ms since 1970)."""
        return {"seq": next(self._numbers), "timestamp": round(time.time() * 1000)}

    async def review_edit(self, review: EditReview) -> EditDecision:
        if not self._client.has_ui:
            return EditDecision("reject", NOBODY)
        params = questions.edit_permission(self._session_id, review, self._client)
        chosen, answer = await self._ask(params)
        return questions.edit_decision(answer, chosen, review)

    async def review_command(self, review: CommandReview) -> CommandDecision:
        if not self._client.has_ui:
            return unasked_command(review)
        chosen, answer = await self._ask(questions.command_permission(self._session_id, review, self._client))
        return questions.command_decision(answer, chosen)

    async def choose(self, choice: Choice) -> str | None:
        if not self._client.has_ui:
            return None
        chosen, _ = await self._ask(questions.choice_permission(self._session_id, choice))
        return None if chosen == "stop" else chosen

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> ClientTerminal | None:
        if not self._client.has_terminals:
            return None
        return await ClientTerminal.create(self._peer, self._session_id, argv, cwd, environ)

    async def _ask(self, params: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
        """The option chosen among those offered ("stop" for a cancelled question, None for anything else), and the
        whole answer."""
        try:
            answer = await self._peer.request("session/request_permission", params, cancellable=True)
        except RpcError:
            return None, {}
        if not isinstance(answer, dict):
            return None, {}
        outcome = answer.get("outcome")
        if not isinstance(outcome, dict):
            return None, answer
        if outcome.get("outcome") == "cancelled":
            return "stop", answer
        chosen = outcome.get("optionId")
        offered = [option["optionId"] for option in params["options"]]
        return (chosen if outcome.get("outcome") == "selected" and chosen in offered else None), answer

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._documents.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        return await self._documents.read_unsaved(path)

    async def claims(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.claims(changes)

    async def apply(self, changes: Sequence[FileChange]) -> None:
        await self._documents.apply(changes)


class ClientFiles:
    """The client's texts through `fs/*`, as far as it announced them; it is waited for `seconds`."""

    def __init__(self, peer: Peer, session_id: str, client: Client, seconds: float = FILE_SECONDS) -> None:
        self._peer = peer
        self._session_id = session_id
        self._client = client
        self._known: set[Path] = set()
        self._seconds = seconds

    async def unsaved_texts(self) -> Mapping[Path, str]:
        """ACP does not tell which files are open: the ones that this session has touched stand in for them."""
        found: dict[Path, str] = {}

        async def read(path: Path) -> None:
            if (text := await self.read_unsaved(path)) is not None:
                found[path] = text

        async with anyio.create_task_group() as tasks:
            for path in list(self._known):
                tasks.start_soon(read, path)
        return found

    async def read_unsaved(self, path: Path) -> str | None:
        """The client's text; None if it offers none, has none, or does not answer in time."""
        if not self._client.reads_files:
            return None
        params = {"sessionId": self._session_id, "path": str(path)}
        answer = None
        with anyio.move_on_after(self._seconds):
            try:
                answer = await self._peer.request("fs/read_text_file", params, cancellable=True)
            except RpcError:
                return None
        content = answer.get("content") if isinstance(answer, dict) else None
        if not isinstance(content, str):
            return None
        self._known.add(path)
        return content

    async def claims(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        """Changes of plain texts: `fs/write_text_file` knows neither other encodings nor modes; the disk keeps both."""
        if not self._client.writes_files:
            return ()
        plain = TextForm()
        return [
            change
            for change in changes
            if change.action == "update" and change.form == plain and not (change.binary or change.is_reformed)
        ]

    async def apply(self, changes: Sequence[FileChange]) -> None:
        """One file after the other; when one fails, those before it get their old texts again."""
        written: list[FileChange] = []
        try:
            for change in changes:
                await anyio.to_thread.run_sync(_check_disk, change)
                written.append(change)
                await self._write(change, change.new_text)
                await self._verify(change)
        except ToolError:
            with anyio.CancelScope(shield=True):
                for change in reversed(written):
                    await self._put_back(change)
            raise

    async def _write(self, change: FileChange, text: str) -> None:
        params = {"sessionId": self._session_id, "path": str(change.path), "content": text}
        try:
            with anyio.fail_after(_WRITE_SECONDS):
                await self._peer.request("fs/write_text_file", params)
        except RpcError as error:
            raise ToolError(
                "UNAVAILABLE", f"the editor did not write {change.relative}: {error}", "read it again"
            ) from None
        except TimeoutError:
            raise ToolError("IO_ERROR", f"the editor did not confirm {change.relative}", "read it again") from None

    async def _put_back(self, change: FileChange) -> None:
        if change.old_text is None or await self._current(change) != to_newlines(change.new_text, "\n"):
            return
        with contextlib.suppress(ToolError):
            await self._write(change, change.old_text)

    async def _current(self, change: FileChange) -> str | None:
        """What stands there now; line ends are the client's own business."""
        current = await self.read_unsaved(change.path)
        if current is None:
            try:
                current = await anyio.Path(change.path).read_text("utf-8", "replace")
            except OSError:
                return None
        return to_newlines(current, "\n")

    async def _verify(self, change: FileChange) -> None:
        """Read back what stands there now."""
        if await self._current(change) != to_newlines(change.new_text, "\n"):
            raise ToolError(
                "IO_ERROR",
                f"the editor's text of {change.relative} is not the accepted one",
                "read the file again before going on",
            )


def _check_disk(change: FileChange) -> None:
    """A client that writes a text writes over the disk: what came there meanwhile would be lost, if the client has not
    seen it. Raises ToolError STALE."""
    if change.disk_tag is None:
        return
    try:
        now = read_text(change.path).tag
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return
        raise
    if now != change.disk_tag:
        raise ToolError(
            "STALE",
            f"{change.relative} was changed on the disk while the editor shows another text; nothing was written",
            "ask the user to save or to reload the file in the editor, then read it again",
        )
