"""Changes one setting in `<config>/config.json` and leaves everything else there as the user wrote it, comments too."""

import json
import re

from north_lsp.storage.files import MAX_CONFIG_BYTES, private_directory, read_regular, short_lock, write_atomic
from north_lsp.storage.locations import Locations
from north_lsp.storage.relaxed_json import JsonError, parse, plain

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|null|[{}\[\]:]|[^\s,{}\[\]:"]+')


class SettingNotWritten(OSError):
    """The setting was not written, and the file is as it was; the text is one line for the user."""


def save_text_setting(locations: Locations, key: str, value: str | list[str]) -> None:
    """Set a key at the file's top level to a string or a list of strings. Raises SettingNotWritten, and OSError for a
    folder that cannot be written."""
    path = locations.config / "config.json"
    with short_lock(locations, "config"):
        try:
            data = read_regular(path, MAX_CONFIG_BYTES)
        except FileNotFoundError:
            private_directory(path.parent)
            write_atomic(path, (json.dumps({key: value}, indent=2) + "\n").encode())
            return
        try:
            before = parse(data)
            text = data.decode("utf-8-sig")
        except JsonError as error:
            raise SettingNotWritten(f"{path} cannot be read ({error}): fix it first") from None
        if not isinstance(before, dict):
            raise SettingNotWritten(f"{path} does not contain an object: fix it first")
        if before.get(key) == value:
            return
        changed = _changed(text, key, value, is_empty=not before)
        if parse(changed.encode()) != {**before, key: value}:
            raise SettingNotWritten(f"{path} is written in a way that North cannot change: set {key} to {value} there")
        mode = path.stat().st_mode & 0o777
        # If the file is a link, into a folder of dotfiles for example, it stays one.
        write_atomic(path.resolve(), changed.encode(), mode)


def _changed(text: str, key: str, value: str | list[str], *, is_empty: bool) -> str:
    """Return the text with the key set. Searches the text without comments, in which every character has the same
    place."""
    bare = plain(text)
    place = _place(bare, json.dumps(key), "[" if isinstance(value, list) else '"')
    if place is not None:
        return text[: place[0]] + json.dumps(value) + text[place[1] :]
    start = bare.index("{") + 1
    indent = re.match(r"\s*?\n([ \t]+)", text[start:])
    head = f"\n{indent[1]}" if indent is not None else ""
    pair = f"{head}{json.dumps(key)}: {json.dumps(value)}"
    rest = text[start:]
    if is_empty:
        return text[:start] + pair + rest
    return text[:start] + pair + "," + (rest if head else f" {rest.lstrip()}")


def _place(bare: str, key: str, begins: str) -> tuple[int, int] | None:
    """Find what follows a key of the outermost object, a string, flat list (by how it `begins`) or null: where it
    begins and ends."""
    depth, follows_key, begin = 0, False, -1
    for token in _TOKEN.finditer(bare):
        if begin >= 0:
            if token[0] in "[{":
                return None
            if token[0] == "]":
                return begin, token.end()
            continue
        if follows_key and token[0] != ":":
            if token[0][0] not in (begins, "n"):
                return None
            if token[0] != "[":
                return token.start(), token.end()
            begin = token.start()
            continue
        if token[0] in "{[":
            depth += 1
        elif token[0] in "}]":
            depth -= 1
        elif depth == 1 and token[0] == key and bare[token.end() :].lstrip().startswith(":"):
            follows_key = True
    return None
