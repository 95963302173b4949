"""The settings of the agents that a model has work done by."""

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class TaskSettings:
    """What agents may use."""

    enabled: bool = setting(
        "task.enabled", True, "Offer models the tool `task`, with which they have agents work.", project="yes"
    )
    max_concurrency: int = setting(
        "task.maxConcurrency", 4, "How many agents of a conversation work at once; others wait.", low=1, high=16
    )
    max_recursion_depth: int = setting(
        "task.maxRecursionDepth",
        2,
        "How deep agents may use agents of their own: at this depth none does; 0 disables the tool `task`.",
        high=5,
    )
    max_requests: int = setting(
        "task.maxRequests", 60, "How many requests to its model an agent may make for one task.", low=1, high=1000
    )
    timeout_s: int = setting(
        "task.timeoutS", 1800, "How many seconds an agent may work on one task.", low=1, high=24 * 3600
    )
