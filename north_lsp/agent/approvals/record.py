"""What both kinds of review do with an answer: keep it in the log, and remember it where the user said "always"."""

from collections.abc import Callable

import anyio.to_thread

from north_lsp.agent.ports.events import ApprovalsChanged, Notice
from north_lsp.agent.turn_state import TurnState


async def remember(state: TurnState, store: Callable[[], None]) -> None:
    """Keep an "always"; say so if it cannot be kept."""
    await anyio.to_thread.run_sync(store)
    if (error := state.approvals.write_error) is not None:
        text = f"this answer could not be stored and holds for this conversation only: {error.strerror}"
        await state.editor.show(Notice("warning", text))
    await state.editor.show(ApprovalsChanged())


def record(state: TurnState, entry_id: str, status: str, comment: str | None, **more: object) -> None:
    """Write a review's outcome to the log."""
    decision = {"kind": status} | ({"comment": comment} if comment else {}) | more
    state.conversation.annotate("entry_updated", targetId=entry_id, patch={"status": status, "decision": decision})
