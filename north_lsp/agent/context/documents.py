"""Reads the files that rules and instructions come from: where they may be, how much of them, and how their text is put
before a model. Every path goes through the one gate that tools use, or stays in a folder of the user's own."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from north_lsp import systems
from north_lsp.display import one_line, visible
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.kinds import Level
from north_lsp.workspace.opening import open_folder, open_regular
from north_lsp.workspace.paths import Roots
from north_lsp.workspace.text import decode, is_binary

Resolve = Callable[[Path], tuple[Path, str]]
"""Returns the real path and the shown one of a file. Raises ToolError for what may not be read."""

MAX_FILE_BYTES = 256 * 1024
"""How much of one file is read; what a model gets of it is less."""
_MAX_FOUND = 200
_MAX_LOOKED_AT = 5_000
_MAX_DEPTH = 6
_FRAME = lazy_pattern(
    r"<(?=\s*+(?:/\s*+)?(?:project_text|user_text|server_text|tool_servers|context|system-interrupt|system-reminder)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in which files of one level are looked for; `resolve` says what a path in it may be."""

    level: Level
    resolve: Resolve


def user_place(folder: Path) -> Place:
    """Make the place of a folder of the user's own. A file that is itself there may be a link, as in a folder of
    dotfiles; what it includes may not lead out of the folder."""
    roots = Roots.of(folder)

    def resolve(path: Path) -> tuple[Path, str]:
        return roots.resolve(str(path)).path, _shown_user(path)

    return Place("user", resolve)


def users_own(path: Path) -> tuple[Path, str]:
    """Return the real path of a file that the user put into a folder of their own, and the shown one."""
    return Path(os.path.realpath(path)), _shown_user(path)


def _shown_user(path: Path) -> str:
    home = os.path.expanduser("~")
    text = str(path)
    return one_line(f"~{text[len(home) :]}" if text.startswith(f"{home}/") else text, 300)


def read_document(path: Path) -> tuple[str, int]:
    """Read the beginning of a text at a real path; return it with the file's size in bytes. Raises ToolError."""
    descriptor, status = open_regular(path)
    with open(descriptor, "rb") as file:
        try:
            data = file.read(MAX_FILE_BYTES)
        except OSError as error:
            raise ToolError("IO_ERROR", f"cannot be read: {error.strerror}") from error
    if is_binary(data):
        raise ToolError("BINARY_FILE", "is not text")
    text, _ = decode(data)
    return text.replace("\r\n", "\n"), status.st_size


def documents_in(folder: Path, suffixes: Sequence[str], *, deep: bool) -> tuple[list[Path], str]:
    """List the files with these suffixes in a real folder, by path; links to folders are not followed, and hidden files
    and folders are left out. Also say what was left out because there is too much; empty if nothing was."""
    found: list[Path] = []
    waiting, looked = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        entries: list[tuple[str, bool]] = []
        with suppress(OSError), open_folder(here) as descriptor, systems.scan(descriptor) as listed:
            for entry in listed:
                looked += 1
                if looked > _MAX_LOOKED_AT:
                    return sorted(found)[:_MAX_FOUND], f"only {_MAX_LOOKED_AT:,} entries were looked at"
                entries.append((entry.name, entry.is_dir(follow_symlinks=False)))
        for name, is_folder in entries:
            if name.startswith("."):
                continue
            if is_folder and deep and depth < _MAX_DEPTH:
                waiting.append((here / name, depth + 1))
            elif not is_folder and name.endswith(tuple(suffixes)):
                found.append(here / name)
    more = f"only the first {_MAX_FOUND} of {len(found):,} files are used" if len(found) > _MAX_FOUND else ""
    return sorted(found)[:_MAX_FOUND], more


def folders_in(folder: Path, *, may_be_links: bool) -> list[Path]:
    """List the folders in a real folder, by name, without hidden ones."""
    with suppress(OSError), open_folder(folder) as descriptor, os.scandir(descriptor) as listed:
        rows = islice(listed, _MAX_LOOKED_AT)
        names = [row.name for row in rows if not row.name.startswith(".") and row.is_dir(follow_symlinks=may_be_links)]
        return [folder / name for name in sorted(names)[:_MAX_FOUND]]
    return []


def framed(level: Level, body: str, **named: str) -> str:
    """Put a file's text into a frame that says whose it is and that the text cannot close; hidden characters are
    shown as marks. `named` are attributes of the frame."""
    return in_frame(f"{level}_text", body, **named)


def in_frame(tag: str, body: str, **named: str) -> str:
    """Put a text into a frame that it cannot close; hidden characters are shown as marks."""
    attributes = "".join(f' {name}="{attribute(value)}"' for name, value in named.items())
    return f"<{tag}{attributes}>\n{plain(body)}\n</{tag}>"


def attribute(value: str) -> str:
    """Return a text as an attribute's value: on one line, and without what would end it."""
    safe = one_line(value, 300).replace("&", "&amp;").replace("<", "&lt;")
    return safe.replace(">", "&gt;").replace('"', "&quot;")


def plain(body: str) -> str:
    """Return a text without hidden characters, in which nothing looks like the end of its frame."""
    return _FRAME.sub("&lt;", visible(body))


def cut(text: str, most_bytes: int, note: str) -> str:
    """Cut a text at the end of a line so that it has at most so many bytes, and say so with `note`."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    kept = data[: max(0, most_bytes - len(note.encode()) - 1)].decode("utf-8", "ignore")
    at = kept.rfind("\n")
    return f"{kept[:at] if at >= 0 else ''}\n{note}".lstrip("\n")


def size_of(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
