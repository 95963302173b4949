"""The errors of conversations as a whole."""

from __future__ import annotations

from north_lsp.storage.locks import LockHeld


class UnknownConversation(KeyError):
    """There is no log with that id."""

    def __str__(self) -> str:
        return f"there is no conversation {self.args[0]!r}"


class ConversationBusy(Exception):
    """Another running process writes this conversation; `pid` is None if it is unknown."""

    def __init__(self, holder: LockHeld) -> None:
        super().__init__(
            f"this conversation is open in another North ({holder}): take it over, or close it there to continue it "
            "here with the next prompt, or start a new one"
        )
        self.pid = holder.pid


class ConversationClosed(Exception):
    """The conversation was closed; nothing can be written to it any more."""

    def __init__(self) -> None:
        super().__init__("this conversation has been closed: load it again to continue it")
