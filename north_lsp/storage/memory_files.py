"""The files of a project's memory, `<data>/memories/<hash>/`: `MEMORY.md`, `memory_summary.md`, `notes.md` and
`skills/<name>/SKILL.md`. Their user may change them; what they wrote stays when North writes them again."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from north_lsp import systems
from north_lsp.lazy_pattern import lazy_pattern
from north_lsp.storage.files import private_directory, read_regular, write_atomic
from north_lsp.storage.locations import Locations

MEMORY, SUMMARY, NOTES = "MEMORY.md", "memory_summary.md", "notes.md"
_SKILL = lazy_pattern(r"skills/([a-z0-9][a-z0-9-]{0,39})/SKILL\.md")
_MAX_BYTES = 1024 * 1024
_KEPT = "## Your changes"


class MemoryFiles:
    """The memory files of one project. Methods block; each raises OSError."""

    def __init__(self, locations: Locations, project: str) -> None:
        self.folder = locations.data / "memories" / project

    def read(self, name: str) -> str:
        """Return a file's text; empty if there is none. Raises ValueError for a name that no file of a memory has."""
        if name not in (MEMORY, SUMMARY, NOTES) and not _SKILL.fullmatch(name):
            raise ValueError(f"a memory has no file {name[:80]!r}")
        try:
            return read_regular(self.folder / name, _MAX_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
        except (FileNotFoundError, NotADirectoryError):
            return ""

    def names(self) -> list[str]:
        """List the files that there are."""
        skills: list[str] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            skills = [f"skills/{name}/SKILL.md" for name in sorted(os.listdir(self.folder / "skills"))]
        known = [SUMMARY, MEMORY, NOTES, *(name for name in skills if _SKILL.fullmatch(name))]
        return [name for name in known if (self.folder / name).is_file()]

    def texts(self) -> dict[str, str]:
        """Return the texts of all files, by name."""
        return {name: self.read(name) for name in self.names()}

    def write(self, new: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
        """Write the memory, its summary and its skills; `before` is what this returned last. What the user has changed
        since is merged in, now and each time after; a skill that they changed stays. Returns North's own part of the
        texts, by which their changes are seen the next time."""
        private_directory(self.folder)
        own: dict[str, str] = {}
        for name, text in new.items():
            path, present = self.folder / name, self.read(name)
            private_directory(path.parent)
            if present and present != before.get(name, ""):
                write_atomic(path.with_name(f"{path.name}.bak"), path.read_bytes())
            merged, own[name] = _merged(before.get(name, ""), present, text)
            write_atomic(path, merged.encode("utf-8", "replace"))
        for name in self.names():
            if _SKILL.fullmatch(name) and name not in new:
                if self.read(name) == before.get(name):
                    path = self.folder / name
                    path.unlink()
                    path.with_name(f"{path.name}.bak").unlink(missing_ok=True)
                    with suppress(OSError):  # what the user keeps beside it stays
                        path.parent.rmdir()
                else:
                    own[name] = before.get(name, "")
        return own

    def add_note(self, line: str) -> Path:
        """Add a line to the notes; return their path."""
        path = private_directory(self.folder) / NOTES
        fd = systems.open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | systems.CLOEXEC | systems.NOFOLLOW, 0o600)
        with open(fd, "ab") as file:
            file.write(f"{line}\n".encode("utf-8", "replace"))
        return path

    def remove(self) -> None:
        """Remove everything."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self.folder)


def _merged(before: str, present: str, new: str) -> tuple[str, str]:
    """Return the new text with what the user did to the present one, and North's own part of it. Lines that they took
    out stay out; lines that they wrote and the new text does not have follow at its end."""
    if not present or present == before:
        return new, new
    had, has = before.split("\n"), present.split("\n")
    removed = {line for line in had if line.strip() and line not in has}
    added = [line for line in has if line.strip() and line not in had and line.strip() != _KEPT]
    rows = [line for line in new.rstrip("\n").split("\n") if line not in removed]
    missing = [line for line in added if line not in rows]
    own = [line for line in new.split("\n") if line not in added]
    own += [line for line in had if line in removed and line not in own]
    return "\n".join([*rows, *(["", _KEPT, "", *missing] if missing else [])]) + "\n", "\n".join(own)
