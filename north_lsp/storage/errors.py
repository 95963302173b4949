"""What can be wrong with a conversation as such."""

from north_lsp.storage.locks import LockHeld


class UnknownConversation(KeyError):
    """There is no log of that id."""

    def __str__(self) -> str:
        return f"there is no conversation {self.args[0]!r}"


class ConversationBusy(Exception):
    """Another living process writes this conversation; `pid` is None if it cannot be told."""

    def __init__(self, holder: LockHeld) -> None:
        super().__init__(f"this conversation is open for writing in another editor ({holder})")
        self.pid = holder.pid
