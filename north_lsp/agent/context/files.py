"""Context files: `AGENTS.md` and what other tools call it, from the user's own to those deep in the project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from north_lsp.agent.context.above import folders_between
from north_lsp.agent.context.documents import (
    Place,
    cut,
    plain,
    read_document,
    size_of,
    user_place,
    users_own,
)
from north_lsp.agent.context.includes import with_includes
from north_lsp.display import one_line
from north_lsp.errors import ToolError
from north_lsp.lazy_dataclass import dataclass
from north_lsp.storage.kinds import Level
from north_lsp.storage.locations import Locations
from north_lsp.storage.plugins import Plugin

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Of these, the first one in a folder counts."""
_BESIDE = "CLAUDE.local.md"
_NATIVE = ".north/AGENTS.md"
_FOREIGN = (".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md")
MAX_BYTES = 32 * 1024
MAX_TOTAL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A file with instructions, as a model gets it: with what it includes, and cut if it is long. `why` says why it
    does not count; empty for one that does. `size` is the file's in bytes."""

    path: Path
    shown: str
    level: Level
    body: str
    size: int = 0
    why: str = ""
    problems: tuple[str, ...] = ()

    @property
    def applies(self) -> bool:
        return not self.why

    @property
    def key(self) -> str:
        """The key under which a conversation's log notes that this file was told."""
        return f"file:{self.path}"


def user_files(locations: Locations, home: Path) -> list[ContextFile]:
    """Read the user's own file: North's or, if there is none, the first of another tool."""
    own = locations.config / "AGENTS.md"
    paths = [own] if own.is_file() else [home / name for name in _FOREIGN if (home / name).is_file()]
    found = [_read(path, user_place(path.parent), users_own(path)) for path in paths]
    used = next((one for one in found if one.applies), None)
    return [one if one is used or not one.applies else _shadowed(one, used) for one in found]


def plugin_files(plugins: Iterable[Plugin], inside: Place | None) -> list[ContextFile]:
    """Read what extensions tell models; `inside` decides on those in the project, None: none of them counts."""
    found = []
    for plugin in plugins:
        for name in plugin.context_files:
            path = plugin.folder / name
            if plugin.level == "user":
                found.append(_read(path, user_place(plugin.folder), users_own(path)))
            elif inside is not None:
                found.append(_read_in(path, inside))
    return found


def files_around(root: Path, top: Path, places: Places) -> list[ContextFile]:
    """Read the files of the folders from `top` down to a root in it, outer ones first; then the nearest one of
    North's own folder."""
    folders = folders_between(top, root)
    found = [one for folder in folders for one in files_in(folder, places.of(folder))]
    for folder in reversed(folders):
        path = folder / _NATIVE
        if path.is_file() and (native := _read_in(path, places.of(folder))).body:
            found.append(native)
            break
    return found


def files_in(folder: Path, place: Place) -> list[ContextFile]:
    """Read the files of one folder: the first of the names that North knows, and the one that goes beside it."""
    paths = [folder / name for name in NAMES if (folder / name).is_file()]
    found = [_read_in(path, place) for path in paths]
    used = next((one for one in found if one.applies), None)
    rows = [one if one is used or not one.applies else _shadowed(one, used) for one in found]
    beside = folder / _BESIDE
    return [*rows, _read_in(beside, place)] if beside.is_file() else rows


@dataclass(frozen=True, slots=True)
class Places:
    """Resolves the paths of context files, in the roots (`inside`) and above them in the same repository (`above`)."""

    roots: Sequence[Path]
    inside: Place
    above: Place

    def of(self, folder: Path) -> Place:
        return self.inside if any(folder.is_relative_to(root) for root in self.roots) else self.above


def fitted(files: Sequence[ContextFile]) -> list[ContextFile]:
    """Leave out what occurs twice, and cut what is too much for all of them together."""
    out: list[ContextFile] = []
    texts: dict[str, str] = {}
    left = MAX_TOTAL_BYTES
    for one in files:
        fits = one
        if one.applies and one.body in texts:
            fits = replace(one, why=f"the same text as {texts[one.body]}")
        elif one.applies:
            texts[one.body] = one.shown
            if size_of(one.body) > left:
                told = f"cut: all context files together have more than {MAX_TOTAL_BYTES // 1024} KB"
                fits = replace(one, body=_cut(one.body, left, one.shown), problems=(*one.problems, told))
            left -= size_of(fits.body)
        out.append(fits)
    return out


def _read_in(path: Path, place: Place) -> ContextFile:
    try:
        return _read(path, place, place.resolve(path))
    except ToolError as error:
        return ContextFile(path, one_line(path.name, 200), place.level, "", why=one_line(error.message, 300))


def _read(path: Path, place: Place, resolved: tuple[Path, str]) -> ContextFile:
    real, shown = resolved
    problems: list[str] = []
    try:
        text, size = read_document(real)
    except ToolError as error:
        return ContextFile(real, shown, place.level, "", why=one_line(error.message, 300))
    base = path if place.level == "user" else real
    whole = plain(with_includes(text, base, place, problems)).strip()
    body = _cut(whole, MAX_BYTES, shown)
    if body != whole:
        problems.append(f"cut: it has more than {MAX_BYTES // 1024} KB")
    why = "" if body else "it is empty"
    return ContextFile(real, shown, place.level, body, size, why, tuple(problems))


def _cut(text: str, most: int, shown: str) -> str:
    return cut(text, most, f"[truncated: read {shown}]")


def _shadowed(one: ContextFile, used: ContextFile | None) -> ContextFile:
    return one if used is None else replace(one, why=f"shadowed by {used.shown}")


def touched_folders(path: Path, root: Path) -> Iterator[Path]:
    """Yield the folders below a root that are around a file, outer ones first."""
    yield from folders_between(root, path.parent)[1:]
