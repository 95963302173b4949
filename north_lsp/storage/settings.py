"""The user's settings file, `<config>/config.json`: what this version reads, and what counts where it is wrong."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, write_atomic
from north_lsp.storage.limits import Limits
from north_lsp.storage.locations import Locations
from north_lsp.storage.model_settings import ModelSettings
from north_lsp.storage.setting import declared, filled, setting
from north_lsp.storage.settings_reader import SettingsError, SettingsReader
from north_lsp.storage.shell_settings import EVERY_COMMAND, OnOff, ShellSettings, patterns

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
    """How edit tools behave."""

    tolerance: Tolerance = setting(
        "edits.tolerance",
        "none",
        "With `whitespace`, a text that is not found as it stands may match one place with other blanks at line "
        "ends or another indentation.",
        strict="none",
    )
    stale_check: StaleCheck = setting(
        "edits.staleCheck",
        "warn",
        "What happens when the model edits a file of which it has not seen the present text: nothing (`off`), the "
        "result says so, and line numbers and whole files are refused (`warn`), or all is refused (`strict`).",
        strict="strict",
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
        "edits.protected", (), "Wildcards of further files that no tool writes.", strict=("**",)
    )
    shell_checkpoints: bool = setting(
        "checkpoints.shell", False, "Let undoing cover what commands change, too.", strict=True
    )
    save_after_apply: bool = setting(
        "edits.saveAfterApply",
        True,
        "Have the editor save what was saved before an edit, if it can be asked to.",
        strict=False,
    )
    diagnostics_on_write: bool = setting(
        "lsp.diagnosticsOnWrite",
        True,
        "Tell the model which errors and warnings an edit made, if the editor lets its language servers be asked.",
    )


@dataclass(frozen=True)
class ReadSettings:
    """How tools look."""

    extra_roots: tuple[str, ...] = setting(
        "files.extraReadRoots",
        (),
        "Folders outside of the workspace (absolute, or with `~`) that may be read and searched by their absolute "
        "paths; nothing there can be changed.",
        restart=True,
    )
    digest: bool = setting(
        "digest.enabled", True, "Shorten long results; with `false` they come in full, up to their limits."
    )
    discovery_threshold: int = setting(
        "tools.discoveryThreshold",
        40,
        "With more tools than this, rarely used ones are told by name only and looked up with `search_tools` (0: "
        "never).",
    )
    limits: Limits = field(default_factory=Limits)
    index_limit: int = setting(
        "files.indexLimit",
        5000,
        "How many files of a root are suggested by a few letters; of more, those that are open and those changed last.",
        low=100,
        high=1_000_000,
    )


@dataclass(frozen=True)
class TurnSettings:
    """How turns run."""

    max_requests: int = setting("turn.maxRequests", 200, "How many requests one turn may make.", low=1, high=10_000)
    nudge_unapplied_code: bool = setting(
        "turn.nudgeUnappliedCode", False, "Remind a model once that code in its answer has changed no file."
    )
    flush_ms: int = setting(
        "stream.flushMs", 32, "How many milliseconds text is gathered before it is shown.", low=10, high=250
    )
    stream_guard: bool = setting(
        "edits.streamGuard", True, "Stop an edit that cannot be applied while the model is still writing it."
    )
    queue_default: QueueKind = setting(
        "queue.defaultBehavior",
        "steer",
        "What a prompt does during a turn, where the client does not say: become part of the turn (`steer`), or "
        "wait for its end (`followUp`).",
    )
    steering_mode: DequeueMode = setting(
        "steeringMode",
        "one-at-a-time",
        "Whether waiting prompts become part of a turn one at a time or all together.",
        aliases=("queue.steeringMode",),
    )
    follow_up_mode: DequeueMode = setting(
        "followUpMode",
        "one-at-a-time",
        "Whether prompts that waited for the end of a turn are answered one at a time or all together.",
        aliases=("queue.followUpMode",),
    )
    interrupt_mode: InterruptMode = setting(
        "interruptMode",
        "immediate",
        "Whether words for the turn skip the calls that have not begun (`immediate`) or come after them (`wait`).",
        aliases=("queue.interruptMode",),
    )
    session_limit_usd: float = setting(
        "cost.sessionLimitUsd",
        0.0,
        "What one conversation may cost in US dollars (0: no limit); at 80 % you are told, and at the limit asked.",
        strict=_LEAST_LIMIT_USD,
    )
    day_limit_usd: float = setting(
        "cost.dayLimitUsd",
        0.0,
        "What one day, which begins at midnight UTC, may cost in US dollars (0: no limit); at 80 % you are told, "
        "and at the limit asked.",
        strict=_LEAST_LIMIT_USD,
    )
    fallback_revert: RevertPolicy = setting(
        "retry.fallbackRevertPolicy",
        "cooldown-expiry",
        "When the first model is asked again after another one stood in for it: after its pause, or never.",
        restart=True,
    )
    context_promotion: bool = setting(
        "contextPromotion.enabled",
        True,
        "Let another model with a larger window answer when the conversation is too long for its own: the model's "
        "`contextPromotionTarget` of `models.yml`, else the smallest of the same provider that can be used.",
        strict=False,
    )
    notifications: OnOff = setting(
        "notifications",
        "on",
        "Tell clients that a turn ended, failed or asks while their window is not in front.",
        restart=True,
    )


@dataclass(frozen=True)
class Settings:
    """`problems` are what is wrong in the file, a line each, for the user."""

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
    log_level: LogLevel = setting("log.level", "info", "What goes to North's log file.", restart=True)
    retry_enabled: bool = setting("retry.enabled", True, "Try again after a failure that may go away.", restart=True)
    retry_request_max: int = setting(
        "retry.requestMaxRetries", 5, "How often a request is repeated that got no answer.", restart=True
    )
    retry_stream_max: int = setting(
        "retry.streamMaxRetries",
        5,
        "How often a request is repeated whose answer broke off before anything of it was shown.",
        restart=True,
    )
    retry_max: int = setting("retry.maxRetries", 3, "How often a request is repeated as a whole.", restart=True)
    retry_base_delay_ms: int = setting(
        "retry.baseDelayMs",
        2000,
        "How many milliseconds the wait before the first repeat takes; each further one takes twice as long.",
        restart=True,
    )
    retry_max_delay_ms: int = setting(
        "retry.maxDelayMs", 300_000, "How many milliseconds the longest wait before a repeat takes.", restart=True
    )
    retry_max_elapsed_ms: int = setting(
        "retry.maxElapsedMs",
        900_000,
        "How many milliseconds all waits of a turn take together; a longer hint of the vendor is told as a time.",
        restart=True,
    )
    provider_idle_timeout_s: int = setting(
        "provider.idleTimeoutS", 120, "After how many seconds without a byte a request has failed.", restart=True
    )
    provider_request_timeout_s: int = setting(
        "provider.requestTimeoutS", 600, "How many seconds a request may take as a whole.", restart=True
    )
    retry_fallback_chains: Mapping[str, tuple[str, ...]] = setting(
        "retry.fallbackChains",
        {},
        "The models to ask instead of a model that fails, by its selector; one without a key, or that the settings do "
        "not allow here, is passed over.",
        restart=True,
    )
    sandbox: SandboxMode = setting(
        "sandbox",
        "off",
        "Where commands run that you are asked about: with your rights (`off`), or in the sandbox (`workspace`).",
        strict="workspace",
        restart=True,
    )
    shell_pass_variables: tuple[str, ...] = setting(
        "shell.passVariables",
        (),
        "Names of variables that commands get although they look like credentials.",
        restart=True,
    )
    shell_always_ask: tuple[str, ...] = setting(
        "shell.alwaysAsk",
        (),
        "Regular expressions of commands that ask every time; one that takes longer than two seconds to look for "
        "counts as found.",
        strict=EVERY_COMMAND,
        parse=patterns,
    )
    shell_interceptor: bool = setting(
        "shell.interceptor.enabled",
        True,
        "Send plain commands back that a tool does better; not those that your prompt spells out.",
    )
    shell_client_terminal: bool = setting(
        "shell.useClientTerminal",
        False,
        "Run commands in the editor's own terminals where it has them (ACP `terminal/*`), outside the sandbox only; "
        "state does not stay then.",
        strict=False,
    )
    edits: EditSettings = field(default_factory=EditSettings)
    shell: ShellSettings = field(default_factory=ShellSettings)
    reading: ReadSettings = field(default_factory=ReadSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    turns: TurnSettings = field(default_factory=TurnSettings)
    log_max_bytes: int = setting(
        "log.maxBytes",
        10 * 1024 * 1024,
        "At how many bytes a new log file begins.",
        low=64 * 1024,
        high=1024**3,
        restart=True,
    )
    log_files: int = setting("log.files", 5, "How many log files are kept.", low=1, high=100, restart=True)
    problems: tuple[str, ...] = ()


STRICT = filled(Settings, {key: row.setting.strict for key, row in declared(Settings).items()})
"""What holds while nobody can know what the user's file says."""


def needs_restart(before: Settings, now: Settings) -> list[str]:
    """Name the settings that differ and are only read at the start."""
    rows = declared(Settings).items()
    return [key for key, row in rows if row.setting.restart and row.value_in(before) != row.value_in(now)]


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
    settings = reader.read(Settings)
    return replace(settings, problems=tuple(reader.problems))
