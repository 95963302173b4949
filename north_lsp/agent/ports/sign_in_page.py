"""The page on which a user signs in, as their editor shows it."""

from __future__ import annotations

from north_lsp.agent.ports.editor import UserInterface
from north_lsp.agent.ports.events import Notice
from north_lsp.agent.ports.forms import Page
from north_lsp.storage.entries import new_entry_id


class SignInPage:
    """The page of one sign-in; `kind` begins its id."""

    def __init__(self, editor: UserInterface, kind: str) -> None:
        self._editor = editor
        self._kind = kind
        self._page: Page | None = None

    async def show(self, what: str, address: str) -> bool:
        """Have the user open it, or tell them its address where an editor opens none. Returns False if they refuse."""
        self._page = Page(f"{self._kind}-{new_entry_id(())}", f"Sign in to {what}", address)
        answer = await self._editor.open_page(self._page)
        if answer is None:
            text = f"to sign in to {what}, open this address in a browser on this machine: {address}"
            await self._editor.show(Notice("info", text))
        return answer is None or answer.kind == "accepted"

    async def done(self) -> None:
        """Say that the user has signed in."""
        if self._page is not None:
            await self._editor.page_done(self._page)
