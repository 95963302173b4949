"""The user's settings file, `<config>/config.json`: what this version reads, and what counts where it is wrong."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast, get_args

from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, write_atomic
from north_lsp.storage.limits import Limits, read_limits
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import NO_MODELS, ModelSettings, read_model_settings
from north_lsp.storage.settings_reader import EVERY_COMMAND, SettingsError, SettingsReader
from north_lsp.storage.shell_settings import ShellSettings, shell_settings

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


_LEAST_LIMIT_USD = 0.01  # takes the place of a limit that cannot be read: the user is asked at once


@dataclass(frozen=True)
class EditSettings:
    """How edit tools behave. `allow_generated` and `protected` are wildcards of paths relative to a root;
    `save_after_apply` has an editor save what it had saved before an accepted edit."""

    tolerance: Tolerance = "none"
    stale_check: StaleCheck = "warn"
    variant: EditVariant = "anchors"
    allow_generated: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    shell_checkpoints: bool = False
    save_after_apply: bool = True


@dataclass(frozen=True)
class ReadSettings:
    """How tools look. `extra_roots` are folders outside of the workspace that may be read; with more tools than
    `discovery_threshold`, rarely used ones are described by name only (0: never). `index_limit` is how many files of a
    root are found by a few letters."""

    extra_roots: tuple[str, ...] = ()
    digest: bool = True
    discovery_threshold: int = 40
    limits: Limits = field(default_factory=Limits)
    index_limit: int = 5000


@dataclass(frozen=True)
class TurnSettings:
    """How turns run. `flush_ms` is how long text is gathered before it is shown; limits of costs are in US dollars, 0
    for none; `stream_guard` ends an edit that cannot apply while it still streams."""

    max_requests: int = 200
    nudge_unapplied_code: bool = False
    flush_ms: int = 32
    stream_guard: bool = True
    queue_default: QueueKind = "steer"
    steering_mode: DequeueMode = "one-at-a-time"
    follow_up_mode: DequeueMode = "one-at-a-time"
    interrupt_mode: InterruptMode = "immediate"
    session_limit_usd: float = 0.0
    day_limit_usd: float = 0.0
    fallback_revert: RevertPolicy = "cooldown-expiry"
    context_promotion: bool = True
    notifications: bool = True


@dataclass(frozen=True)
class Settings:
    """`problems` are what is wrong in the file, a line each, for the user."""

    selected_model: str | None = None
    mode_default: ModeDefault = "agent"
    log_level: LogLevel = "info"
    retry_enabled: bool = True
    retry_request_max: int = 5
    retry_stream_max: int = 5
    retry_max: int = 3
    retry_base_delay_ms: int = 2000
    retry_max_delay_ms: int = 300_000
    retry_max_elapsed_ms: int = 900_000
    provider_idle_timeout_s: int = 120
    provider_request_timeout_s: int = 600
    retry_fallback_chains: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sandbox: SandboxMode = "off"
    shell_pass_variables: tuple[str, ...] = ()
    shell_always_ask: tuple[str, ...] = ()
    shell_interceptor: bool = True
    shell_client_terminal: bool = False
    edits: EditSettings = field(default_factory=EditSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    reading: ReadSettings = field(default_factory=ReadSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    turns: TurnSettings = field(default_factory=TurnSettings)
    log_max_bytes: int = 10 * 1024 * 1024
    log_files: int = 5
    problems: tuple[str, ...] = ()


STRICT = Settings(
    mode_default="ask",
    sandbox="workspace",
    shell_always_ask=EVERY_COMMAND,
    edits=EditSettings(stale_check="strict", protected=("**",), shell_checkpoints=True, save_after_apply=False),
    models=ModelSettings(disabled_providers=NO_MODELS, discover_local=False, key_storage=None),
    turns=TurnSettings(session_limit_usd=_LEAST_LIMIT_USD, day_limit_usd=_LEAST_LIMIT_USD, context_promotion=False),
)
"""What holds while nobody can know what the user's file says."""


def needs_restart(before: Settings, now: Settings) -> list[str]:
    """Name the settings that differ and are only read at the start."""
    late: dict[str, Callable[[Settings], object]] = {
        "sandbox": lambda one: one.sandbox,
        "shell.*": lambda one: (replace(one.shell, timeout_s=0), one.shell_pass_variables),
        "retry.*": lambda one: (
            one.retry_enabled,
            one.retry_request_max,
            one.retry_stream_max,
            one.retry_max,
            one.retry_base_delay_ms,
            one.retry_max_delay_ms,
            one.retry_max_elapsed_ms,
            one.retry_fallback_chains,
            one.turns.fallback_revert,
        ),
        "provider.*": lambda one: (one.provider_idle_timeout_s, one.provider_request_timeout_s),
        "log.*": lambda one: (one.log_level, one.log_max_bytes, one.log_files),
        "models": lambda one: replace(one.models, enabled=(), disabled_providers=()),
    }
    return [name for name, part in late.items() if part(before) != part(now)]


def load_settings(locations: Locations) -> Settings:
    """Read the settings; the defaults if there is no file. Never raises: what is wrong is in `problems`, a line each.

    A wrong value is left out alone, and where it would have held something back, the strictest one takes its place. A
    file that cannot be read at all gives way to what stood in it when it last could be; without that, to `STRICT`.
    """
    path = locations.config / "config.json"
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
        reader = _opened(path, data)
    except FileNotFoundError:
        return Settings()
    except SettingsError as error:
        return _last_good(locations, str(error))
    except OSError as error:
        return _last_good(locations, str(SettingsError(path, 1, 1, error.strerror or str(error))))
    _keep_good(locations, data)
    return read_settings(reader)


def _opened(path: Path, data: bytes) -> SettingsReader:
    """Raises SettingsError."""
    from north_lsp.storage.relaxed_json import JsonError, parse

    try:
        values = parse(data)
    except JsonError as error:
        raise SettingsError(path, error.line, error.column, error.problem) from None
    if not isinstance(values, dict):
        raise SettingsError(path, 1, 1, "has to be an object")
    return SettingsReader(path, data.decode("utf-8-sig"), values)


def _last_good(locations: Locations, problem: str) -> Settings:
    kept = locations.config_copy
    try:
        settings = read_settings(_opened(kept, read_regular(kept, MAX_CONFIG_BYTES)))
    except (OSError, SettingsError):
        told = "until the file is fixed, nothing is edited, every command asks, and only the offline model answers"
        return replace(STRICT, problems=(f"{problem}; {told}",))
    told = "until the file is fixed, the settings that it had before are used"
    return replace(settings, problems=(f"{problem}; {told}", *settings.problems))


def _keep_good(locations: Locations, data: bytes) -> None:
    """Best effort: where it cannot be kept, `STRICT` is what counts when the file breaks."""
    kept = locations.config_copy
    with suppress(OSError):
        try:
            if read_regular(kept, MAX_CONFIG_BYTES) == data:
                return
        except FileNotFoundError:
            private_directory(kept.parent)
        write_atomic(kept, data)


def read_settings(reader: SettingsReader) -> Settings:
    """Look up every setting, and note what is wrong."""
    default = Settings()
    settings = Settings(
        reader.text("selectedModel"),
        cast(ModeDefault, reader.choice("mode.default", get_args(ModeDefault), default.mode_default, strict="ask")),
        cast(LogLevel, reader.choice("log.level", get_args(LogLevel), default.log_level)),
        reader.flag("retry.enabled", default.retry_enabled),
        reader.count("retry.requestMaxRetries", default.retry_request_max),
        reader.count("retry.streamMaxRetries", default.retry_stream_max),
        reader.count("retry.maxRetries", default.retry_max),
        reader.count("retry.baseDelayMs", default.retry_base_delay_ms),
        reader.count("retry.maxDelayMs", default.retry_max_delay_ms),
        reader.count("retry.maxElapsedMs", default.retry_max_elapsed_ms),
        reader.count("provider.idleTimeoutS", default.provider_idle_timeout_s),
        reader.count("provider.requestTimeoutS", default.provider_request_timeout_s),
        reader.lists("retry.fallbackChains"),
        cast(SandboxMode, reader.choice("sandbox", get_args(SandboxMode), default.sandbox, strict="workspace")),
        reader.texts("shell.passVariables"),
        reader.patterns("shell.alwaysAsk"),
        reader.flag("shell.interceptor.enabled", default.shell_interceptor),
        reader.flag("shell.useClientTerminal", default.shell_client_terminal, strict=False),
        _edit_settings(reader),
        shell_settings(reader),
        reading=_read_settings(reader),
        models=read_model_settings(reader),
        turns=_turn_settings(reader),
        log_max_bytes=reader.number("log.maxBytes", default.log_max_bytes, 64 * 1024, 1024**3),
        log_files=reader.number("log.files", default.log_files, 1, 100),
    )
    if reader.is_wrong("shell.prefix"):  # it may be what holds commands
        settings = replace(settings, shell_always_ask=EVERY_COMMAND)
    return replace(settings, problems=(*reader.problems, *settings.shell.problems, *reader.unknown()))


def _turn_settings(reader: "SettingsReader") -> TurnSettings:
    default = TurnSettings()
    modes, interrupts, policies = get_args(DequeueMode), get_args(InterruptMode), get_args(RevertPolicy)
    return TurnSettings(
        reader.number("turn.maxRequests", default.max_requests, 1, 10_000),
        reader.flag("turn.nudgeUnappliedCode", default.nudge_unapplied_code),
        reader.number("stream.flushMs", default.flush_ms, 10, 250),
        reader.flag("edits.streamGuard", default.stream_guard),
        cast(QueueKind, reader.choice("queue.defaultBehavior", get_args(QueueKind), default.queue_default)),
        cast(DequeueMode, reader.choice("steeringMode", modes, default.steering_mode, "queue.steeringMode")),
        cast(DequeueMode, reader.choice("followUpMode", modes, default.follow_up_mode, "queue.followUpMode")),
        cast(InterruptMode, reader.choice("interruptMode", interrupts, default.interrupt_mode, "queue.interruptMode")),
        reader.amount("cost.sessionLimitUsd", default.session_limit_usd, strict=_LEAST_LIMIT_USD),
        reader.amount("cost.dayLimitUsd", default.day_limit_usd, strict=_LEAST_LIMIT_USD),
        cast(RevertPolicy, reader.choice("retry.fallbackRevertPolicy", policies, default.fallback_revert)),
        reader.flag("contextPromotion.enabled", default.context_promotion, strict=False),
        reader.choice("notifications", ("on", "off"), "on") != "off",
    )


def _edit_settings(reader: "SettingsReader") -> EditSettings:
    default = EditSettings()
    return EditSettings(
        cast(Tolerance, reader.choice("edits.tolerance", get_args(Tolerance), default.tolerance, strict="none")),
        cast(StaleCheck, reader.choice("edits.staleCheck", get_args(StaleCheck), default.stale_check, strict="strict")),
        cast(EditVariant, reader.choice("edits.variant", get_args(EditVariant), default.variant)),
        reader.texts("edits.allowGenerated"),
        reader.texts("edits.protected", strict=("**",)),
        reader.flag("checkpoints.shell", False, strict=True),
        reader.flag("edits.saveAfterApply", default.save_after_apply, strict=False),
    )


def _read_settings(reader: "SettingsReader") -> ReadSettings:
    default = ReadSettings()
    return ReadSettings(
        reader.texts("files.extraReadRoots"),
        reader.flag("digest.enabled", default.digest),
        reader.count("tools.discoveryThreshold", default.discovery_threshold),
        read_limits(reader.number),
        reader.number("files.indexLimit", default.index_limit, 100, 1_000_000),
    )
