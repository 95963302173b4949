"""The settings of what is remembered of conversations."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class MemorySettings:
    """Whether anything is remembered, of which conversations, and how much of it models are told."""

    enabled: bool = setting(
        "memories.enabled",
        False,
        "Remember what lasts of the conversations of each project (decisions, constraints, recurring work): a model "
        "reads those that have ended, and later prompts are told a summary. It costs requests.",
        strict=False,
        project="stricter",
    )
    max_age_days: int = setting(
        "memories.maxRolloutAgeDays", 30, "Conversations older than this are not read.", low=1, high=3650
    )
    min_idle_hours: float = setting(
        "memories.minRolloutIdleHours", 12.0, "How long nothing has happened in a conversation before it is read."
    )
    max_conversations: int = setting(
        "memories.maxRolloutsPerStartup", 64, "How many conversations are read in one go.", low=1, high=1000
    )
    summary_tokens: int = setting(
        "memories.summaryInjectionTokenLimit",
        5_000,
        "How many tokens of the summary models are told; 0 tells them nothing.",
        high=100_000,
    )
