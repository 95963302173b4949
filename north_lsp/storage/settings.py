"""The user's settings file, `<config>/config.json`: only what this version reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast, get_args

from north_lsp.storage.files import MAX_CONFIG_BYTES, read_regular
from north_lsp.storage.locations import Locations

ModeDefault = Literal["ask", "agent"]
LogLevel = Literal["debug", "info", "warn", "error"]
Tolerance = Literal["none", "whitespace"]
StaleCheck = Literal["strict", "warn", "off"]
EditVariant = Literal["anchors", "patch"]


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
    """How edit tools behave. `allow_generated` and `protected` are wildcards of paths relative to a root."""

    tolerance: Tolerance = "none"
    stale_check: StaleCheck = "warn"
    variant: EditVariant = "anchors"
    allow_generated: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    shell_checkpoints: bool = False


@dataclass(frozen=True)
class Settings:
    selected_model: str | None = None
    mode_default: ModeDefault = "agent"
    log_level: LogLevel = "info"
    edits: EditSettings = field(default_factory=EditSettings)


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
    reader = _Reader(path, data.decode("utf-8-sig"), values)
    return Settings(
        reader.text("selectedModel"),
        cast(ModeDefault, reader.choice("mode.default", get_args(ModeDefault)) or Settings.mode_default),
        cast(LogLevel, reader.choice("log.level", get_args(LogLevel)) or Settings.log_level),
        _edit_settings(reader),
    )


def _edit_settings(reader: "_Reader") -> EditSettings:
    default = EditSettings()
    return EditSettings(
        cast(Tolerance, reader.choice("edits.tolerance", get_args(Tolerance)) or default.tolerance),
        cast(StaleCheck, reader.choice("edits.staleCheck", get_args(StaleCheck)) or default.stale_check),
        cast(EditVariant, reader.choice("edits.variant", get_args(EditVariant)) or default.variant),
        reader.texts("edits.allowGenerated"),
        reader.texts("edits.protected"),
        reader.switch("checkpoints.shell"),
    )


@dataclass(frozen=True)
class _Reader:
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

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._find(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self._error(key, f"{key} has to be a list of texts")
        return tuple(value)

    def switch(self, key: str) -> bool:
        value = self._find(key)
        if value is not None and not isinstance(value, bool):
            raise self._error(key, f"{key} has to be true or false")
        return value is True

    def _find(self, key: str) -> object:
        group, _, name = key.rpartition(".")
        nested = self.values.get(group)
        if key in self.values or not isinstance(nested, dict):
            return self.values.get(key)
        return nested.get(name)

    def _error(self, key: str, problem: str) -> SettingsError:
        group, _, name = key.rpartition(".")
        place = self.source.find(f'"{key}"')
        if place < 0:
            place = max(self.source.find(f'"{name}"', max(self.source.find(f'"{group}"'), 0)), 0)
        before = self.source[:place]
        return SettingsError(self.path, before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1, problem)
