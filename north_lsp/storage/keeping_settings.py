"""The settings of what is kept of conversations and how, and of telemetry."""

from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.setting import setting

Fsync = Literal["always", "turn", "never"]


@dataclass(frozen=True)
class TelemetrySettings:
    """Whether and where numbers about turns are sent: to a collector of the user's own."""

    enabled: bool = setting(
        "telemetry.enabled",
        False,
        "Send durations, tokens, costs and failures of turns, requests and tools to an OpenTelemetry collector. No "
        "prompts, contents, paths or arguments, but for `telemetry.content`. Needs the package `north-lsp[telemetry]`.",
        strict=False,
        restart=True,
    )
    endpoint: str = setting(
        "telemetry.endpoint",
        "",
        "The address of that collector (OTLP over HTTP); if empty, that of `OTEL_EXPORTER_OTLP_ENDPOINT`.",
        restart=True,
    )
    content: bool = setting(
        "telemetry.content",
        False,
        "With `telemetry.enabled`, send the collector also the texts of requests: instructions, prompts, contents of "
        "files, outputs of tools and what models answer, up to 100,000 characters of each part. Known secrets are "
        "masked, pictures are left out. For a collector that may have your code.",
        strict=False,
        restart=True,
    )


@dataclass(frozen=True)
class KeepingSettings:
    """How long, and how surely; and what is kept of a branch that is left."""

    branch_summary: bool = setting(
        "branchSummary.enabled",
        False,
        "Ask, each time that you go back in a conversation, whether a small model summarizes what is left behind for "
        "the model that continues.",
    )
    branch_summary_reserve: int = setting(
        "branchSummary.reserveTokens",
        16_384,
        "How many tokens of the summarizing model's window are not filled with what is to be summarized.",
        low=1024,
        high=1_000_000,
    )

    max_age_days: int = setting(
        "sessions.maxAgeDays",
        0,
        "Conversations in which nothing happened for so many days go to the trash, where they stay for 30 more; "
        "archived ones never do. 0 keeps all.",
        low=0,
        high=36_500,
        restart=True,
    )
    fsync: Fsync = setting(
        "sessions.fsync",
        "turn",
        "When a conversation is flushed to the disk (fsync): with each line (`always`), at the end of a turn and "
        "before questions (`turn`), or never (`never`). Only a power failure makes a difference.",
        restart=True,
    )


@dataclass(frozen=True)
class ConversationSettings:
    """What is kept of conversations so that they are found again."""

    auto_title: bool = setting(
        "sessions.autoTitle",
        True,
        "Have a small model name a conversation after its first answer: the one of the role `fast`, else a small one "
        "of the provider that answers. Without either, the first prompt is the title. `NORTH_NO_TITLE=1` does the "
        "same as `false`.",
        strict=False,
        project="stricter",
    )
    prompt_history: bool = setting(
        "sessions.promptHistory",
        True,
        "Keep the prompts that you send, to be found and sent again.",
        strict=False,
        project="stricter",
    )
    save: bool = setting(
        "sessions.save",
        True,
        "Save new conversations. With `false` they are only in memory and gone when they are closed: nothing of them "
        "is listed, found or continued later, nor are their prompts kept. `north-lsp acp --no-session` and "
        "`NORTH_NO_SESSION=1` do the same as `false`.",
        strict=False,
        project="stricter",
    )
