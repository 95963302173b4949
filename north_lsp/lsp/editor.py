"""The Editor port for clients that speak only LSP: message requests, progress and the client's log."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread

from north_lsp import systems
from north_lsp.agent.edits.review_folder import make_review_folder
from north_lsp.agent.edits.unsaved import unsaved_for_model
from north_lsp.agent.ports.editor import (
    NOBODY,
    Choice,
    CommandDecision,
    CommandReview,
    Decided,
    EditDecision,
    EditReview,
    OpenTexts,
    decide_without_asking,
)
from north_lsp.agent.ports.events import (
    AnswerDelta,
    CallEnded,
    CallPreviewed,
    CallReady,
    CallRunning,
    ConversationCopied,
    ConversationWanted,
    DocumentWanted,
    Event,
    Notice,
    RetryWaiting,
    TasksChanged,
    TurnEnded,
    TurnStarted,
    UsageChanged,
    UserSaid,
)
from north_lsp.agent.ports.forms import Form, Page
from north_lsp.display import one_line, sentence, visible
from north_lsp.lsp.broken_code import BrokenCode
from north_lsp.lsp.chat_document import ChatDocument
from north_lsp.lsp.confirming import EditorConfirmation
from north_lsp.lsp.edit_review import EditReviews, show
from north_lsp.lsp.initialize import LspClient
from north_lsp.lsp.marks import Marks
from north_lsp.lsp.message_questions import MessageQuestions
from north_lsp.lsp.progress import Progress
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.proposal import FileChange

_ERROR, _WARNING, _INFO, _LOG = 1, 2, 3, 4
_LEVELS = {"error": _ERROR, "warning": _WARNING, "info": _INFO}
# Refusing comes first: some editors take the first action when the question is just confirmed.
_COMMAND_ACTIONS = {
    "Deny": "deny",
    "Run": "run",
    "Always run this command": "always",
    "Always run commands like this": "rule",
    "Run every command without asking": "all",
}
_SHORT = 200
_TAIL = 60
_REMEMBERED = ("always", "rule", "all")


class PlainEditor:
    """One session's editor for a client without the chat. `document` is where the answer under way is written, too, if
    anywhere; `broken` looks at what edits made of code."""

    def __init__(self, peer: Peer, documents: OpenTexts, client: LspClient, progress: Progress) -> None:
        self._peer = peer
        self._client = client
        self._documents = documents
        self._progress = progress
        self._answer: list[str] = []
        self._usage: UsageChanged | None = None
        self._wanted: list[Event] = []
        self._runs = False
        self.document: ChatDocument | None = None
        self.marks = Marks(peer, is_shown=client.takes_diagnostics)
        self.broken: BrokenCode | None = None
        self.confirmation: EditorConfirmation | None = None
        self.questions = MessageQuestions(peer, self._note)
        self.reviews = EditReviews(peer, documents, client, self._ask_or_unable, self.marks)

    def take_answer(self) -> str:
        """Return the text of the answer since the last call, and clear it."""
        text = "".join(self._answer).strip()
        self._answer.clear()
        return text

    def take_wanted(self) -> list[Event]:
        """Return which conversation the user wants to see, and forget it."""
        wanted, self._wanted = self._wanted, []
        return wanted

    def _note(self, text: str) -> bool:
        """Write what North says into the document. Returns whether there is one."""
        if self.document is not None:
            self.document.note(text)
        return self.document is not None

    async def show(self, event: Event) -> None:
        if self.document is not None:
            self.document.show(event)
        match event:
            case AnswerDelta(_, text):
                self._answer.append(visible(text.replace("\r", "")))
            case CallReady(_, title):
                self._answer.append("\n\n")
                await self._progress.report(title)
            case CallPreviewed(_, _, note) if note:
                await self._progress.report(note)
            case CallRunning(_, output) if output:
                await self._progress.report(output.rsplit("\n", 1)[-1])
            case TasksChanged(_, tasks, is_over) if not is_over:
                await self._progress.report(
                    one_line("; ".join(f"{row.agent}: {row.action or row.state}" for row in tasks))
                )
            case TurnStarted():
                self._runs = True
            case CallEnded(_, title, ok, text, files):
                if ok and files and self._runs and self.broken is not None:
                    await self.broken.applied(files)
                mark = "done" if ok else "failed"
                await self._log(f"{title} - {mark}" + (f"\n{text}" if text else ""))
            case Notice(level, text):
                await self._peer.notify(
                    "window/showMessage", {"type": _LEVELS[level], "message": sentence(visible(text))}
                )
            case RetryWaiting(_, attempt, of, remaining, message, "waiting"):
                await self._progress.report(f"Trying again in {remaining} s ({attempt} of {of}): {one_line(message)}")
            case UsageChanged():
                self._usage = event
            case TurnEnded():
                self._runs = False
                if self._usage is not None:
                    await self._log(_used(self._usage))
                    self._usage = None
            case DocumentWanted(path):
                await show(self._peer, self._client, path)
            case UserSaid(_, text, images):
                shown = " ".join([*([visible(text)] if text else []), *("[picture]" for _ in images)])
                self._answer.append(f"\n\n> {shown}\n\n")
            case ConversationWanted() | ConversationCopied():
                self._wanted = [event]
            case _:
                pass

    async def _log(self, text: str) -> None:
        await self._peer.notify("window/logMessage", {"type": _LOG, "message": text})

    async def review_edit(self, review: EditReview) -> EditDecision:
        if not self._client.has_ui:
            return EditDecision("reject", NOBODY)
        decision = await self.confirmation.decide(review) if self.confirmation is not None else None
        return decision if decision is not None else await self.reviews.decide(review)

    async def review_command(self, review: CommandReview) -> CommandDecision:
        if not self._client.has_ui:
            return decide_without_asking(review)
        command = review.command
        # Indented, so that no line looks like a sentence of North's.
        lines = "\n".join(f"    {line}" for line in command.command.split("\n"))
        parts = [_heading(command.command, command.cwd), lines]
        parts += [command.description] if command.description else []
        limit = "in the background" if command.background else f"at most {command.timeout:g} s"
        parts.append(f"Unattended, {limit}.")
        parts += [f"Asked for by the agent {review.asker}."] if review.asker else []
        parts += [review.held] if review.held else []
        parts += [f"This command {warning}." for warning in review.warnings]
        parts += [f"{unsaved_for_model(review.unsaved, 'The command reads')}."] if review.unsaved else []
        parts += [f"Your earlier approvals do not cover this: {reason}." for reason in review.reasons]
        actions = _COMMAND_ACTIONS
        if review.rule:
            parts.append(f'"Always run commands like this" saves this rule: {review.rule}.')
        else:
            actions = {title: kind for title, kind in actions.items() if kind != "rule"}
        if not review.may_remember_text:
            actions = {title: kind for title, kind in actions.items() if kind != "always"}
        level = _WARNING if review.warnings else _INFO
        async with self._beside(command.command) as shown:
            parts += [f"The whole command is open next to this in {shown.name}."] if shown else []
            asking = self._ask("\n\n".join(parts), actions, review.may_remember, level, is_beside=shown is not None)
            match await asking:
                case "run" | "always" | "rule" | "all" as kind:
                    return CommandDecision(kind)
                case _:
                    return CommandDecision("deny")

    @asynccontextmanager
    async def _beside(self, command: str) -> AsyncIterator[Path | None]:
        """Show a long command in a read-only document while the user is asked about it, since a question may show only
        its first line. Yields None for a short command, and if the client cannot show documents."""
        if not _is_long(command) or not self._client.shows_documents:
            yield None
            return
        folder = make_review_folder()
        path = folder / "command.sh"
        try:
            _write_read_only(path, visible(command))
            yield path if await show(self._peer, self._client, path) else None
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(shutil.rmtree, folder, ignore_errors=True))

    @property
    def has_user(self) -> bool:
        return self._client.has_ui

    async def decide(self, choice: Choice) -> Decided:
        return Decided(await self.choose(choice))

    async def choose(self, choice: Choice) -> str | None:
        if not self._client.has_ui:
            return None
        refuses_first = [choice.options[-1], *choice.options[:-1]]
        question = f"{choice.question}\n\n{choice.detail}" if choice.detail else choice.question
        return await self._ask(question, {name: id for id, name in refuses_first}, may_remember=True)

    async def fill(self, form: Form) -> None:
        """LSP has no forms."""

    async def open_page(self, page: Page) -> None:
        """LSP does not say what the user did with a page."""

    async def page_done(self, page: Page) -> None:
        """No page was opened."""

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
        return None

    async def _ask(
        self,
        message: str,
        actions: dict[str, str],
        may_remember: bool,
        level: int = _INFO,
        *,
        is_beside: bool = False,
    ) -> str | None:
        """Ask a question. Returns the kind of the chosen action; None if the question was closed or the client cannot
        ask it."""
        try:
            return await self.questions.ask(message, _offered(actions, may_remember), level, is_beside=is_beside)
        except RpcError:
            return None

    async def _ask_or_unable(self, message: str, actions: dict[str, str], may_remember: bool) -> str | None:
        """Ask like `_ask`, but return "unable" if the client has no such questions."""
        try:
            return await self.questions.ask(message, _offered(actions, may_remember), _INFO)
        except RpcError as error:
            return "unable" if error.code == METHOD_NOT_FOUND else None

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._documents.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        return await self._documents.read_unsaved(path)

    async def changes_owned_by_editor(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.changes_owned_by_editor(changes)

    async def apply(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.apply(changes)

    async def learn_of_disk(self, changes: Sequence[FileChange]) -> None:
        await self._documents.learn_of_disk(changes)


def _heading(command: str, cwd: Path | None) -> str:
    """Say first how long a long command is and how it ends: editors may cut off what follows."""
    if not _is_long(command):
        return f"Run this command in {cwd}?"
    end = visible(" ".join(command[-_TAIL:].split()))
    return f"Run this command of {len(command):,} characters in {cwd}? It ends with: …{end}"


def _is_long(command: str) -> bool:
    return "\n" in command.strip() or len(command) > _SHORT


def _offered(actions: dict[str, str], may_remember: bool) -> dict[str, str]:
    return {title: kind for title, kind in actions.items() if may_remember or kind not in _REMEMBERED}


def _used(usage: UsageChanged) -> str:
    """Say what the conversation has used."""
    about = "about " if usage.estimated else ""
    cost = f", ${usage.cost_usd:.4f}" if usage.priced else ""
    window = f"; {usage.used:,} of {usage.window:,} in the context window" if usage.window else ""
    return f"this conversation has used {about}{usage.tokens:,} tokens{cost}{window}"


def _write_read_only(path: Path, text: str) -> None:
    with os.fdopen(systems.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "w", encoding="utf-8") as file:
        file.write(text + "\n")
