"""The settings of rules that watch an answer while it streams."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting


@dataclass(frozen=True)
class StreamRuleSettings:
    """How such rules work."""

    enabled: bool = setting(
        "ttsr.enabled", True, "Watch answers while they stream for what goes against rules with a `condition`."
    )
    built_in: bool = setting(
        "ttsr.builtinRules",
        True,
        "Watch for what models are known to do wrong, too: comments in place of code, conflict markers, servers that "
        "block. `disabledRules` switches off single ones.",
    )
    interrupt_mode: Literal["always", "never"] = setting(
        "ttsr.interruptMode",
        "always",
        "Whether such an answer is stopped at once, or the model is only told afterwards.",
        project="yes",
    )
    context_mode: Literal["discard", "keep"] = setting(
        "ttsr.contextMode", "discard", "Whether the model gets what it had written until it was stopped.", project="yes"
    )
    repeat_mode: Literal["once", "after-gap"] = setting(
        "ttsr.repeatMode",
        "once",
        "Whether a rule is told once in a conversation, or again after `ttsr.repeatGap`.",
        project="yes",
    )
    repeat_gap: int = setting(
        "ttsr.repeatGap", 10, "After how many prompts a rule may be told again.", low=1, high=1000, project="yes"
    )
