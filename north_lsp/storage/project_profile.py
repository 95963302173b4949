"""A project's profile: what was learned of it, as a Markdown file that its user may edit, and the user's word that it
is not to be learned: `<data>/projects/<hash>/profile.md` and `declined.json`. Knows nothing of models."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from north_lsp.lazy_dataclass import dataclass
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.entries import timestamp
from north_lsp.storage.files import json_bytes, private_directory, read_regular, write_atomic
from north_lsp.storage.locations import Locations

MAX_BYTES = 256 * 1024
"""How large a profile may be to be read; what a model gets of it is less."""

_TITLE = "# Project Profile"
_MARK = lazy_pattern(
    r"^<!-- Learned on (?P<day>\d{4}-\d\d-\d\d)(?: at commit (?P<commit>[0-9a-f]{40,64}))?"
    r"[^\n]*?digest (?P<digest>[0-9a-f]{16})\. -->\n?",
    re.MULTILINE,
)
_WORDS = "Change what you like: the file is used as it is, and `/learn` asks before it replaces it;"
_HEADING = lazy_pattern(r"^## +(.+?) *$")
_FENCE = lazy_pattern(r"^ {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True)
class Profile:
    """A profile as it is on the disk. `text` is without North's mark, `learned` the day (else that of the last change)
    and `commit` where the project was then; `is_edited`: the user has changed it, or wrote it."""

    text: str
    learned: date
    commit: str | None
    is_edited: bool
    data: bytes

    def sections(self) -> Mapping[str, str]:
        """Return the text of each topic, by its heading."""
        found: dict[str, list[str]] = {}
        rows: list[str] | None = None
        for line, heading in _with_headings(self.text):
            if heading is not None:
                rows = found.setdefault(heading, [])
            elif rows is not None:
                rows.append(line)
        return {heading: "\n".join(rows).strip() for heading, rows in found.items()}


class ProfileFile:
    """Reads and writes the profile of one project. Every method may raise OSError."""

    def __init__(self, locations: Locations, project_hash: str) -> None:
        folder = locations.project(project_hash)
        self.path = folder / "profile.md"
        self._declined = folder / "declined.json"

    def read(self) -> Profile | None:
        """Return the profile; None if there is none, or it is empty."""
        try:
            data = read_regular(self.path, MAX_BYTES)
        except FileNotFoundError:
            return None
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        mark = _MARK.search(text)
        rest = text if mark is None else text[: mark.start()] + text[mark.end() :]
        if not rest.replace(_TITLE, "", 1).strip():
            return None
        learned = datetime.fromtimestamp(self.path.stat().st_mtime, UTC).date()
        if mark is not None:
            with suppress(ValueError):
                learned = date.fromisoformat(mark["day"])
        is_edited = mark is None or mark["digest"] != _digest(rest)
        return Profile(rest.strip(), learned, mark["commit"] if mark else None, is_edited, data)

    def write(self, sections: Mapping[str, str], commit: str | None, *, beside: bool = False) -> Path:
        """Write what was learned, by topic; `beside` the present file if that is to stay. What was there is kept under
        another name. Returns the path."""
        parts = [_TITLE, *(f"## {title}\n\n{_below(text)}" for title, text in sections.items())]
        body = "\n\n".join(parts) + "\n"
        at = f" at commit {commit}" if commit else ""
        mark = f"<!-- Learned on {datetime.now(UTC).date()}{at}. {_WORDS} digest {_digest(body)}. -->\n"
        head, _, rest = body.partition("\n\n")
        private_directory(self.path.parent)
        path = self.path.with_name("profile.new.md") if beside else self.path
        if not beside and path.is_file():
            write_atomic(path.with_name("profile.md.bak"), path.read_bytes())
        write_atomic(path, f"{head}\n\n{mark}{rest}".encode("utf-8", "replace"))
        return path

    def is_declined(self) -> bool:
        """Tell whether the user does not want the project to be learned."""
        return self._declined.exists()

    def decline(self) -> None:
        """Remember that the user does not want the project to be learned."""
        private_directory(self._declined.parent)
        write_atomic(self._declined, json_bytes({"declinedAt": timestamp()}))

    def accept(self) -> None:
        """Forget that the user did not want it."""
        self._declined.unlink(missing_ok=True)


def _digest(text: str) -> str:
    """Return what tells a text from others; spaces at its lines' ends and between its parts do not count."""
    return hashlib.sha256("\n".join(text.split()).encode("utf-8", "replace")).hexdigest()[:16]


def _with_headings(text: str) -> list[tuple[str, str | None]]:
    """Return the lines, each with what it says if it is the heading of a topic."""
    rows: list[tuple[str, str | None]] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if found is not None and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else found[1]
        heading = None if fence else _HEADING.match(line)
        rows.append((line, heading[1] if heading is not None else None))
    return rows


def _below(text: str) -> str:
    """Return a topic's text in which no heading looks like that of another topic."""
    fence, rows = "", list[str]()
    for line in text.strip().split("\n"):
        found = _FENCE.match(line)
        if found is not None and (not fence or line.strip().startswith(fence)):
            fence = "" if fence else found[1]
        is_heading = not fence and re.match(r"#{1,2} ", line) is not None
        rows.append(f"### {line.lstrip('#').strip()}" if is_heading else line)
    if fence:
        rows.append(fence)
    return "\n".join(rows)
