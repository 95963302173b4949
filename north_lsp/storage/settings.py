"""The user's settings file, `<config>/config.json`: only what this version reads."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.limits import Limits, read_limits
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings, read_model_settings
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


class SettingsError(ValueError):
    """A settings file that cannot be used; `line` and `column` count from 1."""

    def __init__(self, path: Path, line: int, column: int, problem: str) -> None:
        super().__init__(f"{path}, line {line}, column {column}: {problem}")
        self.path = path
        self.line = line
        self.column = column
        self.problem = problem


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


def load_settings(locations: Locations) -> Settings:
    """The settings, or the defaults if there is no file. Raises SettingsError."""
    from north_lsp.storage.relaxed_json import JsonError, parse

    path = locations.config / "config.json"
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
        values = parse(data)
    except FileNotFoundError:
        return Settings()
    except JsonError as error:
        raise SettingsError(path, error.line, error.column, error.problem) from None
    except OSError as error:
        raise SettingsError(path, 1, 1, error.strerror or str(error)) from None
    if not isinstance(values, dict):
        raise SettingsError(path, 1, 1, "has to be an object")
    reader = SettingsReader(path, data.decode("utf-8-sig"), values)
    return Settings(
        reader.text("selectedModel"),
        cast(ModeDefault, reader.choice("mode.default", get_args(ModeDefault)) or Settings.mode_default),
        cast(LogLevel, reader.choice("log.level", get_args(LogLevel)) or Settings.log_level),
        reader.flag("retry.enabled", Settings.retry_enabled),
        reader.count("retry.requestMaxRetries", Settings.retry_request_max),
        reader.count("retry.streamMaxRetries", Settings.retry_stream_max),
        reader.count("retry.maxRetries", Settings.retry_max),
        reader.count("retry.baseDelayMs", Settings.retry_base_delay_ms),
        reader.count("retry.maxDelayMs", Settings.retry_max_delay_ms),
        reader.count("retry.maxElapsedMs", Settings.retry_max_elapsed_ms),
        reader.count("provider.idleTimeoutS", Settings.provider_idle_timeout_s),
        reader.count("provider.requestTimeoutS", Settings.provider_request_timeout_s),
        reader.lists("retry.fallbackChains"),
        cast(SandboxMode, reader.choice("sandbox", get_args(SandboxMode)) or Settings.sandbox),
        reader.texts("shell.passVariables"),
        reader.patterns("shell.alwaysAsk"),
        reader.flag("shell.interceptor.enabled", Settings.shell_interceptor),
        reader.flag("shell.useClientTerminal", Settings.shell_client_terminal),
        _edit_settings(reader),
        shell_settings(reader),
        reading=_read_settings(reader),
        models=read_model_settings(reader),
        turns=_turn_settings(reader),
    )


def _turn_settings(reader: "SettingsReader") -> TurnSettings:
    default = TurnSettings()
    modes, interrupts = get_args(DequeueMode), get_args(InterruptMode)
    return TurnSettings(
        reader.number("turn.maxRequests", default.max_requests, 1, 10_000),
        reader.flag("turn.nudgeUnappliedCode", default.nudge_unapplied_code),
        reader.number("stream.flushMs", default.flush_ms, 10, 250),
        reader.flag("edits.streamGuard", default.stream_guard),
        cast(QueueKind, reader.choice("queue.defaultBehavior", get_args(QueueKind)) or default.queue_default),
        cast(DequeueMode, reader.choice("queue.steeringMode", modes) or default.steering_mode),
        cast(DequeueMode, reader.choice("queue.followUpMode", modes) or default.follow_up_mode),
        cast(InterruptMode, reader.choice("queue.interruptMode", interrupts) or default.interrupt_mode),
        reader.amount("cost.sessionLimitUsd", default.session_limit_usd),
        reader.amount("cost.dayLimitUsd", default.day_limit_usd),
        cast(
            RevertPolicy, reader.choice("retry.fallbackRevertPolicy", get_args(RevertPolicy)) or default.fallback_revert
        ),
        reader.flag("contextPromotion.enabled", default.context_promotion),
        reader.choice("notifications", ("on", "off")) != "off",
    )


def _edit_settings(reader: "SettingsReader") -> EditSettings:
    default = EditSettings()
    return EditSettings(
        cast(Tolerance, reader.choice("edits.tolerance", get_args(Tolerance)) or default.tolerance),
        cast(StaleCheck, reader.choice("edits.staleCheck", get_args(StaleCheck)) or default.stale_check),
        cast(EditVariant, reader.choice("edits.variant", get_args(EditVariant)) or default.variant),
        reader.texts("edits.allowGenerated"),
        reader.texts("edits.protected"),
        reader.flag("checkpoints.shell", False),
        reader.flag("edits.saveAfterApply", default.save_after_apply),
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


def _found(values: Mapping[str, object], key: str) -> object:
    """The value of a key that may be written in one piece or nested at any of its dots; None if there is none."""
    if key in values:
        return values[key]
    parts = key.split(".")
    for size in range(1, len(parts)):
        inner = values.get(".".join(parts[:size]))
        if isinstance(inner, dict) and (value := _found(inner, ".".join(parts[size:]))) is not None:
            return value
    return None


@dataclass(frozen=True)
class SettingsReader:
    """Looks keys up, written flat (`"mode.default": …`) or nested (`"mode": {"default": …}`)."""

    path: Path
    source: str
    values: Mapping[str, object]

    def text(self, key: str) -> str | None:
        value = self._find(key)
        if value is not None and not isinstance(value, str):
            raise self._error(key, f"{key} has to be a text")
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str | None:
        value = self.text(key)
        if value is not None and value not in choices:
            raise self._error(key, f"{key} has to be one of {', '.join(choices)}, not {value!r}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self._find(key)
        if value is not None and not isinstance(value, bool):
            raise self._error(key, f"{key} has to be true or false")
        return default if value is None else value

    def count(self, key: str, default: int) -> int:
        value = self._find(key)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise self._error(key, f"{key} has to be a whole number, 0 or more")
        return default if value is None else value

    def number(self, key: str, default: int, low: int, high: int) -> int:
        value = self.count(key, default)
        if not low <= value <= high:
            raise self._error(key, f"{key} has to be from {low} to {high}, not {value}")
        return value

    def amount(self, key: str, default: float) -> float:
        value = self._find(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise self._error(key, f"{key} has to be a number, 0 or more")
        return float(value)

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        value = self._find(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(
            isinstance(row, list) and all(isinstance(item, str) for item in row) for row in value.values()
        ):
            raise self._error(key, f"{key} has to be an object of lists of texts")
        return {name: tuple(row) for name, row in value.items()}

    def named_texts(self, key: str) -> dict[str, str]:
        value = self._find(key)
        if value is None:
            return {}
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._error(key, f"{key} has to be an object of texts")
        return dict(value)

    def value(self, key: str) -> object:
        """As it stands there, for a caller that reads it by itself."""
        return self._find(key)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._find(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self._error(key, f"{key} has to be a list of texts")
        return tuple(value)

    def rows(self, key: str) -> tuple[Mapping[str, object], ...]:
        value = self._find(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise self._error(key, f"{key} has to be a list of objects")
        return tuple(value)

    def patterns(self, key: str) -> tuple[str, ...]:
        found = self.texts(key)
        for pattern in found:
            try:
                re.compile(pattern)
            except re.error as error:
                raise self._error(key, f"{key} has a regular expression that is none: {error}") from None
        return found

    def _find(self, key: str) -> object:
        return _found(self.values, key)

    def _error(self, key: str, problem: str) -> SettingsError:
        group, _, name = key.rpartition(".")
        place = self.source.find(f'"{key}"')
        if place < 0:
            place = max(self.source.find(f'"{name}"', max(self.source.find(f'"{group}"'), 0)), 0)
        before = self.source[:place]
        return SettingsError(self.path, before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1, problem)
