"""Changes one setting in a file of settings, the user's or a project's, and leaves everything else there as it was
written, comments too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, short_lock, write_atomic
from north_lsp.storage.json_edit import find, with_value, without_key
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError, parse

_LOCK = "config"


class SettingNotWritten(OSError):
    """The setting was not written, and the file is as it was; the text is one line for the user."""


def save_text_setting(locations: Locations, key: str, value: str | list[str]) -> None:
    """Set a key of the user's file to a string or a list of strings, where nothing, null or something of that kind
    stands. Raises SettingNotWritten, and OSError for a folder that cannot be written."""
    path = locations.config / "config.json"
    with short_lock(locations, _LOCK):
        text, before = _read(path)
        if before is not None and not _is_like(before.get(key), value):
            raise SettingNotWritten(f"{path} is written in a way that North cannot change: set {key} to {value} there")
        _write(path, text, before, (key,), value)


def save_setting(locations: Locations, path: Path, names: Sequence[str], value: object) -> None:
    """Set a setting in a file, the first of its names, in the place of any other of them; None takes it out. Raises
    SettingNotWritten, and OSError for a folder that cannot be written."""
    with short_lock(locations, _LOCK):
        text, before = _read(path)
        _write(path, text, before, names, value)


def _is_like(before: object, value: str | list[str]) -> bool:
    if isinstance(value, str) or not isinstance(before, list):
        return before is None or (isinstance(before, str) and isinstance(value, str))
    return not any(isinstance(one, list | dict) for one in before)


def _read(path: Path) -> tuple[str, Mapping[str, object] | None]:
    """Return the file's text, and what it means; None where there is no file. Raises SettingNotWritten."""
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
    except FileNotFoundError:
        return "{}", None
    try:
        before = parse(data)
    except JsonError as error:
        raise SettingNotWritten(f"{path} cannot be read ({error}): fix it first") from None
    if not isinstance(before, dict):
        raise SettingNotWritten(f"{path} does not contain an object: fix it first")
    return data.decode("utf-8-sig"), before


def _write(path: Path, text: str, before: Mapping[str, object] | None, names: Sequence[str], value: object) -> None:
    key = names[0]
    if before is None:
        if value is not None:
            private_directory(path.parent)
            write_atomic(path, (json.dumps({key: value}, indent=2, ensure_ascii=False) + "\n").encode())
        return
    changed = text
    for name in names:
        if value is None or (name != key and find(changed, name) is not None):
            changed = without_key(changed, name)
    if value is not None:
        changed = with_value(changed, key, value)
    if changed == text:
        return
    after = parse(changed.encode())
    if not isinstance(after, dict) or _without(before, names) != _without(after, names) or not _says(after, key, value):
        told = f"set {key} to {json.dumps(value)}" if value is not None else f"remove {key}"
        raise SettingNotWritten(f"{path} is written in a way that North cannot change: {told} there")
    mode = path.stat().st_mode & 0o777
    # If the file is a link, into a folder of dotfiles for example, it stays one.
    write_atomic(path.resolve(), changed.encode(), mode)


def _says(values: Mapping[str, object], key: str, value: object) -> bool:
    from north_lsp.storage.settings_reader import found_in

    return found_in(values, key) == value


def _without(values: Mapping[str, object], names: Sequence[str]) -> dict[str, object]:
    """Return what a file says besides these keys, and without groups that have nothing else."""
    left: dict[str, object] = {}
    for name, value in values.items():
        if name in names:
            continue
        inner = [one.removeprefix(f"{name}.") for one in names if one.startswith(f"{name}.")]
        if isinstance(value, dict) and inner:
            if rest := _without(value, inner):
                left[name] = rest
        else:
            left[name] = value
    return left
