"""Writes what a sandboxed command may touch as a profile of Seatbelt, the sandbox of macOS. Pure text.

The rules are in Seatbelt's own language, of which the last rule that matches decides; a rule for one kind of writing
(like `file-write-unlink`) is only used to refuse what a rule for all kinds allows, so that it does not matter whether
more exact rules go first. Paths are never part of the text: the profile names parameters, and their values are passed
beside it, so that no file name can say anything in that language.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass

SANDBOX_EXEC = "/usr/bin/sandbox-exec"
TERMINAL = "TERMINAL"  # the parameter that only the launcher knows
_MAX_BYTES = 512 * 1024  # a program's arguments and variables may have a megabyte


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile's text, and the values of its parameters without that of `TERMINAL`."""

    text: str
    parameters: Mapping[str, str]


def profile_of(described: Mapping[str, Any]) -> Profile:
    """Return the profile for a sandbox as `Sandbox.described` has it. Its paths must be spelled as the file system
    spells them: Seatbelt knows neither links nor other cases. Raises ToolError if it would be too long to be passed
    on."""
    rules = described["rules"]
    write = [*rules["write"], described["temp"]]
    frozen, hidden, opened = ([*described[name]] for name in ("frozen", "hidden", "open"))
    made = _Rules()
    made.add("allow", "file-read*", "subpath", "READ", [*rules["read"], *write])
    made.add("allow", "file-write*", "subpath", "WRITE", write)
    made.add("allow", "file-read* file-write-data file-ioctl", "literal", "DEVICE", rules["device"])
    made.add("deny", "file-write*", "subpath", "FROZEN", frozen)
    made.add("allow", "file-write*", "subpath", "OPEN", opened)
    # What is held must not come under another name, so nothing on the way to it may be moved.
    made.add("deny", "file-write-unlink", "literal", "STAYS", {*write, *opened, *_above([*frozen, *hidden], write)})
    made.add("deny", "file-read-data file-read-xattr file-write*", "subpath", "HIDDEN", hidden)
    profile = Profile(f"{_fixed_rules()}{made.text}", made.parameters)
    size = sum(len(os.fsencode(word)) + 1 for word in command_prefix(profile))
    if size > _MAX_BYTES:
        message = f"the sandbox cannot protect the workspace: its protected and closed names take {size} bytes"
        raise ToolError("UNAVAILABLE", message, "ask the user to run this outside the sandbox")
    return profile


def command_prefix(profile: Profile) -> list[str]:
    """Return the words that come before a command to run it with a profile, but for the terminal and the end of
    options, which the launcher adds."""
    named = (word for name, path in profile.parameters.items() for word in ("-D", f"{name}={path}"))
    return [SANDBOX_EXEC, "-p", profile.text, *named]


def held_by(described: Mapping[str, Any], frozen: Iterable[str], hidden: Iterable[str]) -> bool:
    """Return whether a profile made from this description holds these names already: it cannot be changed later."""
    return _covers(described["frozen"], frozen) and _covers(described["hidden"], hidden)


def _covers(known: Iterable[str], paths: Iterable[str]) -> bool:
    folders = {*known}
    return all(path in folders or not folders.isdisjoint(_parents(path)) for path in paths)


def _above(paths: Sequence[str], roots: Sequence[str]) -> set[str]:
    """Return the folders between the roots and the paths in them, with the roots."""
    return {folder for path in paths for folder in _parents(path) if any(_is_in(folder, root) for root in roots)}


def _parents(path: str) -> list[str]:
    return [path[:at] for at in range(1, len(path)) if path[at] == "/"]


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


@cache
def _fixed_rules() -> str:
    return Path(__file__).with_name("seatbelt.sbpl").read_text("utf-8")


class _Rules:
    """The rules so far, and the paths that their parameters stand for."""

    def __init__(self) -> None:
        self.text = ""
        self.parameters: dict[str, str] = {}

    def add(self, effect: str, operations: str, kind: str, name: str, paths: Iterable[str]) -> None:
        """Add a rule about paths, unless there are none."""
        filters = []
        for number, path in enumerate(sorted({*paths})):
            self.parameters[f"{name}_{number}"] = path
            filters.append(f'\n  ({kind} (param "{name}_{number}"))')
        if filters:
            self.text += f"({effect} {operations}{''.join(filters)})\n"
