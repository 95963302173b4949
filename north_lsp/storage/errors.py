"""What can be wrong with a conversation as such."""

from north_lsp.storage.locks import LockHeld


class UnknownConversation(KeyError):
    """There is no log of that id."""

    def __str__(self) -> str:
        return f"there is no conversation {self.args[0]!r}"


class ConversationBusy(Exception):
    """Another living process writes this conversation; `pid` is None if it cannot be told."""

    def __init__(self, holder: LockHeld) -> None:
        super().__init__(
            f"this conversation is open in another North ({holder}): close it there, and it goes on here with the next "
            "prompt; or begin a new one"
        )
        self.pid = holder.pid


class ConversationClosed(Exception):
    """Something was to be written after the end."""

    def __init__(self) -> None:
        super().__init__("this conversation has been closed: load it again to go on with it")
