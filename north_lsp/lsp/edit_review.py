"""Asks about an edit in a client without the chat: by a message, a document next to it, lenses, actions and commands.

They all decide the same pending review; the first that decides it closes the others.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.edits.review_folder import make_review_folder
from north_lsp.agent.ports.editor import EditDecision, EditReview, OpenTexts
from north_lsp.display import fenced, visible
from north_lsp.lsp import code_lenses
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.marks import Marks
from north_lsp.lsp.pending_review import Kind, PendingReview
from north_lsp.lsp.review_document import ReviewProblem, Unit
from north_lsp.rpc.messages import INVALID_REQUEST, RESOURCE_NOT_FOUND, RpcError, invalid_params
from north_lsp.rpc.peer import Peer
from north_lsp.uris import local_path
from north_lsp.workspace.edit.diff import unified
from north_lsp.workspace.proposal import FileChange

NAME = "north-review.diff"
_MAX_DOCUMENT = 50_000_000
_SUMMED_UP = 8
_WORDS = {"create": "new:", "update": "changed:", "delete": "deleted:", "rename": "moved:"}
_SHOW_SECONDS = 2.0
_REFRESH_SECONDS = 0.1
_LATER = "Decide in the document"
# Refusing comes first: some editors take the first action when the question is just confirmed.
_ACTIONS = {
    "Reject": "reject",
    _LATER: "later",
    "Accept": "accept",
    "Accept this and all later edits in this project": "always",
}

Ask = Callable[[str, dict[str, str], bool], Awaitable[str | None]]


class EditReviews:
    """The edits that wait for a decision: of the conversation, and of agents in the background. `ask` asks a question
    and returns the kind of the chosen action, "unable" if the client has no questions, None if the question was
    closed."""

    def __init__(self, peer: Peer, documents: OpenTexts, client: LspClient, ask: Ask, marks: Marks) -> None:
        self._peer = peer
        self._documents = documents
        self._client = client
        self._ask = ask
        self._marks = marks
        self._all: list[PendingReview] = []

    async def decide(self, review: EditReview) -> EditDecision:
        """Ask about an edit until it is decided; closing the question rejects it."""
        async with self._document(review) as pending:
            self._all.append(pending)
            try:
                shown = await show(self._peer, self._client, pending.path)
                await self._mark(pending)
                await self._refresh()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._question, pending, shown)
                    await pending.done.wait()
                    tasks.cancel_scope.cancel()
            finally:
                self._all.remove(pending)
                with anyio.CancelScope(shield=True):
                    await self._unmark(pending)
                    await self._refresh()
        return pending.decision or EditDecision("reject")

    async def _question(self, pending: PendingReview, shown: bool) -> None:
        review = pending.review
        parts = [review.title, *review.warnings, *review.proposal.notices]
        if shown:
            parts.append(
                f"The diff is open next to this in {pending.path.name}. Before you accept, you can change its + lines, "
                "remove hunks, and write a comment to the model at its top."
            )
            parts.append(_summary(pending))  # some editors cannot show a message that is longer than the screen
        else:
            parts.append(await anyio.to_thread.run_sync(_diff, pending))
        is_decided_elsewhere = self._client.decides_in_documents and (shown or await self._any_open(pending))
        actions = {title: kind for title, kind in _ACTIONS.items() if is_decided_elsewhere or kind != "later"}
        problem: list[str] = []
        while not pending.done.is_set():
            match await self._ask("\n\n".join([*problem, *parts]), actions, review.may_remember):
                case "accept" | "always" as kind:
                    try:
                        await self._finish(pending, kind)
                    except ReviewProblem as error:
                        problem = [f"The edit cannot be accepted as it is: {error}"]
                case "later":
                    return
                case "unable" if is_decided_elsewhere:
                    return
                case _:
                    await self._finish(pending, "reject")

    async def _any_open(self, pending: PendingReview) -> bool:
        return any([await self._documents.read_unsaved(change.path) is not None for change in pending.files])

    async def _finish(self, pending: PendingReview, kind: Kind) -> None:
        """Decide the whole edit and wake up the caller of `decide`. Raises ReviewProblem."""
        text = await self._text(pending)
        await anyio.to_thread.run_sync(pending.decide, kind, text)
        pending.announce()

    async def _text(self, pending: PendingReview) -> str | None:
        """Return the review document as the user has it: from the editor, else as it was saved. An editor may save a
        change before it reports it."""
        text = await self._documents.read_unsaved(pending.path)
        if text is not None and text != await anyio.to_thread.run_sync(pending.text):
            return text
        saved = await anyio.to_thread.run_sync(_saved, pending.path)
        return saved if saved is not None else text

    async def _mark(self, pending: PendingReview) -> None:
        """Have the editor mark the places that the edit would change."""
        for change in pending.files:
            await self._marks.put("proposed", change.path, code_lenses.diagnostics(pending, change.path))

    async def _unmark(self, pending: PendingReview) -> None:
        for path in (change.path for change in pending.files):
            others = (code_lenses.diagnostics(one, path) for one in self._undecided())
            await self._marks.put("proposed", path, next(filter(None, others), []))

    # -- from the editor -----------------------------------------------------------------------------------------------

    def pending(self, given: dict[str, Any]) -> PendingReview:
        """Return the pending review that a command is about. Raises RpcError."""
        id = given.get("reviewId")
        for pending in self._undecided():
            if id is None or id == pending.id:
                return pending
        raise RpcError(RESOURCE_NOT_FOUND, "no such edit is waiting for a decision")

    def _undecided(self) -> Iterator[PendingReview]:
        """Yield the edits that wait, the newest first."""
        return (one for one in reversed(self._all) if not one.done.is_set())

    @property
    def waiting(self) -> PendingReview | None:
        """The newest edit that waits for a decision, if there is one."""
        return next(self._undecided(), None)

    def hover(self, path: Path | None, line: int) -> str | None:
        """Return the change that waits at a line of a file, as Markdown."""
        if path is None:
            return None
        found = (code_lenses.hunk_at(one, Path(os.path.realpath(path)), line) for one in self._undecided())
        text = next((one for one in found if one is not None), None)
        return f"North proposes:\n\n{fenced(visible(text).rstrip(), 'diff')}" if text is not None else None

    async def command(self, given: dict[str, Any], *, accepts: bool) -> dict[str, Any]:
        """Decide the edit, or the part that a command names: `{reviewId?, path?, hunk?, comment?, always?, scope?,
        stop?}` → `{decided}`. Raises RpcError."""
        pending = self.pending(given)
        comment = given.get("comment", given.get("value"))
        if comment is not None and not isinstance(comment, str):
            raise invalid_params("arguments[0].comment", "must be a string")
        noted = list(pending.comments)
        try:
            if not given.keys() & {"path", "uri", "hunk"}:
                kind = _kind(given, pending, accepts=accepts)
                pending.note(comment)
                await self._finish(pending, kind)
            else:
                chosen = _named(given, pending)
                pending.note(comment)
                text = await self._text(pending)
                await anyio.to_thread.run_sync(pending.decide_units, chosen, accepts, text)
                pending.announce()
        except ReviewProblem as error:
            pending.comments[:] = noted  # the next try sends the comment again
            raise RpcError(INVALID_REQUEST, str(error)) from None
        if not pending.done.is_set():
            await self._mark(pending)
            await self._refresh()
        return {"decided": pending.done.is_set()}

    async def lenses(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Answer `textDocument/codeLens`."""
        found = await self._opened(params)
        if found is None:
            return []
        pending, path, text = found
        return await anyio.to_thread.run_sync(code_lenses.lenses, pending, path, text)

    async def actions(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Answer `textDocument/codeAction`."""
        found, range = await self._opened(params), params.get("range") or {}
        context = params.get("context")
        only = context.get("only") if isinstance(context, dict) else None
        if found is None or (isinstance(only, list) and "quickfix" not in only):
            return []
        try:
            first, last = int(range["start"]["line"]), int(range["end"]["line"])
        except (KeyError, TypeError, ValueError):
            raise invalid_params("range", "must be a range") from None
        pending, path, text = found
        return await anyio.to_thread.run_sync(code_lenses.actions, pending, path, text, first, last)

    async def _opened(self, params: dict[str, Any]) -> tuple[PendingReview, Path, str] | None:
        document = params.get("textDocument")
        named = local_path(document.get("uri")) if isinstance(document, dict) else None
        if named is None:
            return None
        path = Path(os.path.realpath(named))
        about = (one for one in self._undecided() if path in (one.path, *(change.path for change in one.files)))
        if (pending := next(about, None)) is None:
            return None
        text = await self._text(pending) if path == pending.path else await self._documents.read_unsaved(path)
        return (pending, path, text) if text is not None else None

    async def _refresh(self) -> None:
        """Make the client request the lenses again."""
        if self._client.refreshes_lenses:
            with contextlib.suppress(RpcError), anyio.move_on_after(_REFRESH_SECONDS):
                await self._peer.request("workspace/codeLens/refresh", None, cancellable=True)

    @asynccontextmanager
    async def _document(self, review: EditReview) -> AsyncIterator[PendingReview]:
        folder = make_review_folder()
        pending = PendingReview(review, folder / NAME)
        try:
            await anyio.to_thread.run_sync(_write, pending)
            yield pending
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))


async def show(peer: Peer, client: LspClient, path: Path) -> bool:
    """Have the client show a document next to a question, without taking the focus. Returns whether it did."""
    if not client.shows_documents:
        return False
    params = {"uri": path.as_uri(), "external": False, "takeFocus": False}
    with contextlib.suppress(RpcError), anyio.move_on_after(_SHOW_SECONDS):
        answer = await peer.request("window/showDocument", params, cancellable=True)
        return isinstance(answer, dict) and answer.get("success") is True
    return False


def _diff(pending: PendingReview) -> str:
    return "\n".join(map(unified, pending.files))


def _summary(pending: PendingReview) -> str:
    """Summarize the edit with one line for each of the first files."""
    lines = [f"{_WORDS[change.action]} {change.shown}" + _lines(change) for change in pending.files[:_SUMMED_UP]]
    more = len(pending.files) - len(lines)
    return "\n".join([*lines, *([f"… and {more} more files"] if more else [])])


def _lines(change: FileChange) -> str:
    return f" (+{change.lines_added}/-{change.lines_removed})" if change.hunks else ""


def _named(given: dict[str, Any], pending: PendingReview) -> list[Unit]:
    """Return the units of the edit that a command names. Raises RpcError."""
    path, hunk = given.get("path"), given.get("hunk")
    named = local_path(given.get("uri")) if path is None else Path(path) if isinstance(path, str) else None
    found: list[Unit] = []
    if named is not None and (hunk is None or isinstance(hunk, str)):
        found = pending.find(Path(os.path.realpath(named)), hunk)
    if not found:
        raise invalid_params("arguments[0]", "must name a file, or a file and a hunk, of this edit")
    return found


def _kind(given: dict[str, Any], pending: PendingReview, *, accepts: bool) -> Kind:
    """Return which decision a command's arguments ask for. Raises RpcError."""
    if not accepts:
        return "stop" if given.get("stop") is True else "reject"
    always, session = given.get("always") is True, given.get("scope") == "session"
    if (always or session) and not pending.review.may_remember:
        raise RpcError(INVALID_REQUEST, "this edit asks every time: accept just this one")
    return "always" if always else "session" if session else "accept"


def _write(pending: PendingReview) -> None:
    descriptor = systems.open_file(pending.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | systems.CLOEXEC, 0o600)
    with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(pending.text())


def _saved(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return file.read(_MAX_DOCUMENT)
    except OSError:
        return None
