"""Reads the user's settings files, `<config>/config.json` and below it `<config>/config.yml`: what they say, and what
applies where they are wrong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from north_lsp.errors import Problem
from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.setting import declared, filled
from north_lsp.storage.settings import Settings
from north_lsp.storage.settings_reader import Layer, SettingsError, SettingsReader


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
