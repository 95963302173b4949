"""The user's settings files, `<config>/config.json` and below it `<config>/config.yml`: what this version reads, and
what applies where they are wrong."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from north_lsp.errors import Problem
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.compaction_settings import CompactionSettings
from north_lsp.storage.context_settings import ContextSettings
from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, write_atomic
from north_lsp.storage.keeping_settings import KeepingSettings, TelemetrySettings
from north_lsp.storage.limits import Limits
from north_lsp.storage.locations import Locations
from north_lsp.storage.mcp_settings import McpSettings
from north_lsp.storage.memory_settings import MemorySettings
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.planning_settings import PlanningSettings
from north_lsp.storage.secret_settings import SecretSettings
from north_lsp.storage.setting import declared, filled, setting
from north_lsp.storage.settings_reader import Layer, SettingsError, SettingsReader
from north_lsp.storage.shell_settings import EVERY_COMMAND, OnOff, ShellSettings, patterns
from north_lsp.storage.stream_rule_settings import StreamRuleSettings
from north_lsp.storage.task_settings import TaskSettings
from north_lsp.storage.web_settings import WebSettings

ModeDefault = Literal["ask", "agent"]
LogLevel = Literal["debug", "info", "warn", "error"]
SandboxMode = Literal["off", "workspace"]
Tolerance = Literal["none", "whitespace"]
StaleCheck = Literal["strict", "warn", "off"]
EditVariant = Literal["anchors", "patch"]
QueueKind = Literal["steer", "followUp"]
DequeueMode = Literal["one-at-a-time", "all"]
InterruptMode = Literal["immediate", "wait"]
RevertPolicy = Literal["cooldown-expiry", "never"]


_LEAST_LIMIT_USD = 0.01  # replaces a limit that cannot be read: the user is asked at once


@dataclass(frozen=True)
class EditSettings:
    """How edit tools behave."""

    tolerance: Tolerance = setting(
        "edits.tolerance",
        "none",
        "With `whitespace`, a text that is not found exactly may match one place that differs in indentation or in "
        "whitespace at line ends.",
        strict="none",
        project="stricter",
    )
    stale_check: StaleCheck = setting(
        "edits.staleCheck",
        "warn",
        "What happens when the model edits a file whose current text it has not seen: nothing (`off`); the result "
        "says so, and edits by line number or of whole files are refused (`warn`); every edit is refused (`strict`).",
        strict="strict",
        project="stricter",
    )
    variant: EditVariant = setting(
        "edits.variant",
        "anchors",
        "With `patch`, models get one tool that takes patches instead of the tools that work with anchors.",
        restart=True,
    )
    allow_generated: tuple[str, ...] = setting(
        "edits.allowGenerated", (), "Wildcards of generated files that may be edited."
    )
    protected: tuple[str, ...] = setting(
        "edits.protected", (), "Wildcards of further files that no tool writes.", strict=("**",), project="stricter"
    )
    shell_checkpoints: bool = setting(
        "checkpoints.shell", False, "Let undo also cover what commands change.", strict=True, project="stricter"
    )
    save_after_apply: bool = setting(
        "edits.saveAfterApply",
        True,
        "Have the editor save files that were saved before an edit, if it supports that.",
        strict=False,
        project="stricter",
    )
    confirm_in_editor: bool = setting(
        "edits.confirmInEditor",
        False,
        "Have the editor itself ask about edits of open files, if it supports LSP's changes that it has you confirm "
        "(plain LSP clients only).",
    )
    diagnostics_on_write: bool = setting(
        "lsp.diagnosticsOnWrite",
        True,
        "Tell the model which errors and warnings an edit made, if the editor lets its language servers be asked.",
        project="yes",
    )


@dataclass(frozen=True)
class ReadSettings:
    """How reading tools behave."""

    extra_roots: tuple[str, ...] = setting(
        "files.extraReadRoots",
        (),
        "Folders outside the workspace (absolute, or with `~`) that may be read and searched by their absolute "
        "paths; nothing there can be changed.",
        restart=True,
    )
    digest: bool = setting(
        "digest.enabled",
        True,
        "Shorten long results; with `false` they are sent in full, up to their limits.",
    )
    discovery_threshold: int = setting(
        "tools.discoveryThreshold",
        40,
        "Rarely used tools are listed by name only and looked up with `search_tools`, and with more other tools than "
        "this those of tool servers as well (0: all are described).",
        project="yes",
    )
    limits: Limits = field(default_factory=Limits)
    index_limit: int = setting(
        "files.indexLimit",
        5000,
        "How many files of a root can be suggested as you type; if there are more, the open and most recent ones.",
        low=100,
        high=1_000_000,
        project="stricter",
    )


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
        "provider.idleTimeoutS", 120, "After how many seconds without data a request fails.", restart=True
    )
    provider_request_timeout_s: int = setting(
        "provider.requestTimeoutS", 600, "How many seconds a request may take as a whole.", restart=True
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
        "How commands that you approve run: with your rights (`off`), or in the sandbox (`workspace`).",
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


def load_settings(locations: Locations) -> Settings:
    """Read the user's file, and nothing else. Never raises: what is wrong is in `problems`, a line each."""
    layer = load_user_layer(locations)
    return replace(filled(Settings, layer.values), problems=layer.problems)


def load_user_layer(locations: Locations) -> Layer:
    """Read the user's files; nothing is set if there are none. Never raises: what is wrong is in `problems`, a line
    each. What config.json says counts before config.yml.

    A wrong value is left out alone; if it would have restricted something, the strictest value replaces it. A file
    that cannot be read at all is replaced by its last readable content; without that, by `STRICT`.
    """
    below, above = (_read_user_file(locations, name) for name in ("config.yml", "config.json"))
    problems = (*above.problems, *below.problems)
    if above.is_unknown or below.is_unknown:
        return replace(above if above.is_unknown else below, problems=problems)
    written = {key: value for key, value in below.written.items() if key not in above.values}
    return Layer("user", {**below.values, **above.values}, {**written, **above.written}, problems)


def _read_user_file(locations: Locations, name: str) -> Layer:
    path, kept = locations.config / name, locations.last_good(name)
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
        reader = opened(path, data)
    except FileNotFoundError:
        return Layer("user", {})
    except SettingsError as error:
        return _last_good(path, kept, str(error))
    except OSError as error:
        return _last_good(path, kept, str(SettingsError(path, 1, 1, error.strerror or str(error))))
    _keep_good(kept, data)
    return reader.read(Settings)


def opened(path: Path, data: bytes) -> SettingsReader:
    """Parse the content of a file of settings, JSON or YAML. Raises SettingsError."""
    if path.suffix == ".yml":
        return _opened_yaml(path, data)
    from north_lsp.storage.relaxed_json import JsonError, parse

    try:
        values = parse(data)
    except JsonError as error:
        raise SettingsError(path, error.line, error.column, error.problem) from None
    if not isinstance(values, dict):
        raise SettingsError(path, 1, 1, "must be an object")
    return SettingsReader(path, data.decode("utf-8-sig"), values)


def _opened_yaml(path: Path, data: bytes) -> SettingsReader:
    from north_lsp.storage.yaml_tree import TreeError, parse

    try:
        text = data.decode("utf-8-sig")
        values = parse(text).plain()
    except UnicodeDecodeError:
        raise SettingsError(path, 1, 1, "is not UTF-8") from None
    except TreeError as error:
        raise SettingsError(path, error.line, 1, error.problem) from None
    if not isinstance(values, dict):
        raise SettingsError(path, 1, 1, "must be an object")
    return SettingsReader(path, text, values)


def _last_good(path: Path, kept: Path, problem: str) -> Layer:
    try:
        layer = opened(kept, read_regular(kept, MAX_CONFIG_BYTES)).read(Settings)
    except (OSError, SettingsError):
        told = "until the file is fixed, nothing is edited, every command asks, and only the offline model answers"
        strictest = {key: row.setting.strict for key, row in declared(Settings).items()}
        return Layer("user", strictest, {}, (Problem(f"{problem}; {told}", path),), is_unknown=True)
    told = "until the file is fixed, the settings that it had before are used"
    return replace(layer, problems=(Problem(f"{problem}; {told}", path), *layer.problems))


def _keep_good(kept: Path, data: bytes) -> None:
    """Keep a copy of a readable file. Best effort: without it, `STRICT` applies when the file breaks."""
    with suppress(OSError):
        try:
            if read_regular(kept, MAX_CONFIG_BYTES) == data:
                return
        except FileNotFoundError:
            private_directory(kept.parent)
        write_atomic(kept, data)
