"""The settings of turns: how long they may be, what they may cost, and what becomes of prompts meanwhile."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting
from north_lsp.storage.shell_settings import OnOff

QueueKind = Literal["steer", "followUp"]
DequeueMode = Literal["one-at-a-time", "all"]
InterruptMode = Literal["immediate", "wait"]
RevertPolicy = Literal["cooldown-expiry", "never"]
_LEAST_LIMIT_USD = 0.01  # replaces a limit that cannot be read: the user is asked at once


@dataclass(frozen=True)
class TurnSettings:
    """How turns run."""

    max_requests: int = setting(
        "turn.maxRequests",
        200,
        "How many requests one turn may make.",
        low=1,
        high=10_000,
        project="stricter",
    )
    nudge_unapplied_code: bool = setting(
        "turn.nudgeUnappliedCode",
        False,
        "Remind a model once that code in its answer did not change any file.",
        project="yes",
    )
    flush_ms: int = setting(
        "stream.flushMs", 32, "For how many milliseconds text is collected before it is shown.", low=10, high=250
    )
    stream_guard: bool = setting(
        "edits.streamGuard",
        True,
        "Stop an edit that cannot be applied while the model is still writing it.",
        project="yes",
    )
    queue_default: QueueKind = setting(
        "queue.defaultBehavior",
        "steer",
        "What happens to a prompt sent during a turn, if the client does not say: it becomes part of the turn "
        "(`steer`), or waits for its end (`followUp`).",
        project="yes",
    )
    steering_mode: DequeueMode = setting(
        "steeringMode",
        "one-at-a-time",
        "Whether queued prompts become part of a turn one at a time or all together.",
        aliases=("queue.steeringMode",),
        project="yes",
        former=("queueMode",),
    )
    follow_up_mode: DequeueMode = setting(
        "followUpMode",
        "one-at-a-time",
        "Whether prompts that waited for the end of a turn are answered one at a time or all together.",
        aliases=("queue.followUpMode",),
        project="yes",
    )
    interrupt_mode: InterruptMode = setting(
        "interruptMode",
        "immediate",
        "Whether a steering prompt skips the calls that have not begun (`immediate`) or comes after them (`wait`).",
        aliases=("queue.interruptMode",),
        project="yes",
    )
    session_limit_usd: float = setting(
        "cost.sessionLimitUsd",
        0.0,
        "What one conversation may cost in US dollars (0: no limit); you are told at 80 %, and asked at the limit.",
        strict=_LEAST_LIMIT_USD,
    )
    day_limit_usd: float = setting(
        "cost.dayLimitUsd",
        0.0,
        "What one day, which begins at midnight UTC, may cost in US dollars (0: no limit); you are told at 80 %, "
        "and asked at the limit.",
        strict=_LEAST_LIMIT_USD,
    )
    fallback_revert: RevertPolicy = setting(
        "retry.fallbackRevertPolicy",
        "cooldown-expiry",
        "When the first model is used again after a fallback has replaced it: after its cooldown, or never.",
        restart=True,
    )
    context_promotion: bool = setting(
        "contextPromotion.enabled",
        True,
        "Let a model with a larger context window answer when the conversation is too long for the chosen one: its "
        "`contextPromotionTarget` in `models.yml`, else the smallest suitable one of the same provider.",
        strict=False,
        project="stricter",
    )
    notifications: OnOff = setting(
        "notifications",
        "on",
        "Have clients notify you when a turn ends, fails or asks something while their window is not in front.",
        restart=True,
    )
