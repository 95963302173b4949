"""Prompts of code actions in clients that show a chat themselves: they go to the client's own conversation, as if the
user had written them there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count

import anyio

from north_lsp.agent.log.prompt import Part
from north_lsp.agent.ports.events import UserSaid
from north_lsp.agent.session.session import Session
from north_lsp.agent.turn.failure import ModelFailed
from north_lsp.background import Background
from north_lsp.providers.credentials import MissingCredential
from north_lsp.rpc.messages import INVALID_REQUEST, RpcError

_NUMBERS = count(1)


class OwnChat:
    """`sessions` returns the client's open conversations, the last opened one last; `tell` shows an error."""

    def __init__(
        self,
        sessions: Callable[[], Sequence[Session]],
        background: Background,
        tell: Callable[[str], Awaitable[None]],
    ) -> None:
        self._sessions = sessions
        self._background = background
        self._tell = tell

    def last(self) -> Session | None:
        """Return the conversation that was opened last, if one is open."""
        return next(iter(reversed(self._sessions())), None)

    def send(self, parts: tuple[Part, ...], title: str) -> object:
        """Send a prompt: → `{conversationId}`. Raises RpcError if no conversation is open."""
        session = self.last()
        if session is None:
            raise RpcError(INVALID_REQUEST, "no conversation is open: open North's chat first")
        self._background.start_soon(self._run, session, parts, title)
        return {"conversationId": session.id}

    async def _run(self, session: Session, parts: tuple[Part, ...], title: str) -> None:
        try:
            if session.is_busy:
                with suppress(ValueError):  # the turn has just ended
                    await session.intake.follow_up(parts)
                    return
            await session.show(UserSaid(f"action-{next(_NUMBERS)}", title))
            await session.intake.prompt(parts, anyio.CancelScope())
        except (MissingCredential, ValueError) as error:
            await self._tell(str(error))
        except ModelFailed:
            pass  # the conversation says so
