"""All settings together: what this version knows. Those of one subject are in a module of their own."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.compaction_settings import CompactionSettings
from north_lsp.storage.context_settings import ContextSettings
from north_lsp.storage.edit_settings import EditSettings
from north_lsp.storage.keeping_settings import ConversationSettings, KeepingSettings, TelemetrySettings
from north_lsp.storage.mcp_settings import McpSettings
from north_lsp.storage.memory_settings import MemorySettings
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.planning_settings import PlanningSettings
from north_lsp.storage.read_settings import ReadSettings
from north_lsp.storage.secret_settings import SecretSettings
from north_lsp.storage.setting import declared, filled, setting
from north_lsp.storage.shell_settings import EVERY_COMMAND, ShellSettings, patterns
from north_lsp.storage.stream_rule_settings import StreamRuleSettings
from north_lsp.storage.task_settings import TaskSettings
from north_lsp.storage.turn_settings import TurnSettings
from north_lsp.storage.web_settings import WebSettings

ModeDefault = Literal["ask", "agent"]
LogLevel = Literal["debug", "info", "warn", "error"]
SandboxMode = Literal["off", "workspace"]


@dataclass(frozen=True)
class Settings:
    """All settings. `problems` are what is wrong in the file, a line each, for the user."""

    selected_model: str | None = setting(
        "selectedModel", None, "The model of new conversations; North writes here what you choose in the editor."
    )
    mode_default: ModeDefault = setting(
        "mode.default",
        "agent",
        "The mode of new conversations: `ask` only reads, `agent` proposes edits and commands.",
        strict="ask",
        restart=True,
    )
    log_level: LogLevel = setting("log.level", "info", "What North writes to its log file.", restart=True)
    retry_enabled: bool = setting("retry.enabled", True, "Retry after failures that may be temporary.", restart=True)
    retry_request_max: int = setting(
        "retry.requestMaxRetries", 5, "How many times a request that got no answer is repeated.", restart=True
    )
    retry_stream_max: int = setting(
        "retry.streamMaxRetries",
        5,
        "How many times a request is repeated whose answer broke off before any of it was shown.",
        restart=True,
    )
    retry_max: int = setting("retry.maxRetries", 3, "How many times a request is repeated as a whole.", restart=True)
    retry_base_delay_ms: int = setting(
        "retry.baseDelayMs",
        2000,
        "How many milliseconds to wait before the first retry; the wait doubles with each further one.",
        restart=True,
    )
    retry_max_delay_ms: int = setting(
        "retry.maxDelayMs", 300_000, "The longest wait before a retry, in milliseconds.", restart=True
    )
    retry_max_elapsed_ms: int = setting(
        "retry.maxElapsedMs",
        900_000,
        "The longest wait of a turn in all, in milliseconds; if the vendor asks for more, you are told until when.",
        restart=True,
    )
    provider_idle_timeout_s: int = setting(
        "provider.idleTimeoutS", 120, "After how many seconds without data a request fails (0: never).", restart=True
    )
    provider_request_timeout_s: int = setting(
        "provider.requestTimeoutS",
        600,
        "After how many seconds without receiving any part of the answer a request fails, although the connection "
        "shows signs of life (0: never).",
        restart=True,
    )
    retry_fallback_chains: Mapping[str, tuple[str, ...]] = setting(
        "retry.fallbackChains",
        {},
        "The models to use instead of a model that fails, by its selector; models without a key, or not allowed here "
        "by the settings, are skipped.",
        restart=True,
    )
    sandbox: SandboxMode = setting(
        "sandbox",
        "off",
        "How commands that you approve run: with your rights (`off`), or in the sandbox (`workspace`), which Windows "
        "does not have.",
        strict="workspace",
        restart=True,
        project="stricter",
    )
    shell_pass_variables: tuple[str, ...] = setting(
        "shell.passVariables",
        (),
        "Names of variables that are passed to commands although they look like credentials.",
        restart=True,
    )
    shell_always_ask: tuple[str, ...] = setting(
        "shell.alwaysAsk",
        (),
        "Regular expressions of commands that ask every time; one that takes longer than two seconds to match "
        "counts as a match.",
        strict=EVERY_COMMAND,
        parse=patterns,
        project="stricter",
    )
    shell_interceptor: bool = setting(
        "shell.interceptor.enabled",
        True,
        "Refuse plain commands that a tool does better, except those that your prompt spells out.",
        former=("bashInterceptor.enabled",),
    )
    shell_client_terminal: bool = setting(
        "shell.useClientTerminal",
        False,
        "Run commands in the editor's own terminals if it has them (ACP `terminal/*`), outside the sandbox only; "
        "then shell state is not kept.",
        strict=False,
    )
    edits: EditSettings = field(default_factory=EditSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    reading: ReadSettings = field(default_factory=ReadSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    turns: TurnSettings = field(default_factory=TurnSettings)
    planning: PlanningSettings = field(default_factory=PlanningSettings)
    tasks: TaskSettings = field(default_factory=TaskSettings)
    web: WebSettings = field(default_factory=WebSettings)
    sessions: ConversationSettings = field(default_factory=ConversationSettings)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    stream_rules: StreamRuleSettings = field(default_factory=StreamRuleSettings)
    log_max_bytes: int = setting(
        "log.maxBytes",
        10 * 1024 * 1024,
        "The size in bytes at which a new log file begins.",
        low=64 * 1024,
        high=1024**3,
        restart=True,
    )
    keeping: KeepingSettings = field(default_factory=KeepingSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    secrets: SecretSettings = field(default_factory=SecretSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    log_files: int = setting("log.files", 5, "How many log files are kept.", low=1, high=100, restart=True)
    problems: tuple[str, ...] = ()


STRICT = filled(Settings, {key: row.setting.strict for key, row in declared(Settings).items()})
"""The settings that apply while it is unknown what the user's file says."""

SECRETS = frozenset(key for key, row in declared(Settings).items() if row.setting.secret)
"""The settings whose values are shown to nobody."""


def needs_restart(before: Settings, now: Settings) -> list[str]:
    """Name the settings that differ and are read only at the start."""
    rows = declared(Settings).items()
    return [key for key, row in rows if row.setting.restart and row.value_in(before) != row.value_in(now)]
