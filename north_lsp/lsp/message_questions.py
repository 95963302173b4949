"""Questions to the user: by a message with actions, and by whatever else in the editor gives an answer meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

import anyio

from north_lsp.display import visible
from north_lsp.lazy_dataclass import dataclass
from north_lsp.rpc.messages import METHOD_NOT_FOUND, RpcError
from north_lsp.rpc.peer import Peer

_MOST_LINES, _MOST_CHARACTERS = 15, 1000
"""What is longer may be cut off where an editor shows messages."""
_WHOLE = "The full question is also in the chat."


@dataclass(eq=False)
class Question:
    """A question that waits. `actions` are the titles of the answers, with what each means; `noted` is the text under
    which it was written into a document, empty where it is asked by a message."""

    id: str
    actions: Mapping[str, str]
    noted: str = ""
    chosen: str | None = None
    done: anyio.Event = field(default_factory=anyio.Event)

    def answer(self, title: str) -> bool:
        """Choose an answer by its title. Returns whether it is one, and the question still waited."""
        if title not in self.actions or self.done.is_set():
            return False
        self.chosen = self.actions[title]
        self.done.set()
        return True


async def _nothing() -> None:
    pass


class MessageQuestions:
    """The questions of one client. `note` writes a question whole where the user can read and answer it, for clients
    without such messages and for long questions, and tells whether there is such a place; `on_change` is awaited when
    another one waits."""

    def __init__(self, peer: Peer, note: Callable[[str], bool]) -> None:
        self._peer = peer
        self._note = note
        self._count = 0
        self._open: list[Question] = []
        self.on_change: Callable[[], Awaitable[None]] = _nothing

    @property
    def waiting(self) -> Question | None:
        """The newest question that waits for an answer, if there is one."""
        return self._open[-1] if self._open else None

    async def ask(self, message: str, actions: Mapping[str, str], level: int, *, is_beside: bool = False) -> str | None:
        """Ask; returns what the chosen action means, None if the question was closed. `is_beside`: what it is about is
        open whole in a document of its own. Raises RpcError."""
        self._count += 1
        question = Question(f"question-{self._count}", actions)
        failed: list[RpcError] = []
        whole = f"**North asks:**\n\n{visible(message)}"
        if not is_beside and _is_long(message) and self._note(whole):
            question.noted, message = whole, f"{_WHOLE}\n\n{message}"

        async def by_message() -> None:
            try:
                question.chosen = question.chosen or await self._by_message(message, actions, level)
            except RpcError as error:
                is_noted = question.noted != ""
                question.noted = whole
                if error.code == METHOD_NOT_FOUND and (is_noted or self._note(whole)):
                    return  # it is answered in the document
                failed.append(error)
            question.done.set()

        self._open.append(question)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(by_message)
                await self.on_change()
                await question.done.wait()
                tasks.cancel_scope.cancel()
        finally:
            self._open.remove(question)
            with anyio.CancelScope(shield=True):
                await self.on_change()
        if failed:
            raise failed[0]
        return question.chosen

    async def _by_message(self, message: str, actions: Mapping[str, str], level: int) -> str | None:
        params: dict[str, Any] = {
            "type": level,
            "message": visible(message),
            "actions": [{"title": title} for title in actions],
        }
        answer = await self._peer.request("window/showMessageRequest", params, cancellable=True)
        return actions.get(str(answer.get("title"))) if isinstance(answer, dict) else None


def _is_long(message: str) -> bool:
    return message.count("\n") >= _MOST_LINES or len(message) > _MOST_CHARACTERS
