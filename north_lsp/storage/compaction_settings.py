"""The settings of what happens when a conversation fills its model's window."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class CompactionSettings:
    """When conversations are summarized, by whom, and how much of them stays as it is."""

    enabled: bool = setting(
        "compaction.enabled",
        True,
        "Summarize the older part of a conversation when it has nearly filled the model's context window; what is "
        "replaced stays in the conversation's log. With `false`, only `/compact` does.",
        project="yes",
    )
    reserve_tokens: int = setting(
        "compaction.reserveTokens",
        16_384,
        "How many tokens of the context window are left free, at most a quarter of it: a conversation that needs them "
        "is summarized.",
        high=1_000_000,
        project="yes",
    )
    keep_recent_tokens: int = setting(
        "compaction.keepRecentTokens",
        20_000,
        "How many tokens of the newest messages a summary leaves as they are, at most 30 % of the context window.",
        high=1_000_000,
        project="yes",
    )
    model: str | None = setting(
        "compaction.model",
        None,
        "A selector of the model that writes summaries; without it, the model that answers does, else those of the "
        "roles `fast` and `default`.",
    )
