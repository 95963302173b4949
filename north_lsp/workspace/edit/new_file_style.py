"""Decides how a new file is written: by `.editorconfig`, else like its neighbors.

This does not use the `editorconfig` library (0.17 was tried): it opens the files itself, by path, through links, from
the root of the file system down, and whole; and it turns a section into an expression that backtracks: eight `*a` and a
`b` against a name of 60 characters take it 47 seconds. A project's file must not be able to do that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.workspace.files.wildmatch import translate
from north_lsp.workspace.opening import open_folder, open_real
from north_lsp.workspace.text import Newline, is_binary, to_newlines

_MAX_NEIGHBOURS = 8
_MAX_ENTRIES = 500
_PROBE_BYTES = 8 * 1024
_MAX_CONFIG_BYTES = 64 * 1024
_MAX_CHOICES = 64
_MAX_SECTION = 500
_ANY_DEPTH = lazy_pattern(r"(?<![^/])\*\*(?![/*]|\Z)")
_ENDS: dict[str, Newline] = {"lf": "\n", "crlf": "\r\n"}


def new_file_text(path: Path, root: Path, content: str) -> str:
    """Return the content with its line ends and its final line end in place; CRLF line ends in the content are kept."""
    config = _config_for(path, root)
    newline = _ENDS.get(config.get("end_of_line", ""))
    # No system finds the interpreter of a `#!` line that ends with `\r`.
    if newline is None and "\r\n" not in content and not content.startswith("#!"):
        newline = _neighbor_newline(path)
    if newline is not None and "\r\n" not in content:
        content = to_newlines(content, newline)
    if content and not content.endswith("\n") and config.get("insert_final_newline") != "false":
        content += newline or ("\r\n" if "\r\n" in content else "\n")
    return content


def _neighbor_newline(path: Path) -> Newline | None:
    """Return the line end of the files beside it, as most of those with the same file ending have it."""
    with suppress(OSError), open_folder(path.parent) as folder, systems.scan(folder) as entries:
        names = [entry.name for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False)]
        alike = sorted(name for name in names if name != path.name and os.path.splitext(name)[1] == path.suffix)
        votes = 0
        for name in alike[:_MAX_NEIGHBOURS]:
            head = _head(path.parent / name, _PROBE_BYTES)
            if head is None or is_binary(head) or b"\n" not in head:
                continue
            votes += 1 if head.count(b"\r\n") * 2 > head.count(b"\n") else -1
        if votes:
            return "\r\n" if votes > 0 else "\n"
    return None


def _head(path: Path, size: int) -> bytes | None:
    with suppress(OSError):
        descriptor = open_real(path)
        with open(descriptor, "rb") as file:
            return file.read(size)
    return None


def _config_for(path: Path, root: Path) -> dict[str, str]:
    """Return the settings of the `.editorconfig` files from the root down; nearer files and later sections win."""
    found: dict[str, str] = {}
    folders = [folder for folder in reversed(path.parents) if folder.is_relative_to(root)]
    for folder in folders:
        data = _head(folder / ".editorconfig", _MAX_CONFIG_BYTES)
        if data is None:
            continue
        relative = path.relative_to(folder).as_posix()
        for is_root, pattern, key, value in _settings(data.decode("utf-8", "replace")):
            if is_root:
                found.clear()
            elif _covers(pattern, relative):
                found[key] = value
    return found


def _settings(text: str) -> Iterator[tuple[bool, str, str, str]]:
    section: str | None = None
    for raw in text.removeprefix("\ufeff").splitlines():
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1] if len(line) <= _MAX_SECTION else None
            continue
        key, equals, value = line.partition("=")
        if equals:
            key, value = key.strip().lower(), value.strip().lower()
            if section is not None:
                yield False, section, key, value
            elif (key, value) == ("root", "true"):
                yield True, "", key, value


def _covers(pattern: str, relative: str) -> bool:
    for one in _alternatives(pattern):
        anchored = one.removeprefix("/")
        whole = anchored if "/" in one else f"**/{one}"
        # What is `**/*` to git may be written `**` in `.editorconfig`.
        expression = translate(os.fsencode(_ANY_DEPTH.sub("**/*", whole)))
        if expression is not None and re.fullmatch(expression, os.fsencode(relative), re.DOTALL):
            return True
    return False


def _alternatives(pattern: str) -> list[str]:
    """Return the pattern with its `{a,b}` alternatives expanded."""
    done: list[str] = []
    waiting = [pattern]
    while waiting and len(done) + len(waiting) < _MAX_CHOICES:
        one = waiting.pop()
        group = re.search(r"\{([^{},]*,[^{}]*)\}", one)
        if group is None:
            done.append(one)
        else:
            waiting += [one[: group.start()] + choice + one[group.end() :] for choice in group[1].split(",")]
    return done
