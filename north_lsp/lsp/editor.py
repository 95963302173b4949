"""The Editor port for clients that speak nothing but LSP: message requests, progress and the client's log."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from north_lsp.agent.editor import Choice, CommandDecision, CommandReview, Documents, EditDecision, EditReview
from north_lsp.agent.events import (
    AnswerDelta,
    CallEnded,
    CallPreviewed,
    CallReady,
    CallRunning,
    Event,
    Notice,
    Retrying,
    UserSaid,
)
from north_lsp.display import one_line, visible
from north_lsp.rpc.messages import RpcError
from north_lsp.rpc.peer import Peer
from north_lsp.workspace.diff import unified
from north_lsp.workspace.proposal import FileChange

_ERROR, _WARNING, _INFO, _LOG = 1, 2, 3, 4
_LEVELS = {"error": _ERROR, "warning": _WARNING, "info": _INFO}
_EDIT_ACTIONS = {"Accept": "accept", "Always accept in this project": "always", "Reject": "reject"}
_COMMAND_ACTIONS = {
    "Run": "run",
    "Always run this command": "always",
    "Always run commands like this": "rule",
    "Run all commands": "all",
    "Deny": "deny",
}
_REMEMBERED = ("always", "rule", "all")


class PlainEditor:
    """One session's surface for a client without the chat. `token` is the progress of the command that runs, if any."""

    def __init__(self, peer: Peer, documents: Documents) -> None:
        self._peer = peer
        self._documents = documents
        self._answer: list[str] = []
        self.token: str | int | None = None

    def take_answer(self) -> str:
        """The answer's text since the last time."""
        text = "".join(self._answer).strip()
        self._answer.clear()
        return text

    async def show(self, event: Event) -> None:
        match event:
            case AnswerDelta(_, text):
                self._answer.append(visible(text.replace("\r", "")))
            case CallReady(_, title):
                self._answer.append("\n\n")
                await self._progress(title)
            case CallPreviewed(_, _, note) if note:
                await self._progress(note)
            case CallRunning(_, output) if output:
                await self._progress(output.rsplit("\n", 1)[-1])
            case CallEnded(_, title, ok, text):
                mark = "done" if ok else "failed"
                await self._log(f"{title} - {mark}" + (f"\n{text}" if text else ""))
            case Notice(level, text):
                await self._peer.notify("window/showMessage", {"type": _LEVELS[level], "message": visible(text)})
            case Retrying(_, attempt, of, remaining, message, "waiting"):
                await self._progress(f"Trying again in {remaining} s ({attempt} of {of}): {one_line(message)}")
            case UserSaid(_, text):
                self._answer.append(f"\n\n> {visible(text)}\n\n")
            case _:
                pass

    async def _log(self, text: str) -> None:
        await self._peer.notify("window/logMessage", {"type": _LOG, "message": text})

    async def _progress(self, message: str) -> None:
        if self.token is not None:
            value = {"kind": "report", "message": message}
            await self._peer.notify("$/progress", {"token": self.token, "value": value})

    async def review_edit(self, review: EditReview) -> EditDecision:
        diffs = "\n".join(unified(change) for change in review.proposal.files)
        parts = [review.title, *review.warnings, *review.proposal.notices, diffs]
        match await self._ask("\n\n".join(parts), _EDIT_ACTIONS, review.may_remember):
            case "accept" | "always" as kind:
                return EditDecision(kind)
            case _:
                return EditDecision("reject")

    async def review_command(self, review: CommandReview) -> CommandDecision:
        command = review.command
        parts = [f"Run this command in {command.cwd}?", command.command]
        parts += [command.description] if command.description else []
        limit = "in the background" if command.background else f"at most {command.timeout:g} s"
        parts.append(f"Unattended, {limit}.")
        parts += [review.held] if review.held else []
        parts += [f"This command {warning}." for warning in review.warnings]
        parts += [f"Not allowed by what you allowed before: {reason}." for reason in review.reasons]
        actions = _COMMAND_ACTIONS
        if review.rule:
            parts.append(f'"Always run commands like this" would allow {review.rule}.')
        else:
            actions = {title: kind for title, kind in actions.items() if kind != "rule"}
        match await self._ask("\n\n".join(parts), actions, review.may_remember):
            case "run" | "always" | "rule" | "all" as kind:
                return CommandDecision(kind)
            case _:
                return CommandDecision("deny")

    async def choose(self, choice: Choice) -> str | None:
        return await self._ask(choice.question, {name: id for id, name in choice.options}, may_remember=True)

    async def open_terminal(self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> None:
        return None

    async def _ask(self, message: str, actions: dict[str, str], may_remember: bool) -> str | None:
        """The action chosen among those offered; None for a closed question."""
        offered = {title: kind for title, kind in actions.items() if may_remember or kind not in _REMEMBERED}
        params: dict[str, Any] = {
            "type": _INFO,
            "message": visible(message),
            "actions": [{"title": title} for title in offered],
        }
        try:
            answer = await self._peer.request("window/showMessageRequest", params, cancellable=True)
        except RpcError:
            return None
        return offered.get(str(answer.get("title"))) if isinstance(answer, dict) else None

    async def unsaved_texts(self) -> Mapping[Path, str]:
        return await self._documents.unsaved_texts()

    async def read_unsaved(self, path: Path) -> str | None:
        return await self._documents.read_unsaved(path)

    async def claims(self, changes: Sequence[FileChange]) -> Sequence[FileChange]:
        return await self._documents.claims(changes)

    async def apply(self, changes: Sequence[FileChange]) -> None:
        await self._documents.apply(changes)
